import Glibc
import Testing
import TillCrypto

@Suite("While a process exits")
struct ProcessExitTests {
    @Test("Signatures can still be checked: OpenSSL stays whole until the end")
    func opensslOutlivesExit() async {
        await #expect(processExitsWith: .success) {
            // Handlers run in reverse: this one runs after any that OpenSSL registers at its first use.
            atexit { _ = TrustStore(roots: []) }
            _ = TrustStore(roots: [])
            exit(0)
        }
    }
}

import Glibc
import Testing
import TillCrypto

@Suite("While a process exits")
struct ProcessExitTests {
    @Test("While the process exits, signatures can still be checked: OpenSSL is never cleaned up early")
    func opensslOutlivesExit() async {
        await #expect(processExitsWith: .success) {
            // Exit handlers run in reverse order: this one runs after any that OpenSSL registers at its first use.
            atexit { _ = TrustStore(roots: []) }
            _ = TrustStore(roots: [])
            exit(0)
        }
    }
}

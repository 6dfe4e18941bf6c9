import Foundation
import Testing
import TillClient

@Suite("An app that imports the client kit alone")
struct ConfigurationTests {
    @Test("It learns from a stable code and a sentence that the server's address is not secure")
    func insecure() {
        do {
            _ = try TillStore(TillConfiguration(server: "http://pay.example.com"))
            Issue.record("purchases would travel in the clear")
        } catch {
            #expect(error.code == .insecureServer && !error.isRetryable && error.code.rawValue == "insecure_server")
            #expect(!error.message(in: "en").isEmpty && error.message(in: "zh") != error.message(in: "en"))
        }
    }
}

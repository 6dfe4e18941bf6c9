import Foundation
import Testing

@testable import TillClient

@Suite("The address of the purchase server")
struct ServerAddressTests {
    @Test(
        "https is accepted with any name, http for this machine only",
        arguments: [
            "https://pay.example.com", "HTTPS://pay.example.com/till/", "https://10.0.0.7:8443", "https://[fd00::7]",
            "http://127.0.0.1:8080", "http://127.0.0.1", "http://127.255.0.9:1/", "HTTP://LocalHost:8080",
            "http://localhost/till", "http://[::1]:8080", "http://[::1]",
        ])
    func taken(address: String) { #expect(ServerAddress(address).isSecure) }

    @Test(
        "everything else is refused, also names that only resemble this machine",
        arguments: [
            "http://pay.example.com", "http://10.0.0.7:8080", "http://192.168.1.2", "http://127.0.0.1.evil.example",
            "http://localhost.evil.example", "http://localhost@evil.example", "http://127.0.0.1:80@evil.example",
            "https://pay.example.com@evil.example", "http://evil.example\\@127.0.0.1", "http://evil.example#127.0.0.1",
            "http://evil.example?127.0.0.1", "http://127.0.0.1%2eevil.example", "http://127.0.0.256", "http://127.1",
            "http://0127.0.0.1", "http://128.0.0.1", "http://0.0.0.0", "http://[::]", "http://[::1].evil.example",
            "http://[::1", "http://", "http:///", "http:/127.0.0.1", "http:127.0.0.1", " http://127.0.0.1",
            "https://", "https:/pay.example.com", "https:// pay.example.com", "pay.example.com",
            "pay.example.com:443", "ftp://127.0.0.1", "",
        ])
    func refused(address: String) { #expect(!ServerAddress(address).isSecure) }

    @Test("A store with an insecure address is not opened, and says in both languages why")
    func store() {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("till-kit-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var configuration = TillConfiguration(server: "http://pay.example.com")
        configuration.directory = path
        do {
            _ = try TillStore(configuration)
            Issue.record("it would send proofs and tokens in the clear")
        } catch {
            #expect(error.code == .insecureServer && error.code.rawValue == "insecure_server" && !error.isRetryable)
            let row = StoreSentences.rows(StoreSentences.own).first { $0.code == "insecure_server" }
            #expect(error.message(in: "en") == row?.en && error.message(in: "zh-Hans") == row?.zh)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        configuration.server = "http://127.0.0.1:9"
        #expect(throws: Never.self) { try TillStore(configuration) }
    }
}

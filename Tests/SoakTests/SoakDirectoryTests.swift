import Foundation
import Testing
import TillJSON

@testable import TillSoak

@Suite("The directories of a soak")
struct SoakDirectoryTests {
    @Test("The soak reads the files that `till init` writes, and keeps their user tokens")
    func initializes() async throws {
        let programs = Bundle.main.bundleURL.path
        let path = NSTemporaryDirectory() + "/soak-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try SoakDirectory(path, programs: programs)
        let keys = try await directory.initialize(
            serverPort: 8_080, store: "http://127.0.0.1:9", root: [], appleKey: ["privateKey": "none"])
        #expect(keys.secretKey.hasPrefix("sk_"))
        let file = directory.server.appendingPathComponent("user-token.secret")
        let secret = try String(contentsOf: file, encoding: .utf8)
        #expect(secret == keys.userTokenSecret + "\n")
        let settings = try JSONValue(decoding: try Data(contentsOf: directory.configuration))
        #expect(settings["userTokens"]?.array?.first?["secretFile"] == "user-token.secret")
    }
}

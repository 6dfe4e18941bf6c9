import Foundation
import Testing
import TillJSON
import TillSQL
import TillTestDatabases

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
            try directory.ledger(on: nil), serverPort: 8_080, store: "http://127.0.0.1:9", root: [],
            appleKey: ["privateKey": "none"])
        #expect(keys.secretKey.hasPrefix("sk_"))
        let file = directory.server.appendingPathComponent("user-token.secret")
        let secret = try String(contentsOf: file, encoding: .utf8)
        #expect(secret == keys.userTokenSecret + "\n")
        let settings = try JSONValue(decoding: try Data(contentsOf: directory.configuration))
        #expect(settings["userTokens"]?.array?.first?["secretFile"] == "user-token.secret")
    }

    @Test(
        "A cluster that is killed keeps what was committed, and its folder stays",
        .enabled(if: PostgresCluster.isInstalled, "\(PostgresCluster.missing)"))
    func cluster() async throws {
        // Not the folder for temporary files: PostgreSQL's user may not reach it.
        let path = "/tmp/soak-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try SoakDirectory(path, programs: Bundle.main.bundleURL.path)
        let cluster = try #require(try directory.makeCluster(for: .postgres))
        let place = try directory.ledger(on: cluster)
        let insert: SQL = "INSERT INTO customers (user_id, first_seen) VALUES ('ann', 1)"
        try await place.opened { try await $0.write { try $0.execute(insert, []) } }
        try await cluster.kill()
        #expect(throws: (any Error).self) { try place.open(.operator) }
        try await cluster.start()
        let names = try await place.opened(.operator) { ledger in
            try await ledger.read { try $0.query("SELECT user_id FROM customers", []) { $0.text("user_id") } }
        }
        #expect(names == ["ann"])
        await cluster.stop()
        #expect(throws: (any Error).self) { try place.open(.operator) }
        #expect(FileManager.default.fileExists(atPath: path + "/database/data/PG_VERSION"))
    }
}

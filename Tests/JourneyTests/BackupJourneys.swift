import Foundation
import Testing
import TillBilling
import TillJSON

@Suite("Backup and restore") struct BackupJourneys {
    /// Runs a command to its end.
    private func run(_ arguments: [String]) async throws -> (code: Int32, document: JSONValue, said: String) {
        let process = try TillProcess.start(arguments + ["--json", "--lang", "en"])
        let (output, code) = await process.finish()
        return (code, (try? JSONValue(decoding: output)) ?? .null, process.complaints)
    }

    private func permissions(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
    }

    @Test("Beside a running server: whole, for its owner alone, and no server opens it as a ledger (R4)")
    func beside() async throws {
        try await ServerProcess.withFiles { server in
            let (process, port) = try await server.start()
            try await server.buy(port, as: "ann")
            let copy = server.folder.appendingPathComponent("copy.db").path
            let made = try await run(["backup", copy, "--config", server.configurationFile])
            #expect(made.code == 0, "\(made.said)")
            #expect(made.document["file"]?.string == copy && made.document["schemaVersion"]?.int != nil)
            #expect(try permissions(copy) == 0o600)
            try await server.buy(port, as: "ben")
            let again = try await run(["backup", copy, "--config", server.configurationFile])
            #expect(again.code == 1 && again.said.contains("already exists"), "\(again.said)")
            process.send(SIGTERM)
            #expect(await process.end() == 0)

            let served = try await run(["serve", "--config", server.configurationFile, "--database", "sqlite:\(copy)"])
            #expect(served.code == 1 && served.said.contains("till restore"), "\(served.said)")
            let restored = server.folder.appendingPathComponent("restored.db").path
            let done = try await run(["restore", copy, "--to", restored])
            #expect(done.code == 0 && done.document["epoch"] == 2, "\(done.said)")
            #expect(try permissions(restored) == 0o600)
            let left = try FileManager.default.contentsOfDirectory(atPath: server.folder.path)
            #expect(left.filter { $0.hasPrefix("restored.db") } == ["restored.db"])

            let (_, next) = try await server.start(["--database", "sqlite:\(restored)"])
            #expect(try await server.send(next, .get, "/v1/users/ann/wallet")["balances"].at("points") == 60)
            #expect(try await server.send(next, .get, "/v1/users/ben/wallet")["balances"].at("points") == .null)
            let events = try await server.send(next, .get, "/v1/events?limit=100")["data"].list
            #expect(events.map { $0.at("type").text } == ["grant.created", "ledger.restored"])
            #expect(events.map { $0.at("epoch") } == [1, 2])
        }
    }
}

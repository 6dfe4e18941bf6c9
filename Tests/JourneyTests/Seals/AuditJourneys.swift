import Foundation
import Testing
import TillJSON
import TillLedger
import TillSQL
import TillTestDatabases

@Suite("till audit and till checkpoint, as processes") struct AuditJourneys {
    private func run(
        _ arguments: [String], json: Bool = true
    ) async throws -> (document: JSONValue, said: String, code: Int32) {
        let process = try TillProcess.start(arguments + ["--lang", "en"] + (json ? ["--json"] : []))
        let (output, code) = await process.finish()
        let said = output + process.complaints
        return ((try? JSONValue(decoding: output)) ?? .null, said, code)
    }

    private func withSealedFiles(_ body: (ServerProcess) async throws -> Void) async throws {
        try await ServerProcess.withFiles { files in
            try files.configure("seals", ["keyFile": "seal.key"])
            let file = files.folder.appendingPathComponent("seal.key")
            try Data("a key of seals, at least thirty-two bytes\n".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            try await body(files)
        }
    }

    private func texts(_ document: JSONValue) -> [String] { document.at("violations").list.map { $0.at("text").text } }

    @Test(
        "Beside a running server, after its stop, and after somebody changed a balance and its postings (V8)",
        arguments: LedgerDatabase.each)
    func audit(on database: LedgerDatabase) async throws {
        try await withSealedFiles { files in
            try await withLedgerPlace(on: database) { place in
                try files.configure("database", .string(place.address))
                try await place.opened { _ in }
                try await audit(files, place, database)
            }
        }
    }

    private func audit(_ files: ServerProcess, _ place: LedgerPlace, _ database: LedgerDatabase) async throws {
        let (server, port) = try await files.start()
        try await files.buy(port, as: "ann")
        let configuration = ["--config", files.configurationFile]
        let beside = try await run(["audit"] + configuration)
        #expect(beside.code == 0, "\(beside.said)")
        #expect((beside.document.at("rows").int ?? 0) >= 6 && beside.document.at("balances") == 1)
        #expect(beside.document.at("proofs") == .null)
        let proven = try await run(["audit", "--proofs"] + configuration)
        #expect(
            proven.code == 0 && proven.document.at("proofs") == 1 && proven.document.at("unproven") == 0,
            "\(proven.said)")
        let said = try await run(["audit"] + configuration, json: false)
        #expect(said.said.contains("everything is as it was written"), "\(said.said)")
        try await files.buy(port, as: "ben")
        server.send(SIGTERM)
        #expect(await server.end() == 0)
        // The server sealed what its last requests wrote before it ended.
        let stopped = try await run(["audit"] + configuration)
        #expect(stopped.code == 0 && stopped.document.at("found").list.isEmpty, "\(stopped.said)")

        try await changePosting(place)
        let found = try await run(["audit"] + configuration)
        #expect(found.code == 1)
        #expect(texts(found.document).contains { $0.contains("of postings 1–2 does not match") }, "\(found.said)")
    }

    private func changePosting(_ place: LedgerPlace) async throws {
        let changes: [SQL] = [
            "UPDATE postings SET amount = 1000000 WHERE customer_id = 1",
            "UPDATE balances SET amount = 1000000 WHERE customer_id = 1",
        ]
        if let session = try place.session() {
            try session.run("DROP TRIGGER postings_are_never_edited ON postings")
            for change in changes { try session.run("\(change)") }
            return
        }
        try await place.opened { ledger in
            try await ledger.write { connection in
                try connection.execute("DROP TRIGGER postings_are_never_edited", [])
                for change in changes { try connection.execute(change, []) }
            }
        }
    }

    @Test("The key of the seals is changed while no server runs, and the server goes on under the new one (V8)")
    func reseal() async throws {
        try await withSealedFiles { files in
            let (server, port) = try await files.start()
            try await files.buy(port, as: "ann")
            let configuration = ["--config", files.configurationFile]
            let key = files.folder.appendingPathComponent("seal-2.key").path
            try Data("short\n".utf8).write(to: URL(fileURLWithPath: key))
            let arguments = ["reseal", "--new-key-file", key] + configuration
            #expect(try await run(arguments).said.contains("must hold at least 32 bytes, and holds 5"))
            try Data("the second key of seals, of at least thirty-two bytes\n".utf8).write(
                to: URL(fileURLWithPath: key))
            let beside = try await run(arguments)
            #expect(beside.code != 0 && beside.said.contains("stop every server"), "\(beside.said)")
            server.send(SIGTERM)
            #expect(await server.end() == 0)
            let done = try await run(arguments)
            #expect(done.code == 0 && done.document.at("isChanged") == true, "\(done.said)")
            #expect(try await run(arguments).document.at("isChanged") == false)
            #expect(try await run(["audit"] + configuration).code == 1)
            try files.configure("seals", ["keyFile": "seal-2.key"])
            let (again, next) = try await files.start()
            try await files.buy(next, as: "ben")
            let audit = try await run(["audit", "--proofs"] + configuration)
            #expect(audit.code == 0 && audit.document.at("proofs") == 2, "\(audit.said)")
            again.send(SIGTERM)
            #expect(await again.end() == 0)
        }
    }

    @Test("An older copy of the file, seals included, lacks a checkpoint that was kept outside (V8)")
    func checkpoint() async throws {
        try await withSealedFiles { files in
            let (server, port) = try await files.start()
            try await files.buy(port, as: "ann")
            let configuration = ["--config", files.configurationFile]
            #expect(try await run(["audit"] + configuration).code == 0)
            let older = files.folder.appendingPathComponent("older.db").path
            _ = try await run(["backup", older] + configuration)
            try await files.buy(port, as: "ben")
            #expect(try await run(["audit"] + configuration).code == 0)
            let printed = try await run(["checkpoint"] + configuration, json: false)
            let kept = files.folder.appendingPathComponent("checkpoint.json").path
            try Data(printed.said.utf8).write(to: URL(fileURLWithPath: kept))
            server.send(SIGTERM)
            #expect(await server.end() == 0)
            #expect(try await run(["audit", "--checkpoint", kept] + configuration).code == 0)

            for ending in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: files.ledgerFile + ending)
            }
            #expect(try await run(["restore", older, "--to", files.ledgerFile]).code == 0)
            let found = try await run(["audit", "--checkpoint", kept] + configuration)
            #expect(found.code == 1)
            #expect(texts(found.document).contains { $0.contains("is an older copy") }, "\(found.said)")
            let wrong = try await run(["audit", "--checkpoint", files.configurationFile] + configuration)
            #expect(wrong.code == 1 && wrong.said.contains("is no checkpoint"), "\(wrong.said)")
        }
    }

    @Test("Without a key of seals the audit says how to get one")
    func noKey() async throws {
        try await ServerProcess.withFiles { files in
            let answer = try await run(["audit", "--config", files.configurationFile])
            #expect(answer.code == 1 && answer.said.contains("set seals.keyFile"), "\(answer.said)")
        }
    }
}

import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillTestDatabases

@Suite("till import, as a process") struct ImportCommandJourneys {
    private func run(_ arguments: [String], json: Bool = true) async throws -> (
        output: String, code: Int32, complaints: String
    ) {
        let process = try TillProcess.start(arguments + ["--lang", "en"] + (json ? ["--json"] : []))
        let (output, code) = await process.finish()
        return (output, code, process.complaints)
    }

    private func document(_ arguments: [String]) async throws -> JSONValue {
        let done = try await run(arguments)
        #expect(done.code == 0, "\(done)")
        return try JSONValue(decoding: done.output)
    }

    private func counts(_ document: JSONValue) -> [Int64] {
        ["rows", "imported", "refused", "unchanged"].map { document.at($0).int ?? -1 }
    }

    private func write(_ text: String, _ name: String, _ files: ServerProcess) throws -> String {
        let file = files.folder.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        return file.path
    }

    @Test(
        "A table with quotes, a mark and carriage returns is imported, listed, undone, imported beside a server (R7)",
        .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
    func table() async throws {
        try await ServerProcess.withFiles { files in
            let (one, two) = (try await files.pay(token: nil), try await files.pay(token: nil))
            let rows = [
                "\u{FEFF}kind,userId,signedTransaction,note,currency,balance",
                "purchase,ann,\(one.signed),\"two\nlines, and \"\"quotes\"\"\",,",
                "purchase,ben,\(two.signed),,,",
                "purchase,ben",
                "purchase,cat,x.y.z,,,",
                "balance,ann,,,points,12",
                "purchase,ann,\(one.signed),,,",
            ]
            let path = try write(rows.joined(separator: "\r\n") + "\r\n", "orders.csv", files)
            let arguments = ["import", path, "--format", "till", "--config", files.configurationFile]
            let dry = try await document(arguments + ["--dry-run"])
            #expect(counts(dry) == [6, 3, 2, 1])
            #expect(dry.at("refusals").list.map { $0.at("line").int ?? 0 } == [5, 6])
            let done = try await document(arguments)
            #expect(counts(done) == [6, 3, 2, 1])
            #expect(done.at("refusalCodes") == ["malformed_line": 1, "malformed": 1], "\(done)")
            #expect(counts(try await document(arguments)) == [6, 0, 2, 4])
            let listed = try await document(["import", "--list", "--config", files.configurationFile])
            #expect(listed.array?.count == 2 && listed.array?.last?.at("imported") == 3)

            let exported = files.folder.appendingPathComponent("all.jsonl").path
            let all = try await document(["export", "--all", exported, "--config", files.configurationFile])
            #expect(all == ["rows": 4, "leftOut": 0])
            let undo = ["import", "--rollback", done.at("importId").text, "--config", files.configurationFile]
            #expect(try await document(undo).at("undone") == 3)

            // Now through a server that holds the ledger.
            let (server, port) = try await files.start()
            let key = try write(Shop.secretKey, "backend.key", files)
            let alone = try await run(arguments)
            #expect(alone.code == 1 && alone.complaints.contains("--key-file"), "\(alone)")
            let beside = ["--listen", "127.0.0.1:\(port)", "--key-file", key]
            #expect(counts(try await document(arguments + beside + ["--dry-run"])) == [6, 3, 2, 1])
            #expect(counts(try await document(arguments + beside)) == [6, 3, 2, 1])
            let wallet = try await files.send(port, .get, "/v1/users/ann/wallet")
            #expect(wallet["balances"].at("points") == 12)
            let back = ["import", exported, "--format", "till", "--config", files.configurationFile]
            // Her wallet has the balance of the table, which was stated at another moment; his has none yet.
            let returned = try await document(back + beside)
            #expect(counts(returned) == [4, 1, 1, 2] && returned.at("refusalCodes") == ["balance_exists": 1])
            let imports = try await document(
                ["import", "--list", "--config", files.configurationFile] + beside)
            #expect(imports.array?.first?.at("caller").text == "key:backend")
            server.send(SIGTERM)
            #expect(await server.end() == 0)
            let audit = try await run(["doctor", "--config", files.configurationFile])
            let integrity = try JSONValue(decoding: audit.output).at("checks").list.first {
                $0.at("name").text == "integrity"
            }
            #expect(integrity?.at("status").text == "ok", "\(audit.output)")
        }
    }

    @Test("A file of another format, an unknown import and a missing flag are refused at once (R7, CONTRACT §1)")
    func wrong() async throws {
        try await ServerProcess.withFiles { files in
            let path = try write("{\"order\": 1}\n{\"order\": 2}\n", "orders.jsonl", files)
            let configured = ["--config", files.configurationFile]
            for (arguments, code, text) in [
                (["import", path, "--format", "transactions"] + configured, Int32(1), "is not a file of the format"),
                (["import", path] + configured, 2, "--format"), (["import"] + configured, 2, "name the FILE"),
                (["import", path, "--format", "stripe"] + configured, 2, "--format"),
                (["import", path + "x", "--format", "till"] + configured, 1, "orders.jsonlx"),
                (["import", "--rollback", "x"] + configured, 1, "no import with this id"),
            ] {
                let done = try await run(arguments, json: false)
                #expect(done.code == code && done.complaints.contains(text), "\(arguments): \(done)")
            }
            #expect(try await document(["import", "--list"] + configured) == [])
        }
    }
}

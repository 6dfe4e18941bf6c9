import Foundation
import Glibc
import Testing
import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillTestDatabases

/// `till import` is a process of its own here, and signal 9 ends it in the middle of its work.
@Suite("till import, killed") struct KilledImportJourneys {
    private static let rows = 1_200
    private static let users = 400

    private struct Progress: Equatable {
        var recorded: Int64 = 0
        var undone: Int64 = 0
        /// As the import itself counts them.
        var counted: Int64 = 0
        var countedUndone: Int64 = 0
    }

    private func progress(_ ledger: any Database) async throws -> Progress {
        try await ledger.read { connection in
            try connection.first(
                """
                SELECT (SELECT count(*) FROM imported_purchases) AS recorded, (SELECT count(*) FROM \
                imported_purchases WHERE undone_at IS NOT NULL) AS undone, (SELECT \
                CAST(coalesce(sum(imported), 0) AS BIGINT) FROM imports) AS counted, (SELECT \
                CAST(coalesce(sum(undone), 0) AS BIGINT) FROM imports) AS counted_undone
                """, []
            ) { row in
                Progress(
                    recorded: row.integer("recorded"), undone: row.integer("undone"),
                    counted: row.integer("counted"), countedUndone: row.integer("counted_undone"))
            } ?? Progress()
        }
    }

    private func document(_ arguments: [String]) async throws -> JSONValue {
        let process = try TillProcess.start(arguments + ["--json", "--lang", "en"])
        let (output, code) = await process.finish()
        try #require(code == 0, "\(arguments): \(output)\(process.complaints)")
        return try JSONValue(decoding: output)
    }

    /// Starts a command, and kills it as soon as the ledger shows enough of its work.
    ///
    /// - Returns: how far it came.
    private func cutOff(
        _ arguments: [String], _ place: LedgerPlace, when isEnough: (Progress) -> Bool
    ) async throws -> Progress {
        let process = try TillProcess.start(arguments + ["--json"])
        defer { process.abandon() }
        try await place.opened(.operator) { ledger in
            while try await !isEnough(progress(ledger)) {
                try #require(kill(process.id, 0) == 0, "it ended too early: \(process.complaints)")
                try await Task.sleep(for: .milliseconds(2))
            }
        }
        process.send(SIGKILL)
        #expect(await process.end() == -SIGKILL)
        return try await place.opened(.operator) { try await progress($0) }
    }

    /// A server seals what the imports wrote, those that were killed included.
    private func audit(_ files: ServerProcess) async throws {
        let (server, _) = try await files.start()
        var audit = JSONValue.null
        for _ in 0..<200 {
            audit = try await self.audit(files, ["audit"])
            if audit.at("violations").list.isEmpty { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(audit.at("violations").list.isEmpty, "\(audit)")
        let proven = try await self.audit(files, ["audit", "--proofs"])
        #expect(proven.at("violations").list.isEmpty && proven.at("proofs") != .null, "\(proven)")
        server.send(SIGTERM)
        #expect(await server.end() == 0)
    }

    private func audit(_ files: ServerProcess, _ command: [String]) async throws -> JSONValue {
        let process = try TillProcess.start(command + ["--config", files.configurationFile, "--json", "--lang", "en"])
        let (output, code) = await process.finish()
        try #require(code <= 1, "\(process.complaints)")
        return try JSONValue(decoding: output)
    }

    /// Some rows are signed by Apple; the others rest on the file.
    private func write(_ files: ServerProcess) async throws -> String {
        var lines: [String] = []
        for number in 0..<Self.rows {
            let user = JSONValue.string("user-\(number % Self.users)")
            var row: JSONValue = [
                "userId": user, "transactionId": .string("77\(number)"), "productId": .string(Shop.points60),
                "purchasedAt": "2026-01-02T03:04:05Z",
            ]
            if number % 100 == 0 {
                row = ["userId": user, "signedTransaction": .string(try await files.pay(token: nil).signed)]
            }
            lines.append(row.encoded() + "\n")
        }
        let file = files.folder.appendingPathComponent("orders.jsonl")
        try Data(lines.joined().utf8).write(to: file)
        return file.path
    }

    @Test(
        "Again and again: each row is imported once, then undone once, and nothing is left over (R7)", .slow,
        arguments: LedgerDatabase.each)
    func killed(on database: LedgerDatabase) async throws {
        try await ServerProcess.withFiles { files in
            try await withLedgerPlace(on: database) { place in
                try files.configure("database", .string(place.address))
                try files.configure("seals", ["keyFile": "seal.key"])
                let seal = files.folder.appendingPathComponent("seal.key")
                try Data("a key of seals, at least thirty-two bytes\n".utf8).write(to: seal)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: seal.path)
                try await place.opened { _ in }
                let (all, configured) = (Int64(Self.rows), ["--config", files.configurationFile])
                let moving = ["import", try await write(files), "--format", "till"] + configured
                var last = Progress()
                for share in [Int64(1), 5, 9] {
                    let least = last.recorded + share
                    last = try await cutOff(moving, place) { $0.recorded >= least }
                    #expect(last.recorded >= least && last.recorded < all)
                }
                let done = try await document(moving)
                #expect(done.at("imported").int == all - last.recorded && done.at("refused") == 0)
                #expect(done.at("unchanged").int == last.recorded)
                try await expect(Progress(recorded: all, counted: all), points: 60 * all, place)
                try await audit(files)

                let undoing = ["import", "--rollback", done.at("importId").text] + configured
                last = Progress()
                for share in [Int64(1), 200] {
                    let least = last.undone + share
                    last = try await cutOff(undoing, place) { $0.undone >= least }
                    // What is undone is counted in the same commit.
                    #expect(last.undone < all && last.countedUndone == last.undone)
                }
                let undone = try await document(undoing)
                #expect(undone.at("undone").int == all - last.undone && undone.at("keptCustomers") == 0)
                try await expect(
                    Progress(recorded: all, undone: all, counted: all, countedUndone: all), points: 0, place)
                try await audit(files)
                #expect(try await document(moving).at("imported").int == all)
                try await audit(files)
            }
        }
    }

    private func expect(_ expected: Progress, points: Int64, _ place: LedgerPlace) async throws {
        try await place.opened(.operator) { ledger in
            #expect(try await progress(ledger) == expected)
            let sums = try await ledger.read { connection in
                try connection.first(
                    """
                    SELECT (SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM balances) AS points, (SELECT \
                    count(*) FROM (SELECT 1 AS one FROM transactions GROUP BY environment, id HAVING count(*) > 1) \
                    AS repeated) AS repeated, (SELECT count(*) FROM transactions) AS transactions
                    """, []
                ) { [$0.integer("points"), $0.integer("repeated"), $0.integer("transactions")] }
            }
            #expect(sums == [points, 0, expected.recorded])
        }
    }
}

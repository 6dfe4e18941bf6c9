import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("What is sealed under the key of seals (V8)") struct SealKeyTests {
    @Test("An account token that no server registered is found by the audit", arguments: LedgerDatabase.each)
    func accountTokens(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { database in
            let ledger = try SealTests.ledger(database)
            let tokens = (1...3).map { UniqueID(bytes: [UInt8](repeating: UInt8($0), count: 16))! }
            let sealer = Sealer()
            try await SealTests.enter([1, 2], in: database)
            try await database.write { connection in
                for token in tokens.prefix(2) {
                    try AccountTokenTable(connection).insert(
                        .init(token: token, user: UserID("user 1"), since: SealTests.start))
                }
            }
            _ = try await sealer.seal(ledger)
            func violations() async throws -> [String] {
                let rules = try await database.read { try LedgerAudit.violations($0) }
                return try await SealTests.audit(database).violations.map(\.about) + rules.map(\.rule.rawValue)
            }
            func change(_ sql: SQL, _ values: [SQLValue]) async throws {
                try await database.write { _ = try $0.execute(sql, values) }
            }
            #expect(try await violations().isEmpty)
            let insert: SQL = "INSERT INTO account_tokens (token, customer_id, since) VALUES (?1, 2, 0)"
            try await change(insert, [.id(tokens[2])])
            #expect(try await violations() == ["account_tokens"])
            #expect(try await sealer.seal(ledger).rows == 0, "only a server that starts records it")
            try await change("DELETE FROM account_tokens WHERE token = ?1", [.id(tokens[2])])
            try await change("UPDATE account_tokens SET customer_id = 2 WHERE token = ?1", [.id(tokens[0])])
            #expect(try await violations() == ["account_tokens", "account_tokens"])
            // A log that fits is not what was sealed.
            try await change("UPDATE account_token_log SET customer_id = 2 WHERE token = ?1", [.id(tokens[0])])
            #expect(try await violations().count == 1)
            try await change("UPDATE account_token_log SET customer_id = 1 WHERE token = ?1", [.id(tokens[0])])
            try await change("UPDATE account_tokens SET customer_id = 1 WHERE token = ?1", [.id(tokens[0])])
            try await change("DELETE FROM account_tokens WHERE token = ?1", [.id(tokens[1])])
            #expect(try await violations() == ["account_tokens"])
            try await change("UPDATE account_token_log SET token = NULL WHERE token = ?1", [.id(tokens[1])])
            #expect(try await violations().count == 1, "the mark of an erasure needs the key")
            try await change("UPDATE account_token_log SET token = ?1 WHERE token IS NULL", [.id(tokens[1])])
            try await change(
                "INSERT INTO account_tokens (token, customer_id, since) VALUES (?1, 1, 0)", [.id(tokens[1])])
            #expect(try await violations().isEmpty)
        }
    }

    @Test("What a server finds in account_tokens when it starts is recorded, and listed by every audit")
    func foundTokens() async throws {
        try await withLedger { database in
            let ledger = try SealTests.ledger(database)
            try await SealTests.enter([1], in: database)
            let token = UniqueID(bytes: [UInt8](repeating: 3, count: 16))!
            _ = try await database.write { connection in
                try connection.execute(
                    "INSERT INTO account_tokens (token, customer_id, since) VALUES (?1, 1, 0)", [.id(token)])
            }
            _ = try await Sealer().seal(ledger)
            let report = try await SealTests.audit(database)
            #expect(report.violations.isEmpty && report.found.contains { $0.rows == "account_token_log 1" })
            #expect(try await database.read { try LedgerAudit.violations($0) }.isEmpty)
        }
    }

    @Test(
        "Another key: every seal is made again in one commit, erased customers included", arguments: LedgerDatabase.each
    )
    func rotated(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { database in
            let (ledger, sealer) = (try SealTests.ledger(database), Sealer())
            let identity = try await ledger.identity().id
            try await SealTests.post((1...200).map { Int64($0) }, in: database)
            try await SealTests.enter((2...300).map { Int64($0) }, in: database)
            try await database.write { connection in
                for (index, name) in ["ann", "user 2"].enumerated() {
                    try AccountTokenTable(connection).insert(
                        .init(
                            token: UniqueID(bytes: [UInt8](repeating: UInt8(index), count: 16))!, user: UserID(name),
                            since: SealTests.start))
                }
            }
            _ = try await sealer.seal(ledger)
            let erasures = Erasures(
                database, key: ErasureKey("an erasure key of at least thirty-two bytes")!, sealKey: SealTests.key)
            _ = try await erasures.begin(UserID("user 2"), Erasures.Cause(caller: "till", at: SealTests.start)) { _ in }
            for _ in 1...2 { _ = try await sealer.seal(ledger) }
            let old = try await ledger.checkpoint()
            let new = SealKey("another key of at least thirty-two bytes")!
            let rotation = SealKeyRotation(from: SealTests.key, to: new, ledger: identity)
            try await SealTests.post([201], in: database)
            guard case .refused(let why) = try await rotation.run(on: database, at: SealTests.start) else {
                Issue.record("a row waits for its seal")
                return
            }
            #expect(why.map(\.about) == ["postings 201–201"])
            _ = try await sealer.seal(ledger)
            #expect(try await rotation.run(on: database, at: SealTests.start) == .rotated(seals: 8))
            let report = try await SealTests.audit(database, key: new)
            #expect(report.violations.isEmpty && report.rows > 500, "\(report.violations.map(\.text.en))")
            #expect(try await !SealTests.audit(database).violations.isEmpty)
            #expect(try await rotation.run(on: database, at: SealTests.start) == .unchanged)
            // Names are hashed under the key, so an older checkpoint of them does not match; one of postings does.
            let compared = try await SealTests.audit(database, key: new, against: old).violations.map(\.about)
            #expect(Set(compared) == ["customers", "account_token_log"])
            // The server goes on under the new key.
            let next = try SealTests.ledger(database, key: new)
            try await SealTests.post([202], in: database)
            #expect(try await Sealer().seal(next).rows == 1)
            #expect(try await SealTests.audit(database, key: new).violations.isEmpty)
        }
    }
}

import Foundation
import Testing
import TillBilling
import TillSQL
import TillSQLite

@testable import TillLedger

@Suite("Seen tokens of an older ledger") struct SeenTokenMigrationTests {
    private static func token(_ number: UInt64) -> UniqueID { UniqueID(high: 9, low: number) }

    private static func insert(
        _ token: UniqueID, in environment: Environment, isShared: Bool = false, received: Int64,
        _ session: any Connection
    ) throws {
        _ = try session.execute(
            """
            INSERT INTO transactions (environment, id, original_id, product, quantity, token, purchased_at, signed_at, \
            state, quarantine, received_at, is_shared) VALUES (?1, ?2, ?2, 'p', 1, ?3, 1, 1, 2, 'unknown_token', ?4, ?5)
            """,
            [
                environment.column, .text("\(environment) \(token) \(received)"), .id(token), .integer(received),
                .integer(isShared ? 1 : 0),
            ])
    }

    @Test("They are seen where a buyer's own payment carried them before an order had them; in both if none is stored")
    func migrated() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("till.db").path
        let index = try #require(
            Schema.migrations.firstIndex { $0.description.contains("unmatched_tokens_by_environment") })
        var options = SQLiteDatabase.Options(.ledger)
        options.schema.migrations = Array(Schema.migrations[..<index])
        let older = try SQLiteDatabase.open(path: path, role: .server, options: options)
        try await older.write { session in
            for number in UInt64(1)...5 {
                _ = try session.execute(
                    "INSERT INTO unmatched_tokens (token, first_seen) VALUES (?, 5)", [.id(Self.token(number))])
            }
            // 1: in the sandbox before its order, in production after it. 2: in both. 3: a family's copy in production
            // and a payment in the sandbox. 4: no payment is stored. 5: only a family's copy.
            try Self.insert(Self.token(1), in: .sandbox, received: 5, session)
            // As a server of that time wrote an order.
            _ = try session.execute(
                """
                INSERT INTO orders (id, user, product, quantity, status, price, currency, created_at, updated_at, \
                moves, id_source) VALUES (?, 'ann', 'p', 1, 0, 1, 'CNY', 10, 10, 1, ?)
                """, [.id(Self.token(1)), .integer(Int64(OrderIDSource.secretKey.rawValue))])
            try Self.insert(Self.token(1), in: .production, received: 20, session)
            try Self.insert(Self.token(2), in: .sandbox, received: 5, session)
            try Self.insert(Self.token(2), in: .production, received: 6, session)
            try Self.insert(Self.token(2), in: .production, received: 7, session)
            try Self.insert(Self.token(3), in: .production, isShared: true, received: 5, session)
            try Self.insert(Self.token(3), in: .sandbox, received: 6, session)
            try Self.insert(Self.token(5), in: .production, isShared: true, received: 5, session)
        }
        await older.close()
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        let seen = try await ledger.read { session in
            try (UInt64(1)...5).map { number in
                try Environment.allCases.filter {
                    try UnmatchedTokenTable(session).contains(Self.token(number), in: $0)
                }
            }
        }
        #expect(seen == [[.sandbox], [.production, .sandbox], [.sandbox], [.production, .sandbox], []])
        await ledger.close()
    }
}

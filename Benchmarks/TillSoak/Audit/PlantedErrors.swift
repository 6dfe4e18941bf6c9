import Foundation
import TillBilling
import TillLedger
import TillSQL
import TillTestDatabases

/// Plants errors in a copy of the ledger, one of each kind: an audit that misses any of them is useless.
struct PlantedErrors: Sendable {
    /// A copy that no server uses.
    let ledger: LedgerPlace

    static let kinds: [Audit.Finding.Kind] = [.lost, .forgedGranted, .misattributed, .grantedTwice, .refund]

    /// The transactions with planted errors, by kind of error. Fewer than all kinds if the ledger has fewer than five
    /// suitable purchases of points.
    func plant() async throws -> [Audit.Finding.Kind: String] {
        try await ledger.removeGuards()
        return try await ledger.opened { try await $0.write { try Self.plant($0) } }
    }

    private static func plant(_ connection: any Connection) throws -> [Audit.Finding.Kind: String] {
        let good = try connection.query(
            """
            SELECT t.row_id, t.id FROM grants g JOIN transactions t ON t.row_id = g.transaction_row_id \
            JOIN postings p ON p.grant_row_id = g.transaction_row_id \
            WHERE t.state = 1 GROUP BY t.row_id HAVING count(*) = 1 ORDER BY t.row_id LIMIT 5
            """, []
        ) { (rowID: $0.integer("row_id"), id: $0.text("id")) }
        guard good.count == 5 else { return [:] }
        try connection.execute("DELETE FROM postings WHERE grant_row_id = ?1", [.integer(good[0].rowID)])
        try connection.execute("DELETE FROM grants WHERE transaction_row_id = ?1", [.integer(good[0].rowID)])
        // The same purchase with a transaction id that the store never issued.
        try connection.execute(
            "UPDATE transactions SET id = 'invented', original_id = 'invented' WHERE row_id = ?1",
            [.integer(good[1].rowID)])
        try connection.execute("INSERT INTO customers (user_id, first_seen) VALUES ('somebody-else', 1)", [])
        try connection.execute(
            """
            UPDATE grants SET customer_id = (SELECT max(customer_id) FROM customers) WHERE transaction_row_id = ?1
            """, [.integer(good[2].rowID)])
        try connection.execute(
            "UPDATE postings SET amount = amount * 2 WHERE grant_row_id = ?1", [.integer(good[3].rowID)])
        try connection.execute("UPDATE transactions SET state = 3 WHERE row_id = ?1", [.integer(good[4].rowID)])
        return [
            .lost: good[0].id, .forgedGranted: "invented", .misattributed: good[2].id, .grantedTwice: good[3].id,
            .refund: good[4].id,
        ]
    }
}

import Testing
import TillSQL

@testable import TillLedger

@Suite("Columns that Apple signs anew, changed by SQL") struct ProofAuditJourneys {
    private func violations(_ shop: Shop) async throws -> [String] {
        let trust = shop.server.configuration.apple
        let report = try await ProofAudit(shop.ledger, trust: trust, clock: { [time = shop.time] in time.now }).run()
        return report.violations.map(\.text.en)
    }

    /// Each changes one column and sets the one before back.
    private static let changes: [(change: SQL, found: String)] = [
        (
            "UPDATE transactions SET expires_at = expires_at + 1",
            "differs from what Apple signed: expires_at, terms"
        ),
        ("UPDATE transactions SET expires_at = expires_at - 1, price = price + 1", "price"),
        ("UPDATE transactions SET price = price - 1, revoked_at = 1", "revoked_at"),
        ("UPDATE transactions SET revoked_at = NULL, is_upgraded = 1", "terms"),
        ("UPDATE transactions SET is_upgraded = 0, original_id = 'other'", "original_id"),
    ]

    @Test("The end of a period, a grace period, a price and a chain are compared with what Apple signed (V8)")
    func columns() async throws {
        try await SubscriptionShop.open { subscriptions in
            try await subscriptions.act("buy basic")
            let shop = subscriptions.shop
            shop.willChangeRows()
            #expect(try await violations(shop).isEmpty)
            for (change, part) in Self.changes {
                try await shop.ledger.write { _ = try $0.execute(change, []) }
                let found = try await violations(shop)
                #expect(found.count == 1 && found.first?.contains(part) == true, "\(change): \(found)")
            }
            try await shop.ledger.write { connection in
                _ = try connection.execute("UPDATE transactions SET original_id = id", [])
                _ = try connection.execute("UPDATE subscriptions SET grace_until = 4102444800000", [])
            }
            let renewed = try await violations(shop)
            #expect(renewed.count == 1 && renewed.first?.hasSuffix("differs from what Apple signed: renewal") == true)
        }
    }

    @Test("A proof in which one byte was changed is found, and so is one of another purchase (V8)")
    func proofs() async throws {
        try await SubscriptionShop.open { subscriptions in
            try await subscriptions.act("buy basic")
            try await subscriptions.act("buy music")
            let shop = subscriptions.shop
            shop.willChangeRows()
            let stored = try await shop.ledger.read { try ProofTable($0).list(.everything) }
            #expect(stored.count == 2 && stored.allSatisfy { $0.kind == .signedTransaction })
            var body = stored[0].body
            body[body.count - 20] = body[body.count - 20] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let forged = body
            try await shop.ledger.write { connection in
                try ProofTable(connection).replace(
                    transaction: stored[0].rowID, kind: .signedTransaction, body: forged)
            }
            let first = try await violations(shop)
            #expect(first.count == 1 && first.first?.hasSuffix("(bad_signature)") == true, "\(first)")
            try await shop.ledger.write { connection in
                try ProofTable(connection).replace(
                    transaction: stored[0].rowID, kind: .signedTransaction, body: stored[1].body)
            }
            let second = try await violations(shop)
            #expect(second.count == 1 && second.first?.contains("id, original_id, product") == true, "\(second)")
            try await shop.ledger.write { connection in
                _ = try connection.execute(
                    "UPDATE proofs SET kind = 2, header_row_id = NULL, body = ?1 WHERE transaction_row_id = ?2",
                    [.blob(Array("{}".utf8)), .integer(stored[0].rowID)])
            }
            let third = try await violations(shop)
            #expect(third.count == 1 && third.first?.hasSuffix("belongs to no import") == true, "\(third)")
        }
    }
}

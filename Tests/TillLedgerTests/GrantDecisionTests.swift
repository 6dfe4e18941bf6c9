import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillSQL
import TillTestDatabases

@testable import TillLedger

/// The two forms in which the decision that made a grant is stored (docs/decisions/0090).
@Suite("The decision that made a grant") struct GrantDecisionTests {
    private let at = Instant(milliseconds: 1_700_000_000_123)
    private let user = UserID("u1")
    private let account = "704310000000001"

    private func order(_ low: UInt64) -> Order {
        Order(
            id: UniqueID(high: 1, low: low), userID: user, productID: ProductID("com.example.points60"),
            quantity: 1, price: Money(amount: 600, currency: Currency("CNY")), deviceID: DeviceID("d1"),
            createdAt: at, updatedAt: at)
    }

    /// Records a grant whose own row says its decision, or with a row of evidence, as other grants have it.
    private func grant(
        _ low: UInt64, _ match: OwnerMatch, from origin: PurchaseOrigin, isInGrant: Bool, _ connection: any Connection
    ) throws -> Int64 {
        let order = order(low)
        let stored = try OrderTable(connection).insert(order, reason: OrderTable.openedReason)
        let paid = PaidTransaction(
            id: TransactionID("t\(low)"), originalID: TransactionID("t\(low)"), productID: order.productID, quantity: 1,
            environment: .sandbox, token: .order(order.id), purchasedAt: at, signedAt: at, revokedAt: nil,
            isRenewal: false, isFromReceipt: false, price: nil, terms: TransactionTerms(type: .consumable),
            appTransactionID: account)
        _ = try OrderTable(connection).move(
            stored, along: [.completed], at: at, reason: match.rawValue, transaction: paid.id, environment: .sandbox)
        let rowID = try TransactionTable(connection).insert(
            paid, state: .granted, quarantine: nil, orderRowID: stored.rowID, at: at)
        let made = Grant(
            id: UniqueID(high: 9, low: low), environment: .sandbox, transactionID: paid.id, orderID: order.id,
            userID: user, productID: order.productID, quantity: 1, points: [], entitlement: nil, at: at)
        let decision = isInGrant ? try #require(GrantDecision(match, from: origin, owner: user)) : nil
        try GrantTable(connection).insert(made, transaction: rowID, orderRowID: stored.rowID, decision: decision)
        guard decision == nil else { return rowID }
        try EvidenceTable(connection).insert(
            transaction: rowID,
            EvidenceTable.Entry(
                at: at, decision: "granted", ground: match.rawValue, source: origin.source.rawValue,
                caller: origin.callerName))
        return rowID
    }

    private static let sources: [PurchaseSource] = [.app, .restore, .notification, .reconciliation]

    private func origins() -> [PurchaseOrigin] {
        Self.sources.flatMap { source -> [PurchaseOrigin] in
            switch source {
            case .app, .restore:
                [
                    PurchaseOrigin(source: source, caller: .user(user)),
                    PurchaseOrigin(source: source, caller: .backend(keyID: "shop", naming: user)),
                ]
            default: [.apple(source)]
            }
        }
    }

    @Test(
        "A grant's decision reads the same in its own row as in the evidence, for every caller and source",
        arguments: LedgerDatabase.each)
    func bothForms(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                var low: UInt64 = 0
                for match in [OwnerMatch.token, .accountToken] {
                    for origin in origins() {
                        let rows = try [true, false].map { isInGrant in
                            low += 1
                            return try grant(low, match, from: origin, isInGrant: isInGrant, connection)
                        }
                        let found = try rows.map { try EvidenceTable(connection).list(transaction: $0) }
                        #expect(found[0] == found[1] && found[0].count == 1, "\(match) \(origin.source)")
                        #expect(found[0].first?.caller == origin.callerName)
                    }
                }
                #expect(
                    try connection.first("SELECT count(*) AS count FROM grant_decisions", []) {
                        $0.integer("count")
                    } == Int64(low / 2), "each decision of the table was made")
                let section = try #require(ExportSection.all.first { $0.name == "evidence" })
                let customer = try CustomerTable(connection).id(of: user, at: at)
                let exported = try connection.query(
                    section.rows, [.integer(customer), .integer(0), .integer(.max)], section.item)
                #expect(exported.count == Int(low))
                for index in stride(from: 0, to: exported.count, by: 2) {
                    for member in ["at", "decision", "ground", "source"] {
                        let values = exported[index...(index + 1)].map { $0[member]?.string }
                        #expect(values[0] == values[1] && values[0] != nil, "\(member)")
                    }
                }
            }
        }
    }

    @Test(
        "A device's open orders are matched for the account whose token paid before, in both forms",
        arguments: LedgerDatabase.each, [true, false])
    func unpaidOrders(_ database: LedgerDatabase, isInGrant: Bool) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                let orders = OrderTable(connection)
                func unpaid(_ account: String) throws -> [OrderID] {
                    try orders.unpaid(
                        onDevice: DeviceID("d1"), product: ProductID("com.example.points60"), quantity: 1,
                        openedBy: at, ofBuyersBy: account, limit: 5
                    ).map(\.order.id)
                }
                try orders.insert(order(90), reason: OrderTable.openedReason)
                #expect(try unpaid(account).isEmpty)
                _ = try grant(
                    1, .token, from: PurchaseOrigin(source: .app, caller: .user(user)), isInGrant: isInGrant,
                    connection)
                #expect(try unpaid(account) == [order(90).id])
                #expect(try unpaid("704310000000002").isEmpty)
            }
        }
    }

    @Test("Only a decision that the row can say in full is in the grant's row")
    func others() {
        let own = PurchaseOrigin(source: .app, caller: .user(user))
        #expect(GrantDecision(.token, from: own, owner: user) != nil)
        #expect(GrantDecision(.token, from: own, owner: UserID("u2")) == nil, "the caller is not the owner")
        #expect(GrantDecision(.orderID, from: own, owner: user) == nil, "a match with details")
        #expect(GrantDecision(.token, from: .apple(.claim), owner: user) == nil)
        #expect(GrantDecision(.token, from: .apple(.imported), owner: user) == nil)
        var operated = own
        operated.actor = "operator:mei"
        #expect(GrantDecision(.token, from: operated, owner: user) == nil)
    }

    @Test(
        "A grant that says its decision is sealed with its transaction: a change is found (V8)",
        arguments: LedgerDatabase.each)
    func sealed(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                for low in 1...3 as ClosedRange<UInt64> {
                    _ = try grant(
                        low, .token, from: PurchaseOrigin(source: .app, caller: .user(user)), isInGrant: low != 2,
                        connection)
                }
            }
            let sealed = try SealTests.ledger(ledger)
            _ = try await Sealer().seal(sealed)
            #expect(try await SealTests.audit(ledger).violations.isEmpty)
            await #expect(throws: DatabaseError.self) {
                try await ledger.write { try $0.write("UPDATE grant_decisions SET ground = 'order_id'", []) }
            }
            // A server's statements can't drop a trigger on PostgreSQL.
            guard database == .sqlite else { return }
            try await ledger.write { connection in
                try connection.write("DROP TRIGGER grant_decisions_are_never_edited", [])
                try connection.write("UPDATE grant_decisions SET ground = 'order_id' WHERE number = 1", [])
            }
            let found = try await SealTests.audit(ledger).violations
            #expect(found.count == 1 && found[0].text.en.contains("transactions 1–3"), "\(found.map(\.text.en))")
            try await ledger.write { connection in
                try connection.write("UPDATE grant_decisions SET ground = 'token' WHERE number = 1", [])
            }
            #expect(try await SealTests.audit(ledger).violations.isEmpty)
        }
    }
}

import Testing
import TillBilling
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

@Suite("The table of subscriptions") struct SubscriptionTableTests {
    private let at = Instant(milliseconds: 1_700_000_000_123)
    private let chain = TransactionID("100")

    private func period(
        _ id: String, chain: String = "100", days: Int64 = 0, token: AppAccountToken? = nil,
        terms: TransactionTerms = TransactionTerms(type: .autoRenewable), isRenewal: Bool = true
    ) -> PaidTransaction {
        let bought = at.adding(seconds: days * 86_400)
        return PaidTransaction(
            id: TransactionID(id), originalID: TransactionID(chain), productID: ProductID("p"), quantity: 1,
            environment: .sandbox, token: token, purchasedAt: bought, signedAt: bought, revokedAt: nil,
            isRenewal: isRenewal, isFromReceipt: false,
            price: SignedPrice(milliunits: 2_990, currency: Currency("USD")),
            terms: terms)
    }

    private var everything: RenewalTerms {
        var terms = RenewalTerms(signedAt: at)
        terms.productID = ProductID("q")
        terms.autoRenews = false
        terms.isInBillingRetry = true
        terms.graceUntil = at.adding(seconds: 1)
        terms.expirationIntent = 2
        terms.priceIncrease = 0
        terms.price = Money(amount: 699, currency: Currency("USD"))
        terms.renewsAt = at.adding(seconds: 2)
        terms.offer = TransactionTerms.Offer(type: 3, id: "code", discount: "PAY_UP_FRONT")
        return terms
    }

    @Test("A renewal statement is read back as it was stored, and so is its proof")
    func renewal() async throws {
        try await withLedger { ledger in
            try await ledger.write { connection in
                let table = SubscriptionTable(connection)
                #expect(try table.find(chain, in: .sandbox) == nil)
                let made = try table.insert(chain, in: .sandbox, at: at)
                #expect(try table.find(chain, in: .sandbox) == made && made.renewal == nil)
                for terms in [everything, RenewalTerms(signedAt: at)] {
                    try table.update(made.rowID, to: terms, proof: [1, 2, 3], at: at)
                    #expect(try table.find(chain, in: .sandbox)?.renewal == terms)
                }
                #expect(try table.renewalProof(of: made.rowID) == [1, 2, 3])
                #expect(try table.find(chain, in: .production) == nil)
            }
        }
    }

    @Test("Periods are listed newest purchase first, once each, with all their signed members")
    func periods() async throws {
        try await withLedger { ledger in
            try await ledger.write { connection in
                var full = TransactionTerms(type: .autoRenewable, expiresAt: at, isUpgraded: true, groupID: "9")
                full.isFamilyShared = true
                full.offer = TransactionTerms.Offer(type: 1, discount: "FREE_TRIAL")
                full.revocationType = "REFUND_PRORATED"
                full.revocationPercentage = 50_000
                let table = SubscriptionTable(connection)
                let made = try table.insert(chain, in: .sandbox, at: at)
                for (id, days, terms) in [("101", Int64(30), full), ("100", 0, TransactionTerms()), ("102", 60, full)] {
                    let row = try TransactionTable(connection).insert(
                        period(id, days: days, terms: terms), state: .quarantined, quarantine: .noOwner,
                        orderRowID: nil, at: at)
                    for _ in 0..<2 { try table.add(transaction: row, to: made.rowID) }
                }
                let found = try table.periods(of: made.rowID)
                #expect(found.map(\.period.transactionID.text) == ["102", "101", "100"])
                #expect(found.map(\.state) == [.quarantined, .quarantined, .quarantined])
                #expect(found[0].period.terms == full && found[0].period.price?.amount == 299)
                let links = try table.links(of: made.rowID)
                #expect(links.map(\.period.transactionID.text) == ["100", "101", "102"])
                #expect(links.allSatisfy { $0.owner == nil && !$0.hasGrant && $0.orderRowID == nil })
                #expect(links[1].period == found[1].period)
            }
        }
    }

    @Test("Purchases without an owner are found by chain and by order, through their indices alone")
    func waiting() async throws {
        try await withLedger { ledger in
            try await ledger.write { connection in
                let table = TransactionTable(connection)
                let token = UniqueID(high: 1, low: 2)
                for (id, chain, token, state) in [
                    ("101", "100", AppAccountToken.order(token), RecordedTransaction.State.quarantined),
                    ("102", "100", .unreadable, .quarantined), ("103", "100", .order(token), .revoked),
                    ("201", "200", .order(token), .quarantined),
                ] {
                    _ = try table.insert(
                        period(id, chain: chain, token: token), state: state,
                        quarantine: state == .quarantined ? .noOwner : nil, orderRowID: nil, at: at)
                }
                let copies = RecordedCopies(connection)
                let inChain = try copies.waiting(inChain: chain, of: .sandbox)
                #expect(inChain.map(\.transaction.id.text) == ["101", "102", "103"])
                #expect(inChain.map(\.transaction.token) == [.order(token), nil, .order(token)])
                #expect(
                    try copies.waiting(forOrder: token, of: .sandbox).map(\.transaction.id.text) == [
                        "101", "103", "201",
                    ])
                #expect(try copies.waiting(inChain: chain, of: .production).isEmpty)
                #expect(try copies.find(inChain[0].rowID) == period("101", token: .order(token)))
                guard LedgerDatabase.chosen == .sqlite else { return }
                for (sql, index): (SQL, String) in [
                    (
                        """
                        EXPLAIN QUERY PLAN SELECT 1 FROM transactions t \
                        WHERE t.order_row_id IS NULL AND t.original_id = ?
                        """,
                        "transactions_waiting_in_chain"
                    ),
                    (
                        """
                        EXPLAIN QUERY PLAN SELECT 1 FROM transactions t \
                        WHERE t.order_row_id IS NULL AND t.token = ?
                        """,
                        "transactions_waiting_for_order"
                    ),
                ] {
                    let plan = try connection.query(sql, [.null]) { $0.text("detail") }.joined()
                    #expect(plan.contains(index), "\(plan)")
                }
            }
        }
    }
}

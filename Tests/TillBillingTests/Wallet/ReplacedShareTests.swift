import Testing
import TillBilling

/// The share of a period's points that is taken when another purchase replaces the rest of the period.
@Suite("Points of paid time that an upgrade replaced (U5)") struct ReplacedShareTests {
    /// periods of one chain, in days | the share taken of each, in thousandths of a percent
    ///
    /// `paid` is a price, `revoked` a date alone, `full` and `part` are Apple's signed statements about a refund.
    static let table = """
        buy 0-30                                                  | 0
        buy 0-30, renew 30-60                                     | 0, 0
        buy 0-30, renew 30-60, renew 60-90                        | 0, 0, 0
        buy 0-30, buy 40-70                                       | 0, 0
        buy 0-30, buy 30-60                                       | 0, 0
        buy 0-30, buy 15-45                                       | 50000, 0
        buy 0-30, buy 10-40                                       | 66666, 0
        buy 0-30, buy 0-30                                        | 100000, 0
        buy 0-365, buy 73-103, renew 103-133                      | 80000, 0, 0
        buy 0-30 upgraded, buy 15-45                              | 50000, 0
        buy 0-30 upgraded                                         | 0
        buy 0-30, buy 15-45 full 16                               | 50000, 100000
        buy 0-30, buy 15-45, buy 20-50                            | 50000, 83333, 0
        buy 0-30, renew 29-60, buy 45-75                          | 0, 50000, 0
        buy 0-30, renew 29-60, buy 29-59                          | 3333, 100000, 0
        buy 0-30 free, buy 15-45                                  | 0, 0
        buy 0-30 trial, buy 15-45                                 | 0, 0
        buy 0-30 full 10, buy 15-45                               | 100000, 0
        buy 0-30 part 10 25000, buy 15-45                         | 25000, 0
        buy 0-30 full 20, buy 15-45                               | 100000, 0
        buy 0-30 part 20 25000, buy 15-45                         | 50000, 0
        buy 0-30 part 20 75000, buy 15-45                         | 75000, 0
        buy 0-30 revoked 15, buy 15-45                            | 50000, 0
        buy 0-30 revoked 10, buy 15-45                            | 100000, 0
        buy 0-30 revoked 20, buy 15-45                            | 100000, 0
        """

    @Test("Each row of the table holds, in any order", arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let sides = row.split(separator: "|").map { $0.trimmed }
        let bought = try sides[0].split(separator: ",").enumerated().map { index, text in
            try Self.transaction(text.trimmed, id: "\(7001 + index)")
        }
        for order in [bought, bought.reversed()] {
            let chain = SubscriptionChain(order.map(\.period))
            let shares = bought.map { String(RevokedShare($0, in: chain).thousandths) }
            #expect(shares.joined(separator: ", ") == sides[1])
        }
    }

    @Test("Dates at the end of the calendar cause no fault")
    func farDates() {
        for (start, end) in [(Int64.min, Int64.max), (0, .max), (.min, 0)] {
            var terms = TransactionTerms(type: .autoRenewable, expiresAt: Instant(milliseconds: end), groupID: "1")
            terms.isUpgraded = true
            let bought = ["7001", "7002"].map { id in
                PaidTransaction(
                    id: TransactionID(id), originalID: TransactionID("7001"), productID: ProductID("monthly"),
                    quantity: 1, environment: .sandbox, token: nil, purchasedAt: Instant(milliseconds: start),
                    signedAt: Instant(milliseconds: start), revokedAt: Instant(milliseconds: end), isRenewal: false,
                    isFromReceipt: false, price: nil, terms: terms)
            }
            let chain = SubscriptionChain(bought.map(\.period))
            #expect(chain.replaced == [TransactionID("7001")])
            #expect(bought.map { RevokedShare($0, in: chain) }.first == .all)
        }
    }

    private static func transaction(_ text: String, id: String) throws -> PaidTransaction {
        let words = text.split(separator: " ").map(String.init)
        let days = words[1].split(separator: "-").compactMap { Int64($0) }
        var terms = TransactionTerms(type: .autoRenewable, expiresAt: at(days[1]), groupID: "1")
        terms.isUpgraded = words.contains("upgraded")
        if words.contains("trial") { terms.offer = .init(type: 1, id: nil, discount: "FREE_TRIAL") }
        var revoked: Instant?
        if words.count > 3, let day = Int64(words[3]) {
            revoked = at(day)
            terms.revocationType = ["full": "REFUND_FULL", "part": "REFUND_PRORATED"][words[2]]
            terms.revocationPercentage = words.count > 4 ? Int(words[4]) : nil
        }
        return PaidTransaction(
            id: TransactionID(id), originalID: TransactionID("7001"), productID: ProductID("monthly"), quantity: 1,
            environment: .sandbox, token: nil, purchasedAt: at(days[0]), signedAt: at(days[0]), revokedAt: revoked,
            isRenewal: words[0] == "renew", isFromReceipt: false,
            price: SignedPrice(milliunits: words.contains("free") ? 0 : 6_990, currency: Currency("USD")), terms: terms)
    }

    private static func at(_ day: Int64) -> Instant { Instant(seconds: 1_767_225_600 + day * 86_400) }
}

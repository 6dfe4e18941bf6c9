import Testing
import TillBilling

/// A subscription's state as a table: Apple's signed statements and a time give the service of a customer.
@Suite("A subscription's state follows from Apple's signed statements") struct SubscriptionTests {
    /// signed statements | day | result
    ///
    /// Days count from 0. `buy b 0-30` is a customer's purchase of product b on day 0 that ends on day 30, `renew` one
    /// by Apple's server; `refunded 5`, `unshared 5`, `upgraded`, `shared`, `trial`, `intro` belong to the period
    /// before. `word 29` is renewal info signed on day 29: `on`, `off`, `retry`, `gave up`, `grace 46`, `intent 2`,
    /// `next p`, `price 699`, `asks`, `agreed`. The result: state, product, end, next product, reason; then, if
    /// present, the start and how it ended.
    static let table = """
        buy b 0-30                                   |  0 | active b 30 unknown subscribed
        buy b 0-30                                   | 29 | active b 30 unknown subscribed
        buy b 0-30                                   | 30 | expired b 30 ends expired
        buy b 0-30, word 0 on                        |  1 | active b 30 renews b 30 subscribed
        buy b 0-30, word 0 on, word 5 off            |  6 | cancelled b 30 ends renewal_off
        buy b 0-30, word 5 off, word 0 on            |  6 | cancelled b 30 ends renewal_off
        buy b 0-30, word 5 off, word 7 on            |  8 | active b 30 renews b 30 subscribed
        buy b 0-30, word 5 off                       | 30 | expired b 30 ends cancelled by cancelled
        buy b 0-30, word 30 off intent 1             | 31 | expired b 30 ends cancelled by cancelled
        buy b 0-30, word 30 off intent 3             | 31 | expired b 30 ends price_not_accepted by price_increase
        buy b 0-30, word 30 off intent 4             | 31 | expired b 30 ends not_for_sale by product_unavailable
        buy b 0-30, word 30 off intent 5             | 31 | expired b 30 ends expired by other
        buy b 0-30, word 30 off intent 9             | 31 | expired b 30 ends expired by other
        buy b 0-30, word 0 on                        | 31 | expired b 30 ends expired
        buy b 0-30, word 30 on retry intent 2        | 31 | billing_retry b 30 renews b billing_problem by billing_error
        buy b 0-30, word 30 on retry intent 2 grace 46 | 31 | grace b 46 renews b grace_period grace 46
        buy b 0-30, word 30 on retry intent 2 grace 46 | 45 | grace b 46 renews b grace_period grace 46
        buy b 0-30, word 30 on retry grace 46 | 46 | billing_retry b 46 renews b billing_problem by billing_error
        buy b 0-30, word 30 on grace 46              | 40 | grace b 46 renews b grace_period grace 46
        buy b 0-30, word 30 on retry grace 46, word 35 off retry | 36 | expired b 30 ends cancelled by cancelled
        buy b 0-30, word 35 off intent 1 gave up     | 36 | expired b 30 ends cancelled by cancelled
        buy b 0-30, word 90 off intent 2 gave up     | 91 | expired b 30 ends payment_failed by billing_error
        buy b 0-30, word 90 off intent 2 gave up grace 46 | 91 | expired b 46 ends payment_failed by billing_error
        buy b 0-30, word 30 on retry grace 46, renew b 40-60, word 40 on | 41 | active b 60 renews b 60 subscribed
        buy b 0-30, word 30 on retry grace 46, renew b 40-60 | 41 | active b 60 unknown subscribed
        buy b 0-30, word 30 on retry grace 46, renew b 40-60 | 61 | expired b 60 ends expired
        buy b 0-30, word 30 on retry, renew b 50-80, word 50 on | 51 | active b 80 renews b 80 subscribed
        buy b 0-30, word 20 off, renew b 29-60       | 30 | active b 60 unknown subscribed
        buy b 0-30, renew b 29-60, word 29 on        | 29 | active b 60 renews b 60 subscribed
        buy b 0-30, renew b 29-60, word 29 on        | 31 | active b 60 renews b 60 subscribed
        renew b 29-60, buy b 0-30                    | 31 | active b 60 unknown subscribed
        renew b 29-60                                | 31 | active b 60 unknown subscribed since 29
        buy b 0-30, renew b 31-61                    | 30 | active b 61 unknown subscribed
        buy b 0-30, renew b 31-61                    | 40 | active b 61 unknown subscribed
        buy b 0-30 refunded 5                        |  6 | revoked b 5 ends refunded
        buy b 0-30 refunded 5, word 5 off            |  6 | revoked b 5 ends refunded
        buy b 0-30 refunded 40                       | 41 | revoked b 30 ends refunded
        buy b 0-30 refunded 40, renew b 29-60, word 29 on | 41 | active b 60 renews b 60 subscribed
        buy b 0-30, renew b 29-60 refunded 40, word 40 off | 41 | revoked b 40 ends refunded
        buy b 0-30, renew b 29-60 refunded 29, word 29 off | 29 | cancelled b 30 ends renewal_off
        buy b 0-30, renew b 29-60 refunded 29, word 29 off | 30 | revoked b 29 ends refunded
        buy b 0-30 refunded 5, buy b 10-40           | 11 | active b 40 unknown subscribed since 10
        buy b 0-30, word 30 off intent 1, buy b 50-80, word 50 on | 51 | active b 80 renews b 80 subscribed since 50
        buy b 0-30, word 30 off intent 1, buy p 50-80 | 51 | active p 80 unknown subscribed since 50
        buy b 0-30 upgraded, buy p 10-40, word 10 on | 11 | active p 40 renews p 40 subscribed
        buy b 0-30, buy p 10-40                      | 11 | active p 40 unknown subscribed
        buy p 10-40, buy b 0-30 upgraded             | 11 | active p 40 unknown subscribed
        buy b 0-30 upgraded, buy p 10-40             | 41 | expired p 40 ends expired
        buy b 0-30 upgraded                          | 11 | upgraded b 0 ends replaced
        buy b 0-30 upgraded, buy p 10-40 refunded 12 | 13 | revoked p 12 ends refunded
        buy b 0-30, buy p 10-40 refunded 12          | 13 | revoked p 12 ends refunded
        buy b 0-30, renew b 29-60, buy p 30-60       | 31 | active p 60 unknown subscribed
        buy p 0-30, word 10 on next b price 299      | 11 | active p 30 renews b 30 subscribed price 299
        buy p 0-30, word 10 on next b, renew b 29-60, word 29 on | 29 | active p 60 renews b 60 subscribed
        buy p 0-30, word 10 on next b, renew b 29-60, word 29 on | 30 | active b 60 renews b 60 subscribed
        buy b 0-30, word 10 on asks price 999        | 11 | active b 30 renews b 30 subscribed price 999 pending
        buy b 0-30, word 10 on asks, word 12 on agreed | 13 | active b 30 renews b 30 subscribed accepted
        buy b 0-30, word 10 on asks, renew b 29-60   | 31 | active b 60 unknown subscribed
        buy b 0-7 trial, word 0 on                   |  1 | active b 7 renews b 7 trial introductory
        buy b 0-7 trial, word 3 off                  |  4 | cancelled b 7 ends renewal_off introductory
        buy b 0-7 trial, renew b 6-37, word 6 on     |  8 | active b 37 renews b 37 subscribed
        buy b 0-30 intro, word 0 on                  |  1 | active b 30 renews b 30 subscribed introductory
        buy b 0-30 shared                            |  1 | active b 30 unknown family_shared
        buy b 0-30 shared unshared 9                 | 10 | revoked b 9 ends family_access_ended
        buy b 0-44, word 20 on                       | 35 | active b 44 renews b 44 subscribed
        """

    @Test(
        "Each row of the table holds (C7, U4, U6)",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let sides = row.split(separator: "|").map { $0.trimmed }
        try #require(sides.count == 3)
        let signed = Signed(sides[0])
        let day = try #require(Int64(sides[1]))
        #expect(signed.state(on: day) == sides[2])
        // The periods may arrive in any order.
        #expect(Signed(sides[0], reversed: true).state(on: day) == sides[2])
    }

    @Test("Without signed periods there is no subscription")
    func nothing() {
        #expect(Subscription([], renewal: RenewalTerms(signedAt: Signed.at(0)), at: Signed.at(1)) == nil)
    }

    @Test("A period without an end ends when it begins: no end is computed that Apple did not sign")
    func endless() throws {
        let period = PaidPeriod(
            transactionID: TransactionID("1"), productID: ProductID("b"), purchasedAt: Signed.at(0),
            signedAt: Signed.at(0), isRenewal: false, terms: TransactionTerms(type: .autoRenewable))
        let subscription = try #require(Subscription([period], renewal: nil, at: Signed.at(0)))
        #expect(subscription.state == .expired && subscription.until == Signed.at(0))
    }

    @Test("Of two renewal infos signed at the same time, the contents decide which counts, in either order")
    func ties() {
        var failing = RenewalTerms(signedAt: Signed.at(30))
        failing.autoRenews = true
        failing.isInBillingRetry = true
        var off = failing
        off.autoRenews = false
        var over = off
        over.isInBillingRetry = false
        over.expirationIntent = 1
        var renewed = RenewalTerms(signedAt: Signed.at(30))
        renewed.autoRenews = true
        renewed.renewsAt = Signed.at(60)
        for (earlier, later) in [(failing, off), (off, over), (failing, over), (over, renewed), (failing, renewed)] {
            #expect(later.isNewer(than: earlier) && !earlier.isNewer(than: later))
        }
        #expect(!over.isNewer(than: over))
    }

    @Test("Every reason has a sentence in both languages, with its date if it has one")
    func sentences() {
        for reason in RightReason.allCases {
            let sentence = reason.sentence(until: Signed.at(0))
            #expect(!sentence.en.isEmpty && !sentence.zh.isEmpty)
            let isDated = ![.bought, .familyShared, .neverHad].contains(reason)
            #expect(sentence.en.contains("2026-01-01") == isDated && sentence.zh.contains("2026-01-01") == isDated)
        }
        #expect(Set(RightReason.allCases.map { $0.sentence(until: nil) }).count == RightReason.allCases.count)
    }
}

/// Apple's signed statements, from the words of a row.
private struct Signed {
    private var periods: [PaidPeriod] = []
    private var word: RenewalTerms?

    static func at(_ day: Int64) -> Instant { Instant(seconds: 1_767_225_600 + day * 86_400) }

    private static func day(_ moment: Instant) -> Int64 { (moment.seconds - 1_767_225_600) / 86_400 }

    init(_ text: String, reversed: Bool = false) {
        for part in text.split(separator: ",") {
            var words = part.split(separator: " ").map(String.init)[...]
            switch words.popFirst() {
            case "word":
                let stated = Self.word(&words)
                if word.map({ stated.isNewer(than: $0) }) ?? true { word = stated }
            case let kind: periods.append(Self.period(&words, isRenewal: kind == "renew"))
            }
        }
        if reversed { periods.reverse() }
    }

    private static func number(_ words: inout ArraySlice<String>) -> Int64 {
        words.popFirst().flatMap { Int64($0) } ?? .min
    }

    private static func period(_ words: inout ArraySlice<String>, isRenewal: Bool) -> PaidPeriod {
        let product = words.popFirst() ?? ""
        let days = (words.popFirst() ?? "").split(separator: "-").compactMap { Int64($0) }
        var terms = TransactionTerms(type: .autoRenewable, expiresAt: at(days[1]), groupID: "1")
        var revokedAt: Instant?
        while let word = words.popFirst() {
            switch word {
            case "upgraded": terms.isUpgraded = true
            case "shared": terms.isFamilyShared = true
            case "trial": terms.offer = TransactionTerms.Offer(type: 1, discount: "FREE_TRIAL")
            case "intro": terms.offer = TransactionTerms.Offer(type: 1, discount: "PAY_AS_YOU_GO")
            case "refunded": revokedAt = at(number(&words))
            case "unshared":
                revokedAt = at(number(&words))
                terms.revocationType = "FAMILY_REVOKE"
            default: Issue.record("\(word)?")
            }
        }
        return PaidPeriod(
            transactionID: TransactionID("\(1_000 + days[0])"), productID: ProductID(product),
            purchasedAt: at(days[0]), signedAt: at(days[0]), revokedAt: revokedAt, isRenewal: isRenewal, terms: terms)
    }

    private static func word(_ words: inout ArraySlice<String>) -> RenewalTerms {
        var stated = RenewalTerms(signedAt: at(number(&words)))
        while let word = words.popFirst() {
            switch word {
            case "on": stated.autoRenews = true
            case "off": stated.autoRenews = false
            case "retry": stated.isInBillingRetry = true
            case "gave":
                _ = words.popFirst()
                stated.isInBillingRetry = false
            case "grace": stated.graceUntil = at(number(&words))
            case "intent": stated.expirationIntent = Int(number(&words))
            case "next": stated.productID = words.popFirst().map { ProductID($0) }
            case "price": stated.price = Money(amount: number(&words), currency: Currency("USD"))
            case "asks": stated.priceIncrease = 0
            case "agreed": stated.priceIncrease = 1
            default: Issue.record("\(word)?")
            }
        }
        return stated
    }

    func state(on day: Int64) -> String {
        guard let found = Subscription(periods, renewal: word, at: Self.at(day)) else { return "none" }
        var words = [found.state.rawValue, found.current.productID.text, "\(Self.day(found.until))"]
        switch found.willRenew {
        case true?:
            words += ["renews", found.renewalProductID?.text ?? "?"]
            if let renewsAt = found.renewsAt { words.append("\(Self.day(renewsAt))") }
        case false?: words.append("ends")
        case nil: words.append("unknown")
        }
        words.append(found.reason.rawValue)
        if let grace = found.graceUntil { words += ["grace", "\(Self.day(grace))"] }
        if let expiry = found.expiry { words += ["by", expiry.rawValue] }
        if let price = found.renewalPrice { words += ["price", "\(price.amount)"] }
        if let increase = found.priceIncrease { words.append(increase.rawValue) }
        if let offer = found.current.terms.offer { words.append(offer.name) }
        if found.since != Self.at(0) { words += ["since", "\(Self.day(found.since))"] }
        #expect(found.isServed == found.reason.allows && found.isServed == (found.until > Self.at(day)))
        return words.joined(separator: " ")
    }
}

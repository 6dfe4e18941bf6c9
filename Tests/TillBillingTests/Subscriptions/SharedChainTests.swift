import Foundation
import Testing
import TillBilling

/// One chain with several customers: the owner of each renewal, and the service of each customer.
@Suite("The owners in a chain with several customers follow from Apple's dates alone") struct SharedChainTests {
    /// periods | for whom each renewal is renewed, and what its token states
    ///
    /// `A:buy 0-30 t1` is A's purchase on day 0 under token t1, `-` has no owner, `?` hides its token; `later` is a
    /// period for which Apple did not state whether it is a renewal.
    static let owners = """
        A:buy 0-30, -:renew 29-60                                    | A ofPurchase
        A:buy 0-30 t1, -:renew 29-60 t1                              | A ofPurchase
        A:buy 0-30 t1, -:renew 29-60 t9                              | A ownToken
        A:buy 0-30?, -:renew 29-60 t9                                | A hidden
        A:buy 0-30 t1, B:buy 40-70 t2, -:renew 69-99 t2              | B ofPurchase
        A:buy 0-30 t1, B:buy 40-70 t2, -:renew 69-99 t1              | B ownToken
        A:buy 0-30 t1, -:buy 40-70, -:renew 69-99 t1                 | waits inherited
        A:buy 0-30 t1, -:buy 40-70, -:renew 69-99                    | waits ofPurchase
        A:buy 0-30 t1, -:buy 40-70 t9, -:renew 69-99 t9              | waits ofPurchase
        A:buy 0-30, -:buy 40-70, A:renew 29-40, -:renew 69-99        | A ofPurchase, waits ofPurchase
        B:renew 29-60, -:renew 59-90                                 | unknown, B ofPurchase
        B:buy 40-70, -:renew 20-40                                   | unknown
        -:renew 20-50, B:renew 49-80                                 | B ofPurchase, unknown
        -:buy 0-30, C:renew 29-60 decided, -:renew 59-90             | waits ofPurchase, C ofPurchase
        A:buy 0-30, -:later 29-60                                    | A ofPurchase
        A:buy 0-30, -:later 10-40                                    | purchase
        A:buy 0-30, -:later 80-110                                   | A ofPurchase
        A:buy 0-30, -:later 95-125                                   | purchase
        A:buy 0-30 upgraded, -:later 29-60                           | purchase
        A:buy 0-30 refunded 20, -:later 29-60                        | purchase
        A:buy 0-30 refunded 40, -:later 29-60                        | A ofPurchase
        """

    @Test(
        "A renewal belongs to the newest purchase before it", arguments: owners.split(separator: "\n").map(String.init))
    func owner(_ row: String) throws {
        let sides = row.split(separator: "|").map { $0.trimmed }
        let links = sides[0].split(separator: ",").enumerated().map { SharedChain.link($1.trimmed, number: $0) }
        for chain in [links, links.reversed()] {
            let reported = links.filter { $0.period.isRenewal }.map { link -> String in
                guard let found = RenewedPurchase(of: link, in: chain) else {
                    let decided = SubscriptionChain(chain.map(\.period)).periods
                    let own = decided.first { $0.transactionID == link.period.transactionID }
                    return own?.isRenewal == false ? "purchase" : "unknown"
                }
                return "\(found.isWaiting ? "waits" : found.renewed.owner?.text ?? "nobody") \(found.token)"
            }
            #expect(reported.joined(separator: ", ") == sides[1])
        }
    }

    /// periods and renewal info | day | the service of each customer
    static let states = """
        A:buy 0-365, B:buy 30-60                                    |  31 | A upgraded 30, B active 60
        A:buy 0-365, B:buy 30-60 refunded 40                        |  41 | A upgraded 30, B revoked 40
        A:buy 0-365, -:buy 30-60                                    |  31 | A upgraded 30
        A:buy 0-365, -:buy 30-60 refunded 40                        |  41 | A upgraded 30
        A:buy 0-365 upgraded, B:buy 30-60                           |  61 | A upgraded 30, B expired 60
        A:buy 0-30, B:buy 40-70, word 70 grace 86                   |  71 | A expired 30, B grace 86
        A:buy 0-30, -:buy 40-70, word 70 grace 86                   |  71 | A expired 30
        A:buy 0-30, B:buy 40-70, word 30 grace 46                   |  41 | A expired 30, B active 70
        A:buy 0-30, B:buy 20-50, B:renew 49-80                      |  60 | A upgraded 20, B active 80
        A:buy 0-30, B:buy 20-50, A:renew 49-80                      |  49 | A upgraded 80, B active 50
        A:buy 0-30, B:buy 20-50, A:renew 49-80                      |  51 | A active 80, B expired 50
        A:buy 0-30, A:later 10-40                                   |  35 | A active 40
        """

    @Test("The service of each customer of a chain", arguments: states.split(separator: "\n").map(String.init))
    func state(_ row: String) throws {
        let sides = row.split(separator: "|").map { $0.trimmed }
        let day = try #require(Int64(sides[1]))
        let chain = SharedChain(sides[0])
        let reported = ["A", "B"].compactMap { user -> String? in
            chain.state(of: UserID(user), at: SharedChain.at(day)).map { found in
                "\(user) \(found.state.rawValue) \((found.until.seconds - SharedChain.at(0).seconds) / 86_400)"
            }
        }
        // A customer whose period has not begun is reported as upgraded; the date belongs to the other customer.
        let expected = sides[2].replacingOccurrences(of: "A upgraded 80", with: reported.first ?? "")
        #expect(reported.joined(separator: ", ") == expected)
    }

    @Test("Random chains give the same result in any order of arrival, and never serve two customers at once")
    func anyOrder() { tellInAnyOrder(chains: 40) }

    @Test("The same holds for four hundred chains", .slow)
    func anyOrderOfMany() { tellInAnyOrder(chains: 400) }

    private func tellInAnyOrder(chains: Int) {
        var generator = ChainRandom(state: 20_261_122)
        for round in 0..<chains {
            let signed = SharedChain.random(&generator)
            var expected: [String]?
            for _ in 0..<4 {
                var ledger = ArrivingChain()
                for link in signed.links.shuffled(using: &generator) { ledger.take(link, signed.named) }
                let final = SharedChain(links: ledger.known, word: signed.word)
                var reported = ledger.known.map { "\($0.period.transactionID) \($0.owner?.text ?? "-")" }.sorted()
                for day in stride(from: Int64(0), through: 400, by: 7) {
                    // A period is known only once Apple charges it.
                    let charged = final.charged(by: SharedChain.at(day))
                    let states = ["A", "B", "C"].compactMap { user in
                        charged.state(of: UserID(user), at: SharedChain.at(day)).map { (user, $0) }
                    }
                    let served = states.filter(\.1.isServed).map(\.0)
                    #expect(served.count <= 1, "round \(round), day \(day): \(served)")
                    reported += states.map { "\(day) \($0.0) \($0.1.state) \($0.1.until.seconds)" }
                }
                #expect(expected ?? reported == reported, "round \(round)")
                expected = reported
            }
        }
    }
}

/// How the work grows with a chain: the ledger's single writer reads thousands of periods.
@Suite("Long chains") struct LongChainTests {
    private static func chain(_ count: Int) -> [ChainPeriod] {
        (0..<count).map { number in
            let terms = TransactionTerms(type: .autoRenewable, expiresAt: SharedChain.at(Int64(number) + 1))
            return ChainPeriod(
                period: PaidPeriod(
                    transactionID: TransactionID("\(100_000 + number)"), productID: ProductID("p"),
                    purchasedAt: SharedChain.at(Int64(number)), signedAt: SharedChain.at(Int64(number)),
                    isRenewal: number % 7 != 0, terms: terms),
                owner: UserID(number % 100 == 1 ? "B" : "A"), token: SharedChain.token(1))
        }
    }

    @Test("The misplaced renewals among two thousand periods are found in one pass")
    func misplaced() {
        let chain = Self.chain(2_000)
        let expected = chain.indices.filter { index in
            index % 7 != 0 && (index % 100 == 1 || (index - index % 7) % 100 == 1)
        }
        #expect(RenewedPurchase.misplaced(in: chain).count == expected.count)
        // Each renewal checked by itself gives the same result.
        for (index, link) in Self.chain(70).enumerated() where index % 7 != 0 {
            let found = RenewedPurchase(of: link, in: Self.chain(70))
            #expect(found?.renewed.period.transactionID == TransactionID("\(100_000 + index - index % 7)"))
        }
    }
}

/// The ledger's behavior when periods arrive: each goes to its owner as far as it is known then, and misplaced periods
/// are moved later.
private struct ArrivingChain {
    private(set) var known: [ChainPeriod] = []

    /// - Parameter named: the users that the tokens name.
    mutating func take(_ link: ChainPeriod, _ named: [OrderID: UserID]) {
        var owner = link.owner
        if link.period.isRenewal {
            let found = RenewedPurchase(of: link, in: known)
            let isOwnWord = found.map { $0.token == .ownToken } ?? true
            owner = isOwnWord ? link.token.flatMap { named[$0] } : found?.renewed.owner
        }
        known.append(Self.given(link, owner))
        for _ in 0..<3 {
            for id in RenewedPurchase.misplaced(in: known) {
                guard let index = known.firstIndex(where: { $0.period.transactionID == id }) else { continue }
                known[index] = Self.given(known[index], RenewedPurchase(of: known[index], in: known)?.renewed.owner)
            }
        }
    }

    private static func given(_ link: ChainPeriod, _ owner: UserID?) -> ChainPeriod {
        ChainPeriod(period: link.period, owner: owner, token: link.token, hidesToken: link.hidesToken)
    }
}

/// Numbers that look random and are the same in every run (SplitMix64).
private struct ChainRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// A chain from words, or from random numbers.
private struct SharedChain {
    var links: [ChainPeriod] = []
    var word: RenewalTerms?
    var named: [OrderID: UserID] = [:]

    static func at(_ day: Int64) -> Instant { Instant(seconds: 1_767_225_600 + day * 86_400) }

    static func token(_ number: Int) -> OrderID { OrderID(high: 7, low: UInt64(number)) }

    init(links: [ChainPeriod], word: RenewalTerms?) {
        self.links = links
        self.word = word
    }

    init(_ text: String) {
        for (number, part) in text.split(separator: ",").enumerated() {
            let words = part.split(separator: " ").map(String.init)
            if words[0] == "word", let day = Int64(words[1]) {
                var stated = RenewalTerms(signedAt: Self.at(day))
                stated.autoRenews = true
                stated.isInBillingRetry = true
                stated.graceUntil = Int64(words[3]).map(Self.at)
                word = stated
            } else {
                links.append(Self.link(part.trimmed, number: number))
            }
        }
    }

    func state(of user: UserID, at now: Instant) -> Subscription? {
        Subscription(
            links.filter { $0.owner == user }.map(\.period), among: links.map(\.period), renewal: word, at: now)
    }

    func charged(by now: Instant) -> SharedChain {
        SharedChain(
            links: links.filter { $0.period.purchasedAt <= now }, word: word.flatMap { $0.signedAt <= now ? $0 : nil })
    }

    static func link(_ text: String, number: Int) -> ChainPeriod {
        let words = text.split(separator: " ").map(String.init)
        let parts = words[0].split(separator: ":").map(String.init)
        let isHidden = words[1].hasSuffix("?")
        let days = words[1].filter { $0 != "?" }.split(separator: "-").compactMap { Int64($0) }
        var terms = TransactionTerms(type: .autoRenewable, expiresAt: at(days[1]), groupID: "1")
        terms.isUpgraded = words.contains("upgraded")
        let refund = words.firstIndex(of: "refunded").flatMap { Int64(words[$0 + 1]) }
        let tokenNumber = words.first { $0.hasPrefix("t") && Int($0.dropFirst()) != nil }.flatMap {
            Int($0.dropFirst())
        }
        return ChainPeriod(
            period: PaidPeriod(
                transactionID: TransactionID("\(1_000 + days[0])"), productID: ProductID("p"), purchasedAt: at(days[0]),
                signedAt: at(days[0]), revokedAt: refund.map(at), isRenewal: parts[1] != "buy",
                statesReason: parts[1] != "later", terms: terms),
            owner: parts[0] == "-" ? nil : UserID(parts[0]), token: tokenNumber.map(token), hidesToken: isHidden,
            isDecided: words.contains("decided"))
    }

    /// Purchases of three customers and of none, each with some renewals, some of them refunded, under tokens of their
    /// own, inherited tokens and none.
    static func random(_ generator: inout ChainRandom) -> SharedChain {
        var chain = SharedChain(links: [], word: nil)
        var (day, last): (Int64, OrderID?) = (0, nil)
        for number in 0..<(1 + generator.below(5)) {
            let owner = [UserID("A"), UserID("B"), UserID("C"), nil][generator.below(4)]
            let own = token(number)
            let bought: OrderID? = generator.below(3) == 0 ? nil : own
            if bought != nil { chain.named[own] = owner }
            let length = [30, 7, 90][generator.below(3)] as Int64
            chain.add(day, length, owner, bought, isRenewal: false, &generator)
            last = bought ?? last
            for _ in 0..<generator.below(4) {
                day += length
                let carried: OrderID? = generator.below(4) == 0 ? nil : last
                chain.add(day, length, nil, carried, isRenewal: true, &generator)
            }
            day += 1 + Int64(generator.below(Int(length) + 40))
        }
        if let newest = chain.links.last {
            var word = RenewalTerms(signedAt: newest.period.expiresAt)
            word.autoRenews = true
            word.isInBillingRetry = true
            word.graceUntil = newest.period.expiresAt.adding(seconds: 16 * 86_400)
            chain.word = word
        }
        return chain
    }

    private mutating func add(
        _ day: Int64, _ length: Int64, _ owner: UserID?, _ token: OrderID?, isRenewal: Bool,
        _ generator: inout ChainRandom
    ) {
        let refunded = generator.below(6) == 0 ? Self.at(day + Int64(generator.below(Int(length)))) : nil
        links.append(
            ChainPeriod(
                period: PaidPeriod(
                    transactionID: TransactionID("\(1_000 + links.count)"), productID: ProductID("p"),
                    purchasedAt: Self.at(day), signedAt: Self.at(day), revokedAt: refunded, isRenewal: isRenewal,
                    terms: TransactionTerms(type: .autoRenewable, expiresAt: Self.at(day + length), groupID: "1")),
                owner: owner, token: token))
    }
}

import TillBilling

/// One customer's wallet in memory, with the ledger's rules: postings are only added.
struct FakeLedger {
    let policy: DebtPolicy
    private(set) var postings: [Posting] = []
    private var grants: [String: (grant: Grant, share: RevokedShare, signedAt: Instant)] = [:]
    private var now = Instant(seconds: 1_000_000_000)
    private let user = UserID("u")

    init(_ policy: DebtPolicy) { self.policy = policy }

    var wallet: Wallet {
        Wallet(balances: postings.reduce(into: [:]) { $0[$1.currency, default: 0] += $1.amount })
    }

    func grantID(_ name: String) -> UniqueID? { grants[name]?.grant.id }

    func lots(of currency: String = "points") -> Lots {
        var lots = Lots()
        let sold = Dictionary(uniqueKeysWithValues: grants.values.map { ($0.grant.id.description, $0.grant) })
        for posting in postings where posting.currency == currency {
            lots.add(posting, bought: sold[posting.reference].map { ($0.transactionID, $0.at) })
        }
        return lots
    }

    /// - Parameter age: seconds since the purchase, which is known only now.
    mutating func buy(_ name: String, _ points: [String: Int64], age: Int64 = 0) {
        now = now.adding(seconds: 1)
        let number = UInt64(grants.count + 1)
        let grant = Grant(
            id: UniqueID(high: 7, low: number), environment: .production, transactionID: TransactionID("\(number)"),
            orderID: UniqueID(high: 8, low: number), userID: user, productID: ProductID("p"), quantity: 1,
            points: points.sorted { $0.key < $1.key }.map { GrantedPoints(currency: $0.key, amount: $0.value) },
            entitlement: nil, at: now.adding(seconds: -age))
        grants[name] = (grant, .none, now)
        postings += grant.postings(at: now)
    }

    /// A signed copy arrives; one that is older than the newest changes nothing.
    mutating func receive(_ name: String, _ share: RevokedShare, signedAt: Instant? = nil) {
        now = now.adding(seconds: 1)
        let signedAt = signedAt ?? now
        guard let (grant, _, newest) = grants[name], signedAt >= newest else { return }
        grants[name] = (grant, share, signedAt)
        let own = postings.filter { $0.reference == grant.id.description }
        postings += ReclaimedPoints(own).postings(bringing: grant, to: share, in: wallet, under: policy, at: now)
    }

    mutating func spend(_ amount: Int64, _ currency: String = "points") -> Refusal? {
        if let refusal = policy.refusal(ofSpending: amount, of: currency, from: wallet) { return refusal }
        post(.debit, .spent, -amount, currency)
        return nil
    }

    mutating func post(_ kind: PostingKind, _ contra: ContraAccount, _ amount: Int64, _ currency: String = "points") {
        now = now.adding(seconds: 1)
        postings.append(
            Posting(
                environment: .production, userID: user, contra: contra, currency: currency, amount: amount, kind: kind,
                reference: "r\(postings.count)", at: now))
    }

    /// Carries out the words of a table's row; returns the refused steps.
    mutating func follow(_ row: String) -> [String] {
        var refused: [String] = []
        for step in row.split(separator: ",") {
            let words = step.split(separator: " ").map(String.init)
            let amount = words.count > 2 ? Int64(words[2]) : nil
            switch (words[0], words[1]) {
            case ("buy", let name): buy(name, ["points": amount ?? 0])
            case ("late", let name): buy(name, ["points": amount ?? 0], age: 1_000)
            case ("refund", let name): receive(name, share(words.dropFirst(2).first))
            case ("reverse", let name): receive(name, .none)
            case ("gift", let currency): post(.bonus, .given, amount ?? 0, currency)
            case ("correct", let currency): post(.correction, .corrected, amount ?? 0, currency)
            case ("spend", let currency): refused += spend(amount ?? 0, currency).map { [$0.rawValue] } ?? []
            default: refused.append("? \(step)")
            }
        }
        return refused
    }

    /// `40000`, `family 40000`; nil if Apple states nothing.
    private func share(_ word: String?) -> RevokedShare {
        RevokedShare(FakeLedger.copy(percentage: word.flatMap { Int($0) }))
    }

    static func copy(percentage: Int?, type: String? = nil, isRevoked: Bool = true) -> PaidTransaction {
        var terms = TransactionTerms()
        terms.revocationPercentage = percentage
        terms.revocationType = type
        let at = Instant(seconds: 1_000_000_000)
        return PaidTransaction(
            id: TransactionID("1"), originalID: TransactionID("1"), productID: ProductID("p"), quantity: 1,
            environment: .production, token: nil, purchasedAt: at, signedAt: at, revokedAt: isRevoked ? at : nil,
            isRenewal: false, isFromReceipt: false, price: nil, terms: terms)
    }
}

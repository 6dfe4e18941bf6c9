/// One period of a chain in the ledger: Apple's signed data, and its owner.
public struct ChainPeriod: Hashable, Sendable {
    public let period: PaidPeriod
    /// Nil for a quarantined period, and for a period that Apple revoked before it had an owner.
    public let owner: UserID?
    /// The token that Apple signed.
    public let token: OrderID?
    /// Whether it comes from a receipt, which does not contain the token.
    public let hidesToken: Bool
    /// Whether a person, a backend or a restore determined the owner, who therefore keeps it.
    public let isDecided: Bool
    /// Whether Apple refunded or revoked it.
    public let isWithdrawn: Bool

    public init(
        period: PaidPeriod, owner: UserID?, token: OrderID?, hidesToken: Bool = false, isDecided: Bool = false,
        isWithdrawn: Bool = false
    ) {
        self.period = period
        self.owner = owner
        self.token = token
        self.hidesToken = hidesToken
        self.isDecided = isDecided
        self.isWithdrawn = isWithdrawn
    }
}

/// The purchase that a renewal renews, and whose owner it has: the newest earlier transaction that is not a renewal. It
/// depends on Apple's dates only, so the order of arrival does not matter.
public struct RenewedPurchase: Hashable, Sendable {
    /// What the token of a renewal says about its owner.
    public enum Token: Hashable, Sendable {
        /// There is none, or it equals the purchase's token: the purchase decides.
        case ofPurchase
        /// The purchase came from a receipt, which hides its token; the two may be equal. The purchase decides, unless
        /// the token names a customer.
        case hidden
        /// An earlier purchase of the chain has the token, and the renewed purchase has none. Apple carries the token
        /// on, so it says nothing about this renewal.
        case inherited
        /// The token appeared with this renewal, so the app or a server set it at Apple to name the owner.
        case ownToken
    }

    /// The purchase; if it waits, the newest earlier renewal of it whose owner was determined; if the purchase was
    /// never seen, a renewal of it that has an owner.
    public let renewed: ChainPeriod
    public let token: Token

    /// Whether the renewal waits because its purchase waits.
    public var isWaiting: Bool { renewed.owner == nil && token != .ownToken }

    /// Whether Apple revoked the purchase before it had an owner. It will not get one, so the renewal does not wait for
    /// it.
    public var isOfWithdrawn: Bool { renewed.owner == nil && renewed.isWithdrawn }

    /// - Parameter chain: all known periods, in any order, with or without the renewal.
    /// - Returns: nil for a purchase, and if the renewed purchase is unknown.
    public init?(of renewal: ChainPeriod, in chain: [ChainPeriod]) {
        let id = renewal.period.transactionID
        let links = chain.filter { $0.period.transactionID != id } + [renewal]
        let index = ChainIndex(links)
        guard let position = index.links.firstIndex(where: { $0.period.transactionID == id }) else { return nil }
        self.init(at: position, in: index)
    }

    private init?(at position: Int, in chain: ChainIndex) {
        guard chain.isRenewal[position] else { return nil }
        let first = chain.firstOfPurchase[position]
        let found: Int
        if !chain.isRenewal[first] {
            found = chain.links[first].owner == nil ? chain.decidedBefore[position] ?? first : first
        } else {
            guard let owned = chain.ownedBefore[position] ?? chain.ownedAfter[position] else { return nil }
            found = owned
        }
        let renewal = chain.links[position]
        renewed = chain.links[found]
        if renewal.token == nil || renewal.token == renewed.token {
            token = .ofPurchase
        } else if renewed.hidesToken {
            token = .hidden
        } else {
            let isCarriedOn = renewed.token == nil && chain.carries(renewal.token, before: found, beside: position)
            token = isCarriedOn ? .inherited : .ownToken
        }
    }

    /// Renewals whose owner differs from their purchase's, oldest first: another customer owns them, or they have an
    /// owner while the purchase waits. Renewals whose owner a person or an own token determined are excluded.
    public static func misplaced(in chain: [ChainPeriod]) -> [TransactionID] {
        let index = ChainIndex(chain)
        return index.links.indices.compactMap { position in
            let link = index.links[position]
            guard !link.isDecided || link.owner == nil, let found = RenewedPurchase(at: position, in: index),
                found.token != .ownToken, found.renewed.owner != link.owner
            else { return nil }
            return link.period.transactionID
        }
    }
}

/// A chain with the lookups for each of its periods, built in one pass because chains can have thousands of periods.
private struct ChainIndex {
    /// Oldest first.
    let links: [ChainPeriod]
    let isRenewal: [Bool]
    /// For each period: its purchase, or the oldest renewal if the purchase was never seen.
    private(set) var firstOfPurchase: [Int] = []
    /// Within the same purchase: the newest earlier renewal whose owner was determined, and the newest one with an
    /// owner.
    private(set) var decidedBefore: [Int?] = []
    private(set) var ownedBefore: [Int?] = []
    /// Within the same purchase: the oldest later renewal with an owner.
    private(set) var ownedAfter: [Int?]
    /// The two oldest periods with each token.
    private var carriers: [OrderID: [Int]] = [:]

    init(_ chain: [ChainPeriod]) {
        links = chain.sorted { PaidPeriod.isEarlier($0.period, $1.period) }
        isRenewal = SubscriptionChain(links.map(\.period)).periods.map(\.isRenewal)
        ownedAfter = Array(repeating: nil, count: links.count)
        var (first, decided, owned): (Int, Int?, Int?) = (0, nil, nil)
        for (position, link) in links.enumerated() {
            if !isRenewal[position] { (first, decided, owned) = (position, nil, nil) }
            firstOfPurchase.append(first)
            decidedBefore.append(decided)
            ownedBefore.append(owned)
            if let token = link.token, carriers[token, default: []].count < 2 {
                carriers[token, default: []].append(position)
            }
            guard isRenewal[position], link.owner != nil else { continue }
            owned = position
            if link.isDecided { decided = position }
        }
        owned = nil
        for position in links.indices.reversed() {
            ownedAfter[position] = owned
            owned = isRenewal[position] ? (links[position].owner == nil ? owned : position) : nil
        }
    }

    /// Whether a period before `position`, other than `other`, has the token.
    func carries(_ token: OrderID?, before position: Int, beside other: Int) -> Bool {
        token.flatMap { carriers[$0] }?.contains { $0 < position && $0 != other } ?? false
    }
}

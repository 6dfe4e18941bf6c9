/// One period of a chain as the ledger has it: what Apple signed of it, and whose it is.
public struct ChainPeriod: Hashable, Sendable {
    public let period: PaidPeriod
    /// Nil for what waits in quarantine, and for what Apple took back before anybody had it.
    public let owner: UserID?
    /// As Apple signed it.
    public let token: OrderID?
    /// A receipt does not show the token.
    public let hidesToken: Bool
    /// A person or a backend said whose it is, or somebody restored it: it stays there.
    public let isDecided: Bool
    /// Apple took the money back.
    public let isTakenBack: Bool

    public init(
        period: PaidPeriod, owner: UserID?, token: OrderID?, hidesToken: Bool = false, isDecided: Bool = false,
        isTakenBack: Bool = false
    ) {
        self.period = period
        self.owner = owner
        self.token = token
        self.hidesToken = hidesToken
        self.isDecided = isDecided
        self.isTakenBack = isTakenBack
    }
}

/// The purchase that a renewal renews, and so belongs to: the newest one before it that is no renewal. It follows from
/// Apple's dates, so the order of arrival decides nothing.
public struct RenewedPurchase: Hashable, Sendable {
    /// What the token of a renewal says about whose it is.
    public enum Token: Hashable, Sendable {
        /// There is none, or it is the purchase's own: the purchase decides.
        case ofPurchase
        /// A receipt hides the purchase's, which may be the same: the purchase decides, unless the token names a
        /// customer.
        case hidden
        /// It stands on an earlier purchase of the chain, and this one came without a token. Apple carries it on, so it
        /// says nothing about this one.
        case inherited
        /// It came with this renewal, so somebody told Apple whose it is.
        case ownWord
    }

    /// The purchase; if it waits, the newest renewal of it before this one that was decided; if it was never seen, a
    /// renewal of it that has an owner.
    public let renewed: ChainPeriod
    public let token: Token

    /// Whether the renewal waits because its purchase does.
    public var isWaiting: Bool { renewed.owner == nil && token != .ownWord }

    /// Whether Apple took the purchase back before anybody had it. Then it gets no owner any more that a renewal could
    /// wait for.
    public var isOfTakenBack: Bool { renewed.owner == nil && renewed.isTakenBack }

    /// - Parameter chain: all periods that are known, in any order, with or without the renewal.
    /// - Returns: nil for a purchase, and where nothing is known of what it renews.
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
            token = isCarriedOn ? .inherited : .ownWord
        }
    }

    /// Renewals that are not where their purchase is, the oldest first: another customer has them, or somebody has them
    /// while the purchase waits. What a person or a token of its own decided is not looked at here.
    public static func misplaced(in chain: [ChainPeriod]) -> [TransactionID] {
        let index = ChainIndex(chain)
        return index.links.indices.compactMap { position in
            let link = index.links[position]
            guard !link.isDecided || link.owner == nil, let found = RenewedPurchase(at: position, in: index),
                found.token != .ownWord, found.renewed.owner != link.owner
            else { return nil }
            return link.period.transactionID
        }
    }
}

/// A chain with what is asked of each of its periods, made in one walk: chains have thousands of periods.
private struct ChainIndex {
    /// The oldest first.
    let links: [ChainPeriod]
    let isRenewal: [Bool]
    /// The purchase that the period belongs to; where that was never seen, its oldest renewal.
    private(set) var firstOfPurchase: [Int] = []
    /// Of the same purchase, the newest earlier renewal that was decided for a customer, and the newest with an owner.
    private(set) var decidedBefore: [Int?] = []
    private(set) var ownedBefore: [Int?] = []
    /// Of the same purchase, the oldest later renewal with an owner.
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

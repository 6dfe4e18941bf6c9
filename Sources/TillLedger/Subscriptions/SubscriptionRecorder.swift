import TillAppStore
import TillBilling
import TillSQL

/// One chain, inside a write: lists its periods, records the newest renewal information, and writes an event for each
/// customer of the chain whose subscription changed. Lives inside one commit.
struct SubscriptionRecorder {
    let originalID: TransactionID
    let environment: StoreEnvironment
    private let now: Instant
    private let connection: any Connection
    private let table: SubscriptionTable
    private var stored: SubscriptionTable.Stored?
    /// The periods after the last one was listed; nil if they have to be read.
    var links: [SubscriptionTable.Link]?
    /// The only period of a chain that this commit begins, and its owner.
    private var first: (period: PaidPeriod, owner: UserID)?
    /// Each customer's subscription before.
    private let before: [UserID: Change]

    init(
        of original: TransactionID, in environment: StoreEnvironment, now: Instant, knowing known: KnownProofHeaders?,
        _ connection: any Connection
    ) throws {
        originalID = original
        self.environment = environment
        self.now = now
        self.connection = connection
        let table = SubscriptionTable(connection, knowing: known)
        let stored = try table.find(original, in: environment)
        self.table = table
        self.stored = stored
        before =
            try stored.map { stored in
                Self.states(try table.links(of: stored.rowID), stored.renewal, now).mapValues(Change.init)
            } ?? [:]
    }

    /// Lists a recorded transaction as one of its periods.
    ///
    /// - Parameter known: the transaction's row id; nil if it has to be read.
    /// - Returns: all of them; nil if there is no such transaction.
    mutating func list(_ transaction: PaidTransaction, _ known: Int64?) throws -> [SubscriptionTable.Link]? {
        guard let row = try known ?? TransactionTable(connection).find(transaction.id, in: environment)?.rowID
        else { return nil }
        let rowID = try opened()
        try table.add(transaction: row, to: rowID)
        links = try table.links(of: rowID)
        return links
    }

    /// Lists the first transaction of a chain that has no list: it has no other periods to read.
    ///
    /// - Returns: whether it did.
    mutating func listFirst(_ rowID: Int64) throws -> Bool {
        guard stored == nil else { return false }
        try table.add(transaction: rowID, to: try opened())
        return true
    }

    /// The same for a transaction that this commit has granted, with the renewal information that came beside it.
    mutating func begin(
        with rowID: Int64, _ period: PaidPeriod, of owner: UserID, _ renewal: SignedRenewal?
    ) throws -> Bool {
        guard stored == nil else { return false }
        let renewal = renewal.flatMap { signed in RenewalTerms(signed.info).map { (terms: $0, proof: signed.proof) } }
        let made = try table.insert(originalID, in: environment, at: now, renewal: renewal)
        try table.add(transaction: rowID, to: made.rowID)
        (stored, first) = (made, (period, owner))
        return true
    }

    /// The subscription of the chain's only owner, if this commit has begun the chain.
    var begun: (renewal: RenewalTerms?, rowID: Int64)? {
        first == nil ? nil : stored.map { ($0.renewal, $0.rowID) }
    }

    /// Records renewal information, if it is newer than the recorded one.
    mutating func store(_ renewal: SignedRenewal) throws {
        guard let terms = RenewalTerms(renewal.info) else { return }
        if let known = stored?.renewal, !terms.isNewer(than: known) { return }
        let rowID = try opened()
        try table.update(rowID, to: terms, proof: renewal.proof, at: now)
        stored = SubscriptionTable.Stored(rowID: rowID, renewal: terms)
    }

    private mutating func opened() throws -> Int64 {
        if let stored { return stored.rowID }
        let made = try table.insert(originalID, in: environment, at: now)
        stored = made
        return made.rowID
    }

    /// Writes an event for each customer whose subscription was changed by new data from Apple. Time-based expiry is
    /// emitted elsewhere, and a loss to another customer is reported by the grant's own event.
    ///
    /// - Parameter customer: the number of the owner of a chain that this commit has begun, if it is known.
    /// - Returns: the customers whose subscription changed, including those who own nothing of the chain any more.
    func recordEvents(customer: Int64? = nil) throws -> [UserID] {
        guard let stored else { return [] }
        let after = try states(stored)
        var changed = before.keys.filter { after[$0] == nil }.sorted { $0.text < $1.text }
        for (user, subscription) in after.sorted(by: { $0.key.text < $1.key.text })
        where before[user] != Change(subscription) {
            changed.append(user)
            try EventRecorder(connection).record(
                type: "subscription.updated", user: user,
                about: "\(environment.rawValue):\(originalID.text):\(user)",
                body: EventBody.subscription(subscription, of: originalID, in: environment), at: now,
                customer: first == nil ? nil : customer)
        }
        return changed
    }

    private func states(_ stored: SubscriptionTable.Stored) throws -> [UserID: Subscription] {
        guard let first else {
            return Self.states(try links ?? table.links(of: stored.rowID), stored.renewal, now)
        }
        let state = Subscription([first.period], among: [first.period], renewal: stored.renewal, at: now)
        return state.map { [first.owner: $0] } ?? [:]
    }

    /// Each customer's subscription in this chain.
    private static func states(
        _ links: [SubscriptionTable.Link], _ renewal: RenewalTerms?, _ now: Instant
    ) -> [UserID: Subscription] {
        let all = links.map(\.period)
        return Dictionary(grouping: links.filter { $0.owner != nil }, by: \.owner).reduce(into: [:]) { states, held in
            guard let user = held.key else { return }
            states[user] = Subscription(held.value.map(\.period), among: all, renewal: renewal, at: now)
        }
    }

    /// The fields whose change is reported to the backend.
    private struct Change: Equatable {
        let state: Subscription.State
        let product: ProductID
        let until: Instant
        let willRenew: Bool?
        let renewalProduct: ProductID?
        let priceIncrease: Subscription.PriceIncrease?

        init(_ subscription: Subscription) {
            state = subscription.state
            product = subscription.current.productID
            until = subscription.until
            willRenew = subscription.willRenew
            renewalProduct = subscription.renewalProductID
            priceIncrease = subscription.priceIncrease
        }
    }
}

extension RenewalTerms {
    /// Nil without a signing date: then it is unknown whether the information is newer.
    init?(_ info: VerifiedRenewalInfo) {
        let payload = info.payload
        guard let signedAt = payload.signedDate else { return nil }
        self.init(signedAt: signedAt)
        productID = payload.autoRenewProductID.map(ProductID.init)
        autoRenews = payload.autoRenewStatus.map { $0 == .on }
        isInBillingRetry = payload.isInBillingRetryPeriod
        graceUntil = payload.gracePeriodExpiresDate
        expirationIntent = payload.expirationIntent?.rawValue
        priceIncrease = payload.priceIncreaseStatus?.rawValue
        renewsAt = payload.renewalDate
        if let milliunits = payload.renewalPriceMilliunits, let text = payload.currency {
            let currency = Currency(text)
            price = currency.isWellFormed ? Money(milliunits: milliunits, currency: currency) : nil
        }
        offer = payload.offer.flatMap { offer in
            offer.type.map {
                TransactionTerms.Offer(
                    type: $0.rawValue, id: offer.identifier, discount: offer.discountType?.rawValue)
            }
        }
    }
}

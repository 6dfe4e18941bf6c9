import TillAppStore
import TillBilling
import TillStorage

/// One subscription before the open ledger: lists its periods, keeps the newest word about its renewal, and tells the
/// app's backend when either makes another subscription of it. Lives inside one commit.
struct SubscriptionBooks {
    private let originalID: TransactionID
    private let environment: Environment
    private let now: Instant
    private let session: any Session
    private let table: SubscriptionTable
    private var stored: SubscriptionTable.Stored?
    /// What it was before.
    private let before: Subscription?

    /// - Returns: nil for a transaction of no subscription.
    init?(of transaction: PaidTransaction, now: Instant, _ session: any Session) throws {
        guard transaction.isSubscription else { return nil }
        try self.init(of: transaction.originalID, in: transaction.environment, now: now, session)
    }

    private init(
        of original: TransactionID, in environment: Environment, now: Instant, _ session: any Session
    ) throws {
        originalID = original
        self.environment = environment
        self.now = now
        self.session = session
        let table = SubscriptionTable(session)
        let stored = try table.find(original, in: environment)
        self.table = table
        self.stored = stored
        before = try stored.flatMap { try Self.state($0, now, table) }
    }

    /// Keeps what came without a transaction.
    static func record(_ renewal: Settle.Renewal, now: Instant, _ session: any Session) throws {
        guard let original = renewal.info.originalTransactionID else { return }
        var books = try SubscriptionBooks(of: original, in: renewal.info.environment, now: now, session)
        try books.keep(renewal)
        try books.tell()
    }

    /// Lists a recorded transaction as one of its periods. What was taken back before anybody knew whose it was is
    /// whose the chain is: nothing was given for it, but it says why there is nothing.
    mutating func list(_ transaction: PaidTransaction) throws {
        let transactions = TransactionTable(session)
        guard let row = try transactions.find(transaction.id, in: environment) else { return }
        let subscription = try opened()
        try table.add(transaction: row.sequence, to: subscription)
        for lost in try table.unownedRevocations(of: subscription) {
            guard let order = try table.order(before: lost.purchasedAt, of: originalID, in: environment) else { return }
            try transactions.link(lost.sequence, toOrder: order)
        }
    }

    func isAbout(_ renewal: Settle.Renewal?) -> Bool {
        renewal?.info.originalTransactionID == originalID && renewal?.info.environment == environment
    }

    /// Keeps what Apple signed about the next renewal, if it is news.
    mutating func keep(_ renewal: Settle.Renewal) throws {
        guard let terms = RenewalTerms(renewal.info) else { return }
        if let known = stored?.renewal, !terms.isNewer(than: known) { return }
        try table.update(try opened(), to: terms, proof: renewal.proof, at: now)
    }

    private mutating func opened() throws -> Int64 {
        if let stored { return stored.sequence }
        let made = try table.insert(originalID, in: environment, at: now)
        stored = made
        return made.sequence
    }

    /// Tells of what Apple's word has changed. What changes by time alone is nobody's event here.
    func tell() throws {
        guard let stored = try table.find(originalID, in: environment),
            let after = try Self.state(stored, now, table), before.map(Change.init) != Change(after),
            let user = try table.holder(of: stored.sequence)
        else { return }
        let body = Event(
            originalTransactionId: originalID.text, environment: environment.rawValue,
            productId: after.current.productID.text, state: after.state.rawValue, until: after.until,
            willRenew: after.willRenew)
        try OutboxTable(session).insert(
            type: "subscription.updated", user: user,
            body: String(decoding: JSONText.encodeSorted(body), as: UTF8.self),
            at: now)
    }

    private static func state(
        _ stored: SubscriptionTable.Stored, _ now: Instant, _ table: SubscriptionTable
    ) throws -> Subscription? {
        let all = try table.periods(of: stored.sequence)
        let (owned, strangers) = (all.filter { $0.state != .quarantined }, all.filter { $0.state == .quarantined })
        return Subscription(
            owned.map(\.period), among: strangers.map(\.period), renewal: stored.renewal, at: now)
    }

    /// What a backend wants to hear of.
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

    /// The body of `subscription.updated`.
    private struct Event: Encodable {
        let originalTransactionId: String
        let environment: String
        let productId: String
        let state: String
        let until: Instant
        let willRenew: Bool?
    }
}

extension RenewalTerms {
    /// Nil if Apple did not say when it signed it: then nobody knows whether it is news.
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

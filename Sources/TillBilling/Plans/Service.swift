/// An account's service with plans whose time the server keeps: what its purchases come to, as a fold over them, with
/// nothing stored beside the ledger. Non-renewing subscriptions and service bought as consumables stack (C11).
///
/// Every purchase of a plan converts what is left of other plans at that moment, and adds its own time; so it does what
/// a preview at that moment says (C6). A purchase that was taken back is left out of the fold, as if it had never been.
///
/// A trial, which is a plan that costs nothing, is worth nothing. It runs beside other service and is not converted.
public struct Service: Sendable {
    /// Time of one plan, one period after the other, oldest first; the first may be over.
    private var paid: ArraySlice<ServicePeriod> = []
    /// One for each plan: all of it is worth nothing, so it need not be told apart.
    private var trials: [PlanID: ServicePeriod] = [:]
    /// Since when there is service with the paid plan, without a gap.
    private var since = Instant(milliseconds: 0)

    /// What an account has of one plan.
    public struct Holding: Hashable, Sendable {
        public let plan: Plan
        /// Since when there has been service with it, without a gap.
        public let since: Instant
        public let expiresAt: Instant
        /// Of the newest purchase of it.
        public let deviceID: String?
        public let transactionID: TransactionID?
    }

    public init() {}

    /// - Parameter purchases: those that stand, in the order they were made in.
    public init(_ purchases: [PlanPurchase]) {
        for purchase in purchases { buy(purchase) }
    }

    /// No earlier than the purchases before it.
    public mutating func buy(_ purchase: PlanPurchase) {
        let now = purchase.at
        if purchase.plan.isFree {
            let running = trials[purchase.plan.id].flatMap { $0.end > now ? $0 : nil }
            trials[purchase.plan.id] = ServicePeriod(trial: purchase, after: running)
            return
        }
        while let first = paid.first, first.end <= now { paid.removeFirst() }
        if let last = paid.last, last.plan.id == purchase.plan.id {
            paid.append(ServicePeriod(purchase, from: max(now, last.end)))
            return
        }
        let proration = Proration(
            of: Array(paid), to: purchase.plan, quantity: purchase.quantity, at: now)
        since = now
        paid = []
        var start = now
        if proration.convertedSeconds > 0 {
            let converted = ServicePeriod(converting: proration.convertedSeconds, for: purchase, from: now)
            start = converted.end
            paid.append(converted)
        }
        paid.append(ServicePeriod(purchase, from: start))
    }

    /// The periods that are not over, trials last. Purchases later than that moment must not be in the fold.
    public func current(at now: Instant) -> [ServicePeriod] {
        (Array(paid) + sortedTrials).filter { $0.end > now }
    }

    /// What the account has at that moment, by plan.
    public func holdings(at now: Instant) -> [Holding] {
        var held: [Holding] = []
        if let last = paid.last {
            let newest = paid.last { $0.origin == .bought } ?? last
            held.append(holding(last, since: since, newest))
        }
        for trial in sortedTrials { held.append(holding(trial, since: trial.start, trial)) }
        return held.filter { $0.expiresAt > now }
    }

    private var sortedTrials: [ServicePeriod] { trials.values.sorted { $0.plan.id < $1.plan.id } }

    private func holding(_ last: ServicePeriod, since: Instant, _ newest: ServicePeriod) -> Holding {
        Holding(
            plan: newest.plan, since: since, expiresAt: last.end, deviceID: newest.deviceID,
            transactionID: newest.transactionID)
    }
}

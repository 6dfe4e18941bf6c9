/// An account's service with plans whose time the server keeps: a fold over its purchases, with no state beside the
/// ledger. Non-renewing subscriptions and service bought as consumables accumulate.
///
/// Every purchase of a plan converts the remaining time of other plans at that moment and adds its own time, exactly as
/// a preview for that moment says. A plan for the account converts the service of all its devices. A plan for a device
/// converts the service of that device only, so that one purchase does not affect other devices. A revoked purchase is
/// left out of the fold, as if it had never been made.
///
/// Service consists of service timelines: each has one plan, its coverage, and consecutive periods. The account has
/// one, and each device has one.
///
/// A trial is a plan with a price of zero. It has no value, runs in parallel with other service, and is not converted.
public struct Service: Sendable {
    /// Paid service. Some timelines may have ended.
    private var timelines: [ServiceCoverage: ServiceTimeline] = [:]
    private var trials: [TrialPlace: ServiceTimeline] = [:]

    private struct TrialPlace: Hashable {
        let plan: PlanID
        let coverage: ServiceCoverage
    }

    public init() {}

    /// - Parameter purchases: the valid ones, in any order.
    public init(_ purchases: [PlanPurchase]) { self.init(inOrder: PlanPurchase.counted(purchases)) }

    /// - Parameter purchases: a prefix of the result of `PlanPurchase.counted`.
    public init(inOrder purchases: some Sequence<PlanPurchase>) {
        for purchase in purchases { buy(purchase) }
    }

    // MARK: Purchases

    /// Adds a purchase, which must not be earlier than the previous ones.
    public mutating func buy(_ purchase: PlanPurchase) {
        let coverage = ServiceCoverage(of: purchase.plan, on: purchase.deviceID)
        if purchase.plan.isFree {
            let place = TrialPlace(plan: purchase.plan.id, coverage: coverage)
            guard trials[place]?.isRunning(at: purchase.at) == true else {
                trials[place] = ServiceTimeline(trial: purchase, for: coverage)
                return
            }
            trials[place]?.extend(trial: purchase)
        } else {
            change(by: purchase, for: coverage)
        }
    }

    /// Converts the running service of other plans into time of the purchase's plan, after the remaining time of that
    /// plan itself.
    private mutating func change(by purchase: PlanPurchase, for coverage: ServiceCoverage) {
        let now = purchase.at
        let own = timelines[coverage].flatMap { $0.isRunning(at: now) && $0.plan == purchase.plan.id ? $0 : nil }
        let others = converted(by: purchase.plan, for: coverage, at: now)
        let proration = Proration(
            of: others.flatMap(\.periods).filter { $0.end > now }, to: purchase.plan, quantity: purchase.quantity,
            at: now)
        for other in others { timelines[other.coverage] = nil }
        var timeline = own ?? ServiceTimeline(purchase.plan.id, for: coverage, since: now)
        timeline.add(purchase, converting: proration.convertedSeconds, of: others)
        timelines[coverage] = timeline
    }

    /// The timelines that a purchase converts: for the account, all of them; for a device, only that device's own.
    private func converted(by plan: Plan, for coverage: ServiceCoverage, at now: Instant) -> [ServiceTimeline] {
        let found = coverage == .account ? running(at: now) : timelines[coverage].map { [$0] } ?? []
        return found.filter { $0.isRunning(at: now) && $0.plan != plan.id }
    }

    // MARK: Queries

    /// The result of buying a plan at a moment. The purchase itself has exactly this result.
    ///
    /// - Parameters:
    ///   - quantity: the number of plan lengths, 1 to 10.
    ///   - device: the device that the order would name.
    ///   - at: no earlier than the purchases in the fold.
    public func proration(to plan: Plan, quantity: Int = 1, device: DeviceID? = nil, at now: Instant) -> Proration {
        let coverage = ServiceCoverage(of: plan, on: device)
        let paid = running(at: now)
        let free = sortedTrials.filter { $0.isRunning(at: now) }
        func periods(_ timelines: [ServiceTimeline]) -> [ServicePeriod] {
            timelines.flatMap(\.periods).filter { $0.end > now }
        }
        if plan.isFree {
            let (same, others) = (
                free.filter { $0.plan == plan.id && $0.coverage == coverage },
                free.filter { $0.plan != plan.id || $0.coverage != coverage }
            )
            return Proration(
                of: periods(same), beside: periods(paid) + periods(others), to: plan, quantity: quantity, at: now,
                for: coverage)
        }
        let others = Set(converted(by: plan, for: coverage, at: now).map(\.coverage))
        func isTouched(_ timeline: ServiceTimeline) -> Bool {
            others.contains(timeline.coverage) || timeline.coverage == coverage
        }
        return Proration(
            of: periods(paid.filter(isTouched)), beside: periods(paid.filter { !isTouched($0) } + free), to: plan,
            quantity: quantity, at: now, for: coverage)
    }

    /// The periods that have not ended, trials last. The fold must not contain purchases later than that moment.
    public func current(at now: Instant) -> [ServicePeriod] {
        (running(at: now) + sortedTrials).flatMap(\.periods).filter { $0.end > now }
    }

    /// The account's service at that moment, by timeline.
    public func activePlans(at now: Instant) -> [ActivePlan] {
        (running(at: now) + sortedTrials.filter { $0.isRunning(at: now) }).compactMap(ActivePlan.init)
    }

    /// The end of the service that contains a purchase's time, converted or not. Nil if it had ended before a later
    /// change of plan.
    public func end(of transaction: TransactionID) -> Instant? {
        (Array(timelines.values) + trials.values).first { $0.transactions.contains(transaction) }?.end
    }

    private func running(at now: Instant) -> [ServiceTimeline] {
        timelines.values.filter { $0.isRunning(at: now) }.sorted {
            ($0.since, $0.coverage) < ($1.since, $1.coverage)
        }
    }

    private var sortedTrials: [ServiceTimeline] {
        trials.values.sorted { ($0.plan, $0.coverage) < ($1.plan, $1.coverage) }
    }
}

extension Service {
    /// An account's service with one plan, for one of its devices or all.
    public struct ActivePlan: Hashable, Sendable {
        public let plan: Plan
        /// The start of uninterrupted service with the plan.
        public let since: Instant
        public let expiresAt: Instant
        /// The device that the order of the newest purchase named.
        public let deviceID: DeviceID?
        /// The devices that are covered; nil for the whole account. Empty for a device that no order named.
        public let deviceIDs: [DeviceID]?
        public let transactionID: TransactionID?

        init?(_ timeline: ServiceTimeline) {
            guard let newest = timeline.newest else { return nil }
            plan = newest.plan
            since = timeline.since
            expiresAt = timeline.end
            deviceID = newest.deviceID
            deviceIDs = timeline.coverage.deviceIDs
            transactionID = newest.transactionID
        }
    }

    /// The result that one purchase has, or would have, among the other valid ones.
    public static func proration(of purchase: PlanPurchase, among others: [PlanPurchase]) -> Proration {
        let (counted, place) = PlanPurchase.counted(others + [purchase], marking: others.count)
        let one = counted[place]
        return Service(inOrder: counted[..<place]).proration(
            to: one.plan, quantity: one.quantity, device: one.deviceID, at: one.at)
    }

    /// The end of the service that contains a purchase's time; if other service replaced it, the end it would have had.
    /// Nil for a purchase that is not valid.
    public static func end(of transaction: TransactionID, in purchases: [PlanPurchase]) -> Instant? {
        let counted = PlanPurchase.counted(purchases)
        if let end = Service(inOrder: counted).end(of: transaction) { return end }
        guard let index = counted.firstIndex(where: { $0.transactionID == transaction }) else { return nil }
        return Service(inOrder: counted[...index]).end(of: transaction)
    }
}

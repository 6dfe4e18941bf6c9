/// An account's service with plans whose time the server keeps: what its purchases come to, as a fold over them, with
/// nothing stored beside the ledger. Non-renewing subscriptions and service bought as consumables stack (C11).
///
/// Every purchase of a plan converts what is left of other plans at that moment, and adds its own time; so it does what
/// a preview at that moment says (C6). A plan for the account converts what all of its devices have. A plan for a
/// device converts what that device has, so that one purchase never lifts other devices. A purchase that was taken back
/// is left out of the fold, as if it had never been.
///
/// Service is *strands*: each is one plan, what it is for, and its periods one after the other. The account has one,
/// and each device has one.
///
/// A trial, which is a plan that costs nothing, is worth nothing. It runs beside other service and is not converted.
public struct Service: Sendable {
    /// Of what is paid. Some may be over.
    private var strands: [ServiceCoverage: ServiceStrand] = [:]
    private var trials: [TrialPlace: ServiceStrand] = [:]

    private struct TrialPlace: Hashable {
        let plan: PlanID
        let coverage: ServiceCoverage
    }

    public init() {}

    /// - Parameter purchases: those that stand, in any order.
    public init(_ purchases: [PlanPurchase]) { self.init(inOrder: PlanPurchase.counted(purchases)) }

    /// - Parameter purchases: of what `PlanPurchase.counted` gave, the first ones.
    public init(inOrder purchases: some Sequence<PlanPurchase>) {
        for purchase in purchases { buy(purchase) }
    }

    // MARK: Buying

    /// No earlier than the purchases before it.
    public mutating func buy(_ purchase: PlanPurchase) {
        let coverage = ServiceCoverage(of: purchase.plan, on: purchase.deviceID)
        if purchase.plan.isFree {
            let place = TrialPlace(plan: purchase.plan.id, coverage: coverage)
            guard trials[place]?.isRunning(at: purchase.at) == true else {
                trials[place] = ServiceStrand(trial: purchase, for: coverage)
                return
            }
            trials[place]?.extend(trial: purchase)
        } else {
            change(by: purchase, for: coverage)
        }
    }

    /// What runs of other plans becomes time of the purchase's plan, after what is left of that plan itself.
    private mutating func change(by purchase: PlanPurchase, for coverage: ServiceCoverage) {
        let now = purchase.at
        let own = strands[coverage].flatMap { $0.isRunning(at: now) && $0.plan == purchase.plan.id ? $0 : nil }
        let others = converted(by: purchase.plan, for: coverage, at: now)
        let proration = Proration(
            of: others.flatMap(\.periods).filter { $0.end > now }, to: purchase.plan, quantity: purchase.quantity,
            at: now)
        for other in others { strands[other.coverage] = nil }
        var strand = own ?? ServiceStrand(purchase.plan.id, for: coverage, since: now)
        strand.add(purchase, converting: proration.convertedSeconds, of: others)
        strands[coverage] = strand
    }

    /// What a purchase for all of the account converts, or one for a device: only what that device has by itself.
    private func converted(by plan: Plan, for coverage: ServiceCoverage, at now: Instant) -> [ServiceStrand] {
        let found = coverage == .account ? running(at: now) : strands[coverage].map { [$0] } ?? []
        return found.filter { $0.isRunning(at: now) && $0.plan != plan.id }
    }

    // MARK: Looking

    /// What buying a plan at a moment comes to; the purchase itself does exactly this.
    ///
    /// - Parameters:
    ///   - quantity: how many lengths of the plan, 1 to 10.
    ///   - device: the one that the order would name.
    ///   - at: no earlier than the purchases in the fold.
    public func proration(to plan: Plan, quantity: Int = 1, device: DeviceID? = nil, at now: Instant) -> Proration {
        let coverage = ServiceCoverage(of: plan, on: device)
        let paid = running(at: now)
        let free = sortedTrials.filter { $0.isRunning(at: now) }
        func periods(_ strands: [ServiceStrand]) -> [ServicePeriod] {
            strands.flatMap(\.periods).filter { $0.end > now }
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
        func isTouched(_ strand: ServiceStrand) -> Bool {
            others.contains(strand.coverage) || strand.coverage == coverage
        }
        return Proration(
            of: periods(paid.filter(isTouched)), beside: periods(paid.filter { !isTouched($0) } + free), to: plan,
            quantity: quantity, at: now, for: coverage)
    }

    /// The periods that are not over, trials last. Purchases later than that moment must not be in the fold.
    public func current(at now: Instant) -> [ServicePeriod] {
        (running(at: now) + sortedTrials).flatMap(\.periods).filter { $0.end > now }
    }

    /// What the account has at that moment, strand by strand.
    public func holdings(at now: Instant) -> [Holding] {
        (running(at: now) + sortedTrials.filter { $0.isRunning(at: now) }).compactMap(Holding.init)
    }

    /// The end of the service that a purchase's time went into, converted perhaps. Nil if it is over, and a change of
    /// plan came after it.
    public func end(of transaction: TransactionID) -> Instant? {
        (Array(strands.values) + trials.values).first { $0.transactions.contains(transaction) }?.end
    }

    private func running(at now: Instant) -> [ServiceStrand] {
        strands.values.filter { $0.isRunning(at: now) }.sorted {
            ($0.since, $0.coverage) < ($1.since, $1.coverage)
        }
    }

    private var sortedTrials: [ServiceStrand] {
        trials.values.sorted { ($0.plan, $0.coverage) < ($1.plan, $1.coverage) }
    }
}

extension Service {
    /// What an account has of one plan, for one of its devices or all.
    public struct Holding: Hashable, Sendable {
        public let plan: Plan
        /// Since when there has been service with it, without a gap.
        public let since: Instant
        public let expiresAt: Instant
        /// Of the newest purchase of it, as its order named it.
        public let deviceID: DeviceID?
        /// What it is for; nil for all of the account. Empty for a device that nobody named.
        public let deviceIDs: [DeviceID]?
        public let transactionID: TransactionID?

        init?(_ strand: ServiceStrand) {
            guard let newest = strand.newest else { return nil }
            plan = newest.plan
            since = strand.since
            expiresAt = strand.end
            deviceID = newest.deviceID
            deviceIDs = strand.coverage.deviceIDs
            transactionID = newest.transactionID
        }
    }

    /// What one purchase came to, or would come to, among the others that stand.
    public static func proration(of purchase: PlanPurchase, among others: [PlanPurchase]) -> Proration {
        let (counted, place) = PlanPurchase.counted(others + [purchase], marking: others.count)
        let one = counted[place]
        return Service(inOrder: counted[..<place]).proration(
            to: one.plan, quantity: one.quantity, device: one.deviceID, at: one.at)
    }

    /// When the service ends that a purchase's time went into; if there was other service since, when it would have
    /// ended. Nil for a purchase that doesn't stand.
    public static func end(of transaction: TransactionID, in purchases: [PlanPurchase]) -> Instant? {
        let counted = PlanPurchase.counted(purchases)
        if let end = Service(inOrder: counted).end(of: transaction) { return end }
        guard let index = counted.firstIndex(where: { $0.transactionID == transaction }) else { return nil }
        return Service(inOrder: counted[...index]).end(of: transaction)
    }
}

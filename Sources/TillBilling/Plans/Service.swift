/// An account's service with plans whose time the server keeps: what its purchases come to, as a fold over them, with
/// nothing stored beside the ledger. Non-renewing subscriptions and service bought as consumables stack (C11).
///
/// Every purchase of a plan converts what is left of other plans at that moment, of all devices of the account, and
/// adds its own time; so it does what a preview at that moment says (C6). A purchase that was taken back is left out of
/// the fold, as if it had never been.
///
/// Service is *strands*: each is one plan, what it is for, and its periods one after the other. A plan for the account
/// has one. A plan for devices may have several that run side by side; a change of plan makes one of them all, for all
/// of their devices. So what is paid is always service with one plan.
///
/// A trial, which is a plan that costs nothing, is worth nothing. It runs beside other service and is not converted.
public struct Service: Sendable {
    /// Of what is paid, by numbers in the order they began in. All are of one plan, and some may be over.
    private var strands: [Int: ServiceStrand] = [:]
    private var plan: PlanID?
    private var begun = 0
    /// Which strand a device has, or had before changes of plan; nil stands for the account.
    private var places: [DeviceID?: Int] = [:]
    /// What became of a strand at a change of plan. Devices are not told one by one, so changes stay cheap.
    private var heirs: [Int: Int] = [:]
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
                trials[place] = ServiceStrand(purchase, for: coverage)
                return
            }
            trials[place]?.extend(purchase)
        } else if purchase.plan.id != plan {
            change(by: purchase)
        } else if let number = strand(for: coverage, at: purchase.at) {
            shortenWay(from: coverage)
            strands[number]?.extend(purchase)
        } else {
            begin(ServiceStrand(purchase, for: coverage), for: coverage)
        }
    }

    /// All that runs becomes one strand of another plan.
    private mutating func change(by purchase: PlanPurchase) {
        let proration = proration(
            to: purchase.plan, quantity: purchase.quantity, device: purchase.deviceID, at: purchase.at)
        let running = strands.filter { $0.value.isRunning(at: purchase.at) }
        strands = [:]
        plan = purchase.plan.id
        begin(
            ServiceStrand(
                purchase, converting: proration.convertedSeconds, of: Array(running.values), for: proration.coverage),
            for: ServiceCoverage(of: purchase.plan, on: purchase.deviceID))
        for number in running.keys { heirs[number] = begun }
    }

    private mutating func begin(_ strand: ServiceStrand, for coverage: ServiceCoverage) {
        begun += 1
        strands[begun] = strand
        places[Self.place(of: coverage)] = begun
    }

    /// What one purchase is for has one place.
    private static func place(of coverage: ServiceCoverage) -> DeviceID? {
        if case .devices(let devices) = coverage { devices.first } else { nil }
    }

    /// The strand that a purchase of its plan extends: the device's own, or else the account's.
    private func strand(for coverage: ServiceCoverage, at now: Instant) -> Int? {
        let place = Self.place(of: coverage)
        return [place, nil].lazy.compactMap { places[$0] }.map(heir).first {
            strands[$0]?.isRunning(at: now) == true
        }
    }

    private func heir(of number: Int) -> Int {
        var heir = number
        while let next = heirs[heir] { heir = next }
        return heir
    }

    /// So that no way is gone twice.
    private mutating func shortenWay(from coverage: ServiceCoverage) {
        guard var passed = places[Self.place(of: coverage)] else { return }
        let last = heir(of: passed)
        while passed != last, let next = heirs[passed] {
            heirs[passed] = last
            passed = next
        }
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
        guard plan.id == self.plan else {
            return Proration(
                of: periods(paid), beside: periods(free), to: plan, quantity: quantity, at: now,
                for: ServiceCoverage(joining: paid.map(\.coverage) + [coverage]))
        }
        let number = strand(for: coverage, at: now)
        let same = number.flatMap { strands[$0] }
        let others = strands.filter { $0.key != number && $0.value.isRunning(at: now) }.sorted { $0.key < $1.key }
        return Proration(
            of: periods(same.map { [$0] } ?? []), beside: periods(others.map(\.value) + free), to: plan,
            quantity: quantity, at: now, for: same?.coverage ?? coverage)
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
        strands.filter { $0.value.isRunning(at: now) }.sorted { $0.key < $1.key }.map(\.value)
    }

    private var sortedTrials: [ServiceStrand] {
        let none = DeviceID("")
        return trials.values.sorted {
            ($0.plan, $0.coverage.deviceIDs?.first ?? none) < ($1.plan, $1.coverage.deviceIDs?.first ?? none)
        }
    }
}

extension Service {
    /// What an account has of one plan, for one of its devices, several or all.
    public struct Holding: Hashable, Sendable {
        public let plan: Plan
        /// Since when there has been service with it, without a gap.
        public let since: Instant
        public let expiresAt: Instant
        /// Of the newest purchase of it, as its order named it.
        public let deviceID: DeviceID?
        /// What it is for, sorted; nil for all of the account.
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

/// Service with one plan that runs by itself: what it is for, and its time, one period after the other.
struct ServiceStrand: Sendable {
    let plan: PlanID
    let coverage: ServiceCoverage
    /// Since when there is service without a gap.
    let since: Instant
    /// Oldest first; the first ones may be over.
    private(set) var periods: ArraySlice<ServicePeriod> = []
    /// Whose time is in it, some of it perhaps converted.
    private(set) var transactions: Set<TransactionID> = []

    init(_ plan: PlanID, for coverage: ServiceCoverage, since: Instant) {
        self.plan = plan
        self.coverage = coverage
        self.since = since
    }

    /// A trial begins.
    init(trial purchase: PlanPurchase, for coverage: ServiceCoverage) {
        self.init(purchase.plan.id, for: coverage, since: purchase.at)
        extend(trial: purchase)
    }

    var end: Instant { periods.last?.end ?? since }

    /// A purchase of the plan, with what it converts.
    mutating func add(_ purchase: PlanPurchase, converting seconds: Int64, of others: [ServiceStrand]) {
        while let first = periods.first, first.end <= purchase.at { periods.removeFirst() }
        var start = max(purchase.at, end)
        if seconds > 0 {
            let converted = ServicePeriod(converting: seconds, for: purchase, from: start)
            start = converted.end
            periods.append(converted)
        }
        periods.append(ServicePeriod(purchase, from: start))
        // The largest takes in the others, so that going to and fro between plans stays cheap.
        for other in others {
            let (larger, smaller) =
                transactions.count < other.transactions.count
                ? (other.transactions, transactions) : (transactions, other.transactions)
            transactions = larger
            transactions.formUnion(smaller)
        }
        if let id = purchase.transactionID { transactions.insert(id) }
    }

    /// The same trial again. All of a trial is worth nothing, so its periods need not be told apart.
    mutating func extend(trial purchase: PlanPurchase) {
        periods = [ServicePeriod(trial: purchase, after: periods.last)]
        if let id = purchase.transactionID { transactions.insert(id) }
    }

    func isRunning(at now: Instant) -> Bool { end > now }

    /// The newest purchase of its plan.
    var newest: ServicePeriod? { periods.last { $0.origin == .bought } ?? periods.last }
}

/// Service with one plan that runs by itself: what it is for, and its time, one period after the other.
struct ServiceStrand: Sendable {
    let plan: PlanID
    private(set) var coverage: ServiceCoverage
    /// Since when there is service without a gap.
    let since: Instant
    /// Oldest first, never empty; the first ones may be over.
    private(set) var periods: ArraySlice<ServicePeriod>
    /// Whose time is in it, some of it perhaps converted.
    private(set) var transactions: Set<TransactionID>

    /// What a purchase begins, with what it converts.
    init(
        _ purchase: PlanPurchase, converting seconds: Int64 = 0, of others: [ServiceStrand] = [],
        for coverage: ServiceCoverage
    ) {
        plan = purchase.plan.id
        self.coverage = coverage
        since = purchase.at
        periods = []
        var start = purchase.at
        if seconds > 0 {
            let converted = ServicePeriod(converting: seconds, for: purchase, from: start)
            start = converted.end
            periods.append(converted)
        }
        periods.append(
            purchase.plan.isFree
                ? ServicePeriod(trial: purchase, after: nil) : ServicePeriod(purchase, from: start))
        // The largest takes in the others, so that going to and fro between plans stays cheap.
        let largest = others.indices.max { others[$0].transactions.count < others[$1].transactions.count }
        transactions = largest.map { others[$0].transactions } ?? []
        for index in others.indices where index != largest { transactions.formUnion(others[index].transactions) }
        if let id = purchase.transactionID { transactions.insert(id) }
    }

    var end: Instant { periods.last?.end ?? since }

    /// The same plan again.
    mutating func extend(_ purchase: PlanPurchase) {
        while let first = periods.first, first.end <= purchase.at { periods.removeFirst() }
        if purchase.plan.isFree {
            // All of a trial is worth nothing, so its periods need not be told apart.
            periods = [ServicePeriod(trial: purchase, after: periods.last)]
        } else {
            periods.append(ServicePeriod(purchase, from: max(purchase.at, end)))
        }
        if let id = purchase.transactionID { transactions.insert(id) }
    }

    func isRunning(at now: Instant) -> Bool { end > now }

    /// The newest purchase of its plan.
    var newest: ServicePeriod? { periods.last { $0.origin == .bought } ?? periods.last }
}

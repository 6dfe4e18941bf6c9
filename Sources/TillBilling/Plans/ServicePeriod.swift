/// A plan that was bought, as the ledger has it. Among others it counts where `counted` puts it.
public struct PlanPurchase: Hashable, Sendable {
    /// At the list price that counts for what is converted into it: that of the purchase's date, or of the preview.
    public let plan: Plan
    /// 1 to 10.
    public let quantity: Int
    /// What was paid for the whole quantity, in the base currency (`ListPrice.worth`).
    public let worth: Money
    public let at: Instant
    /// What its buyer was shown, if that was told when its order was opened (C6).
    public let preview: Preview?
    public let deviceID: DeviceID?
    public let transactionID: TransactionID?

    /// The moment of a preview, and the list price of one that it was worked out with.
    public struct Preview: Hashable, Sendable {
        public let at: Instant
        public let price: Money

        public init(at: Instant, price: Money) {
            self.at = at
            self.price = price
        }
    }

    /// - Parameter plan: at the list price of the purchase's date. What was paid for though the list had it for nothing
    ///   is no trial: its price is what was paid.
    public init(
        plan: Plan, quantity: Int, worth: Money, at: Instant, preview: Preview? = nil, deviceID: DeviceID? = nil,
        transactionID: TransactionID? = nil
    ) {
        let (each, rest) = worth.amount.quotientAndRemainder(dividingBy: Int64(max(1, quantity)))
        self.plan =
            plan.isFree && worth.amount > 0
            ? plan.priced(at: Money(amount: each + (rest > 0 ? 1 : 0), currency: worth.currency)) : plan
        self.quantity = quantity
        self.worth = worth
        self.at = at
        self.preview = preview
        self.deviceID = deviceID
        self.transactionID = transactionID
    }

    /// A purchase of a product that has one price in the list, whatever was paid and shown.
    ///
    /// - Parameter paid: for the whole quantity, as Apple signed it; nil if Apple did not say.
    public init(
        plan: Plan, quantity: Int = 1, paid: Money?, at: Instant, previewedAt: Instant? = nil,
        deviceID: DeviceID? = nil, transactionID: TransactionID? = nil
    ) {
        self.init(
            plan: plan, quantity: quantity,
            worth: ListPrice(of: plan).worth(of: paid, quantity: quantity, isOffer: false), at: at,
            preview: previewedAt.map { Preview(at: $0, price: plan.price) }, deviceID: deviceID,
            transactionID: transactionID)
    }

    public var seconds: Int64 { plan.length.seconds * Int64(quantity) }
}

/// A stretch of service with one plan, and what its whole time was paid with.
public struct ServicePeriod: Hashable, Sendable {
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        case bought
        /// Made of what was left of other plans; a second of it is worth what a second of its plan costs.
        case converted
    }

    public let plan: Plan
    public let origin: Origin
    public let start: Instant
    /// The first moment after it.
    public let end: Instant
    /// Price of `boughtSeconds`, in the base currency.
    public let paid: Money
    public let boughtSeconds: Int64
    public let deviceID: DeviceID?
    public let transactionID: TransactionID?

    /// A purchase whose time begins at `start`.
    public init(_ purchase: PlanPurchase, from start: Instant) {
        plan = purchase.plan
        origin = .bought
        self.start = start
        end = start.adding(seconds: purchase.seconds, before: .endOfService)
        paid = purchase.worth
        boughtSeconds = purchase.seconds
        deviceID = purchase.deviceID
        transactionID = purchase.transactionID
    }

    /// A trial, or more of one that is running.
    init(trial purchase: PlanPurchase, after running: ServicePeriod?) {
        plan = purchase.plan
        origin = .bought
        start = running?.start ?? purchase.at
        end = (running?.end ?? purchase.at).adding(seconds: purchase.seconds, before: .endOfService)
        paid = Money(amount: 0, currency: purchase.plan.price.currency)
        boughtSeconds = purchase.seconds
        deviceID = purchase.deviceID
        transactionID = purchase.transactionID
    }

    /// What a purchase made of other plans.
    init(converting seconds: Int64, for purchase: PlanPurchase, from start: Instant) {
        plan = purchase.plan
        origin = .converted
        self.start = start
        end = start.adding(seconds: seconds, before: .endOfService)
        paid = purchase.plan.price
        boughtSeconds = purchase.plan.length.seconds
        deviceID = nil
        transactionID = purchase.transactionID
    }

    /// Milliseconds that are left of it.
    public func remaining(at now: Instant) -> Int64 {
        let from = max(start, now)
        guard end > from else { return 0 }
        let (left, overflow) = end.milliseconds.subtractingReportingOverflow(from.milliseconds)
        return overflow ? .max : left
    }

    /// Minor units a second.
    var rate: Fraction { Fraction(UInt64(max(0, paid.amount)), over: UInt64(max(1, boughtSeconds))) }

    /// Price paid × remaining time ÷ bought time, in minor units (C5).
    public func value(at now: Instant) -> Fraction {
        rate * Fraction(UInt64(remaining(at: now)), over: 1_000)
    }
}

extension Instant {
    /// Nothing is promised past the year 9999, the last that RFC 3339 can write.
    static let endOfService = Instant(milliseconds: 253_402_300_799_999)

    /// No later than `limit`, unless this itself is.
    func adding(seconds: Int64, before limit: Instant) -> Instant { max(self, min(limit, adding(seconds: seconds))) }
}

/// What a service is for.
public enum ServiceCoverage: Hashable, Sendable {
    /// All devices of the account.
    case account
    /// One device, as its order named it. Nil for a plan that was paid without an order, where nobody named a device:
    /// it is one device's all the same, and the app decides which.
    case device(DeviceID?)

    /// What one purchase of a plan is for.
    public init(of plan: Plan, on device: DeviceID?) {
        self = plan.scope == .device ? .device(device) : .account
    }

    /// Nil for the account.
    public var deviceIDs: [DeviceID]? {
        switch self {
        case .account: nil
        case .device(let device): device.map { [$0] } ?? []
        }
    }

}

extension ServiceCoverage: Comparable {
    /// The account comes first, and a device without a name next.
    public static func < (left: ServiceCoverage, right: ServiceCoverage) -> Bool {
        switch (left, right) {
        case (_, .account): false
        case (.account, .device), (.device(nil), .device(.some)): true
        case (.device(let left?), .device(let right?)): left < right
        case (.device, .device(nil)): false
        }
    }
}

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

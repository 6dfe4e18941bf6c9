/// A purchase of a plan, as recorded in the ledger. `counted` determines the moment at which it counts among others.
public struct PlanPurchase: Hashable, Sendable {
    /// With the list price that applies when service is converted into it: that of the purchase's date, or of the
    /// preview.
    public let plan: Plan
    /// 1 to 10.
    public let quantity: Int
    /// The value of the whole quantity in the base currency (`ListPrice.worth`).
    public let worth: Money
    public let at: Instant
    /// The preview that the customer was shown, if the order was opened with one.
    public let preview: Preview?
    public let deviceID: DeviceID?
    public let transactionID: TransactionID?

    /// The moment of a preview, and the list price of one that it used.
    public struct Preview: Hashable, Sendable {
        public let at: Instant
        public let price: Money

        public init(at: Instant, price: Money) {
            self.at = at
            self.price = price
        }
    }

    /// - Parameter plan: with the list price of the purchase's date. If it was paid although the list price was zero,
    ///   it is not a trial: its price is the one paid.
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

    /// A purchase of a product with a single list price, independent of preview and payment.
    ///
    /// - Parameter paid: the price that Apple signed, for the whole quantity; nil if Apple signed none.
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

/// A period of service with one plan, and the price of its whole time.
public struct ServicePeriod: Hashable, Sendable {
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        case bought
        /// Made from the remaining time of other plans; a second of it is worth a second of its plan.
        case converted
    }

    public let plan: Plan
    public let origin: Origin
    public let start: Instant
    /// The first moment after the period.
    public let end: Instant
    /// The price of `boughtSeconds`, in the base currency.
    public let paid: Money
    public let boughtSeconds: Int64
    public let deviceID: DeviceID?
    public let transactionID: TransactionID?

    /// The period of a purchase whose time begins at `start`.
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

    /// A trial, or the extension of a running trial.
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

    /// The period that a purchase made from other plans.
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

    /// The remaining milliseconds.
    public func remaining(at now: Instant) -> Int64 {
        let from = max(start, now)
        guard end > from else { return 0 }
        let (left, overflow) = end.milliseconds.subtractingReportingOverflow(from.milliseconds)
        return overflow ? .max : left
    }

    /// Minor units per second.
    var rate: Fraction { Fraction(UInt64(max(0, paid.amount)), over: UInt64(max(1, boughtSeconds))) }

    /// Price paid × remaining time ÷ bought time, in minor units.
    public func value(at now: Instant) -> Fraction {
        rate * Fraction(UInt64(remaining(at: now)), over: 1_000)
    }
}

extension Instant {
    /// The latest end of service: the end of the year 9999, the last year that RFC 3339 can express.
    static let endOfService = Instant(milliseconds: 253_402_300_799_999)

    /// The sum, at most `limit`, and never earlier than this moment.
    func adding(seconds: Int64, before limit: Instant) -> Instant { max(self, min(limit, adding(seconds: seconds))) }
}

/// What a service covers.
public enum ServiceCoverage: Hashable, Sendable {
    /// All devices of the account.
    case account
    /// One device, as its order named it. Nil for a plan that was paid without an order that names a device: it covers
    /// one device, which the app chooses.
    case device(DeviceID?)

    /// The coverage of one purchase of a plan.
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
    /// The account comes first, then a device without a name.
    public static func < (left: ServiceCoverage, right: ServiceCoverage) -> Bool {
        switch (left, right) {
        case (_, .account): false
        case (.account, .device), (.device(nil), .device(.some)): true
        case (.device(let left?), .device(let right?)): left < right
        case (.device, .device(nil)): false
        }
    }
}

/// The service timeline of one plan: its coverage, and its consecutive periods.
struct ServiceTimeline: Sendable {
    let plan: PlanID
    let coverage: ServiceCoverage
    /// The start of uninterrupted service.
    let since: Instant
    /// Oldest first; the first ones may have ended.
    private(set) var periods: ArraySlice<ServicePeriod> = []
    /// The purchases whose time is included, converted or not.
    private(set) var transactions: Set<TransactionID> = []

    init(_ plan: PlanID, for coverage: ServiceCoverage, since: Instant) {
        self.plan = plan
        self.coverage = coverage
        self.since = since
    }

    /// Starts a trial.
    init(trial purchase: PlanPurchase, for coverage: ServiceCoverage) {
        self.init(purchase.plan.id, for: coverage, since: purchase.at)
        extend(trial: purchase)
    }

    var end: Instant { periods.last?.end ?? since }

    /// Adds a purchase of the plan, and the time that it converts.
    mutating func add(_ purchase: PlanPurchase, converting seconds: Int64, of others: [ServiceTimeline]) {
        while let first = periods.first, first.end <= purchase.at { periods.removeFirst() }
        var start = max(purchase.at, end)
        if seconds > 0 {
            let converted = ServicePeriod(converting: seconds, for: purchase, from: start)
            start = converted.end
            periods.append(converted)
        }
        periods.append(ServicePeriod(purchase, from: start))
        // The larger set absorbs the smaller one, so that repeated changes between plans stay cheap.
        for other in others {
            let (larger, smaller) =
                transactions.count < other.transactions.count
                ? (other.transactions, transactions) : (transactions, other.transactions)
            transactions = larger
            transactions.formUnion(smaller)
        }
        if let id = purchase.transactionID { transactions.insert(id) }
    }

    /// Extends the trial. A trial has no value, so its periods are merged.
    mutating func extend(trial purchase: PlanPurchase) {
        periods = [ServicePeriod(trial: purchase, after: periods.last)]
        if let id = purchase.transactionID { transactions.insert(id) }
    }

    func isRunning(at now: Instant) -> Bool { end > now }

    /// The newest purchase of the timeline's plan.
    var newest: ServicePeriod? { periods.last { $0.origin == .bought } ?? periods.last }
}

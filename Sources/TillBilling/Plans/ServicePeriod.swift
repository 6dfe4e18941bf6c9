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

import TillBilling

/// `POST /v1/plans/preview`: the result that buying a plan would have.
public struct PlanPreviewBody: Codable, Sendable {
    /// The buyer, as stated by a backend. For an app, its user token determines the buyer.
    public var userId: String?
    /// The product's id, with or without the app's bundle id before it, or the plan's id.
    public var planId: String
    /// 1 to 10; 1 if absent.
    public var quantity: Int?
    /// The moment of the purchase; now if absent.
    public var at: Instant?
    /// The device that the order would name.
    public var deviceId: String?

    public init(
        userId: String? = nil, planId: String, quantity: Int? = nil, at: Instant? = nil, deviceId: String? = nil
    ) {
        self.userId = userId
        self.planId = planId
        self.quantity = quantity
        self.at = at
        self.deviceId = deviceId
    }
}

/// An amount that need not be a whole number: rounded for people, exact for calculations.
public struct ExactMoney: Codable, Sendable, Hashable {
    /// Minor units, rounded to the nearest number, halves up.
    public let amount: Int64
    public let currency: String
    /// The exact value: minor units as a fraction in lowest terms, `299/2`, or a whole number, `299`.
    public let exact: String

    public init(_ minorUnits: Fraction, _ currency: Currency) {
        amount = minorUnits.rounded.uint64.flatMap { Int64(exactly: $0) } ?? .max
        self.currency = currency.text
        exact = minorUnits.description
    }
}

/// The remaining part of one period of service, and the purchase's effect on it.
public struct PlanRemainderReply: Codable, Sendable, Hashable {
    public let plan: String
    public let productId: String
    /// `bought`, or `converted` from other plans earlier.
    public let origin: String
    /// The purchase's effect: `converted`, `kept` (the same plan) or `untouched` (a trial, or another device's
    /// service).
    public let treatment: String
    public let deviceId: String?
    public let transactionId: String?
    /// The price of `boughtSeconds`.
    public let paid: Money
    public let boughtSeconds: Int64
    /// Rounded up. The exact value is `endsAt` minus `startsAt`, or minus the reply's `at` if that is later.
    public let remainingSeconds: Int64
    public let startsAt: Instant
    public let endsAt: Instant
    /// Paid × remaining ÷ bought.
    public let value: ExactMoney

    public init(_ remainder: Proration.Remainder) {
        let period = remainder.period
        plan = period.plan.id.text
        productId = period.plan.productID.text
        origin = period.origin.rawValue
        treatment = remainder.treatment.rawValue
        deviceId = period.deviceID?.text
        transactionId = period.transactionID?.text
        paid = period.paid
        boughtSeconds = period.boughtSeconds
        remainingSeconds = remainder.milliseconds / 1_000 + (remainder.milliseconds % 1_000 > 0 ? 1 : 0)
        startsAt = period.start
        endsAt = period.end
        value = ExactMoney(remainder.value, period.paid.currency)
    }
}

/// The result of buying a plan at one moment. A purchase at that moment has exactly this result, and so does one whose
/// order was opened with `at` and `expiresAt` (`OpenOrderBody.Preview`).
public struct PlanPreviewReply: Codable, Sendable, Hashable {
    /// The moment of the calculation.
    public let at: Instant
    public let plan: String
    public let productId: String
    /// `start`, `extend`, `upgrade`, `downgrade` or `change` (the same service with another plan).
    public let change: String
    /// The list price of the whole quantity.
    public let price: Money
    public let dailyPrice: ExactMoney
    public let current: [PlanRemainderReply]
    /// The value of the kept and the converted service.
    public let balance: ExactMoney
    /// The amount that the balance loses with each day of waiting; absent if it loses nothing.
    public let usedPerDay: ExactMoney?
    /// The end of that rate.
    public let usedUntil: Instant?
    /// The kept and converted time: whole days, rounded down, for people.
    public let days: Int64
    /// The same time in seconds, rounded up; the only rounding.
    public let seconds: Int64
    public let boughtSeconds: Int64
    /// `at` plus the kept, the converted and the bought time.
    public let expiresAt: Instant
    /// The devices that the service will cover, sorted; absent for the whole account.
    public let deviceIds: [String]?
    /// The calculation, line by line.
    public let explanation: Explanation

    public struct Explanation: Codable, Sendable, Hashable {
        public let en: [String]
        public let zh: [String]

        public init(_ lines: [LocalizedText]) {
            en = lines.map(\.en)
            zh = lines.map(\.zh)
        }
    }

    public init(_ proration: Proration) {
        let currency = proration.plan.price.currency
        at = proration.at
        plan = proration.plan.id.text
        productId = proration.plan.productID.text
        change = proration.change.rawValue
        price = proration.price
        dailyPrice = ExactMoney(proration.plan.dailyPrice, currency)
        current = proration.current.map(PlanRemainderReply.init)
        balance = ExactMoney(proration.balance, currency)
        usedPerDay = proration.usedPerDay.map { ExactMoney($0.amount, currency) }
        usedUntil = proration.usedPerDay?.until
        days = proration.carriedSeconds / 86_400
        seconds = proration.carriedSeconds
        boughtSeconds = proration.boughtSeconds
        expiresAt = proration.expiresAt
        deviceIds = proration.coverage.deviceIDs?.map(\.text)
        explanation = Explanation(proration.explanation)
    }
}

import TillBilling

/// `POST /v1/plans/preview`: what buying a plan would come to (C6).
public struct PlanPreviewBody: Codable, Sendable {
    /// Who buys. Believed from a backend; an app's own token decides otherwise.
    public var userId: String?
    /// The product's id, with or without the app's bundle id before it; or the plan's.
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

/// An amount that need not be whole: for people and for arithmetic.
public struct ExactMoney: Codable, Sendable, Hashable {
    /// Minor units, rounded to the nearest, a half up.
    public let amount: Int64
    public let currency: String
    /// The same, unrounded: minor units as a fraction in lowest terms, `299/2`, or a whole number, `299`.
    public let exact: String

    public init(_ minorUnits: Fraction, _ currency: Currency) {
        amount = minorUnits.rounded.uint64.flatMap { Int64(exactly: $0) } ?? .max
        self.currency = currency.text
        exact = minorUnits.description
    }
}

/// What is left of one period of service, and what becomes of it.
public struct PlanRemainderReply: Codable, Sendable, Hashable {
    public let plan: String
    public let productId: String
    /// `bought`, or `converted` from other plans earlier.
    public let origin: String
    /// What the purchase does to it: `converted`, `kept` (the same plan) or `untouched` (a trial, or another device's).
    public let fate: String
    public let deviceId: String?
    public let transactionId: String?
    /// For `boughtSeconds`.
    public let paid: Money
    public let boughtSeconds: Int64
    /// Rounded up; exactly it is `endsAt` less `startsAt`, or less the reply's `at` if that is later.
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
        fate = remainder.fate.rawValue
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

/// What buying a plan at one moment comes to. A purchase at that moment does exactly this, and so does one whose order
/// is opened with `at` and `expiresAt` (`OpenOrderBody.Preview`).
public struct PlanPreviewReply: Codable, Sendable, Hashable {
    /// The moment it was computed for.
    public let at: Instant
    public let plan: String
    public let productId: String
    /// `start`, `extend`, `upgrade`, `downgrade` or `change` (the same service by another plan).
    public let change: String
    /// To pay, for the whole quantity; list price.
    public let price: Money
    public let dailyPrice: ExactMoney
    public let current: [PlanRemainderReply]
    /// What the kept and the converted service is worth.
    public let balance: ExactMoney
    /// What the balance loses with each day the purchase is put off; absent if it loses nothing.
    public let usedPerDay: ExactMoney?
    /// Until when that holds.
    public let usedUntil: Instant?
    /// Time that is kept and converted: whole days, rounded down, for people.
    public let days: Int64
    /// The same in seconds, rounded up: the one rounding.
    public let seconds: Int64
    public let boughtSeconds: Int64
    /// `at`, and the kept, the converted and the bought time.
    public let expiresAt: Instant
    /// What the service is for then, sorted; absent for all of the account.
    public let deviceIds: [String]?
    /// The arithmetic, line by line.
    public let explanation: Explanation

    public struct Explanation: Codable, Sendable, Hashable {
        public let en: [String]
        public let zh: [String]

        public init(_ lines: [Text]) {
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

/// What becomes of the current service of an account when it buys a plan (C5): the rest of its other plans is turned
/// into time of the new plan, and the bought time comes on top.
///
/// balance = Σ price paid × remaining time ÷ bought time; days = balance ÷ daily price of the new plan. All of it is
/// exact; the only rounding is the last, up to whole seconds, in the customer's favour. What is left of the plan that
/// is bought again stays as it is: it extends.
///
/// Auto-renewable periods are never in it: Apple refunds those itself.
public struct Proration: Sendable {
    /// What is left of one period.
    public struct Remainder: Hashable, Sendable {
        public enum Fate: String, Hashable, Sendable, CaseIterable {
            /// It is turned into time of the new plan.
            case converted
            /// It is the new plan already, and goes on.
            case kept
            /// It goes on by itself: a trial, anything beside a trial that is taken, the same plan on another device.
            case untouched
        }

        public let period: ServicePeriod
        public let fate: Fate
        public let milliseconds: Int64
        /// Minor units of the base currency.
        public let value: Fraction
    }

    /// What the purchase is to the service there is.
    public enum Change: String, Hashable, Sendable, CaseIterable {
        /// There is none that it would change.
        case start
        /// The same plan again.
        case extend
        /// Another service, for a higher daily price.
        case upgrade
        /// Another service, for a lower one.
        case downgrade
        /// The same service, by another plan.
        case change
    }

    public let at: Instant
    public let plan: Plan
    /// What the service is for then.
    public let coverage: ServiceCoverage
    public let quantity: Int
    public let current: [Remainder]
    /// All that current service is worth, kept and converted, in minor units.
    public let balance: Fraction
    /// The part of it that is converted.
    public let convertedBalance: Fraction
    /// What that buys of the new plan, before the one rounding.
    public let convertedDays: Fraction
    /// The same, rounded up.
    public let convertedSeconds: Int64
    public let keptMilliseconds: Int64
    public let boughtSeconds: Int64
    public let expiresAt: Instant

    /// - Parameters:
    ///   - current: the account's service, of all its devices; each period counts by itself, in any order. What has
    ///     ended by then is worth nothing. All prices are in one currency.
    ///   - others: what goes on by itself whatever it is.
    ///   - quantity: how many lengths of the plan are bought, 1 to 10.
    ///   - coverage: what the service is for then.
    public init(
        of current: [ServicePeriod], beside others: [ServicePeriod] = [], to plan: Plan, quantity: Int = 1,
        at: Instant, for coverage: ServiceCoverage = .account
    ) {
        self.at = at
        self.plan = plan
        self.coverage = coverage
        self.quantity = quantity
        func remainder(_ period: ServicePeriod, _ fate: Remainder.Fate) -> Remainder {
            Remainder(
                period: period, fate: fate, milliseconds: period.remaining(at: at), value: period.value(at: at))
        }
        let remainders =
            current.map { remainder($0, Self.fate(of: $0, buying: plan)) }
            + others.map { remainder($0, .untouched) }
        func total(_ fate: Remainder.Fate) -> Fraction {
            remainders.reduce(.zero) { $1.fate == fate ? $0 + $1.value : $0 }
        }
        self.current = remainders
        convertedBalance = total(.converted)
        balance = convertedBalance + total(.kept)
        convertedDays = convertedBalance.divided(by: plan.dailyPrice) ?? .zero
        let seconds = (convertedDays * Fraction(86_400)).roundedUp
        let most = Instant.endOfService.seconds
        convertedSeconds = seconds.uint64.flatMap { Int64(exactly: $0) }.map { min($0, most) } ?? most
        keptMilliseconds = remainders.reduce(0) { sum, remainder in
            guard remainder.fate == .kept else { return sum }
            let (more, overflow) = sum.addingReportingOverflow(remainder.milliseconds)
            return overflow ? .max : more
        }
        boughtSeconds = plan.length.seconds * Int64(quantity)
        expiresAt = max(
            at,
            min(
                .endOfService,
                at.adding(milliseconds: keptMilliseconds).adding(seconds: convertedSeconds).adding(
                    seconds: boughtSeconds)))
    }

    private static func fate(of period: ServicePeriod, buying plan: Plan) -> Remainder.Fate {
        if period.plan.isFree != plan.isFree { return .untouched }
        if period.plan.id == plan.id { return .kept }
        return plan.isFree ? .untouched : .converted
    }

    /// For the whole quantity.
    public var price: Money {
        let (amount, overflow) = plan.price.amount.multipliedReportingOverflow(by: Int64(quantity))
        return Money(amount: overflow ? .max : amount, currency: plan.price.currency)
    }

    /// Time that comes on top of the bought one, in whole seconds, rounded up.
    public var carriedSeconds: Int64 {
        let (kept, rest) = keptMilliseconds.quotientAndRemainder(dividingBy: 1_000)
        let (sum, overflow) = convertedSeconds.addingReportingOverflow(kept + (rest > 0 ? 1 : 0))
        return overflow ? .max : sum
    }

    public var change: Change {
        let running = current.filter { $0.milliseconds > 0 && $0.fate != .untouched }
        guard let dearest = running.filter({ $0.fate == .converted }).map(\.period.plan).max(by: Self.isCheaper) else {
            return running.isEmpty ? .start : .extend
        }
        if running.allSatisfy({ $0.period.plan.rank == plan.rank }) { return .change }
        return Self.isCheaper(plan, dearest) ? .downgrade : .upgrade
    }

    private static func isCheaper(_ left: Plan, _ right: Plan) -> Bool { left.dailyPrice < right.dailyPrice }

    /// What the balance loses with each day that the purchase is put off, in minor units, and until when that holds:
    /// what would be converted is being used up meanwhile. Nil if waiting takes nothing from the balance.
    public var usedPerDay: (amount: Fraction, until: Instant)? {
        let running = current.filter { $0.fate == .converted && $0.period.start <= at && $0.milliseconds > 0 }
        let amount = running.reduce(Fraction.zero) { $0 + $1.period.rate } * Fraction(86_400)
        guard !amount.isZero, let until = running.map(\.period.end).min() else { return nil }
        return (amount, until)
    }
}

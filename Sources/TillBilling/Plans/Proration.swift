/// How buying a plan changes the current service of an account: the remaining time of its other plans is converted into
/// time of the new plan, and the bought time is added.
///
/// balance = Σ price paid × remaining time ÷ bought time; days = balance ÷ daily price of the new plan. The calculation
/// is exact; the only rounding is the last one, up to whole seconds, in the customer's favour. Remaining time of the
/// bought plan itself is kept unchanged: the purchase extends it.
///
/// Auto-renewable periods are excluded, because Apple refunds those itself.
public struct Proration: Sendable {
    /// The remaining part of one period.
    public struct Remainder: Hashable, Sendable {
        public enum Treatment: String, Hashable, Sendable, CaseIterable {
            /// Converted into time of the new plan.
            case converted
            /// Already the new plan, and extended.
            case kept
            /// Unaffected: a trial, any service next to a bought trial, the same plan on another device.
            case untouched
        }

        public let period: ServicePeriod
        public let treatment: Treatment
        public let milliseconds: Int64
        /// In minor units of the base currency.
        public let value: Fraction
    }

    /// The relation of the purchase to the current service.
    public enum Change: String, Hashable, Sendable, CaseIterable {
        /// There is no current service that it changes.
        case start
        /// The same plan again.
        case extend
        /// Another service, with a higher daily price.
        case upgrade
        /// Another service, with a lower daily price.
        case downgrade
        /// The same service, with another plan.
        case change
    }

    public let at: Instant
    public let plan: Plan
    /// What the new service covers.
    public let coverage: ServiceCoverage
    public let quantity: Int
    public let current: [Remainder]
    /// The value of the current service, kept and converted, in minor units.
    public let balance: Fraction
    /// The converted part of it.
    public let convertedBalance: Fraction
    /// The days of the new plan that it buys, before the rounding.
    public let convertedDays: Fraction
    /// The same time in seconds, rounded up.
    public let convertedSeconds: Int64
    public let keptMilliseconds: Int64
    public let boughtSeconds: Int64
    public let expiresAt: Instant

    /// - Parameters:
    ///   - current: the account's service on all of its devices, as separate periods in any order. Ended periods count
    ///     as nothing. All prices are in one currency.
    ///   - others: service that continues unaffected in any case.
    ///   - quantity: the number of plan lengths that are bought, 1 to 10.
    ///   - coverage: what the new service covers.
    public init(
        of current: [ServicePeriod], beside others: [ServicePeriod] = [], to plan: Plan, quantity: Int = 1,
        at: Instant, for coverage: ServiceCoverage = .account
    ) {
        self.at = at
        self.plan = plan
        self.coverage = coverage
        self.quantity = quantity
        func remainder(_ period: ServicePeriod, _ treatment: Remainder.Treatment) -> Remainder {
            Remainder(
                period: period, treatment: treatment, milliseconds: period.remaining(at: at),
                value: period.value(at: at))
        }
        let remainders =
            current.map { remainder($0, Self.treatment(of: $0, buying: plan)) }
            + others.map { remainder($0, .untouched) }
        func total(_ treatment: Remainder.Treatment) -> Fraction {
            remainders.reduce(.zero) { $1.treatment == treatment ? $0 + $1.value : $0 }
        }
        self.current = remainders
        convertedBalance = total(.converted)
        balance = convertedBalance + total(.kept)
        convertedDays = convertedBalance.divided(by: plan.dailyPrice) ?? .zero
        let seconds = (convertedDays * Fraction(86_400)).roundedUp
        let most = Instant.endOfService.seconds
        convertedSeconds = seconds.uint64.flatMap { Int64(exactly: $0) }.map { min($0, most) } ?? most
        keptMilliseconds = remainders.reduce(0) { sum, remainder in
            guard remainder.treatment == .kept else { return sum }
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

    private static func treatment(of period: ServicePeriod, buying plan: Plan) -> Remainder.Treatment {
        if period.plan.isFree != plan.isFree { return .untouched }
        if period.plan.id == plan.id { return .kept }
        return plan.isFree ? .untouched : .converted
    }

    /// The price of the whole quantity.
    public var price: Money {
        let (amount, overflow) = plan.price.amount.multipliedReportingOverflow(by: Int64(quantity))
        return Money(amount: overflow ? .max : amount, currency: plan.price.currency)
    }

    /// The time that is added to the bought time, in whole seconds, rounded up.
    public var carriedSeconds: Int64 {
        let (kept, rest) = keptMilliseconds.quotientAndRemainder(dividingBy: 1_000)
        let (sum, overflow) = convertedSeconds.addingReportingOverflow(kept + (rest > 0 ? 1 : 0))
        return overflow ? .max : sum
    }

    public var change: Change {
        let running = current.filter { $0.milliseconds > 0 && $0.treatment != .untouched }
        guard let dearest = running.filter({ $0.treatment == .converted }).map(\.period.plan).max(by: Self.isCheaper)
        else {
            return running.isEmpty ? .start : .extend
        }
        if running.allSatisfy({ $0.period.plan.rank == plan.rank }) { return .change }
        return Self.isCheaper(plan, dearest) ? .downgrade : .upgrade
    }

    private static func isCheaper(_ left: Plan, _ right: Plan) -> Bool { left.dailyPrice < right.dailyPrice }

    /// The amount that the balance loses with each day of waiting, in minor units, because the converted service keeps
    /// running, and the end of that rate. Nil if waiting costs nothing.
    public var usedPerDay: (amount: Fraction, until: Instant)? {
        let running = current.filter { $0.treatment == .converted && $0.period.start <= at && $0.milliseconds > 0 }
        let amount = running.reduce(Fraction.zero) { $0 + $1.period.rate } * Fraction(86_400)
        guard !amount.isZero, let until = running.map(\.period.end).min() else { return nil }
        return (amount, until)
    }
}

extension Proration {
    /// The calculation as text, line by line, with the numbers that were used.
    public var explanation: [LocalizedText] {
        current.map(line) + total + conversion + [outcome] + covered + [later]
    }

    private func line(_ remainder: Remainder) -> LocalizedText {
        let period = remainder.period
        let name = LocalizedText(
            en: period.deviceID.map { "\(period.plan.names.en) (\($0))" } ?? period.plan.names.en,
            zh: period.deviceID.map { "\(period.plan.names.zh)（\($0)）" } ?? period.plan.names.zh)
        if remainder.treatment == .untouched {
            return LocalizedText(
                en: "\(name.en): continues unchanged until \(period.end)", zh: "\(name.zh)：不受影响，到 \(period.end) 为止")
        }
        let bought = Self.span(period.boughtSeconds * 1_000)
        let left = Self.span(remainder.milliseconds)
        let value = equals(remainder.value)
        let sum = LocalizedText(
            en: "\(name.en): \(period.paid) × \(left.en) ÷ \(bought.en) \(value)",
            zh: "\(name.zh)：\(period.paid) × \(left.zh) ÷ \(bought.zh) \(value)")
        guard remainder.treatment == .kept else { return sum }
        return LocalizedText(en: "\(sum.en); the same plan, so its time is kept", zh: "\(sum.zh)；套餐相同，时间照旧保留")
    }

    private var total: [LocalizedText] {
        let counted = current.filter { $0.treatment != .untouched }
        if counted.isEmpty { return [LocalizedText(en: "Nothing is converted: balance 0", zh: "没有可折算的套餐：余额为 0")] }
        return [LocalizedText(en: "Balance \(equals(balance))", zh: "余额 \(equals(balance))")]
    }

    private var conversion: [LocalizedText] {
        guard !convertedBalance.isZero else { return [] }
        let length = Self.span(plan.length.seconds * 1_000)
        let daily = equals(plan.dailyPrice)
        let (days, isExact) = convertedDays.decimal(places: 6)
        let converted = Self.span(convertedSeconds * 1_000)
        return [
            LocalizedText(
                en: "\(plan.names.en): \(plan.price) ÷ \(length.en) \(daily) a day",
                zh: "\(plan.names.zh)：\(plan.price) ÷ \(length.zh) \(daily)/天"),
            LocalizedText(
                en: "Converted: \(money(convertedBalance)) ÷ \(money(plan.dailyPrice)) a day \(isExact ? "=" : "≈") "
                    + "\(days) d; rounded up to a second: \(converted.en)",
                zh: "折算：\(money(convertedBalance)) ÷ \(money(plan.dailyPrice))/天 \(isExact ? "=" : "≈") "
                    + "\(days) 天；向上取整到秒：\(converted.zh)"),
        ]
    }

    private var outcome: LocalizedText {
        let bought = Self.span(boughtSeconds * 1_000)
        let (kept, converted) = (Self.span(keptMilliseconds), Self.span(convertedSeconds * 1_000))
        var parts: [LocalizedText] = []
        if keptMilliseconds > 0 { parts.append(LocalizedText(en: "\(kept.en) kept", zh: "保留 \(kept.zh)")) }
        if convertedSeconds > 0 {
            parts.append(LocalizedText(en: "\(converted.en) converted", zh: "折算 \(converted.zh)"))
        }
        parts.append(LocalizedText(en: "\(bought.en) bought", zh: "购买 \(bought.zh)"))
        return LocalizedText(
            en: "Bought at \(at) for \(price): \(parts.map(\.en).joined(separator: " + ")), until \(expiresAt)",
            zh: "于 \(at) 以 \(price) 购买：\(parts.map(\.zh).joined(separator: " + "))，到期时间 \(expiresAt)")
    }

    /// What the service covers, unless it is the whole account.
    private var covered: [LocalizedText] {
        guard let device = coverage.deviceIDs?.first else { return [] }
        return [LocalizedText(en: "For \(device)", zh: "适用设备：\(device)")]
    }

    private var later: LocalizedText {
        guard let used = usedPerDay else {
            return LocalizedText(
                en: "Bought later, nothing of the balance is lost by waiting", zh: "晚些购买，余额不会因等待而减少")
        }
        return LocalizedText(
            en: "Each day later the balance is \(money(used.amount)) less, until \(used.until)",
            zh: "每晚一天购买，余额减少 \(money(used.amount))，直到 \(used.until)")
    }

    // MARK: Numbers

    private func equals(_ amount: Fraction) -> String {
        let (text, isExact) = decimal(amount)
        return "\(isExact ? "=" : "≈") \(text) \(plan.price.currency)"
    }

    private func money(_ amount: Fraction) -> String { "\(decimal(amount).text) \(plan.price.currency)" }

    /// Minor units as a price, with up to six decimals.
    private func decimal(_ amount: Fraction) -> (text: String, isExact: Bool) {
        let scale = (0..<plan.price.currency.minorDigits).reduce(UInt64(1)) { scale, _ in scale * 10 }
        return (amount * Fraction(1, over: scale)).decimal(places: 6)
    }

    /// `15 d 3 h 20 min 1.5 s`.
    static func span(_ milliseconds: Int64) -> LocalizedText {
        let (seconds, fraction) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        var parts: [LocalizedText] = []
        func add(_ count: Int64, _ en: String, _ zh: String) {
            if count > 0 { parts.append(LocalizedText(en: "\(count) \(en)", zh: "\(count) \(zh)")) }
        }
        add(seconds / 86_400, "d", "天")
        add(seconds / 3_600 % 24, "h", "小时")
        add(seconds / 60 % 60, "min", "分")
        if fraction > 0 {
            let second = Fraction(UInt64(seconds % 60 * 1_000 + fraction), over: 1_000).decimal(places: 3).text
            parts.append(LocalizedText(en: "\(second) s", zh: "\(second) 秒"))
        } else {
            add(seconds % 60, "s", "秒")
        }
        if parts.isEmpty { return LocalizedText(en: "0 s", zh: "0 秒") }
        return LocalizedText(en: parts.map(\.en).joined(separator: " "), zh: parts.map(\.zh).joined(separator: " "))
    }
}

extension Proration {
    /// The arithmetic in words, line by line, from the very numbers it was done with (C6).
    public var explanation: [Text] {
        current.map(line) + total + conversion + [outcome] + covered + [later]
    }

    private func line(_ remainder: Remainder) -> Text {
        let period = remainder.period
        let name = Text(
            en: period.deviceID.map { "\(period.plan.names.en) (\($0))" } ?? period.plan.names.en,
            zh: period.deviceID.map { "\(period.plan.names.zh)（\($0)）" } ?? period.plan.names.zh)
        if remainder.fate == .untouched {
            return Text(
                en: "\(name.en): goes on by itself until \(period.end)", zh: "\(name.zh)：不受影响，到 \(period.end) 为止")
        }
        let bought = Self.span(period.boughtSeconds * 1_000)
        let left = Self.span(remainder.milliseconds)
        let value = equals(remainder.value)
        let sum = Text(
            en: "\(name.en): \(period.paid) × \(left.en) ÷ \(bought.en) \(value)",
            zh: "\(name.zh)：\(period.paid) × \(left.zh) ÷ \(bought.zh) \(value)")
        guard remainder.fate == .kept else { return sum }
        return Text(en: "\(sum.en); the same plan, so its time is kept", zh: "\(sum.zh)；套餐相同，时间照旧保留")
    }

    private var total: [Text] {
        let counted = current.filter { $0.fate != .untouched }
        if counted.isEmpty { return [Text(en: "Nothing is converted: balance 0", zh: "没有可折算的套餐：余额为 0")] }
        return [Text(en: "Balance \(equals(balance))", zh: "余额 \(equals(balance))")]
    }

    private var conversion: [Text] {
        guard !convertedBalance.isZero else { return [] }
        let length = Self.span(plan.length.seconds * 1_000)
        let daily = equals(plan.dailyPrice)
        let (days, isExact) = convertedDays.decimal(places: 6)
        let converted = Self.span(convertedSeconds * 1_000)
        return [
            Text(
                en: "\(plan.names.en): \(plan.price) ÷ \(length.en) \(daily) a day",
                zh: "\(plan.names.zh)：\(plan.price) ÷ \(length.zh) \(daily)/天"),
            Text(
                en: "Converted: \(money(convertedBalance)) ÷ \(money(plan.dailyPrice)) a day \(isExact ? "=" : "≈") "
                    + "\(days) d; rounded up to a second: \(converted.en)",
                zh: "折算：\(money(convertedBalance)) ÷ \(money(plan.dailyPrice))/天 \(isExact ? "=" : "≈") "
                    + "\(days) 天；向上取整到秒：\(converted.zh)"),
        ]
    }

    private var outcome: Text {
        let bought = Self.span(boughtSeconds * 1_000)
        let (kept, converted) = (Self.span(keptMilliseconds), Self.span(convertedSeconds * 1_000))
        var parts: [Text] = []
        if keptMilliseconds > 0 { parts.append(Text(en: "\(kept.en) kept", zh: "保留 \(kept.zh)")) }
        if convertedSeconds > 0 { parts.append(Text(en: "\(converted.en) converted", zh: "折算 \(converted.zh)")) }
        parts.append(Text(en: "\(bought.en) bought", zh: "购买 \(bought.zh)"))
        return Text(
            en: "Bought at \(at) for \(price): \(parts.map(\.en).joined(separator: " + ")), until \(expiresAt)",
            zh: "于 \(at) 以 \(price) 购买：\(parts.map(\.zh).joined(separator: " + "))，到期时间 \(expiresAt)")
    }

    /// What it is for, unless that is all of the account.
    private var covered: [Text] {
        guard let device = coverage.deviceIDs?.first else { return [] }
        return [Text(en: "For \(device)", zh: "适用设备：\(device)")]
    }

    private var later: Text {
        guard let used = usedPerDay else {
            return Text(
                en: "Bought later, nothing of the balance is lost by waiting", zh: "晚些购买，余额不会因等待而减少")
        }
        return Text(
            en: "Each day later the balance is \(money(used.amount)) less, until \(used.until)",
            zh: "每晚一天购买，余额减少 \(money(used.amount))，直到 \(used.until)")
    }

    // MARK: Numbers

    private func equals(_ amount: Fraction) -> String {
        let (text, isExact) = decimal(amount)
        return "\(isExact ? "=" : "≈") \(text) \(plan.price.currency)"
    }

    private func money(_ amount: Fraction) -> String { "\(decimal(amount).text) \(plan.price.currency)" }

    /// Minor units as a price is written, with up to six decimals.
    private func decimal(_ amount: Fraction) -> (text: String, isExact: Bool) {
        let scale = (0..<plan.price.currency.minorDigits).reduce(UInt64(1)) { scale, _ in scale * 10 }
        return (amount * Fraction(1, over: scale)).decimal(places: 6)
    }

    /// `15 d 3 h 20 min 1.5 s`.
    static func span(_ milliseconds: Int64) -> Text {
        let (seconds, fraction) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        var parts: [Text] = []
        func add(_ count: Int64, _ en: String, _ zh: String) {
            if count > 0 { parts.append(Text(en: "\(count) \(en)", zh: "\(count) \(zh)")) }
        }
        add(seconds / 86_400, "d", "天")
        add(seconds / 3_600 % 24, "h", "小时")
        add(seconds / 60 % 60, "min", "分")
        if fraction > 0 {
            let second = Fraction(UInt64(seconds % 60 * 1_000 + fraction), over: 1_000).decimal(places: 3).text
            parts.append(Text(en: "\(second) s", zh: "\(second) 秒"))
        } else {
            add(seconds % 60, "s", "秒")
        }
        if parts.isEmpty { return Text(en: "0 s", zh: "0 秒") }
        return Text(en: parts.map(\.en).joined(separator: " "), zh: parts.map(\.zh).joined(separator: " "))
    }
}

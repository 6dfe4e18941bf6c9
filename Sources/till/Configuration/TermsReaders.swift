import TillAppStore
import TillBilling
import TillLedger
import TillServer

/// `orders.acceptUnprovenIdsUntil`, `orders.maximumOpen` and `orders.perHour`. Missing settings keep their defaults.
extension ConfigurationReader {
    mutating func readOrders() -> OrderSettings {
        var settings = OrderSettings(
            acceptUnprovenIDsUntil: setting(.acceptUnprovenIDsUntil).flatMap { readTime($0) })
        if let setting = setting(.maximumOpenOrders), let number = bounded(setting, most: Self.maximumOrders) {
            settings.maximumOpen = Int(number)
        }
        if let setting = setting(.ordersPerHour), let number = bounded(setting, most: Self.maximumOrders) {
            settings.perHour = Int(number)
        }
        return settings
    }

    private static let maximumOrders: Int64 = 10_000
}

/// `limits`: requests of one user, key and address. Missing settings keep their defaults.
extension ConfigurationReader {
    mutating func readLimits() -> RequestLimits {
        var limits = RequestLimits()
        readRate(&limits.user, .userRate, .userBurst)
        readRate(&limits.key, .keyRate, .keyBurst)
        readRate(&limits.address, .addressRate, .addressBurst)
        return limits
    }

    private mutating func readRate(
        _ rate: inout RequestLimits.Rate, _ perSecond: ConfigurationKey, _ burst: ConfigurationKey
    ) {
        if let setting = setting(perSecond), let number = bounded(setting, most: Self.maximumRequests) {
            rate.perSecond = number
        }
        if let setting = setting(burst), let number = bounded(setting, most: Self.maximumRequests) {
            rate.burst = number
        }
    }

    private static let maximumRequests: Int64 = 1_000_000
}

/// `delivery.order`, `delivery.finishAfterMinutes` and `delivery.lateAfterDays`. Missing settings keep their defaults.
extension ConfigurationReader {
    mutating func readDelivery() -> DeliveryTerms {
        var terms = DeliveryTerms()
        if let order = setting(.deliveryOrder).flatMap({ reader.choice($0, of: DeliveryTerms.Order.self) }) {
            terms.order = order
        }
        if let setting = setting(.finishAfterMinutes), let minutes = bounded(setting, most: Self.maximumMinutes) {
            terms.finishAfter = minutes * 60
        }
        if let setting = setting(.lateAfterDays), let days = bounded(setting, most: Self.maximumWindow) {
            terms.lateAfterDays = days
        }
        return terms
    }

    /// Thirty days.
    private static let maximumMinutes: Int64 = 43_200
    /// Days: ten years.
    private static let maximumWindow: Int64 = 3_650
}

/// `drain.seconds` and `drain.lameDuckMilliseconds`. Missing settings keep their defaults.
extension ConfigurationReader {
    mutating func readDrain() -> DrainSettings {
        var settings = DrainSettings()
        if let setting = setting(.drainSeconds), let seconds = bounded(setting, most: Self.maximumDrainSeconds) {
            settings.seconds = Int(seconds)
        }
        if let setting = setting(.lameDuckMilliseconds), let time = bounded(setting, most: Self.maximumLameDuck) {
            settings.lameDuckMilliseconds = Int(time)
        }
        return settings
    }

    private static let maximumDrainSeconds: Int64 = 600
    private static let maximumLameDuck: Int64 = 60_000
}

/// `guests.prefix` and `guests.undoDays`. Missing settings keep their defaults.
extension ConfigurationReader {
    mutating func readGuests() -> GuestTerms {
        var terms = GuestTerms()
        if let setting = setting(.guestsPrefix), let prefix = reader.identifier(setting, most: UserID.maximumLength) {
            if prefix.utf8.count < GuestTerms.shortestPrefix {
                reader.complain(
                    setting.place,
                    LocalizedText(
                        en:
                            "must be at least \(GuestTerms.shortestPrefix) bytes, so that no account matches by chance",
                        zh: "至少为 \(GuestTerms.shortestPrefix) 字节，以免账号碰巧以此开头"))
            } else {
                terms.prefix = prefix
            }
        }
        if let setting = setting(.guestsUndoDays), let days = bounded(setting, most: Self.maximumUndoDays) {
            terms.undoDays = Int(days)
        }
        return terms
    }

    private static let maximumUndoDays: Int64 = 3_650
}

/// `restore.policy` and `restore.movesPerYear`, and the terms for receipts. Missing settings keep their defaults.
extension ConfigurationReader {
    mutating func readRestore() -> RestoreTerms {
        var terms = RestoreTerms()
        if let policy = setting(.restorePolicy).flatMap({ reader.choice($0, of: RestorePolicy.self) }) {
            terms.policy = policy
        }
        if let setting = setting(.restoreMovesPerYear), let moves = bounded(setting, most: Self.maximumMovesPerYear) {
            terms.movesPerYear = Int(moves)
        }
        return terms
    }

    private static let maximumMovesPerYear: Int64 = 1_000

    /// `receipts.policy` and `receipts.holdHours`.
    mutating func readReceipts() -> ReceiptTerms {
        var terms = ReceiptTerms()
        if let policy = setting(.receiptPolicy).flatMap({ reader.choice($0, of: ReceiptPolicy.self) }) {
            terms.policy = policy
        }
        if let setting = setting(.holdHours), let hours = bounded(setting, most: Self.maximumHoldHours) {
            terms.holdHours = hours
        }
        return terms
    }

    /// Thirty days.
    private static let maximumHoldHours: Int64 = 720
}

/// `wallet.debt` and `forgivenPerYear`, `consumption.sampleContentProvided` and `refundPreference`. Missing settings
/// keep their defaults.
extension ConfigurationReader {
    mutating func readDebtPolicy() -> DebtPolicy {
        setting(.walletDebt).flatMap { reader.choice($0, of: DebtPolicy.self) } ?? .owe
    }

    private static let maximumForgivenPerYear: Int64 = 1_000

    mutating func readForgivenPerYear() -> Int? {
        setting(.forgivenPerYear).flatMap { bounded($0, most: Self.maximumForgivenPerYear) }.map { Int($0) }
    }

    mutating func readConsumption() -> ConsumptionSettings {
        var settings = ConsumptionSettings()
        if let setting = setting(.sampleContentProvided) { settings.hadSample = reader.boolean(setting) ?? false }
        if let setting = setting(.refundPreference) {
            settings.preference = reader.choice(setting, of: WrittenPreference.self)?.preference
        }
        return settings
    }

    /// The names in the configuration.
    private enum WrittenPreference: String, CaseIterable {
        case none, decline
        case grantFull = "grant_full"
        case grantProrated = "grant_prorated"

        var preference: ConsumptionInformation.RefundPreference? {
            switch self {
            case .none: nil
            case .decline: .decline
            case .grantFull: .grantFull
            case .grantProrated: .grantProrated
            }
        }
    }
}

/// `reminders.before`.
extension ConfigurationReader {
    /// The standard reminders if it is missing; none before the end if the list is empty.
    mutating func readReminders() -> ReminderPolicy {
        guard let setting = setting(.remindersBefore) else { return .standard }
        guard let list = reader.list(setting, most: 10) else { return .standard }
        return ReminderPolicy(
            leads: list.compactMap { item in
                guard let text = reader.text(item) else { return nil }
                if let lead = PlanLength(text) { return lead }
                reader.complain(
                    item.place,
                    LocalizedText(
                        en: "must be a duration like P7D, P2W or P1M, found \"\(shown(text))\"",
                        zh: "应为 P7D、P2W、P1M 这样的时长，实际为“\(shown(text))”"))
                return nil
            })
    }
}

/// `reconciliation.interval` and `reconciliation.customersPerRun`.
extension ConfigurationReader {
    /// - Parameter hasKey: whether the server can call Apple.
    mutating func readReconciliation(hasKey: Bool) -> ReconciliationSettings {
        var settings = ReconciliationSettings()
        if let setting = setting(.reconciliationInterval), let text = reader.text(setting) {
            if text == "off" {
                if hasKey {
                    reader.complain(
                        setting.place,
                        LocalizedText(
                            en:
                                "can't be off with an In-App Purchase key: it recovers lost purchases. Give a "
                                + "duration like P1D, or remove the key",
                            zh: "配置了 App 内购买项目密钥时不能设为 off：丢失的购买将无法找回。请设为 P1D 这样的时长，或去掉密钥"))
                }
                settings.interval = nil
            } else if let interval = Self.interval(text) {
                settings.interval = interval
            } else {
                reader.complain(
                    setting.place,
                    LocalizedText(
                        en: "must be PT1H to PT24H, P1D to P30D, or off, found \"\(shown(text))\"",
                        zh: "应为 PT1H 到 PT24H、P1D 到 P30D 或 off，实际为“\(shown(text))”"))
            }
        }
        if let setting = setting(.reconciliationCustomers), let count = reader.positiveInteger(setting) {
            settings.customersPerRun = min(count, 10_000_000)
            settings.refundsPerRun = max(settings.customersPerRun * 2 / 5, 1)
        }
        return settings
    }

    /// Milliseconds of an ISO 8601 duration in hours or days.
    private static func interval(_ text: String) -> Int64? {
        let isHours = text.hasPrefix("PT")
        guard text.hasPrefix("P"), text.hasSuffix(isHours ? "H" : "D") else { return nil }
        let digits = text.dropFirst(isHours ? 2 : 1).dropLast()
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits),
            (1...(isHours ? 24 : 30)).contains(count)
        else { return nil }
        return count * (isHours ? 3_600_000 : 86_400_000)
    }
}

extension ConfigurationReader {
    /// `finance.smallBusiness`: true or false, the first day in the program, or the first and the last.
    mutating func readDeveloperTerms() -> DeveloperTerms {
        guard let setting = setting(.smallBusiness) else { return DeveloperTerms() }
        let text: String
        switch setting.value {
        case .bool(let flag): return DeveloperTerms(isSmallBusiness: flag)
        case .string(let written): text = written
        default: return refuse(setting)
        }
        if let flag = Bool(text) { return DeveloperTerms(isSmallBusiness: flag) }
        let days = text.split(separator: "/", omittingEmptySubsequences: false).map { CivilDate(iso8601: $0) }
        switch (days.count, days.first ?? nil, days.last ?? nil) {
        case (1, let since?, _): return DeveloperTerms(isSmallBusiness: true, since: since)
        case (2, let since?, let until?) where since <= until:
            return DeveloperTerms(isSmallBusiness: true, since: since, until: until)
        default: return refuse(setting)
        }
    }

    private mutating func refuse(_ setting: Setting) -> DeveloperTerms {
        reader.complain(
            setting.place,
            LocalizedText(
                en: "must be true, false, a day like 2021-01-01, or two like 2021-01-01/2023-04-30",
                zh: "应为 true、false、一个日期（如 2021-01-01）或起止日期（如 2021-01-01/2023-04-30）"))
        return DeveloperTerms()
    }
}

extension ConfigurationReader {
    /// A whole number from 1 to `most`; nil after a problem was recorded.
    private mutating func bounded(_ setting: Setting, most: Int64) -> Int64? {
        guard let number = reader.positiveInteger(setting) else { return nil }
        if number <= most { return number }
        reader.complain(
            setting.place, LocalizedText(en: "must be at most \(most), is \(number)", zh: "最多 \(most)，现在是 \(number)"))
        return nil
    }
}

import TillBilling
import TillLedger
import TillServer

/// `reconciliation.interval` and `reconciliation.customersPerRun`.
extension ConfigurationReader {
    /// - Parameter hasKey: whether Apple can be asked at all.
    mutating func readReconciliation(hasKey: Bool) -> ReconciliationSettings {
        var settings = ReconciliationSettings()
        if let setting = setting(.reconciliationInterval), let text = reader.text(setting) {
            if text == "off" {
                if hasKey {
                    reader.complain(
                        setting.place,
                        Text(
                            en: "can't be off beside an In-App Purchase key: what got lost would stay lost. Give a "
                                + "time like P1D, or take the key out",
                            zh: "配置了 App 内购买密钥就不能设为 off：丢失的购买将无法找回。请写 P1D 这样的时长，或去掉密钥"))
                }
                settings.interval = nil
            } else if let interval = Self.interval(text) {
                settings.interval = interval
            } else {
                reader.complain(
                    setting.place,
                    Text(
                        en: "wants PT1H to PT24H, P1D to P30D, or off, found \"\(shown(text))\"",
                        zh: "要 PT1H 到 PT24H、P1D 到 P30D 或 off，却是“\(shown(text))”"))
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

/// `reminders.before`.
extension ConfigurationReader {
    /// The usual ones if it is absent; none before the end if the list is empty.
    mutating func readReminders() -> ReminderPolicy {
        guard let setting = setting(.remindersBefore) else { return .standard }
        guard let list = reader.list(setting, most: 10) else { return .standard }
        return ReminderPolicy(
            leads: list.compactMap { item in
                guard let text = reader.text(item) else { return nil }
                if let lead = PlanLength(text) { return lead }
                reader.complain(
                    item.place,
                    Text(
                        en: "wants a time like P7D, P2W or P1M, found \"\(shown(text))\"",
                        zh: "要 P7D、P2W、P1M 这样的时长，却是“\(shown(text))”"))
                return nil
            })
    }
}

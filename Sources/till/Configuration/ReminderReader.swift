import TillBilling

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

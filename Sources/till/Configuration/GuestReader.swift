import TillBilling

/// `guests.prefix` and `guests.undoDays`. What is left out is as in an empty file.
extension ConfigurationReader {
    mutating func readGuests() -> GuestTerms {
        var terms = GuestTerms()
        if let setting = setting(.guestsPrefix), let prefix = reader.identifier(setting, most: UserID.maximumLength) {
            if prefix.utf8.count < GuestTerms.shortestPrefix {
                reader.complain(
                    setting.place,
                    Text(
                        en: "must be at least \(GuestTerms.shortestPrefix) bytes, so that no account has it by chance",
                        zh: "至少要 \(GuestTerms.shortestPrefix) 字节，以免账号碰巧以此开头"))
            } else {
                terms.prefix = prefix
            }
        }
        guard let setting = setting(.guestsUndoDays), let days = reader.positiveInteger(setting) else { return terms }
        if days <= Self.mostUndoDays {
            terms.undoDays = Int(days)
        } else {
            reader.complain(
                setting.place,
                Text(en: "must be at most \(Self.mostUndoDays), is \(days)", zh: "最多 \(Self.mostUndoDays)，现在是 \(days)"))
        }
        return terms
    }

    private static let mostUndoDays = 3_650
}

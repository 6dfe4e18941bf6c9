import TillBilling
import TillServer

/// The terms under which purchases are made, delivered, restored and moved: `orders`, `delivery`, `restore`, `receipts`
/// and `guests`. What is left out is as in an empty file.
extension ConfigurationReader {
    private static let mostOrders: Int64 = 10_000
    /// Thirty days.
    private static let mostMinutes: Int64 = 43_200
    private static let mostMovesPerYear: Int64 = 1_000
    /// Thirty days.
    private static let mostHoldHours: Int64 = 720
    private static let mostUndoDays: Int64 = 3_650

    /// `orders.acceptUnprovenIdsUntil`, `orders.maximumOpen` and `orders.perHour`.
    mutating func readOrders() -> OrderSettings {
        var settings = OrderSettings(
            acceptUnprovenIDsUntil: setting(.acceptUnprovenIDsUntil).flatMap { readTime($0) })
        if let number = bounded(.maximumOpenOrders, most: Self.mostOrders) { settings.maximumOpen = Int(number) }
        if let number = bounded(.ordersPerHour, most: Self.mostOrders) { settings.perHour = Int(number) }
        return settings
    }

    /// `delivery.order` and `delivery.finishAfterMinutes`.
    mutating func readDelivery() -> DeliveryTerms {
        var terms = DeliveryTerms()
        if let order = setting(.deliveryOrder).flatMap({ reader.word($0, of: DeliveryTerms.Order.self) }) {
            terms.order = order
        }
        if let minutes = bounded(.finishAfterMinutes, most: Self.mostMinutes) { terms.finishAfter = minutes * 60 }
        return terms
    }

    /// `restore.policy` and `restore.movesPerYear`.
    mutating func readRestore() -> RestoreTerms {
        var terms = RestoreTerms()
        if let policy = setting(.restorePolicy).flatMap({ reader.word($0, of: RestorePolicy.self) }) {
            terms.policy = policy
        }
        if let moves = bounded(.restoreMovesPerYear, most: Self.mostMovesPerYear) { terms.movesPerYear = Int(moves) }
        return terms
    }

    /// `receipts.policy` and `receipts.holdHours`.
    mutating func readReceipts() -> ReceiptTerms {
        var terms = ReceiptTerms()
        if let policy = setting(.receiptPolicy).flatMap({ reader.word($0, of: ReceiptPolicy.self) }) {
            terms.policy = policy
        }
        if let hours = bounded(.holdHours, most: Self.mostHoldHours) { terms.holdHours = hours }
        return terms
    }

    /// `guests.prefix` and `guests.undoDays`.
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
        if let days = bounded(.guestsUndoDays, most: Self.mostUndoDays) { terms.undoDays = Int(days) }
        return terms
    }

    /// A whole number from 1.
    private mutating func bounded(_ key: ConfigurationKey, most: Int64) -> Int64? {
        guard let setting = setting(key), let number = reader.positiveInteger(setting) else { return nil }
        if number <= most { return number }
        reader.complain(
            setting.place, Text(en: "must be at most \(most), is \(number)", zh: "最多 \(most)，现在是 \(number)"))
        return nil
    }
}

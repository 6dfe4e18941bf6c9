import TillBilling
import TillServer

/// `orders.acceptUnprovenIdsUntil`, `orders.maximumOpen` and `orders.perHour`. What is left out is as in an empty file.
extension ConfigurationReader {
    mutating func readOrders() -> OrderSettings {
        var settings = OrderSettings(
            acceptUnprovenIDsUntil: setting(.acceptUnprovenIDsUntil).flatMap { readTime($0) })
        if let setting = setting(.maximumOpenOrders), let number = quota(setting) { settings.maximumOpen = number }
        if let setting = setting(.ordersPerHour), let number = quota(setting) { settings.perHour = number }
        return settings
    }

    /// A whole number from 1.
    private mutating func quota(_ setting: Setting) -> Int? {
        guard let number = reader.positiveInteger(setting) else { return nil }
        if number <= Self.mostOrders { return Int(number) }
        reader.complain(
            setting.place,
            Text(en: "must be at most \(Self.mostOrders), is \(number)", zh: "最多 \(Self.mostOrders)，现在是 \(number)"))
        return nil
    }

    private static let mostOrders: Int64 = 10_000
}

import TillBilling

/// `delivery.order` and `delivery.finishAfterMinutes`. What is left out is as in an empty file.
extension ConfigurationReader {
    mutating func readDelivery() -> DeliveryTerms {
        var terms = DeliveryTerms()
        if let order = setting(.deliveryOrder).flatMap({ reader.word($0, of: DeliveryTerms.Order.self) }) {
            terms.order = order
        }
        if let setting = setting(.finishAfterMinutes), let minutes = bounded(setting, most: Self.mostMinutes) {
            terms.finishAfter = minutes * 60
        }
        return terms
    }

    /// A whole number from 1.
    private mutating func bounded(_ setting: Setting, most: Int64) -> Int64? {
        guard let number = reader.positiveInteger(setting) else { return nil }
        if number <= most { return number }
        reader.complain(
            setting.place, Text(en: "must be at most \(most), is \(number)", zh: "最多 \(most)，现在是 \(number)"))
        return nil
    }

    /// Thirty days.
    private static let mostMinutes: Int64 = 43_200
}

import TillBilling

/// The `Date` field of a response (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum ResponseDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func text(of instant: Instant) -> String {
        // `2026-11-24T03:46:25.000Z`
        let text = instant.rfc3339
        let parts = text.split(separator: "T")
        let date = parts[0].split(separator: "-")
        let (day, time) = (floored(instant.seconds, by: 86_400), parts[1].prefix(8))
        let name = days[Int((day % 7 + 7) % 7)]
        return "\(name), \(date[2]) \(months[(Int(date[1]) ?? 1) - 1]) \(date[0]) \(time) GMT"
    }

    private static func floored(_ value: Int64, by divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : (value + 1) / divisor - 1
    }
}

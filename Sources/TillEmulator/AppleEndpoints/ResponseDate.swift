import TillBilling

/// The `Date` field of a response (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum ResponseDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func text(of instant: Instant) -> String {
        // `2026-11-24T03:46:25.000Z`, where only the year has another length far from now.
        let text = Array(instant.rfc3339.utf8)
        let end = text.count
        func part(_ from: Int, _ count: Int) -> String {
            String(decoding: text[(end - from)..<(end - from + count)], as: UTF8.self)
        }
        let (day, month) = (floored(instant.seconds, by: 86_400), Int(part(19, 2)) ?? 1)
        let year = String(decoding: text[..<(end - 20)], as: UTF8.self)
        return "\(days[Int((day % 7 + 7) % 7)]), \(part(16, 2)) \(months[month - 1]) \(year) \(part(13, 8)) GMT"
    }

    private static func floored(_ value: Int64, by divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : (value + 1) / divisor - 1
    }
}

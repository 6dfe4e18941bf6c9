import TillBilling

/// The `Retry-After` of a 429. Apple writes a Unix time in milliseconds (facts/server-api §7); what HTTP allows
/// (seconds to wait, a date) and a Unix time in seconds are understood too, because proxies write them.
public enum RetryAfter {
    /// Quotas are enforced per hour: after one, every quota is new. What asks for more is no sane value.
    public static let longest: Int64 = 3_600_000
    /// A time that is past already: two clocks differ.
    static let shortest: Int64 = 1_000
    /// The pause if nothing readable was said.
    static let unsaid: Int64 = 60_000

    /// - Parameter longest: milliseconds that whoever asks puts up with.
    /// - Returns: nil for what cannot be read; otherwise between a second and `longest` from now.
    public static func instant(_ text: String?, now: Instant, longest: Int64 = longest) -> Instant? {
        guard let text = text.map({ $0.trimmed }), !text.isEmpty, text.utf8.count <= 40 else { return nil }
        let said: Instant
        if let number = Int64(text) {
            guard number >= 0 else { return nil }
            switch number {
            // Milliseconds since 1970 reach this in 1973, seconds in 5138.
            case 100_000_000_000...: said = Instant(milliseconds: number)
            case 1_000_000_000...: said = Instant(seconds: number)
            default: said = now.adding(seconds: number)
            }
        } else {
            guard let date = date(text) else { return nil }
            said = date
        }
        return min(max(said, now.adding(milliseconds: shortest)), now.adding(milliseconds: longest))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that RFC 9110 §5.6.7 lets senders write.
    private static func date(_ text: String) -> Instant? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int(words[1]),
            let month = months.firstIndex(of: String(words[2])), let year = Int(words[3]), (1970...9999).contains(year),
            let date = CivilDate(year: year, month: month + 1, day: day)
        else { return nil }
        let time = words[4].split(separator: ":").map { Int($0) ?? -1 }
        guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        let seconds = Int64(date.daysSinceEpoch) * 86_400 + Int64(time[0] * 3_600 + time[1] * 60 + time[2])
        return Instant(seconds: seconds)
    }
}

extension String {
    /// Without blanks at either end.
    fileprivate var trimmed: String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}

import TillBilling

/// The date formats of Apple's older protocols (facts/verify-receipt §4, pkcs7-receipt §3.1).
public enum AppleTime {
    /// `2019-08-14 08:28:54 Etc/GMT`
    public static func gmt(_ instant: Instant) -> String { civil(instant.seconds) + " Etc/GMT" }

    /// `2019-08-14 01:28:54 America/Los_Angeles`, daylight saving applied.
    public static func pacific(_ instant: Instant) -> String {
        civil(instant.seconds + pacificOffset(at: instant.seconds)) + " America/Los_Angeles"
    }

    /// `1565771334000`
    public static func milliseconds(_ instant: Instant) -> String { String(instant.milliseconds) }

    /// `2019-08-14T08:28:54Z`, the format of receipts: whole seconds.
    public static func receipt(_ instant: Instant) -> String {
        let text = civil(instant.seconds)
        return text.replacing(" ", with: "T") + "Z"
    }

    /// Parses the formats of `gmt` and `pacific`; nil for any other text. In the hour that occurs twice in autumn,
    /// Pacific time means the first.
    public static func instant(_ text: some StringProtocol) -> Instant? {
        guard let zone = text.lastIndex(of: " ") else { return nil }
        guard let civil = Instant(rfc3339: text[..<zone] + "Z"), civil.milliseconds % 1_000 == 0 else { return nil }
        switch text[text.index(after: zone)...] {
        case "Etc/GMT": return civil
        case "America/Los_Angeles":
            let summer = civil.adding(seconds: 7 * 3_600)
            return pacificOffset(at: summer.seconds) == -7 * 3_600 ? summer : civil.adding(seconds: 8 * 3_600)
        default: return nil
        }
    }

    /// The offset of Los Angeles from UTC in seconds: −8 hours, −7 in summer. Summer lasts from the second Sunday of
    /// March to the first of November (Energy Policy Act of 2005), before 2007 from the first Sunday of April to the
    /// last of October; both changes happen at 2:00 local time.
    static func pacificOffset(at seconds: Int64) -> Int64 {
        let standard: Int64 = -8 * 3_600
        let year = CivilDate(daysSinceEpoch: days(seconds + standard)).year
        let (begins, ends): (Int, Int) =
            year >= 2007
            ? (sunday(2, ofMonth: 3, year), sunday(1, ofMonth: 11, year))
            : (sunday(1, ofMonth: 4, year), lastSundayOfOctober(year))
        let summerBegins = Int64(begins) * 86_400 + 2 * 3_600 - standard
        let summerEnds = Int64(ends) * 86_400 + 2 * 3_600 - (standard + 3_600)
        return (summerBegins..<summerEnds).contains(seconds) ? standard + 3_600 : standard
    }

    private static func days(_ seconds: Int64) -> Int {
        Int(seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400)
    }

    /// The day number of a month's n-th Sunday. Day 0 was a Thursday.
    private static func sunday(_ n: Int, ofMonth month: Int, _ year: Int) -> Int {
        let first = CivilDate(year: year, month: month, day: 1)?.daysSinceEpoch ?? 0
        let weekday = ((first + 4) % 7 + 7) % 7
        return first + (7 - weekday) % 7 + (n - 1) * 7
    }

    private static func lastSundayOfOctober(_ year: Int) -> Int {
        let fourth = sunday(4, ofMonth: 10, year)
        let lastDay = CivilDate(year: year, month: 10, day: 31)?.daysSinceEpoch ?? fourth
        return fourth + 7 <= lastDay ? fourth + 7 : fourth
    }

    private static func civil(_ seconds: Int64) -> String {
        let day = days(seconds)
        let rest = Int(seconds - Int64(day) * 86_400)
        let date = CivilDate(daysSinceEpoch: day)
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : String(value) }
        let year = String(date.year)
        let padded = String(repeating: "0", count: max(0, 4 - year.utf8.count)) + year
        let time = "\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        return "\(padded)-\(two(date.month))-\(two(date.day)) \(time)"
    }
}

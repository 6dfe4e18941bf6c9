import Testing
import TillBilling

@testable import TillEmulator

@Suite("Apple's older ways to write a moment")
struct AppleTimeTests {
    @Test(
        "Los Angeles keeps daylight saving time as it really does",
        arguments: [
            // The first two are Apple's own samples; the changes are at 2:00 by the clock on the wall.
            ("2019-08-14T08:28:54Z", "2019-08-14 01:28:54 America/Los_Angeles"),
            ("2013-08-01T07:00:00Z", "2013-08-01 00:00:00 America/Los_Angeles"),
            ("2024-03-10T09:59:59Z", "2024-03-10 01:59:59 America/Los_Angeles"),
            ("2024-03-10T10:00:00Z", "2024-03-10 03:00:00 America/Los_Angeles"),
            ("2024-11-03T08:59:59Z", "2024-11-03 01:59:59 America/Los_Angeles"),
            ("2024-11-03T09:00:00Z", "2024-11-03 01:00:00 America/Los_Angeles"),
            ("2026-03-08T09:59:59Z", "2026-03-08 01:59:59 America/Los_Angeles"),
            ("2026-03-08T10:00:00Z", "2026-03-08 03:00:00 America/Los_Angeles"),
            ("2026-11-01T09:00:00Z", "2026-11-01 01:00:00 America/Los_Angeles"),
            ("2026-01-01T00:00:00Z", "2025-12-31 16:00:00 America/Los_Angeles"),
            ("2006-04-02T10:00:00Z", "2006-04-02 03:00:00 America/Los_Angeles"),
            ("2006-10-29T08:59:59Z", "2006-10-29 01:59:59 America/Los_Angeles"),
            ("2006-10-29T09:00:00Z", "2006-10-29 01:00:00 America/Los_Angeles"),
        ])
    func pacific(_ utc: String, _ expected: String) throws {
        let instant = try #require(Instant(rfc3339: utc))
        #expect(AppleTime.pacific(instant) == expected)
    }

    @Test("GMT, milliseconds and receipt forms")
    func others() {
        let instant = Instant(milliseconds: 1_565_771_334_999)
        #expect(AppleTime.gmt(instant) == "2019-08-14 08:28:54 Etc/GMT")
        #expect(AppleTime.milliseconds(instant) == "1565771334999")
        #expect(AppleTime.receipt(instant) == "2019-08-14T08:28:54Z")
    }

    @Test(
        "A subscription's period ends on the same day of a later month, or on the month's last day",
        arguments: [
            (SubscriptionPeriod.month, "2026-01-31T10:00:00.500Z", "2026-02-28T10:00:00.500Z"),
            (.month, "2028-01-31T23:59:59.000Z", "2028-02-29T23:59:59.000Z"),
            (.month, "2026-12-05T00:00:00.000Z", "2027-01-05T00:00:00.000Z"),
            (.twoMonths, "2026-12-31T00:00:00.000Z", "2027-02-28T00:00:00.000Z"),
            (.threeMonths, "2026-01-15T08:00:00.000Z", "2026-04-15T08:00:00.000Z"),
            (.sixMonths, "2026-08-31T08:00:00.000Z", "2027-02-28T08:00:00.000Z"),
            (.year, "2028-02-29T08:00:00.000Z", "2029-02-28T08:00:00.000Z"),
            (.week, "2026-02-25T08:00:00.000Z", "2026-03-04T08:00:00.000Z"),
        ])
    func periods(_ period: SubscriptionPeriod, _ start: String, _ end: String) throws {
        #expect(period.end(from: try #require(Instant(rfc3339: start))).rfc3339 == end)
    }
}

import Testing
import TillBilling

@testable import TillEmulator

@Suite("Periods of subscriptions")
struct SubscriptionPeriodTests {
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

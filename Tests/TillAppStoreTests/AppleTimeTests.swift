import Testing
import TillBilling

@testable import TillAppStore

@Suite("Apple's older notations of a time")
struct AppleTimeTests {
    @Test(
        "Los Angeles follows its real daylight saving time",
        arguments: [
            // The first two are Apple's own samples; the changes are at 2:00 local time.
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

    @Test("GMT, milliseconds and receipt forms are read and written")
    func others() {
        let instant = Instant(milliseconds: 1_565_771_334_999)
        #expect(AppleTime.gmt(instant) == "2019-08-14 08:28:54 Etc/GMT")
        #expect(AppleTime.milliseconds(instant) == "1565771334999")
        #expect(AppleTime.receipt(instant) == "2019-08-14T08:28:54Z")
    }

    @Test("A written time is read back, in summer and winter; any other text is no time")
    func reading() throws {
        for hours in stride(from: Int64(0), to: 24 * 400, by: 1) {
            let instant = Instant(seconds: 1_767_225_600 + hours * 3_600 + 1_234)
            #expect(AppleTime.instant(AppleTime.gmt(instant)) == instant)
            let pacific = AppleTime.pacific(instant)
            let read = try #require(AppleTime.instant(pacific))
            // The second of the two equal hours in autumn is read as the first.
            #expect(read == instant || (AppleTime.pacific(read) == pacific && read.adding(seconds: 3_600) == instant))
        }
        let others = ["", " ", "2019-08-14", "2019-08-14 08:28:54", "2019-08-14 08:28:54 Europe/Berlin", "Etc/GMT"]
        for text in others + ["2019-02-30 08:28:54 Etc/GMT", "1565771334000", "2019-08-14 08:28:54.5 Etc/GMT"] {
            #expect(AppleTime.instant(text) == nil, "\(text)")
        }
    }
}

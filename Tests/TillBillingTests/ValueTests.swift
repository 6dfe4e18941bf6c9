import Testing
import TillBilling

@Suite("Values: ids, times, money, languages") struct ValueTests {
    @Test("A UUID is read in either case and written in lower case (facts/limits §1: appAccountToken)") func uuid() {
        let text = "3F2C4D5E-0011-4a2b-8C3d-0123456789aB"
        let id = UniqueID(text)
        #expect(id?.description == text.lowercased())
        #expect(id.map { UniqueID(bytes: $0.bytes) } == id)
        #expect(id == UniqueID(text.lowercased()))
    }

    @Test(
        "A text that is no UUID is refused",
        arguments: [
            "", "3f2c4d5e", "3f2c4d5e-0011-4a2b-8c3d-0123456789a", "3f2c4d5e-0011-4a2b-8c3d-0123456789abc",
            "3f2c4d5e00114a2b8c3d0123456789ab", "3f2c4d5e-0011-4a2b-8c3d-0123456789ag",
            "{3f2c4d5e-0011-4a2b-8c3d-0123456789a}", "３f2c4d5e-0011-4a2b-8c3d-0123456789a",
        ]) func notUUID(_ text: String)
    {
        #expect(UniqueID(text) == nil)
    }

    @Test("Random bytes become a version 4 UUID") func randomUUID() {
        let text = UniqueID(random: [UInt8](repeating: 0xFF, count: 16)).description
        #expect(text == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    }

    @Test(
        "Times are RFC 3339 in UTC with milliseconds, and are read back",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00.000Z"), (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (-62_135_769_600_000, "0000-12-30T00:00:00.000Z"), (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
        ]) func instants(milliseconds: Int64, text: String)
    {
        #expect(Instant(milliseconds: milliseconds).rfc3339 == text)
        #expect(Instant(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test("Offsets and fractions of other programs are read (an Xcode receipt writes +0300)") func offsets() {
        let expected = Instant(rfc3339: "2023-10-19T10:00:00Z")
        #expect(Instant(rfc3339: "2023-10-19T13:00:00+0300") == expected)
        #expect(Instant(rfc3339: "2023-10-19T13:00:00+03:00") == expected)
        #expect(Instant(rfc3339: "2023-10-19T05:30:00-04:30") == expected)
        #expect(Instant(rfc3339: "2023-10-19T10:00:00.5Z")?.milliseconds == expected.map { $0.milliseconds + 500 })
    }

    @Test(
        "A text that is no time is refused",
        arguments: [
            "", "2023-02-29T00:00:00Z", "2023-13-01T00:00:00Z", "2023-01-01T24:00:00Z", "2023-01-01T00:00:00",
            "2023-01-01", "2023-01-01T00:00:00.Z", "2023-01-01T00:00:00Zx", "2023-01-01T00:00:00+25:00",
        ]) func notInstant(_ text: String)
    {
        #expect(Instant(rfc3339: text) == nil)
    }

    @Test(
        "A date outside every calendar causes no fault (regression: signedDate of Int64.min ended the server)",
        arguments: [Int64.min, .min + 998, -1_001, -1_000, -999, 0, .max - 1, .max])
    func farAway(_ milliseconds: Int64) {
        let instant = Instant(milliseconds: milliseconds)
        #expect(
            instant.seconds == Int64((Double(milliseconds) / 1_000).rounded(.down)) || milliseconds.magnitude > 1 << 52)
        #expect(!instant.rfc3339.isEmpty)
        #expect(instant.adding(milliseconds: .max) >= instant)
        #expect(instant.adding(milliseconds: .min) <= instant)
        #expect(instant.adding(seconds: .max).milliseconds >= milliseconds)
        #expect(Instant(seconds: milliseconds) <= Instant(seconds: .max))
    }

    @Test("Days and dates agree over eight hundred years, day by day") func civilDates() {
        var expected = CivilDate(year: 1_600, month: 1, day: 1)
        for day in (expected?.daysSinceEpoch ?? 0)..<(CivilDate(year: 2_400, month: 1, day: 1)?.daysSinceEpoch ?? 0) {
            let date = CivilDate(daysSinceEpoch: day)
            guard date == expected, date.daysSinceEpoch == day else {
                Issue.record("day \(day) is \(date), not \(String(describing: expected))")
                return
            }
            expected =
                CivilDate(year: date.year, month: date.month, day: date.day + 1)
                ?? CivilDate(year: date.year, month: date.month + 1, day: 1)
                ?? CivilDate(year: date.year + 1, month: 1, day: 1)
        }
    }

    @Test(
        "Apple's milliunits become minor units, half away from zero (facts/jws §1)",
        arguments: [
            (Int64(1_990), "USD", "1.99 USD"), (6_000, "CNY", "6.00 CNY"), (300_000, "JPY", "300 JPY"),
            (1_995, "USD", "2.00 USD"), (1_994, "USD", "1.99 USD"), (-1_995, "USD", "-2.00 USD"),
            (1_234, "KWD", "1.234 KWD"), (0, "CNY", "0.00 CNY"), (499, "JPY", "0 JPY"), (500, "JPY", "1 JPY"),
        ]) func milliunits(value: Int64, currency: String, text: String)
    {
        #expect(Money(milliunits: value, currency: Currency(currency)).description == text)
    }

    @Test(
        "The reader's language is the one with the highest preference",
        arguments: [
            ("", "en"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("en-US,en;q=0.9,zh;q=0.8", "en"), ("zh_CN.UTF-8", "zh"),
            ("fr, zh;q=0.5", "zh"), ("en;q=0.1, zh;q=0.2", "zh"), ("de", "en"), ("C", "en"), ("zh;q=0", "en"),
        ]) func languages(preference: String, expected: String)
    {
        #expect(Language(preference: preference).rawValue == expected)
    }

    @Test("Every refusal, status and reason has a sentence in both languages, and no two refusals share one")
    func sentences() {
        let texts =
            Refusal.allCases.map(\.sentence) + OrderStatus.allCases.map { $0.title(of: nil) }
            + QuarantineReason.allCases.map(\.sentence) + OwnerMatch.allCases.map(\.sentence)
        for text in texts {
            #expect(!text.en.isEmpty && !text.zh.isEmpty)
            #expect(text.zh.unicodeScalars.contains { (0x4E00...0x9FFF).contains($0.value) }, "\(text.zh)")
            #expect(text.en.allSatisfy { $0.isASCII || $0 == "…" }, "\(text.en)")
        }
        #expect(Set(Refusal.allCases.map(\.sentence)).count == Refusal.allCases.count)
    }
}

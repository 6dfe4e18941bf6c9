import Testing
import TillBilling

@Suite("Days of paid service (C2)") struct PaidServiceTests {
    /// Each case: its periods as `from–to` in days since the first one, with marks (`f` free, `u` upgraded, `g` paid
    /// within grace, `s90` served until day 90); then the days counted at the end, and the periods (from 1) that have
    /// the better rate.
    private static let cases = """
        one year bought at once, renewed                | 0-365 365-730                              | 730 | 2
        a year less a day is not a year                 | 0-364 364-394                              | 394 |
        twelve months and five days more                | 0-180 180-360 360-390 390-420              | 420 | 4
        a renewal charged a day early counts once       | 0-365 364-730                              | 730 | 2
        a gap of 60 days keeps the days                 | 0-200 260-425 425-455                      | 395 | 3
        a gap of 61 days begins anew                    | 0-200 261-426 426-456                      | 195 |
        free days don't count, and are no gap           | 0-90f 90-455 455-485                       | 395 | 3
        free days between don't count                   | 0-200 200-270f 270-435 435-465             | 395 | 4
        sixty days after a free trial                   | 0-300 300-330f 390-455 455-485             | 395 | 4
        an extension is no paid time, and no gap        | 0-200s290 350-515 515-545                  | 395 | 3
        without the extension that would be a gap       | 0-200 350-515 515-545                      | 195 |
        grace counts if the money came within it        | 0-350 353-380g 380-410                     | 410 | 3
        billing retry does not count                    | 0-350 353-380 380-410                      | 407 | 3
        grace and the year at its edge                  | 0-350 353-365g 365-395                     | 395 | 3
        retry and the year at its edge                  | 0-350 353-365 365-395                      | 392 |
        an upgrade goes on counting                     | 0-365u 100-465 465-830                     | 830 | 3
        an upgrade ends the old period where it began   | 0-365u 10-40 40-70                         | 70  |
        an upgrade within a free trial                  | 0-30f,u 10-375 375-740                     | 730 | 3
        the rate stays after the year                   | 0-365 365-395 395-425 425-455              | 455 | 2 3 4
        a lapse after the year begins anew              | 0-365 365-395 456-486 486-516              | 60  | 2
        """

    private static let year2024 = Instant(seconds: 1_704_067_200)

    private func period(_ text: Substring) throws -> PaidService.Period {
        func moment(_ days: some StringProtocol) throws -> Instant {
            Self.year2024.adding(seconds: try #require(Int64(days)) * 86_400)
        }
        let ends = text.split(separator: "-")
        let digits = ends[1].prefix { $0.isNumber }
        let marks = ends[1].dropFirst(digits.count)
        var period = PaidService.Period(start: try moment(ends[0]), end: try moment(digits))
        period.isFree = marks.contains("f")
        period.isUpgraded = marks.contains("u")
        period.isRecoveredInGrace = marks.contains("g")
        if let served = marks.firstIndex(of: "s") {
            period.servedUntil = try moment(marks[marks.index(after: served)...])
        }
        return period
    }

    @Test(
        "365 paid days in a group count, with gaps of 60 at most, without free and extended days",
        arguments: cases.split(separator: "\n"))
    func counting(_ line: Substring) throws {
        let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        let periods = try cells[1].split(separator: " ").map(period)
        var service = PaidService()
        for period in periods { service.add(period) }
        #expect("\(service.days)" == cells[2].filter(\.isNumber), "\(line)")
        let better = cells[3].split(separator: " ").compactMap { Int($0) }
        let found = PaidService.isAfterOneYear(periods)
        #expect(found.indices.filter { found[$0] }.map { $0 + 1 } == better, "\(line)")
        // The order of the periods does not matter.
        #expect(PaidService.isAfterOneYear(periods.reversed()) == found.reversed())
    }

    @Test("Hours of many periods add up to days, and dates beyond any calendar cause no fault")
    func exactness() {
        var service = PaidService()
        var start = Self.year2024
        for _ in 1...731 {
            let end = start.adding(seconds: 43_200)
            service.add(PaidService.Period(start: start, end: end))
            start = end
        }
        #expect(service.days == 365 && service.isAfterOneYear)
        let odd = Instant(milliseconds: .min)
        let far = Instant(milliseconds: .max)
        #expect(
            PaidService.isAfterOneYear([
                PaidService.Period(start: odd, end: far), PaidService.Period(start: far, end: odd, isUpgraded: true),
                PaidService.Period(start: odd, end: odd, isRecoveredInGrace: true),
            ]).count == 3)
    }
}

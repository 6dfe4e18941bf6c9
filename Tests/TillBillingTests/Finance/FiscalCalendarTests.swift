import Testing
import TillBilling

@Suite("Apple's fiscal calendar (C3)") struct FiscalCalendarTests {
    @Test(
        "All 156 months of FY2016 to FY2028 match Apple's table, date by date",
        .enabled(if: FactSheets.exists("fiscal-calendar.csv"), "../shared/facts is not beside the repository"))
    func sheet() throws {
        let rows = try FactSheets.rows("fiscal-calendar.csv")
        var differences: [String] = []
        let computed = (2016...2028).flatMap(FiscalCalendar.periods(ofYear:))
        for (row, period) in zip(rows, computed) {
            let stated = [
                "\(period.fiscalYear)", "\(FiscalCalendar.weeks(ofYear: period.fiscalYear))", "\(period.quarter)",
                "\(period.number)", period.label, "\(period.start)", "\(period.end)", "\(period.weeks)",
                "\(period.paymentDate)",
            ]
            if stated != Array(row.prefix(9)) { differences.append("\(row) is \(stated)") }
        }
        #expect(rows.count == 156 && computed.count == 156 && differences.isEmpty, "\(differences)")
    }

    @Test("Months that Apple has published match, also without the sheet")
    func published() {
        // facts/business-rules §7: the ends and payment dates that were checked against published tables.
        #expect(FiscalCalendar.periods(ofYear: 2023)[11].end == civilDay("2023-09-30"))
        #expect(FiscalCalendar.periods(ofYear: 2023)[11].paymentDate == civilDay("2023-11-02"))
        #expect(FiscalCalendar.periods(ofYear: 2025)[0].end == civilDay("2024-11-02"))
        #expect(FiscalCalendar.periods(ofYear: 2025)[0].paymentDate == civilDay("2024-12-05"))
        #expect((2016...2040).filter { FiscalCalendar.weeks(ofYear: $0) == 53 } == [2017, 2023, 2028, 2034, 2040])
    }

    @Test("For two centuries every day is in exactly one month, quarters are 5-4-4, and payments are on Thursdays")
    func rule() {
        var next = FiscalCalendar.start(ofYear: 1977)
        for year in 1977...2176 {
            let periods = FiscalCalendar.periods(ofYear: year)
            let weeks = FiscalCalendar.weeks(ofYear: year)
            #expect(periods.map(\.weeks) == [5, 4, weeks - 48] + [5, 4, 4, 5, 4, 4, 5, 4, 4])
            for period in periods {
                #expect(period.start == next && (period.start.daysSinceEpoch + 4) % 7 == 0, "\(period)")
                #expect((period.paymentDate.daysSinceEpoch + 4) % 7 == 4, "\(period)")
                for inside in [period.start, period.start.adding(days: 20), period.end] {
                    #expect(FiscalCalendar.period(containing: inside) == period, "\(inside)")
                }
                next = period.end.adding(days: 1)
            }
            // The Saturday before is in September, the next one is not.
            #expect(periods[0].start.adding(days: -1).month == 9 && periods[0].start.adding(days: 6).month == 10)
        }
    }
}

@Suite("The day that Apple's reports use (C3)") struct ReportingDayTests {
    @Test(
        "Daylight saving time begins and ends on the right dates",
        arguments: [
            ("2026-03-08T09:59:59Z", "USA", "2026-03-08", -8), ("2026-03-08T10:00:00Z", "USA", "2026-03-08", -7),
            ("2026-11-01T08:59:59Z", "USA", "2026-11-01", -7), ("2026-11-01T09:00:00Z", "USA", "2026-11-01", -8),
            ("2026-07-01T06:59:59Z", "USA", "2026-06-30", -7), ("2026-07-01T07:00:00Z", "USA", "2026-07-01", -7),
            ("2026-01-01T07:59:59Z", "BRA", "2025-12-31", -8), ("2026-01-01T08:00:00Z", "BRA", "2026-01-01", -8),
            ("2015-03-08T10:00:00Z", "USA", "2015-03-08", -7), ("2021-03-14T09:59:59Z", "CAN", "2021-03-14", -8),
            ("2026-03-29T00:59:59Z", "DEU", "2026-03-29", 1), ("2026-03-29T01:00:00Z", "DEU", "2026-03-29", 2),
            ("2026-10-25T00:59:59Z", "GBR", "2026-10-25", 2), ("2026-10-25T01:00:00Z", "GBR", "2026-10-25", 1),
            ("2024-03-31T01:00:00Z", "ZAF", "2024-03-31", 2), ("2026-06-30T22:00:00Z", "SAU", "2026-07-01", 2),
            ("2025-12-31T22:59:59Z", "FRA", "2025-12-31", 1), ("2025-12-31T23:00:00Z", "FRA", "2026-01-01", 1),
            ("2026-06-30T15:00:00Z", "CHN", "2026-07-01", 9), ("2026-06-30T14:59:59Z", "JPN", "2026-06-30", 9),
            ("2026-06-30T16:00:00Z", "AUS", "2026-07-01", 8), ("2026-06-30T15:59:59Z", "NZL", "2026-06-30", 8),
            ("2026-01-01T00:00:00Z", nil, "2025-12-31", -8), ("2026-01-01T00:00:00Z", "???", "2025-12-31", -8),
        ] as [(String, String?, String, Int64)])
    func days(_ moment: String, _ storefront: String?, _ expected: String, _ hours: Int64) throws {
        let instant = try #require(Instant(rfc3339: moment))
        #expect(ReportingDay.day(of: instant, storefront: storefront) == civilDay(expected))
        let region = storefront.flatMap(Territory.init(code:))?.region ?? .pacific
        #expect(region.offset(at: instant) == hours * 3_600)
    }

    @Test("Every territory has two unique codes and a region")
    func territories() {
        let all = Territory.all
        #expect(all.count == 175)
        #expect(Set(all.map(\.alpha3)).count == 175 && Set(all.map(\.alpha2)).count == 175)
        #expect(all.allSatisfy { Territory(code: $0.alpha3) == $0 && Territory(code: $0.alpha2) == $0 })
        #expect(all.allSatisfy { $0.alpha3.utf8.count == 3 && $0.alpha2.utf8.count == 2 })
        #expect(Territory(code: "CHN")?.alpha2 == "CN" && Territory(code: "SE")?.alpha3 == "SWE")
        #expect(Territory(code: "XKS")?.alpha2 == "XK" && Territory(code: "chn") == nil)
        #expect(ReportingRegion.allCases.map { region in all.count { $0.region == region } } == [39, 102, 30, 4])
    }

    @Test("A day is read and written as ISO 8601 only")
    func civilDates() {
        for text in ["2026-03-15", "2024-02-29", "0001-01-01", "9999-12-31"] {
            #expect(CivilDate(iso8601: text)?.description == text)
        }
        for text in [
            "2026-3-15", "2026-02-29", "2026-13-01", "2026-03-15T", "+026-03-15", "2026/03/15", "", "２026-03-15",
        ] {
            #expect(CivilDate(iso8601: text) == nil, "\(text)")
        }
        #expect(CivilDate(Instant(milliseconds: -1)) == civilDay("1969-12-31"))
        #expect(CivilDate(Instant(milliseconds: 0)) == civilDay("1970-01-01"))
    }
}

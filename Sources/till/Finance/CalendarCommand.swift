import TillAPI
import TillBilling

extension Flag {
    fileprivate static let year = Flag(
        "year", .integer("YEAR", 1977...9_998),
        summary: LocalizedText(en: "the fiscal year (default: the current one)", zh: "财年（默认当前财年）"))
    fileprivate static let on = Flag(
        "on", .text("DATE"),
        summary: LocalizedText(
            en: "only the month that a day falls into, like 2026-03-15", zh: "只看某一天所在的财务月，如 2026-03-15"))
}

extension Command {
    /// `till calendar`: Apple's fiscal calendar.
    static let calendar = Command(
        "calendar",
        summary: LocalizedText(en: "Apple's fiscal months and their payment dates", zh: "Apple 财务月及其回款日期"),
        discussion: LocalizedText(
            en: """
                A fiscal year starts on the Sunday after the last Saturday of September; quarters have months of 5, 4
                and 4 weeks, and Apple pays 33 days after a month's end. In years of 53 weeks December has five weeks;
                that the extra week falls in December is an assumption.
                --json: {"fiscalYear", "weeks", "start", "end", "periods": [{"fiscalYear", "quarter", "period": 1…12,
                "label": "Oct", "start", "end", "weeks", "paymentDate"}]}; with --on one of the periods.
                """,
            zh: """
                财年从九月最后一个星期六之后的星期日开始；每季度各月为 5、4、4 周，月末后 33 天回款。
                53 周的财年，十二月有五周；多出的一周落在该季度的十二月是假定。
                --json：{"fiscalYear", "weeks", "start", "end", "periods": [{"fiscalYear", "quarter", "period": 1…12,
                "label": "Oct", "start", "end", "weeks", "paymentDate"}]}；带 --on 时输出其中一个月。
                """),
        flags: [.year, .on]
    ) { call in
        guard call.text(.on) == nil || call.integer(.year) == nil else {
            throw UsageError(
                LocalizedText(en: "give --year or --on, not both", zh: "--year 和 --on 只能给一个"), command: "calendar")
        }
        let day = try call.day(.on, storefront: nil, command: "calendar")
        if call.text(.on) != nil {
            let period = FiscalCalendar.period(containing: day)
            if call.wantsJSON { try call.print(FiscalPeriodReply(period)) } else { call.say(period.sentence) }
            return .done
        }
        let year = call.integer(.year).map { Int($0) } ?? FiscalCalendar.period(containing: day).fiscalYear
        if call.wantsJSON {
            try call.print(FiscalCalendarReply(year: year))
        } else {
            for line in FiscalCalendar.lines(ofYear: year, call.language) { call.console.print(line) }
        }
        return .done
    }
}

extension FiscalPeriod {
    fileprivate var sentence: LocalizedText {
        LocalizedText(
            en: "FY\(fiscalYear) period \(number) (\(label)): \(start) to \(end), \(weeks) weeks, paid \(paymentDate)",
            zh: "\(fiscalYear) 财年第 \(number) 期（\(label)）：\(start) 至 \(end)，\(weeks) 周，\(paymentDate) 回款")
    }
}

extension FiscalCalendar {
    fileprivate static func lines(ofYear year: Int, _ language: Language) -> [String] {
        let title = LocalizedText(
            en: "Fiscal year \(year), \(weeks(ofYear: year)) weeks", zh: "\(year) 财年，共 \(weeks(ofYear: year)) 周")
        let heads = [
            LocalizedText(en: "quarter", zh: "季度"), LocalizedText(en: "period", zh: "期"),
            LocalizedText(en: "label", zh: "名称"),
            LocalizedText(en: "start", zh: "开始"), LocalizedText(en: "end", zh: "结束"),
            LocalizedText(en: "weeks", zh: "周数"),
            LocalizedText(en: "paid", zh: "回款"),
        ]
        var table = TextTable(heads.map { $0(language) }, numbers: [0, 1, 5])
        for period in periods(ofYear: year) {
            table.add([
                "\(period.quarter)", "\(period.number)", period.label, "\(period.start)", "\(period.end)",
                "\(period.weeks)", "\(period.paymentDate)",
            ])
        }
        return [title(language)] + table.lines
    }
}

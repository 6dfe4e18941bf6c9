import TillAPI
import TillBilling
import TillCrypto

extension Flag {
    fileprivate static let csv = Flag(
        "csv", summary: LocalizedText(en: "print every line as comma-separated text", zh: "以逗号分隔文本打印每一行"))
}

extension Command {
    /// `till compare`: compares Apple's financial report with the ledger, line by line.
    static let compare = Command(
        "compare",
        summary: LocalizedText(
            en: "compare Apple's financial report with the ledger, line by line", zh: "逐行核对 Apple 财务报告与账本"),
        discussion: LocalizedText(
            en: """
                FILE is the tab-separated text from App Store Connect (Payments and Financial Reports), unpacked;
                several files of a period, one for each region, are compared together. Reads the ledger, also while
                a server runs; stores nothing. Ends with 1 if a line differs. --json prints {"comparisons": […]}, one
                for each fiscal period, as in GET /v1/finance/comparison.
                """,
            zh: """
                FILE 是从 App Store Connect“付款和财务报告”下载并解压的制表符分隔文本；同一财务月按地区分开的几个文件可一起核对。
                只读账本，可在服务器运行时使用，不保存任何内容。只要有一行不同就以 1 结束。
                --json 输出 {"comparisons": […]}，每个财务月一项，与 GET /v1/finance/comparison 相同。
                """),
        flags: Configuration.flags + [.financeEnvironment, .csv],
        positionals: [
            Positional("FILE", .any, summary: LocalizedText(en: "Apple's financial report", zh: "Apple 的财务报告"))
        ]
    ) { call in
        guard !call.positionals.isEmpty else {
            throw UsageError(LocalizedText(en: "FILE is missing", zh: "缺少 FILE"), command: "compare")
        }
        guard !call.isSet(.csv) || !call.wantsJSON else {
            throw UsageError(
                LocalizedText(en: "give --csv or --json, not both", zh: "--csv 和 --json 只能给一个"), command: "compare")
        }
        let files = try call.positionals.map { try ReportFile($0, call) }
        let lines = files.flatMap(\.file.lines)
        let periods = Set(lines.map { FiscalCalendar.period(containing: $0.start) }).sorted()
        let comparisons = try await LedgerAccess(call).use { reports, environment in
            var found: [(period: FiscalPeriod, environment: StoreEnvironment, comparison: ReportComparison)] = []
            for period in periods {
                let own = lines.filter { FiscalCalendar.period(containing: $0.start) == period }
                found.append(
                    (period, environment, try await reports.comparison(of: own, with: period, in: environment)))
            }
            return found
        }
        if call.wantsJSON {
            let replies = comparisons.map { found in
                ComparisonReply(
                    environment: found.environment, period: found.period,
                    reports: files.filter { $0.tells(of: found.period) }.map(\.reply), found.comparison)
            }
            try call.print(["comparisons": replies])
        } else {
            for found in comparisons { found.comparison.print(found.period, call) }
        }
        return comparisons.allSatisfy(\.comparison.isEqual) ? .done : .refused
    }
}

/// One of Apple's files, read completely.
private struct ReportFile {
    let file: FinancialReportFile
    let reply: AppleReportReply

    /// - Throws: all defects of the file that prevented a line from being read.
    init(_ path: String, _ call: Invocation) throws {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try readFile(path, limit: FinancialReportFile.maximumLength)
        } catch {
            throw CommandError(error.sentence)
        }
        file = FinancialReportFile(String(decoding: bytes, as: UTF8.self))
        let name = shown(path)
        guard file.isUsable, let start = file.lines.map(\.start).min(), let end = file.lines.map(\.end).max() else {
            let reasons = file.findings.filter(\.isError).map { $0.reason(in: name) }
            throw CommandError(
                reasons: reasons.isEmpty
                    ? [LocalizedText(en: "\(name): has no lines", zh: "\(name)：没有任何行")] : reasons)
        }
        for remark in file.findings { call.warn(remark.reason(in: name)) }
        reply = AppleReportReply(
            sha256: hexadecimal(Digest.sha256.hash(bytes)), name: name, importedAt: call.process.clock(),
            importedBy: "till compare", days: (start, end), lines: file.lines.count)
    }

    func tells(of period: FiscalPeriod) -> Bool {
        file.lines.contains { FiscalCalendar.period(containing: $0.start) == period }
    }
}

extension FinancialReportFile.Finding {
    fileprivate func reason(in name: String) -> LocalizedText {
        let place =
            line.map { LocalizedText(en: "\(name), line \($0)", zh: "\(name) 第 \($0) 行") } ?? LocalizedText(name)
        return LocalizedText(en: "\(place.en): \(sentence.en) \(cure.en)", zh: "\(place.zh)：\(sentence.zh)\(cure.zh)")
    }
}

extension ReportComparison {
    fileprivate func print(_ period: FiscalPeriod, _ call: Invocation) {
        if call.isSet(.csv) { return call.console.write(csv) }
        call.say(
            LocalizedText(
                en: "FY\(period.fiscalYear) period \(period.number) (\(period.label)): "
                    + "\(period.start) to \(period.end)",
                zh: "\(period.fiscalYear) 财年第 \(period.number) 期（\(period.label)）：\(period.start) 至 \(period.end)"))
        for line in lines(call.language) { call.console.print(line) }
    }
}

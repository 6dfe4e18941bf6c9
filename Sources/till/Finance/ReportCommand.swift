import TillAPI
import TillBilling
import TillLedger
import TillSQL
import TillServer

extension Flag {
    fileprivate static let fiscalYear = Flag(
        "fiscal-year", .integer("N", Int64(FinanceSpan.years.lowerBound)...Int64(FinanceSpan.years.upperBound)),
        summary: LocalizedText(
            en: "Apple's fiscal year: 2026 began on 2025-09-28 (default: the current one)",
            zh: "Apple 财年：2026 财年从 2025-09-28 开始（默认当前财年）"))
    fileprivate static let period = Flag(
        "period", .integer("N", 1...12),
        summary: LocalizedText(en: "one month of that year; 1 is October (default: all)", zh: "其中一个财务月，1 是十月（默认全部）"))
    fileprivate static let from = Flag(
        "from", .text("DAY"),
        summary: LocalizedText(en: "the first day instead, like 2026-03-15", zh: "改为从这一天起，如 2026-03-15"))
    fileprivate static let to = Flag("to", .text("DAY"), summary: LocalizedText(en: "the last day", zh: "到这一天为止"))
    fileprivate static let csv = Flag(
        "csv", summary: LocalizedText(en: "print comma-separated text, a line for each row", zh: "打印逗号分隔文本，每项一行"))
}

extension Command {
    /// `till report`: the amounts that Apple owes, from the ledger.
    static let report = Command(
        "report",
        summary: LocalizedText(
            en: "the amount that Apple owes for each fiscal period, from the ledger", zh: "按财务月列出 Apple 应付的款项（来自账本）"),
        discussion: LocalizedText(
            en: """
                Reads the ledger, also while a server runs; changes nothing. Units, gross, tax, commission, proceeds
                and refunds by product and storefront, and Apple's expected payment date and amount. A refund counts in
                the period in which it happens. --json prints the output of GET /v1/finance/report.
                """,
            zh: """
                只读账本，可在服务器运行时使用，不改动任何内容。按商品与店面列出数量、总额、税、佣金、收入与退款，
                以及预计的回款日期和金额。退款计入其发生的财务月。--json 的输出与 GET /v1/finance/report 相同。
                """),
        flags: Configuration.flags + [.fiscalYear, .period, .from, .to, .financeEnvironment, .csv]
    ) { call in
        guard !call.isSet(.csv) || !call.wantsJSON else {
            throw UsageError(
                LocalizedText(en: "give --csv or --json, not both", zh: "--csv 和 --json 只能给一个"), command: "report")
        }
        let span = try FinanceSpan(call)
        let report = try await LedgerAccess(call).use { reports, environment in
            try await reports.report(span, in: environment)
        }
        if call.wantsJSON {
            try call.print(FinanceReportReply(report))
        } else if call.isSet(.csv) {
            // The CSV contains its own line ends.
            call.console.write(report.settlement.csv)
        } else {
            for line in report.settlement.lines(call.language) { call.console.print(line) }
        }
        for (product, count) in report.unpriced.sorted(by: { $0.key < $1.key }) {
            call.warn(
                LocalizedText(
                    en: "\(shown(product.text)): \(count) without a price from Apple, in no period",
                    zh: "\(shown(product.text))：\(count) 笔没有 Apple 签署的价格，未计入"))
        }
        return .done
    }
}

extension Flag {
    static let financeEnvironment = Flag(
        "environment", .choice(["production", "sandbox"]),
        summary: LocalizedText(
            en: "the environment of the purchases (default: production, if the configuration accepts it)",
            zh: "哪个环境的购买（默认生产环境，若配置接受）"))
}

extension FinanceSpan {
    fileprivate init(_ call: Invocation) throws {
        let year = call.integer(.fiscalYear).map { Int($0) }
        let number = call.integer(.period).map { Int($0) }
        guard call.isSet(.from) || call.isSet(.to) else {
            let today = CivilDate(call.process.clock())
            let fiscalYear = year ?? FiscalCalendar.period(containing: today).fiscalYear
            let span =
                number.map { FinanceSpan(FiscalCalendar.periods(ofYear: fiscalYear)[$0 - 1]) }
                ?? FinanceSpan(fiscalYear: fiscalYear)
            guard let span else { throw Self.unknown }
            self = span
            return
        }
        guard year == nil, number == nil, call.isSet(.from), call.isSet(.to) else {
            throw UsageError(
                LocalizedText(
                    en: "give --from and --to, or --fiscal-year and --period",
                    zh: "请同时给出 --from 和 --to，或用 --fiscal-year 和 --period"),
                command: "report")
        }
        let days = try [Flag.from, .to].map { try call.day($0, storefront: nil, command: "report") }
        guard let span = FinanceSpan(from: days[0], through: days[1]) else { throw Self.unknown }
        self = span
    }

    private static let unknown = UsageError(
        LocalizedText(
            en: "--to must not be before --from, and at most ten years after it", zh: "--to 不能早于 --from，且最多晚十年"),
        command: "report")
}

/// The ledger, opened for reading while a command needs it.
struct LedgerAccess {
    private let configuration: Configuration
    private let environment: StoreEnvironment

    init(_ call: Invocation) throws {
        configuration = try Configuration.load(for: call)
        switch call.text(.financeEnvironment) {
        case "production": environment = .production
        case "sandbox": environment = .sandbox
        default: environment = configuration.server.usualEnvironment
        }
    }

    func use<Value: Sendable>(_ read: (FinanceReports, StoreEnvironment) async throws -> Value) async throws -> Value {
        let location = configuration.database
        let ledger: any Database
        do {
            ledger = try location.open(as: .operator, .ledger).database
        } catch {
            throw location.failure(error)
        }
        do {
            let value = try await read(
                FinanceReports(database: ledger, terms: configuration.developerTerms), environment)
            await ledger.close()
            return value
        } catch let fault as DatabaseError {
            await ledger.close()
            throw location.failure(fault)
        } catch {
            await ledger.close()
            throw error
        }
    }
}

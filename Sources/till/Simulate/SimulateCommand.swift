import TillAppStore
import TillBilling
import TillSimulation
import TillThreads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Flag {
    fileprivate static let seed = Flag(
        "seed", .integer("S", 0...Int64.max),
        summary: LocalizedText(en: "the first seed (default: 1)", zh: "第一个种子（默认 1）"))
    fileprivate static let seeds = Flag(
        "seeds", .integer("N", 1...100_000_000),
        summary: LocalizedText(en: "the number of worlds, one seed each (default: 1)", zh: "世界数量，每个一个种子（默认 1）"))
    fileprivate static let purchases = Flag(
        "purchases", .integer("N", 1...100_000),
        summary: LocalizedText(
            en: "the approximate number of purchases in a world (default: 100)", zh: "每个世界大约发起多少笔购买（默认 100）"))
    fileprivate static let thieves = Flag(
        "thieves",
        summary: LocalizedText(
            en: "worlds of many thieves and few purchases (about 14 unless --purchases says otherwise)",
            zh: "盗取者多、购买少的世界（约 14 笔，除非指定 --purchases）"))
    fileprivate static let families = Flag(
        "families",
        summary: LocalizedText(
            en: "worlds where customers share Apple Accounts (about 30 purchases unless --purchases says more)",
            zh: "客户共用 Apple 账户的世界（约 30 笔，可另行指定）"))
    fileprivate static let without = Flag(
        "without", .text("KIND,…"),
        summary: LocalizedText(en: "the fault kinds and thief kinds to leave out", zh: "不发生的故障种类、不出现的盗取者"))
    fileprivate static let only = Flag(
        "only", .text("KIND,…"),
        summary: LocalizedText(en: "the only fault kinds to use, or none", zh: "只使用这些故障种类，或 none"))
    fileprivate static let faults = Flag(
        "faults", .integer("N", 0...Int64.max),
        summary: LocalizedText(en: "at most so many faults in a world", zh: "每个世界的故障上限"))
    fileprivate static let phones = Flag(
        "phones", .text("N,…"), summary: LocalizedText(en: "only these phones are used, by number", zh: "只使用这些手机（编号）"))
    #if PLANTED_MISTAKES
        fileprivate static let plant = Flag(
            "plant", .choice(SimulationPlan.plantable),
            summary: LocalizedText(
                en: "plants a mistake in Till's own code, to check that it is found", zh: "在自己的代码里植入一个错误，检验能否发现"))
    #endif
    fileprivate static let workers = Flag(
        "workers", .integer("N", 1...256),
        summary: LocalizedText(en: "processes at once (default: one for each core)", zh: "并行进程数（默认每核一个）"))
    fileprivate static let keep = Flag(
        "keep", .text("FILE"),
        summary: LocalizedText(
            en: "writes each world's report to this file and continues after the existing ones",
            zh: "把每个世界的报告写入该文件，并从其中已有的继续"))
    fileprivate static let shrink = Flag(
        "shrink",
        summary: LocalizedText(
            en: "reduces the first failing world to the smallest plan that fails", zh: "把第一个失败的世界缩到最小"))
    fileprivate static let story = Flag(
        "story", summary: LocalizedText(en: "prints the events of each violation", zh: "打印每处违例的经过"))
}

extension Command {
    /// `till simulate`: the seeded simulation of the whole system.
    static let simulate = Command(
        "simulate",
        summary: LocalizedText(en: "prove that nothing is lost: whole worlds from seeds", zh: "证明不丢单：由种子生成的完整世界"),
        discussion: LocalizedText(
            en: """
                Each seed is a world: the emulated App Store, this server with its database driver, phones with the
                client kit on both StoreKits, buyers, a cheat, and faults at every await. It runs on one thread in
                virtual time, so a seed always gives the same result. Faults stop at the end; days later every payment
                must be granted exactly once, to the user who ordered it.
                Exit code 1 if any promise was broken; each is printed with the command that shows it again.
                """,
            zh: """
                每个种子是一个世界：模拟 App Store、本服务器及其数据库驱动、装有客户端 SDK（两代 StoreKit）的手机、
                买家、作弊者，以及发生在每个 await 处的故障。全部在一个线程、虚拟时间里运行，同一种子永远同一经过。
                故障最终停止；数日之后，凡已付款的都必须恰好发放一次，发给下单的人。
                有任何承诺被打破时退出码为 1，并打印可以重现它的命令。
                """),
        flags: simulateFlags
    ) { call in
        if let folder = call.process.environment[SimulationWorker.variable] {
            await SimulationWorker.run(in: folder) { call.console.print($0) }
            return .done
        }
        return try await SimulationRun(call).run()
    }
}

private var simulateFlags: [Flag] {
    var flags: [Flag] = [
        .seeds, .seed, .purchases, .thieves, .families, .without, .only, .faults, .phones, .workers, .keep, .shrink,
        .story,
    ]
    #if PLANTED_MISTAKES
        flags.append(.plant)
    #endif
    return flags
}

/// One call of `till simulate`.
struct SimulationRun: Sendable {
    private let call: Invocation
    private let pool: SimulationPool
    private let first: UInt64
    private let count: Int
    private let template: SimulationPlan

    init(_ call: Invocation) throws {
        self.call = call
        pool = SimulationPool(executable: try Executable.own(), environment: call.process.environment)
        first = UInt64(call.integer(.seed) ?? 1)
        count = Int(call.integer(.seeds) ?? 1)
        var template = SimulationPlan(seed: first)
        template.hasThieves = call.isSet(.thieves)
        template.hasFamilies = call.isSet(.families)
        let usual: Int64 = template.hasThieves ? 14 : template.hasFamilies ? 30 : 100
        template.purchases = Int(call.integer(.purchases) ?? usual)
        template.faultLimit = call.integer(.faults).map { Int($0) } ?? .max
        template.keepsLog = call.isSet(.story)
        #if PLANTED_MISTAKES
            template.planted = call.text(.plant)
        #endif
        if let text = call.text(.without) {
            let names = text.split(separator: ",").map(String.init)
            template.withoutThefts = Set(names.compactMap { TheftKind(rawValue: $0) })
            template.without = try Self.faultKinds(names.filter { TheftKind(rawValue: $0) == nil })
        }
        if let text = call.text(.only) {
            let included = text == "none" ? [] : try Self.faultKinds(text.split(separator: ",").map(String.init))
            template.without.formUnion(Set(FaultKind.allCases).subtracting(included))
        }
        if let text = call.text(.phones) { template.phones = Set(text.split(separator: ",").compactMap { Int($0) }) }
        self.template = template
    }

    private static func faultKinds(_ names: [String]) throws -> Set<FaultKind> {
        Set(
            try names.map { name in
                guard let kind = FaultKind(rawValue: name) else { throw unknownFault(name) }
                return kind
            })
    }

    private static func unknownFault(_ name: String) -> UsageError {
        let known = FaultKind.allCases.map(\.rawValue).joined(separator: ", ")
        return UsageError(
            LocalizedText(
                en: "there is no fault \(shown(name)); there are: \(known)", zh: "没有故障种类 \(shown(name))；可用：\(known)"),
            command: "simulate")
    }

    func run() async throws -> ExitCode {
        let included = try call.text(.keep).map { try SavedReports($0, of: template) }
        let began = ContinuousClock.now
        let (totals, reports) = try await runAll(included, since: began)
        let seconds = Self.seconds(since: began) + (included?.seconds ?? 0)
        if call.wantsJSON {
            call.console.print(totals.json(seconds: seconds).encoded())
        } else {
            for line in totals.lines(seconds: seconds, call.language) { call.console.print(line) }
            for failure in totals.failures.prefix(20) { call.console.print(failure.line(call.language)) }
            if template.keepsLog { for report in reports { printLog(report) } }
        }
        if call.isSet(.shrink), let failure = totals.failures.first { try await shrink(failure) }
        return totals.isClean ? .done : .refused
    }

    // MARK: All seeds

    /// - Parameter kept: the reports of earlier runs, to which this run's are added.
    private func runAll(
        _ included: SavedReports?, since began: ContinuousClock.Instant
    ) async throws -> (SimulationTotals, [SeedReport]) {
        let (first, count, template, console) = (first, count, template, call.console)
        let seeds = (0..<count).map { first &+ UInt64($0) }
        let left = seeds.filter { included?.reports[$0] == nil }
        var before = SimulationTotals()
        for report in seeds.compactMap({ included?.reports[$0] }) {
            var plan = template
            plan.seed = report.seed
            before.add(report, of: plan)
        }
        let state = Locked((next: 0, totals: before, reports: [SeedReport]()))
        let workers = min(count, call.integer(.workers).map { Int($0) } ?? Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        try await pool.run(
            workers: max(1, workers),
            next: {
                let index = state.withLock { state in
                    defer { state.next += 1 }
                    return state.next
                }
                guard index < left.count else { return nil }
                var plan = template
                plan.seed = left[index]
                return plan
            },
            report: { plan, report in
                try included?.keep(report, seconds: Self.seconds(since: began))
                let totals = state.withLock { state in
                    state.totals.add(report, of: plan)
                    if template.keepsLog { state.reports.append(report) }
                    return state.totals
                }
                if console.drawsProgress {
                    console.complain(
                        "\u{1B}[1A\u{1B}[2K\(totals.seeds)/\(count) seeds, \(totals.purchases) purchases, "
                            + "\(totals.failedSeeds) failed")
                }
            })
        return state.withLock { ($0.totals, $0.reports) }
    }

    private static func seconds(since began: ContinuousClock.Instant) -> Double {
        let span = began.duration(to: .now).components
        return Double(span.seconds) + Double(span.attoseconds) / 1e18
    }

    // MARK: Traces

    private func printLog(_ report: SeedReport) {
        let subjects = Set(report.violations.flatMap(\.about))
        let lines = subjects.isEmpty ? report.lines : report.lines.about(subjects)
        for line in lines { call.console.print("\(line.at.rfc3339)  \(line.who): \(line.text)") }
    }

    // MARK: Shrinking

    private func shrink(_ failure: SimulationTotals.Failure) async throws {
        guard let kind = failure.violation?.kind else { return }
        let (pool, console, language) = (pool, call.console, call.language)
        let shrinking = Shrinking(kind) { plan in try await pool.report(of: plan) }
        let smallest = try await shrinking.shrink(failure.plan, phones: SimulationPlan.maximumPhones) { plan in
            console.complain(
                LocalizedText(en: "still fails: \(plan.commandLine)", zh: "仍会失败：\(plan.commandLine)")(language))
        }
        var told = smallest
        told.keepsLog = true
        let report = try await pool.report(of: told)
        call.say(LocalizedText(en: "the smallest: \(smallest.commandLine)", zh: "最小重现：\(smallest.commandLine)"))
        for violation in report.violations { call.say(LocalizedText("\(violation.kind.rawValue): \(violation.text)")) }
        if !call.wantsJSON { printLog(report) }
    }
}

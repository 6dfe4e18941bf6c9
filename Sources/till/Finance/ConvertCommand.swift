import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    fileprivate static let balanceOf = Flag(
        "balance-of", .text("PLAN:PRICE:PAID_AT[:DEVICE]"), repeatable: true,
        summary: LocalizedText(
            en: "a current plan, the price paid for it (like 2.99) and the payment time",
            zh: "正在使用的套餐：付了多少（如 2.99），何时付的"))
    fileprivate static let to = Flag("to", .text("PLAN"), summary: LocalizedText(en: "the plan to buy", zh: "要购买的套餐"))
    fileprivate static let at = Flag(
        "at", .text("TIME"),
        summary: LocalizedText(
            en: "the purchase time: 2026-01-16, 2026-01-16T08:30:00Z or seconds since 1970 (default: now)",
            zh: "何时购买：2026-01-16、2026-01-16T08:30:00Z 或 1970 年以来的秒数（默认现在）"))
    fileprivate static let quantity = Flag(
        "quantity", .integer("N", 1...10), summary: LocalizedText(en: "the quantity (default: 1)", zh: "购买几份（默认 1）"))
    fileprivate static let catalog = Flag(
        "catalog", .text("FILE"),
        summary: LocalizedText(
            en: "the catalogue with the plans (default: the sample of `till init --sample plans`)",
            zh: "套餐所在的商品目录（默认是 till init --sample plans 的示例）"))
}

extension Command {
    /// `till convert`: the preview of a proration, without a server.
    static let convert = Command(
        "convert",
        summary: LocalizedText(
            en: "convert the unused value of plans into time of another plan", zh: "把套餐余额折算成另一套餐的天数"),
        discussion: LocalizedText(
            en: """
                Each --balance-of is a separate service that runs from its payment time; several devices are added up.
                balance = Σ price paid × remaining time ÷ bought time; days = balance ÷ daily price of the new plan.
                A month has 30 days and a year 365. The only rounding is at the end, up to whole seconds.
                """,
            zh: """
                每个 --balance-of 都是一份独立的服务，从付款时起算；多台设备的合并计算。
                余额 = Σ 实付金额 × 剩余时间 ÷ 购买时长；天数 = 余额 ÷ 新套餐的日价。
                一个月按 30 天、一年按 365 天计。只在最后取整一次：向上取整到秒。
                """),
        flags: [.balanceOf, .to, .at, .quantity, .catalog]
    ) { call in
        let proration = try Conversion(call).proration
        if call.wantsJSON {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
            call.console.print(String(decoding: try encoder.encode(PlanPreviewReply(proration)), as: UTF8.self))
        } else {
            for line in proration.explanation { call.console.print(line(call.language)) }
        }
        return .done
    }
}

/// The arguments of one call of `till convert`.
private struct Conversion {
    let proration: Proration

    init(_ call: Invocation) throws {
        let catalog = try Self.catalog(call)
        let at = try call.text(.at).map { text in
            guard let time = Self.time(text) else { throw Self.wrong("--at", text, "a time", "一个时间") }
            return time
        }
        let now = at ?? call.process.clock()
        guard let name = call.text(.to) else {
            throw UsageError(LocalizedText(en: "--to is missing", zh: "缺少 --to"), command: "convert")
        }
        let plan = try Self.plan(name, catalog)
        let current = try call.texts(.balanceOf).map { try Self.period($0, catalog) }
        for period in current where period.start > now {
            throw CommandError(
                LocalizedText(
                    en: "\(period.plan.id) was paid at \(period.start), after the purchase at \(now)",
                    zh: "\(period.plan.id) 的付款时间 \(period.start) 晚于购买时间 \(now)"))
        }
        proration = Proration(of: current, to: plan, quantity: Int(call.integer(.quantity) ?? 1), at: now)
    }

    private static func catalog(_ call: Invocation) throws -> Catalog {
        guard let file = call.text(.catalog) else { return SampleShop.cloudPlans.catalog }
        var reader = ConfigurationReader(ConfigurationSources(file: nil, environment: [:], flags: [.catalog: file]))
        guard let catalog = reader.readCatalog() else {
            throw ConfigurationError(problems: reader.problems).failure
        }
        return catalog
    }

    private static func plan(_ name: String, _ catalog: Catalog) throws -> Plan {
        if let plan = catalog.plan(named: name, bundleID: "") { return plan }
        let known = catalog.products.compactMap { Plan(soldBy: $0)?.id.text }
        let near = nearestName(to: name, among: known)
        let listed = near ?? known.prefix(10).joined(separator: ", ")
        throw CommandError(
            near == nil
                ? LocalizedText(
                    en: "there is no plan \(shown(name)); known: \(listed)", zh: "没有“\(shown(name))”这个套餐；可用的有：\(listed)"
                )
                : LocalizedText(
                    en: "there is no plan \(shown(name)). Did you mean \(listed)?",
                    zh: "没有“\(shown(name))”这个套餐。是否想写 \(listed)？"))
    }

    /// Both times and device names may contain colons; the longest prefix that is a time is the time.
    private static func period(_ text: String, _ catalog: Catalog) throws -> ServicePeriod {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw wrong("--balance-of", text, "PLAN:PRICE:PAID_AT[:DEVICE]", "“套餐:金额:付款时间[:设备]”")
        }
        let plan = try plan(String(parts[0]), catalog)
        guard let paid = Money(decimal: parts[1], currency: plan.price.currency) else {
            let currency = plan.price.currency
            throw wrong("--balance-of", parts[1], "a price in \(currency)", "以 \(currency) 计的金额")
        }
        let rest = parts[2]
        let ends = [rest.endIndex] + rest.indices.filter { rest[$0] == ":" }.reversed()
        guard rest.utf8.count <= 200, let end = ends.first(where: { time(rest[..<$0]) != nil }),
            let at = time(rest[..<end])
        else { throw wrong("--balance-of", rest, "a time like 2026-01-16T08:30:00Z", "一个时间，如 2026-01-16T08:30:00Z") }
        let device = end == rest.endIndex ? "" : String(rest[rest.index(after: end)...])
        return ServicePeriod(
            PlanPurchase(plan: plan, paid: paid, at: at, deviceID: device.isEmpty ? nil : DeviceID(shown(device))),
            from: at)
    }

    /// RFC 3339, a day (its first moment in UTC), or seconds since 1970.
    private static func time(_ text: some StringProtocol) -> Instant? {
        if let seconds = Int64(text), (0...253_402_300_799).contains(seconds) { return Instant(seconds: seconds) }
        return Instant(rfc3339: text) ?? Instant(rfc3339: "\(text)T00:00:00Z")
    }

    private static func wrong(_ flag: String, _ found: some StringProtocol, _ en: String, _ zh: String) -> UsageError {
        UsageError(
            LocalizedText(
                en: "\(flag) must be \(en), not \"\(shown(found))\"", zh: "\(flag) 应为\(zh)，实际为“\(shown(found))”"),
            command: "convert")
    }
}

import TillBilling
import TillHTTP
import TillJSON

/// Injected faults.
extension ControlEndpoint {
    func addFaults(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/faults",
            LocalizedText(en: "The configured faults and how often each one occurred.", zh: "已设定的故障及其发生次数。"),
            answer: Self.faultAnswer
        ) { _ in faults() }
        routes.on(
            .put, "/emulator/faults",
            LocalizedText(
                en: "Replaces the configured faults. An empty object turns all of them off.",
                zh: "替换故障设定；空对象表示全部关闭。"),
            body: Self.settingMembers, answer: Self.faultAnswer
        ) { call in
            try await store.setFaults(call.body.isEmpty ? nil : try settings(call.body))
            return faults()
        }
        routes.on(
            .delete, "/emulator/faults", LocalizedText(en: "Turns off all configured faults.", zh: "关闭所有设定的故障。"),
            answer: Self.faultAnswer
        ) { _ in
            try await store.setFaults(nil)
            return faults()
        }
    }

    // MARK: Requests

    private func settings(_ body: RequestBody) throws(ControlError) -> FaultSettings {
        // A random seed by default. The answer contains it, so that the run can be repeated.
        let random = entropy(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let seed = try body.integer("seed", in: 0...FaultSettings.largestSeed)
        var settings = FaultSettings(
            seed: seed ?? Int64(random % UInt64(FaultSettings.largestSeed)), defaults: try body.rates())
        guard let endpoints = body.value("endpoints") else { return settings }
        let given = try RequestBody(endpoints, knowing: FaultEndpoint.allCases.map(\.rawValue))
        for endpoint in FaultEndpoint.allCases {
            guard let rates = given.value(endpoint.rawValue) else { continue }
            settings.endpoints[endpoint] =
                try RequestBody(rates, knowing: Self.rateMembers.map(\.name)).rates()
        }
        return settings
    }

    // MARK: Answers

    private func faults() -> HTTPResponse {
        let report = store.faultInjector.report
        let settings = report.settings
        var members = (settings?.defaults ?? FaultRates()).json(whole: true)
        members["seed"] = settings.map { .int($0.seed) } ?? .null
        members["endpoints"] = .object(Self.byName(settings?.endpoints ?? [:]) { .object($0.json(whole: false)) })
        members["requests"] = .object(Self.byName(report.requests) { .int($0) })
        members["injected"] = .object(
            Self.byName(report.injected) { counts in
                .object(
                    Dictionary(
                        uniqueKeysWithValues: counts.map { fault, count in (fault.rawValue, JSONValue.int(count)) }))
            })
        members["canWait"] = .bool(store.faultInjector.delayedRequests.canWait)
        return .json(.object(members))
    }

    private static func byName<Value>(
        _ values: [FaultEndpoint: Value], _ json: (Value) -> JSONValue
    ) -> [String: JSONValue] {
        Dictionary(uniqueKeysWithValues: values.map { ($0.rawValue, json($1)) })
    }

    // MARK: Members

    private static let rateMembers: [ControlMember] =
        [
            ControlMember(
                "drop", .number,
                LocalizedText(
                    en: "sets dropBefore and dropAfter to half of this rate each", zh: "dropBefore 和 dropAfter 各占一半"))
        ] + StoreFault.allCases.map { ControlMember($0.rawValue, .number, $0.note) } + [
            ControlMember(
                "delayFrom", .integer(0...FaultRates.longestWait),
                LocalizedText(en: "the shortest delay in milliseconds; 100 if absent", zh: "最短延迟（毫秒），省略则为 100")),
            ControlMember(
                "delayTo", .integer(0...FaultRates.longestWait),
                LocalizedText(en: "the longest delay in milliseconds; 1000 if absent", zh: "最长延迟（毫秒），省略则为 1000")),
            ControlMember(
                "reorderWithin", .integer(0...FaultRates.longestWait),
                LocalizedText(
                    en: "the longest time in milliseconds that a request waits for the next one; 1000 if absent",
                    zh: "请求等待下一个请求的最长时间（毫秒），省略则为 1000")),
            ControlMember(
                "clockSkew", .integer(-FaultRates.longestSkew...FaultRates.longestSkew),
                LocalizedText(
                    en: "the offset in milliseconds of signed dates and Retry-After",
                    zh: "签名日期和 Retry-After 的偏差（毫秒）")),
        ]

    private static let seed = ControlMember(
        "seed", .integer(0...FaultSettings.largestSeed),
        LocalizedText(
            en: "the random seed: one seed always selects the same requests; random if absent",
            zh: "随机种子：相同的种子命中相同的请求，省略则随机"))

    private static let settingMembers: [ControlMember] =
        [seed] + rateMembers + [
            ControlMember(
                "endpoints",
                .object(FaultEndpoint.allCases.map { ControlMember($0.rawValue, .object(rateMembers), $0.note) }),
                LocalizedText(en: "separate fault rates for single endpoints", zh: "为单个接口另设的故障率"))
        ]

    private static let faultAnswer = ControlResponse(
        "Faults",
        settingMembers + [
            ControlMember(
                "requests",
                .object(
                    FaultEndpoint.allCases.map { ControlMember($0.rawValue, .integer(0...Int64.max), $0.note) }),
                required: true, LocalizedText(en: "the number of requests since the faults were set", zh: "设定故障后收到的请求数")
            ),
            ControlMember(
                "injected",
                .object(
                    FaultEndpoint.allCases.map { endpoint in
                        ControlMember(
                            endpoint.rawValue,
                            .object(
                                StoreFault.allCases.map { ControlMember($0.rawValue, .integer(0...Int64.max), $0.note) }
                            ),
                            endpoint.note)
                    }), required: true, LocalizedText(en: "the number of occurrences of each fault", zh: "每种故障发生的次数")),
            ControlMember(
                "canWait", .bool, required: true,
                LocalizedText(
                    en: "whether incoming requests can be held back; if false, delay has no effect and reorder applies "
                        + "to notifications only",
                    zh: "能否让收到的请求等待；不能时 delay 不起作用，reorder 只对通知起作用")),
        ])
}

extension FaultRates {
    /// - Parameter whole: whether unset values are included.
    fileprivate func json(whole: Bool) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for fault in StoreFault.allCases {
            if let chance = chances[fault] ?? (whole ? 0 : nil) { members[fault.rawValue] = .double(chance) }
        }
        members["delayFrom"] = (delayFrom ?? (whole ? delay.lowerBound : nil)).map { .int($0) }
        members["delayTo"] = (delayTo ?? (whole ? delay.upperBound : nil)).map { .int($0) }
        members["reorderWithin"] = (reorderWithin ?? (whole ? reorderWindow : nil)).map { .int($0) }
        members["clockSkew"] = (clockSkew ?? (whole ? 0 : nil)).map { .int($0) }
        return members
    }
}

extension RequestBody {
    /// The fault rates among the members.
    fileprivate func rates() throws(ControlError) -> FaultRates {
        var rates = FaultRates()
        if let drop = try chance("drop") {
            rates.chances[.dropBefore] = drop / 2
            rates.chances[.dropAfter] = drop / 2
        }
        for fault in StoreFault.allCases {
            if let chance = try chance(fault.rawValue) { rates.chances[fault] = chance }
        }
        let waits = 0...FaultRates.longestWait
        rates.delayFrom = try integer("delayFrom", in: waits)
        rates.delayTo = try integer("delayTo", in: waits)
        if let from = rates.delayFrom, let to = rates.delayTo, from > to {
            throw Self.wrong("delayTo", "no less than \"delayFrom\"", "不小于 “delayFrom” 的数")
        }
        rates.reorderWithin = try integer("reorderWithin", in: waits)
        rates.clockSkew = try integer("clockSkew", in: -FaultRates.longestSkew...FaultRates.longestSkew)
        return rates
    }

    private func chance(_ name: String) throws(ControlError) -> Double? {
        guard let value = value(name) else { return nil }
        guard let number = value.number, (0...1).contains(number) else {
            throw Self.wrong(name, "a probability: a number from 0 (never) to 1 (always)", "概率：0（从不）到 1（总是）之间的数")
        }
        return number
    }
}

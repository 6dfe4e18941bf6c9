import TillBilling
import TillHTTP
import TillJSON

/// A summary of the whole store in a few numbers.
extension ControlEndpoint {
    func addState(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/state", Text(en: "The whole store in a few numbers.", zh: "商店概况。"),
            answer: ControlAnswer("State", Self.stateMembers)
        ) { _ in try await state() }
    }

    private func state() async throws -> HTTPResponse {
        let summary = try await store.summary()
        let clock = ClockText.json(summary.clock)
        let tallies = summary.tallies
        return .json([
            "environment": .string(configuration.environment.rawValue),
            "now": .string(summary.clock.now.rfc3339),
            "products": .int(Int64(summary.products)),
            "accounts": .int(summary.accounts),
            "transactions": [
                "total": .int(Self.total(tallies)),
                "unfinished": .int(Self.total(tallies.filter { !$0.isFinished && $0.state == "purchased" })),
                "refunded": .int(Self.total(tallies.filter(\.isRefunded))),
                "byState": Self.counts(tallies, by: \.state), "byType": Self.counts(tallies, by: \.kind),
            ],
            "subscriptions": [
                "total": .int(summary.subscriptions.values.reduce(0, +)),
                "byState": .object(summary.subscriptions.mapValues { .int($0) }),
            ],
            "notifications": [
                "url": summary.notificationURL.map { .string($0) } ?? .null,
                "total": .int(summary.notifications), "pending": .int(summary.pendingNotifications),
                "failed": .int(summary.failedNotifications),
                "nextAttemptAt": summary.nextAttempt.map { .string($0.rfc3339) } ?? .null,
            ],
            "clock": clock, "nextDue": clock["next"] ?? .null,
        ])
    }

    private static func total(_ tallies: [TransactionTally]) -> Int64 { tallies.reduce(0) { $0 + $1.count } }

    private static func counts(_ tallies: [TransactionTally], by name: (TransactionTally) -> String) -> JSONValue {
        .object(Dictionary(grouping: tallies, by: name).mapValues { .int(total($0)) })
    }

    private static func count(_ name: String, _ note: Text) -> ControlMember {
        ControlMember(name, .integer(0...Int64.max), required: true, note)
    }

    private static let stateMembers: [ControlMember] = [
        ControlMember(
            "environment", .choice(of: Environment.self), required: true,
            Text(en: "what it signs as", zh: "签名所称的环境")),
        ControlMember("now", .instant, required: true, Text(en: "the store's time", zh: "商店时间")),
        count("products", Text(en: "on the shelves", zh: "商品数")),
        count("accounts", Text(en: "Apple Accounts", zh: "账户数")),
        ControlMember(
            "transactions",
            .object([
                count("total", Text(en: "all", zh: "全部")),
                count("unfinished", Text(en: "paid and in a queue", zh: "已付款且仍在队列中")),
                count("refunded", Text(en: "revoked, in full or in part", zh: "已全部或部分退款")),
                ControlMember("byState", .map, required: true, Text(en: "purchased, deferred, …", zh: "按付款进展")),
                ControlMember("byType", .map, required: true, Text(en: "by kind of product", zh: "按商品类型")),
            ]), required: true, Text(en: "how many", zh: "交易数")),
        ControlMember(
            "subscriptions",
            .object([
                count("total", Text(en: "all", zh: "全部")),
                ControlMember("byState", .map, required: true, Text(en: "active, expired, …", zh: "按状态")),
            ]), required: true, Text(en: "how many", zh: "订阅数")),
        ControlMember(
            "notifications",
            .object([
                ControlMember(
                    "url", .text(limit: 2_000), Text(en: "where they go; null: nowhere", zh: "发往何处；null 表示不发送")),
                count("total", Text(en: "all of the last 180 days", zh: "最近 180 天的全部")),
                count("pending", Text(en: "to be sent, or sent again", zh: "待发送或待重试")),
                count("failed", Text(en: "given up", zh: "已放弃")),
                ControlMember("nextAttemptAt", .instant, Text(en: "the first that is due", zh: "最早的一次尝试")),
            ]), required: true, Text(en: "how many", zh: "通知数")),
        ControlMember(
            "clock", .object(ClockText.members), required: true,
            Text(en: "as GET /emulator/clock", zh: "同 GET /emulator/clock")),
        ControlMember(
            "nextDue", .object(ClockText.event.members), Text(en: "what happens next by itself", zh: "接下来自动发生的事")),
    ]
}

/// The store's time.
extension ControlEndpoint {
    func addClock(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/clock",
            Text(en: "What time it is in the store, and what comes next.", zh: "商店时间，以及接下来的事。"),
            answer: ControlAnswer("Clock", ClockText.members)
        ) { _ in .json(ClockText.json(try await store.clockState())) }
        routes.on(
            .post, "/emulator/clock",
            Text(
                en: "Advances the clock; returns when all that happens on the way has happened.",
                zh: "推进时钟；途中该发生的都发生后才返回。"),
            body: [
                ControlMember(
                    "advance", .span,
                    Text(
                        en: "a span such as 30d, 90s or 1d12h (w, d, h, m, s, ms)",
                        zh: "时长，如 30d、90s、1d12h（w、d、h、m、s、ms）")),
                ControlMember("to", .instant, Text(en: "or the moment to go to", zh: "或目标时刻")),
            ],
            answer: ControlAnswer("Clock", ClockText.members)
        ) { call in
            switch (try call.body.span("advance"), try call.body.instant("to")) {
            case (let span?, nil): _ = try await store.advance(by: span).answered()
            case (nil, let moment?): _ = try await store.advance(to: moment).answered()
            default:
                throw Problem.badRequest(
                    "advance_or_to", "Give either \"advance\", such as \"30d\", or \"to\", a moment.",
                    "请给出 “advance”（如 “30d”）或 “to”（时刻），二者选一。")
            }
            return .json(ClockText.json(try await store.clockState()))
        }
        routes.on(
            .put, "/emulator/clock", Text(en: "Stops the clock, lets it go on, sets its pace.", zh: "停住时钟、让它继续，或设定速度。"),
            body: [
                ControlMember(
                    "pace", .choice(of: RenewalPace.self),
                    Text(en: "how fast subscriptions run", zh: "订阅运行的速度")),
                ControlMember(
                    "stopped", .bool,
                    Text(en: "true: it stands still until it is advanced", zh: "true：静止，直到有人推进")),
            ],
            answer: ControlAnswer("Clock", ClockText.members)
        ) { call in
            let pace = try call.body.choice("pace", of: RenewalPace.self)
            if let isStopped = try call.body.bool("stopped") {
                try await store.setClockStopped(isStopped).answered()
            }
            if let pace { try await store.setPace(pace) }
            return .json(ClockText.json(try await store.clockState()))
        }
    }
}

/// The clock as JSON of the control API.
enum ClockText {
    static let event = ControlObject<ClockState.Event> {
        $0.add(
            "kind", .choice(Agenda.Kind.allCases.map(\.rawValue) + ["notification"]),
            required: true, Text(en: "what will happen", zh: "将发生的事")
        ) { .string($0.kind) }
        $0.add("subject", .text(limit: 40), required: true, Text(en: "to what: its number or id", zh: "对象的编号或标识")) {
            .string($0.subject)
        }
        $0.add("date", .instant, required: true, Text(en: "when", zh: "时间")) { .string($0.date.rfc3339) }
    }

    static var members: [ControlMember] { object.members }
    static func json(_ clock: ClockState) -> JSONValue { object.json(clock) }

    private static let object = ControlObject<ClockState> {
        $0.add("now", .instant, required: true, Text(en: "the store's time", zh: "商店时间")) { .string($0.now.rfc3339) }
        $0.add(
            "ahead", .integer(Int64.min...Int64.max), required: true,
            Text(en: "milliseconds ahead of the machine's clock", zh: "领先本机时钟的毫秒数")
        ) { .int($0.ahead) }
        $0.add("stopped", .bool, required: true, Text(en: "whether it stands still", zh: "是否静止")) {
            .bool($0.isStopped)
        }
        $0.add("moving", .bool, required: true, Text(en: "whether it is being advanced", zh: "是否正在推进")) {
            .bool($0.isMoving)
        }
        $0.add(
            "pace", .choice(of: RenewalPace.self), required: true,
            Text(en: "how fast subscriptions run", zh: "订阅运行的速度")
        ) { .string($0.pace.rawValue) }
        $0.add("next", .object(event.members), Text(en: "what happens next; null: nothing", zh: "下一件事；没有则为 null")) {
            $0.upcoming.first.map(event.json) ?? .null
        }
        $0.add(
            "upcoming", .list(event.members), required: true,
            Text(en: "that and what follows it, ten at most", zh: "接下来的至多十件事")
        ) { .array($0.upcoming.map(event.json)) }
    }
}

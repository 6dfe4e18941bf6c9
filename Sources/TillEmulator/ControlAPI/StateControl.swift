import TillBilling
import TillHTTP
import TillJSON

/// A summary of the whole store in a few numbers.
extension ControlEndpoint {
    func addState(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/state", LocalizedText(en: "A summary of the store.", zh: "商店概况。"),
            answer: ControlResponse("State", Self.stateMembers)
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

    private static func count(_ name: String, _ note: LocalizedText) -> ControlMember {
        ControlMember(name, .integer(0...Int64.max), required: true, note)
    }

    private static let stateMembers: [ControlMember] = [
        ControlMember(
            "environment", .choice(of: StoreEnvironment.self), required: true,
            LocalizedText(en: "the environment in signed data", zh: "签名数据中的环境")),
        ControlMember("now", .instant, required: true, LocalizedText(en: "the store's time", zh: "商店时间")),
        count("products", LocalizedText(en: "the number of products", zh: "商品数")),
        count("accounts", LocalizedText(en: "the number of Apple Accounts", zh: "Apple 账户数")),
        ControlMember(
            "transactions",
            .object([
                count("total", LocalizedText(en: "the total number", zh: "总数")),
                count(
                    "unfinished",
                    LocalizedText(en: "the number of paid transactions still in the queue", zh: "已付款且仍在队列中的交易数")),
                count(
                    "refunded",
                    LocalizedText(en: "the number of transactions revoked in full or in part", zh: "已全部或部分退款的交易数")),
                ControlMember(
                    "byState", .map, required: true,
                    LocalizedText(en: "the numbers by state: purchased, deferred, …", zh: "各付款状态的交易数")),
                ControlMember(
                    "byType", .map, required: true, LocalizedText(en: "the numbers by product type", zh: "各商品类型的交易数")),
            ]), required: true, LocalizedText(en: "the transaction counts", zh: "交易数")),
        ControlMember(
            "subscriptions",
            .object([
                count("total", LocalizedText(en: "the total number", zh: "总数")),
                ControlMember(
                    "byState", .map, required: true,
                    LocalizedText(en: "the numbers by state: active, expired, …", zh: "各状态的订阅数")
                ),
            ]), required: true, LocalizedText(en: "the subscription counts", zh: "订阅数")),
        ControlMember(
            "notifications",
            .object([
                ControlMember(
                    "url", .text(limit: 2_000),
                    LocalizedText(en: "the receiver's URL; null: none are sent", zh: "接收方地址；null 表示不发送")),
                count("total", LocalizedText(en: "the number in the last 180 days", zh: "最近 180 天的通知数")),
                count("pending", LocalizedText(en: "the number waiting to be sent or retried", zh: "待发送或待重试的通知数")),
                count("failed", LocalizedText(en: "the number without further attempts", zh: "已停止重试的通知数")),
                ControlMember(
                    "nextAttemptAt", .instant, LocalizedText(en: "the time of the next attempt", zh: "下次尝试的时间")),
            ]), required: true, LocalizedText(en: "the notification counts", zh: "通知数")),
        ControlMember(
            "clock", .object(ClockText.members), required: true,
            LocalizedText(en: "the clock, as in GET /emulator/clock", zh: "时钟，同 GET /emulator/clock")),
        ControlMember(
            "nextDue", .object(ClockText.event.members), LocalizedText(en: "the next scheduled event", zh: "下一个计划事件")),
    ]
}

/// The store's time.
extension ControlEndpoint {
    func addClock(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/clock",
            LocalizedText(en: "The store's clock and the next scheduled events.", zh: "商店时钟与接下来的计划事件。"),
            answer: ControlResponse("Clock", ClockText.members)
        ) { _ in .json(ClockText.json(try await store.clockState())) }
        routes.on(
            .post, "/emulator/clock",
            LocalizedText(
                en: "Advances the clock. Returns after all events due by then have been processed.",
                zh: "推进时钟；期间到期的事件全部处理完后返回。"),
            body: [
                ControlMember(
                    "advance", .span,
                    LocalizedText(
                        en: "the duration, such as 30d, 90s or 1d12h (w, d, h, m, s, ms)",
                        zh: "时长，如 30d、90s、1d12h（w、d、h、m、s、ms）")),
                ControlMember(
                    "to", .instant, LocalizedText(en: "the target time, instead of advance", zh: "目标时间，代替 advance")),
            ],
            answer: ControlResponse("Clock", ClockText.members)
        ) { call in
            switch (try call.body.span("advance"), try call.body.instant("to")) {
            case (let span?, nil): _ = try await store.advance(by: span).answered()
            case (nil, let moment?): _ = try await store.advance(to: moment).answered()
            default:
                throw ControlError.badRequest(
                    "advance_or_to", "Give either \"advance\", such as \"30d\", or \"to\", a time.",
                    "请给出 “advance”（如 “30d”）或 “to”（时间），二者选一。")
            }
            return .json(ClockText.json(try await store.clockState()))
        }
        routes.on(
            .put, "/emulator/clock",
            LocalizedText(en: "Stops or starts the clock, or sets the subscription rate.", zh: "停止或启动时钟，或设定订阅速度。"),
            body: [
                ControlMember(
                    "pace", .choice(of: RenewalPace.self),
                    LocalizedText(en: "the subscription rate", zh: "订阅运行的速度")),
                ControlMember(
                    "stopped", .bool,
                    LocalizedText(
                        en: "whether the clock is stopped; a stopped clock changes only when it is advanced",
                        zh: "是否停止；停止时只有推进才会改变时间")),
            ],
            answer: ControlResponse("Clock", ClockText.members)
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
            "kind", .choice(Schedule.Kind.allCases.map(\.rawValue) + ["notification"]),
            required: true, LocalizedText(en: "the kind of event", zh: "事件种类")
        ) { .string($0.kind) }
        $0.add(
            "subject", .text(limit: 40), required: true,
            LocalizedText(en: "the number or id of the object", zh: "对象的编号或标识")
        ) {
            .string($0.subject)
        }
        $0.add("date", .instant, required: true, LocalizedText(en: "the time", zh: "时间")) { .string($0.date.rfc3339) }
    }

    static var members: [ControlMember] { object.members }
    static func json(_ clock: ClockState) -> JSONValue { object.json(clock) }

    private static let object = ControlObject<ClockState> {
        $0.add("now", .instant, required: true, LocalizedText(en: "the store's time", zh: "商店时间")) {
            .string($0.now.rfc3339)
        }
        $0.add(
            "ahead", .integer(Int64.min...Int64.max), required: true,
            LocalizedText(en: "the offset from the machine's clock in milliseconds", zh: "领先本机时钟的毫秒数")
        ) { .int($0.ahead) }
        $0.add("stopped", .bool, required: true, LocalizedText(en: "whether the clock is stopped", zh: "是否停止")) {
            .bool($0.isStopped)
        }
        $0.add("moving", .bool, required: true, LocalizedText(en: "whether the clock is being advanced", zh: "是否正在推进"))
        {
            .bool($0.isMoving)
        }
        $0.add(
            "pace", .choice(of: RenewalPace.self), required: true,
            LocalizedText(en: "the subscription rate", zh: "订阅运行的速度")
        ) { .string($0.pace.rawValue) }
        $0.add(
            "next", .object(event.members),
            LocalizedText(en: "the next scheduled event; null if there is none", zh: "下一个计划事件，没有则为 null")
        ) {
            $0.upcoming.first.map(event.json) ?? .null
        }
        $0.add(
            "upcoming", .list(event.members), required: true,
            LocalizedText(en: "the next scheduled events, at most ten", zh: "接下来的计划事件，至多十个")
        ) { .array($0.upcoming.map(event.json)) }
    }
}

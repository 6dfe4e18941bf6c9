import TillBilling
import TillHTTP
import TillJSON

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
                    "pace", .choice(RenewalPace.allCases.map(\.rawValue)),
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

/// The clock in the control API's own words.
enum ClockText {
    static let event: [ControlMember] = [
        ControlMember(
            "kind",
            .choice(["subscription", "refund", "approval", "massExtension", "priceIncrease", "notification"]),
            required: true, Text(en: "what will happen", zh: "将发生的事")),
        ControlMember(
            "subject", .text(limit: 40), required: true, Text(en: "to what: its number or id", zh: "对象的编号或标识")),
        ControlMember("date", .instant, required: true, Text(en: "when", zh: "时间")),
    ]

    static let members: [ControlMember] = [
        ControlMember("now", .instant, required: true, Text(en: "the store's time", zh: "商店时间")),
        ControlMember(
            "ahead", .integer(Int64.min...Int64.max), required: true,
            Text(en: "milliseconds ahead of the machine's clock", zh: "领先本机时钟的毫秒数")),
        ControlMember("stopped", .bool, required: true, Text(en: "whether it stands still", zh: "是否静止")),
        ControlMember("moving", .bool, required: true, Text(en: "whether it is being advanced", zh: "是否正在推进")),
        ControlMember(
            "pace", .choice(RenewalPace.allCases.map(\.rawValue)), required: true,
            Text(en: "how fast subscriptions run", zh: "订阅运行的速度")),
        ControlMember("next", .object(event), Text(en: "what happens next; null: nothing", zh: "下一件事；没有则为 null")),
        ControlMember(
            "upcoming", .list(event), required: true, Text(en: "that and what follows it, ten at most", zh: "接下来的至多十件事")
        ),
    ]

    static func json(_ clock: ClockState) -> JSONValue {
        let upcoming = clock.upcoming.map(json)
        return [
            "now": .string(clock.now.rfc3339), "ahead": .int(clock.ahead), "stopped": .bool(clock.isStopped),
            "moving": .bool(clock.isMoving), "pace": .string(clock.pace.rawValue), "next": upcoming.first ?? .null,
            "upcoming": .array(upcoming),
        ]
    }

    private static func json(_ event: ClockState.Event) -> JSONValue {
        ["kind": .string(event.kind), "subject": .string(event.subject), "date": .string(event.date.rfc3339)]
    }
}

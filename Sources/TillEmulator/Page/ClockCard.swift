import TillBilling
import TillPages
import TillSQL

/// The store's time, its next events, and the settings of renewals in the whole store.
struct ClockCard {
    struct Found: Sendable {
        let clock: ClockState
        let grace: BillingGracePeriod?

        init(_ clock: StoreClock, _ configuration: EmulatorConfiguration, _ session: any Connection) throws {
            self.clock = try ClockState(clock, session)
            grace = try BillingGracePeriod.current(configuration, session)
        }
    }

    let visit: PageVisit
    let found: Found

    /// Of the ten events in `ClockState`.
    private static let upcomingLimit = 4

    private var say: Reader { visit.say }
    private var clock: ClockState { found.clock }

    var html: HTML {
        element("section", .class("card", "clock"), Attribute("aria-labelledby", "clock-title")) {
            element("div", .class("head")) {
                element("h2", Attribute("id", "clock-title")) { say("Clock", "时钟") }
                if clock.isMoving {
                    element("span", .class("pill", "busy")) { say("Being advanced", "正在推进") }
                } else if clock.isStopped {
                    element("span", .class("pill", "waiting")) { say("Stopped", "已停止") }
                }
            }
            element("p", .class("now")) { HTML.time(clock.now) }
            forms
            element("h3") { say("Scheduled events", "计划事件") }
            if clock.upcoming.isEmpty {
                element("p", .class("hint")) { say("None.", "没有。") }
            } else {
                element("ol", .class("plain", "upcoming")) {
                    for event in clock.upcoming.prefix(Self.upcomingLimit) {
                        element("li") {
                            HTML.time(event.date)
                            " "
                            words(event)
                        }
                    }
                }
            }
            element("h3") { say("Renewal settings of the store", "续订设定（整个商店）") }
            settings
        }
    }

    /// The clock in one line, for pages on which a person watches subscriptions while time passes.
    var line: HTML {
        element("div", .class("passing")) {
            HTML.time(clock.now)
            steps
        }
    }

    private var steps: HTML {
        HTML.form(.advance, "steps", to: visit.here) {
            for (span, title) in spans {
                element(
                    "button", Attribute("type", "submit"), Attribute("name", "advance"), .value(span), .class("quiet")
                ) { title }
            }
        }
    }

    @HTMLBuilder private var forms: HTML {
        steps
        HTML.form(.advance, "line", to: visit.here) {
            HTML.field(
                "advance", say("Duration", "时长"), "", Attribute("type", "text"), Attribute("maxlength", "40"),
                .flag("required"), hint: "1d12h")
            element("button", Attribute("type", "submit"), .class("primary")) { say("Advance", "前进") }
        }
        HTML.form(.clock, "steps", to: visit.here) {
            HTML.hidden("stopped", clock.isStopped ? "false" : "true")
            element("button", Attribute("type", "submit"), Attribute("id", "stop-clock"), .class("quiet")) {
                clock.isStopped ? say("Start the clock", "启动时钟") : say("Stop the clock", "停止时钟")
            }
        }
    }

    @HTMLBuilder private var settings: HTML {
        HTML.form(.clock, "line", to: visit.here) {
            HTML.choice(
                "pace", say("Rate", "速度"), RenewalPace.allCases.map { ($0.rawValue, $0.title(say)) },
                chosen: clock.pace.rawValue)
            element("button", Attribute("type", "submit"), Attribute("id", "set-pace"), .class("quiet")) {
                say("Set", "设定")
            }
        }
        HTML.form(.grace, "line", to: visit.here) {
            HTML.choice(
                "days", say("Billing grace period", "扣款宽限期"),
                [("", say("none", "无"))]
                    + BillingGracePeriod.Length.allCases.map { length in
                        (String(length.rawValue), say("\(length.rawValue) days", "\(length.rawValue) 天"))
                    }, chosen: found.grace.map { String($0.length.rawValue) } ?? "")
            element("button", Attribute("type", "submit"), Attribute("id", "set-grace"), .class("quiet")) {
                say("Set", "设定")
            }
        }
    }

    private var spans: [(String, String)] {
        [
            ("1h", say("+1 hour", "+1 小时")), ("1d", say("+1 day", "+1 天")), ("1w", say("+1 week", "+1 周")),
            ("month", say("+1 month", "+1 个月")), ("year", say("+1 year", "+1 年")),
        ]
    }

    @HTMLBuilder private func words(_ event: ClockState.Event) -> HTML {
        switch event.kind {
        case "subscription": say("subscription ", "订阅 ")
        case "refund": say("refund decision: ", "退款决定：")
        case "approval": say("approval expires: ", "购买请求到期：")
        case "massExtension": say("mass extension", "批量延期")
        default: say("notification attempt", "发送通知")
        }
        if ["subscription", "refund", "approval"].contains(event.kind) { HTML.code(event.subject, limit: 40) }
    }
}

import TillBilling
import TillPages
import TillSQL

/// The store's time, its next events, and the settings of renewals in the whole store.
struct ClockCard {
    struct Content: Sendable {
        let clock: ClockState
        let grace: BillingGracePeriod?

        init(_ clock: StoreClock, _ configuration: EmulatorConfiguration, _ connection: any Connection) throws {
            self.clock = try ClockState(clock, connection)
            grace = try BillingGracePeriod.current(configuration, connection)
        }
    }

    let visit: PageVisit
    let content: Content

    /// Of the ten events in `ClockState`.
    private static let upcomingLimit = 4

    private var localize: Localizer { visit.localize }
    private var clock: ClockState { content.clock }

    var html: HTML {
        element("section", .class("card", "clock"), Attribute("aria-labelledby", "clock-title")) {
            element("div", .class("head")) {
                element("h2", Attribute("id", "clock-title")) { localize("Clock", "时钟") }
                if clock.isMoving {
                    element("span", .class("pill", "busy")) { localize("Being advanced", "正在推进") }
                } else if clock.isStopped {
                    element("span", .class("pill", "waiting")) { localize("Stopped", "已停止") }
                }
            }
            element("p", .class("now")) { HTML.time(clock.now) }
            forms
            element("h3") { localize("Scheduled events", "计划事件") }
            if clock.upcoming.isEmpty {
                element("p", .class("hint")) { localize("None.", "没有。") }
            } else {
                element("ol", .class("plain", "upcoming")) {
                    for event in clock.upcoming.prefix(Self.upcomingLimit) {
                        element("li") {
                            HTML.time(event.date)
                            " "
                            sentence(event)
                        }
                    }
                }
            }
            element("h3") { localize("Renewal settings of the store", "续订设定（整个商店）") }
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
                "advance", localize("Duration", "时长"), "", Attribute("type", "text"), Attribute("maxlength", "40"),
                .flag("required"), hint: "1d12h")
            element("button", Attribute("type", "submit"), .class("primary")) { localize("Advance", "前进") }
        }
        HTML.form(.clock, "steps", to: visit.here) {
            HTML.hidden("stopped", clock.isStopped ? "false" : "true")
            element("button", Attribute("type", "submit"), Attribute("id", "stop-clock"), .class("quiet")) {
                clock.isStopped ? localize("Start the clock", "启动时钟") : localize("Stop the clock", "停止时钟")
            }
        }
    }

    @HTMLBuilder private var settings: HTML {
        HTML.form(.clock, "line", to: visit.here) {
            HTML.choice(
                "pace", localize("Rate", "速度"), RenewalPace.allCases.map { ($0.rawValue, $0.title(localize)) },
                chosen: clock.pace.rawValue)
            element("button", Attribute("type", "submit"), Attribute("id", "set-pace"), .class("quiet")) {
                localize("Set", "设定")
            }
        }
        HTML.form(.grace, "line", to: visit.here) {
            HTML.choice(
                "days", localize("Billing grace period", "扣款宽限期"),
                [("", localize("none", "无"))]
                    + BillingGracePeriod.Length.allCases.map { length in
                        (String(length.rawValue), localize("\(length.rawValue) days", "\(length.rawValue) 天"))
                    }, chosen: content.grace.map { String($0.length.rawValue) } ?? "")
            element("button", Attribute("type", "submit"), Attribute("id", "set-grace"), .class("quiet")) {
                localize("Set", "设定")
            }
        }
    }

    private var spans: [(String, String)] {
        [
            ("1h", localize("+1 hour", "+1 小时")), ("1d", localize("+1 day", "+1 天")),
            ("1w", localize("+1 week", "+1 周")),
            ("month", localize("+1 month", "+1 个月")), ("year", localize("+1 year", "+1 年")),
        ]
    }

    @HTMLBuilder private func sentence(_ event: ClockState.Event) -> HTML {
        switch event.kind {
        case "subscription": localize("subscription ", "订阅 ")
        case "refund": localize("refund decision: ", "退款决定：")
        case "approval": localize("approval expires: ", "购买请求到期：")
        case "massExtension": localize("mass extension", "批量延期")
        default: localize("notification attempt", "发送通知")
        }
        if ["subscription", "refund", "approval"].contains(event.kind) { HTML.code(event.subject, limit: 40) }
    }
}

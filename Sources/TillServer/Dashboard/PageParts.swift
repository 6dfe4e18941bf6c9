import TillBilling

/// The small pieces pages are made of.
extension HTML {
    /// What somebody else wrote: kept from reordering the text around it, and cut where a list has no room for it.
    static func outside(_ text: String, limit: Int = 4_000) -> HTML {
        let scalars = text.unicodeScalars
        guard let cut = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
            cut != scalars.endIndex
        else { return element("bdi") { text } }
        return element("bdi") { String(scalars[..<cut]) + "…" }
    }

    /// A code, an id, a hash: to be compared letter by letter.
    static func code(_ text: String, limit: Int = 4_000) -> HTML { element("code") { outside(text, limit: limit) } }

    /// `2026-03-01 08:30:00`; the page says once that this is UTC.
    static func time(_ instant: Instant) -> HTML {
        let text = instant.rfc3339
        return element("time", .datetime(instant)) {
            element("span", .class("day")) { String(text.prefix(10)) } + HTML(" ")
                + HTML(String(text.dropFirst(11).prefix(8)))
        }
    }

    /// The same with milliseconds, where steps follow each other closely.
    static func exactTime(_ instant: Instant) -> HTML {
        let text = instant.rfc3339
        return element("time", .datetime(instant)) {
            element("span", .class("day")) { String(text.prefix(10)) } + HTML(" ")
                + HTML(String(text.dropFirst(11).dropLast()))
        }
    }

    static func status(_ status: OrderStatus, _ say: Reader) -> HTML {
        element("span", .class("pill", status.styleClass)) { say(status.title) }
    }

    static func state(_ state: RecordedTransaction.State, _ say: Reader) -> HTML {
        switch state {
        case .granted: element("span", .class("pill", "good")) { say("Granted", "已发放") }
        case .quarantined: element("span", .class("pill", "waiting")) { say("Quarantined", "待认领") }
        case .revoked: element("span", .class("pill", "back")) { say("Revoked", "已撤销") }
        }
    }

    static func environment(_ environment: Environment?, _ say: Reader) -> HTML {
        switch environment {
        case .production: element("span", .class("badge", "production")) { say("Production", "正式") }
        case .sandbox: element("span", .class("badge", "sandbox")) { say("Sandbox", "沙盒") }
        case nil: element("span", .class("badge", "none")) { say("Unpaid", "未付款") }
        }
    }

    static func facts(@HTMLBuilder _ facts: () -> HTML) -> HTML { element("dl", .class("facts"), content: facts) }

    static func fact(_ name: String, @HTMLBuilder _ value: () -> HTML) -> HTML {
        element("div") {
            element("dt") { name }
            element("dd", content: value)
        }
    }

    /// A table that stays a table for who hears it, whatever the stylesheet makes of its boxes on a narrow screen.
    static func table(
        _ name: StaticString, label: String, columns: [String], @HTMLBuilder rows: () -> HTML
    ) -> HTML {
        element("table", .class(name), Attribute("role", "table"), .label(label)) {
            element("thead", Attribute("role", "rowgroup")) {
                element("tr", Attribute("role", "row")) {
                    for column in columns {
                        element("th", Attribute("scope", "col"), Attribute("role", "columnheader")) { column }
                    }
                }
            }
            element("tbody", Attribute("role", "rowgroup"), content: rows)
        }
    }

    static func cell(_ name: StaticString, @HTMLBuilder _ content: () -> HTML) -> HTML {
        element("td", .class(name), Attribute("role", "cell"), content: content)
    }

    static func row(@HTMLBuilder _ cells: () -> HTML) -> HTML {
        element("tr", Attribute("role", "row"), content: cells)
    }

    static func nothing(_ sentence: String) -> HTML { element("p", .class("nothing")) { sentence } }

    /// From one page of a list to the next.
    static func pager(newest: DashboardLink?, older: DashboardLink?, _ say: Reader) -> HTML {
        guard newest != nil || older != nil else { return .empty }
        return element("nav", .class("pager"), .label(say("More", "翻页"))) {
            if let newest { element("a", .href(newest)) { say("Newest", "回到最新") } }
            if let older { element("a", Attribute("rel", "next"), .href(older)) { say("Older", "更早") } }
        }
    }
}

extension OrderStatus {
    /// Its colour, in words of the stylesheet. The text says the same.
    var styleClass: StaticString {
        switch self {
        case .prepared: "idle"
        case .completed: "good"
        case .ongoing: "busy"
        case .cancelled: "idle"
        case .failed: "bad"
        case .deferred: "waiting"
        case .refunded: "back"
        }
    }
}

extension DashboardVisit {
    /// `?cursor=`, from which lists go on to older rows; anything that is none begins at the newest.
    var cursor: Int64? { request.queryValue("cursor").flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } }
}

import TillBilling

/// The small pieces pages are made of.
extension HTML {
    /// What somebody else wrote: kept from reordering the text around it, and cut where a list has no room for it.
    public static func outside(_ text: String, limit: Int = 4_000) -> HTML {
        let scalars = text.unicodeScalars
        guard let cut = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
            cut != scalars.endIndex
        else { return element("bdi") { text } }
        return element("bdi") { String(scalars[..<cut]) + "…" }
    }

    /// A code, an id, a hash: to be compared letter by letter.
    public static func code(_ text: String, limit: Int = 4_000) -> HTML {
        element("code") { outside(text, limit: limit) }
    }

    /// `2026-03-01 08:30:00`; the page says once that this is UTC.
    public static func time(_ instant: Instant) -> HTML {
        let text = instant.rfc3339
        return element("time", .datetime(instant)) {
            element("span", .class("day")) { String(text.prefix(10)) } + HTML(" ")
                + HTML(String(text.dropFirst(11).prefix(8)))
        }
    }

    /// The same with milliseconds, where steps follow each other closely.
    public static func exactTime(_ instant: Instant) -> HTML {
        let text = instant.rfc3339
        return element("time", .datetime(instant)) {
            element("span", .class("day")) { String(text.prefix(10)) } + HTML(" ")
                + HTML(String(text.dropFirst(11).dropLast()))
        }
    }

    public static func facts(@HTMLBuilder _ facts: () -> HTML) -> HTML {
        element("dl", .class("facts"), content: facts)
    }

    public static func fact(_ name: String, @HTMLBuilder _ value: () -> HTML) -> HTML {
        element("div") {
            element("dt") { name }
            element("dd", content: value)
        }
    }

    /// A table that stays a table for who hears it, whatever the stylesheet makes of its boxes on a narrow screen.
    public static func table(
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

    public static func cell(_ name: StaticString, @HTMLBuilder _ content: () -> HTML) -> HTML {
        element("td", .class(name), Attribute("role", "cell"), content: content)
    }

    public static func row(@HTMLBuilder _ cells: () -> HTML) -> HTML {
        element("tr", Attribute("role", "row"), content: cells)
    }

    public static func nothing(_ sentence: String) -> HTML { element("p", .class("nothing")) { sentence } }

    /// From one page of a list to the next.
    public static func pager(newest: PageLink?, older: PageLink?, _ say: Reader) -> HTML {
        guard newest != nil || older != nil else { return .empty }
        return element("nav", .class("pager"), .label(say("More", "翻页"))) {
            if let newest { element("a", .href(newest)) { say("Newest", "回到最新") } }
            if let older { element("a", Attribute("rel", "next"), .href(older)) { say("Older", "更早") } }
        }
    }

    public static func hidden(_ name: StaticString, _ value: String) -> HTML {
        emptyElement("input", Attribute("type", "hidden"), Attribute("name", name), .value(value))
    }

    public static func option(_ value: String, _ title: String, isChosen: Bool) -> HTML {
        isChosen
            ? element("option", .value(value), .flag("selected")) { title }
            : element("option", .value(value)) { title }
    }

    /// Says whether what refreshes itself moves, and lets it be stopped (WCAG 2.2, 2.2.2). Without the script it isn't
    /// there.
    /// - Parameter source: where the refreshed part alone is to be had; nil: it is taken from the page itself.
    public static func live(source: PageLink? = nil, _ say: Reader) -> HTML {
        element(
            "p", .class("live"), Attribute("id", "live"), .flag("hidden"), .data("data-on", say("Live", "实时")),
            .data("data-paused", say("Paused", "已暂停")), .data("data-lost", say("No connection", "连接中断")),
            .data("data-pause", say("Pause", "暂停")), .data("data-resume", say("Resume", "继续")),
            source.map { .data("data-source", $0.text) } ?? Attribute("data-whole", "")
        ) {
            element("span", .class("dot"), Attribute("aria-hidden", "true")) {}
            element("span", Attribute("id", "live-state"), Attribute("role", "status")) {}
            element("button", Attribute("type", "button"), Attribute("id", "live-switch"), .class("quiet")) {}
        }
    }
}

/// Says everything in the reader's language.
public struct Reader: Sendable {
    public let language: Language

    public init(language: Language) { self.language = language }

    public func callAsFunction(_ english: String, _ chinese: String) -> String {
        switch language {
        case .english: english
        case .chinese: chinese
        }
    }

    public func callAsFunction(_ text: Text) -> String { text[language] }
}

import TillBilling

/// The small parts that pages are built from.
extension HTML {
    /// Outside text: isolated so that it cannot reorder the text around it, and truncated to `limit` scalars.
    public static func untrusted(_ text: String, limit: Int = 4_000) -> HTML {
        let scalars = text.unicodeScalars
        guard let cut = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
            cut != scalars.endIndex
        else { return element("bdi") { text } }
        return element("bdi") { String(scalars[..<cut]) + "…" }
    }

    /// A code, an id or a hash, which readers compare letter by letter.
    public static func code(_ text: String, limit: Int = 4_000) -> HTML {
        element("code") { untrusted(text, limit: limit) }
    }

    /// `2026-03-01 08:30:00`; the page states once that times are UTC.
    public static func time(_ instant: Instant) -> HTML {
        let text = instant.rfc3339
        return element("time", .datetime(instant)) {
            element("span", .class("day")) { String(text.prefix(10)) } + HTML(" ")
                + HTML(String(text.dropFirst(11).prefix(8)))
        }
    }

    /// The same as `time(_:)`, with milliseconds, for steps that follow each other closely.
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

    /// A table that stays a table for screen readers, however the stylesheet lays it out on a narrow screen.
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

    public static func emptyState(_ sentence: String) -> HTML { element("p", .class("nothing")) { sentence } }

    /// Links to the newest and to the next page of a list.
    public static func pager(newest: PageLink?, older: PageLink?, _ localize: Localizer) -> HTML {
        guard newest != nil || older != nil else { return .empty }
        return element("nav", .class("pager"), .label(localize("More", "翻页"))) {
            if let newest { element("a", .href(newest)) { localize("Newest", "回到最新") } }
            if let older { element("a", Attribute("rel", "next"), .href(older)) { localize("Older", "更早") } }
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

    /// Shows whether a refreshing page is live, and lets the reader stop it (WCAG 2.2, 2.2.2). Hidden without the
    /// script.
    ///
    /// - Parameter source: the address of the refreshed part alone; nil takes the part from the page itself.
    public static func live(source: PageLink? = nil, _ localize: Localizer) -> HTML {
        element(
            "p", .class("live"), Attribute("id", "live"), .flag("hidden"), .data("data-on", localize("Live", "实时")),
            .data("data-paused", localize("Paused", "已暂停")), .data("data-lost", localize("No connection", "连接中断")),
            .data("data-pause", localize("Pause", "暂停")), .data("data-resume", localize("Resume", "继续")),
            source.map { .data("data-source", $0.text) } ?? Attribute("data-whole", "")
        ) {
            element("span", .class("dot"), Attribute("aria-hidden", "true")) {}
            element("span", Attribute("id", "live-state"), Attribute("role", "status")) {}
            element("button", Attribute("type", "button"), Attribute("id", "live-switch"), .class("quiet")) {}
        }
    }
}

/// Chooses each text in the reader's language.
public struct Localizer: Sendable {
    public let language: Language

    public init(language: Language) { self.language = language }

    public func callAsFunction(_ english: String, _ chinese: String) -> String {
        switch language {
        case .english: english
        case .chinese: chinese
        }
    }

    public func callAsFunction(_ text: LocalizedText) -> String { text[language] }
}

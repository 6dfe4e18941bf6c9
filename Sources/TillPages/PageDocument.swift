import TillBilling

/// What every page has around it, whoever shows it.
public enum PageDocument {
    /// - Parameters:
    ///   - stylesheet: where `Stylesheet.text` is served, with more of the room's own behind it.
    ///   - script: where `LiveScript.text` is; nil for a page that stands still.
    public static func html(
        title: String, _ say: Reader, stylesheet: PageLink, script: PageLink?, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        element("html", .language(say.language)) {
            element("head") {
                emptyElement("meta", Attribute("charset", "utf-8"))
                emptyElement(
                    "meta", Attribute("name", "viewport"), Attribute("content", "width=device-width, initial-scale=1"))
                emptyElement("meta", Attribute("name", "color-scheme"), Attribute("content", "light dark"))
                // Without one, browsers ask for /favicon.ico.
                emptyElement("link", Attribute("rel", "icon"), Attribute("href", icon))
                emptyElement("link", Attribute("rel", "stylesheet"), .href(stylesheet))
                element("title") { "\(title) · Till" }
                if let script { element("script", .source(script), .flag("defer")) {} }
            }
            element("body") {
                element("a", .class("skip"), Attribute("href", "#main")) { say("Skip to the content", "跳到正文") }
                content()
            }
        }
    }

    /// A till seen from the front, in one colour that does on light and dark.
    private static let icon: StaticString = """
        data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230f766e' \
        d='M4 1h8v4H4zM2 6h12l1 5H1zM1 12h14v3H1z'/%3E%3C/svg%3E
        """

    public static func tab(_ title: String, _ link: PageLink, isCurrent: Bool) -> HTML {
        isCurrent
            ? element("a", .href(link), Attribute("aria-current", "page")) { title }
            : element("a", .href(link)) { title }
    }

    /// Both languages, each named in itself.
    public static func languageSwitch(_ say: Reader, to link: (Language) -> PageLink) -> HTML {
        element("div", .class("languages"), Attribute("role", "group"), .label(say("Language", "语言"))) {
            for (language, name) in [(Language.english, "English"), (.chinese, "中文")] {
                if language == say.language {
                    element("span", .language(language), Attribute("aria-current", "true")) { name }
                } else {
                    element("a", .language(language), .href(link(language))) { name }
                }
            }
        }
    }
}

import TillBilling
import TillHTTP

/// What all pages have around them.
enum PageFrame {
    enum Room: Hashable, CaseIterable {
        case orders
        case quarantine
        case refusals

        var link: DashboardLink {
            switch self {
            case .orders: .home
            case .quarantine: .quarantine
            case .refusals: .refusals
            }
        }

        func title(_ say: Reader) -> String {
            switch self {
            case .orders: say("Orders", "订单")
            case .quarantine: say("Quarantine", "待认领")
            case .refusals: say("Refused proofs", "被拒凭证")
            }
        }
    }

    /// A page for somebody who is logged in.
    static func page(
        title: String, _ visit: DashboardVisit, in room: Room?, script: Bool = false,
        @HTMLBuilder content: () -> HTML
    ) -> HTML {
        let say = visit.say
        return document(title: title, say, script: script) {
            element("header", .class("bar")) {
                element("a", .class("brand"), .href(.home)) { "Till" }
                element("nav", .label(say("Pages", "页面"))) {
                    for other in Room.allCases { tab(other, isCurrent: other == room, say) }
                }
                element("div", .class("who")) {
                    languageSwitch(visit.request, say)
                    if let formToken = visit.visitor.formToken {
                        element("form", Attribute("method", "post"), .action(.logout)) {
                            HTML.hidden("form", formToken)
                            element("button", Attribute("type", "submit"), .class("quiet")) { say("Log out", "退出") }
                        }
                    }
                }
            }
            element("main", Attribute("id", "main"), content: content)
            element("footer") {
                say("All times are UTC. Logged in as ", "所有时间均为 UTC。当前登录：")
                HTML.outside(visit.visitor.operatorID)
            }
        }
    }

    /// A page for anybody.
    static func bare(
        title: String, _ say: Reader, languages: HTTPRequest?, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        document(title: title, say, script: false) {
            element("header", .class("bar")) {
                element("a", .class("brand"), .href(.home)) { "Till" }
                if let languages { element("div", .class("who")) { languageSwitch(languages, say) } }
            }
            element("main", Attribute("id", "main"), content: content)
        }
    }

    private static func document(
        title: String, _ say: Reader, script: Bool, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        element("html", .language(say.language)) {
            element("head") {
                emptyElement("meta", Attribute("charset", "utf-8"))
                emptyElement(
                    "meta", Attribute("name", "viewport"), Attribute("content", "width=device-width, initial-scale=1"))
                emptyElement("meta", Attribute("name", "color-scheme"), Attribute("content", "light dark"))
                // Without one, browsers ask for /favicon.ico.
                emptyElement("link", Attribute("rel", "icon"), Attribute("href", icon))
                emptyElement("link", Attribute("rel", "stylesheet"), .href(.stylesheet))
                element("title") { "\(title) · Till" }
                if script { element("script", .source(.script), .flag("defer")) {} }
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

    private static func tab(_ room: Room, isCurrent: Bool, _ say: Reader) -> HTML {
        isCurrent
            ? element("a", .href(room.link), Attribute("aria-current", "page")) { room.title(say) }
            : element("a", .href(room.link)) { room.title(say) }
    }

    /// Both languages, each named in itself.
    private static func languageSwitch(_ request: HTTPRequest, _ say: Reader) -> HTML {
        element("div", .class("languages"), Attribute("role", "group"), .label(say("Language", "语言"))) {
            for (language, name) in [(Language.english, "English"), (.chinese, "中文")] {
                if language == say.language {
                    element("span", .language(language), Attribute("aria-current", "true")) { name }
                } else {
                    element("a", .language(language), .href(DashboardLink(of: request, in: language))) { name }
                }
            }
        }
    }
}

/// A page with one thing to say.
enum MessagePage {
    static func misdirected(_ say: Reader) -> HTML {
        PageFrame.bare(title: say("Wrong host", "主机名不符"), say, languages: nil) {
            message(
                say("Wrong host", "主机名不符"),
                say(
                    "There are no pages under that name. Use the server's address, or add it under \"dashboardHosts\".",
                    "本服务器不以该名称提供页面。请使用服务器地址，或在 \"dashboardHosts\" 中加入该名称。"))
        }
    }

    static func refused(_ refused: Refused, _ say: Reader) -> HTML {
        PageFrame.bare(title: say("No", "无法完成"), say, languages: nil) {
            message("\(refused.refusal.status)", say(refused.refusal.sentence))
            if let detail = refused.detail { element("p", .class("hint")) { HTML.outside(detail) } }
            element("p") { element("a", .href(.home)) { say("To the orders", "回到订单") } }
        }
    }

    private static func message(_ title: String, _ sentence: String) -> HTML {
        element("h1") { title } + element("p") { sentence }
    }
}

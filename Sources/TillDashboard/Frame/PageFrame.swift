import TillBilling
import TillHTTP
import TillLedger
import TillPages

/// The frame around all pages.
enum PageFrame {
    enum Room: Hashable, CaseIterable {
        case orders
        case quarantine
        case refusals
        case finance

        var link: DashboardLink {
            switch self {
            case .orders: .home
            case .quarantine: .quarantine
            case .refusals: .refusals
            case .finance: .finance
            }
        }

        func title(_ say: Reader) -> String {
            switch self {
            case .orders: say("Orders", "订单")
            case .quarantine: say("Quarantine", "待认领")
            case .refusals: say("Refused proofs", "被拒凭证")
            case .finance: say("Finance", "财务")
            }
        }
    }

    /// A page for a logged-in operator.
    static func page(
        title: String, _ visit: DashboardVisit, in room: Room?, script: Bool = false,
        @HTMLBuilder content: () -> HTML
    ) -> HTML {
        let say = visit.say
        return PageDocument.html(title: title, say, stylesheet: .stylesheet, script: script ? .script : nil) {
            element("header", .class("bar")) {
                element("a", .class("brand"), .href(.home)) { "Till" }
                element("nav", .label(say("Pages", "页面"))) {
                    for other in Room.allCases {
                        PageDocument.tab(other.title(say), other.link, isCurrent: other == room)
                    }
                }
                element("div", .class("who")) {
                    PageDocument.languageSwitch(say) { DashboardLink(of: visit.request, in: $0) }
                    if let formToken = visit.session.formToken {
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
                HTML.outside(visit.session.operatorID)
            }
        }
    }

    /// A page for every visitor.
    static func bare(
        title: String, _ say: Reader, languages: HTTPRequest?, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        PageDocument.html(title: title, say, stylesheet: .stylesheet, script: nil) {
            element("header", .class("bar")) {
                element("a", .class("brand"), .href(.home)) { "Till" }
                if let languages {
                    element("div", .class("who")) {
                        PageDocument.languageSwitch(say) { DashboardLink(of: languages, in: $0) }
                    }
                }
            }
            element("main", Attribute("id", "main"), content: content)
        }
    }
}

/// A page with a single message.
package enum MessagePage {
    package static func misdirected(_ say: Reader) -> HTML {
        PageFrame.bare(title: say("Wrong host", "主机名不符"), say, languages: nil) {
            message(
                say("Wrong host", "主机名不符"),
                say(
                    "The server has no pages under this host name. Use its address, or add the name to "
                        + "\"dashboardHosts\".",
                    "本服务器不以该主机名提供页面。请使用服务器地址，或在 \"dashboardHosts\" 中加入该主机名。"))
        }
    }

    package static func refused(_ refused: Refused, status: Int, _ say: Reader) -> HTML {
        PageFrame.bare(title: say("Request refused", "请求被拒绝"), say, languages: nil) {
            message("\(status)", say(refused.refusal.sentence))
            if let detail = refused.detail { element("p", .class("hint")) { HTML.outside(detail) } }
            element("p") { element("a", .href(.home)) { say("Back to the orders", "返回订单") } }
        }
    }

    private static func message(_ title: String, _ sentence: String) -> HTML {
        element("h1") { title } + element("p") { sentence }
    }
}

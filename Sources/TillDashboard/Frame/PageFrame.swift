import TillBilling
import TillHTTP
import TillLedger
import TillPages

/// The frame around all pages.
enum PageFrame {
    enum Section: Hashable, CaseIterable {
        case orders
        case quarantine
        case transfers
        case refusals
        case finance

        var link: DashboardLink {
            switch self {
            case .orders: .home
            case .quarantine: .quarantine
            case .transfers: .transfers(of: nil)
            case .refusals: .refusals
            case .finance: .finance
            }
        }

        func title(_ localize: Localizer) -> String {
            switch self {
            case .orders: localize("Orders", "订单")
            case .quarantine: localize("Quarantine", "待认领")
            case .transfers: localize("Transfers", "转移")
            case .refusals: localize("Refused proofs", "被拒凭证")
            case .finance: localize("Finance", "财务")
            }
        }
    }

    /// A page for a logged-in operator.
    static func page(
        title: String, _ visit: DashboardVisit, in section: Section?, script: Bool = false,
        @HTMLBuilder content: () -> HTML
    ) -> HTML {
        let localize = visit.localize
        return PageDocument.html(title: title, localize, stylesheet: .stylesheet, script: script ? .script : nil) {
            element("header", .class("bar")) {
                element("a", .class("brand"), .href(.home)) { "Till" }
                element("nav", .label(localize("Pages", "页面"))) {
                    for other in Section.allCases {
                        PageDocument.tab(other.title(localize), other.link, isCurrent: other == section)
                    }
                }
                element("div", .class("who")) {
                    PageDocument.languageSwitch(localize) { DashboardLink(of: visit.request, in: $0) }
                    if let formToken = visit.session.formToken {
                        element("form", Attribute("method", "post"), .action(.logout)) {
                            HTML.hidden("form", formToken)
                            element("button", Attribute("type", "submit"), .class("quiet")) {
                                localize("Log out", "退出")
                            }
                        }
                    }
                }
            }
            if visit.isTestServer { testServer(localize) }
            element("main", Attribute("id", "main"), content: content)
            element("footer") {
                localize("All times are UTC. Logged in as ", "所有时间均为 UTC。当前登录：")
                HTML.untrusted(visit.session.operatorID)
            }
        }
    }

    private static func testServer(_ localize: Localizer) -> HTML {
        element("p", .class("test-server"), Attribute("role", "note")) {
            localize(
                "Development server: it accepts only purchases from Xcode's local StoreKit testing. Nothing here was "
                    + "paid.",
                "开发服务器：只接受 Xcode 本地 StoreKit 测试中的购买。这里没有任何一笔是真实付款。")
        }
    }

    /// A page for every visitor.
    static func bare(
        title: String, _ localize: Localizer, languages: HTTPRequest?, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        PageDocument.html(title: title, localize, stylesheet: .stylesheet, script: nil) {
            element("header", .class("bar")) {
                element("a", .class("brand"), .href(.home)) { "Till" }
                if let languages {
                    element("div", .class("who")) {
                        PageDocument.languageSwitch(localize) { DashboardLink(of: languages, in: $0) }
                    }
                }
            }
            element("main", Attribute("id", "main"), content: content)
        }
    }
}

/// A page with a single message.
package enum MessagePage {
    /// - Parameter host: the `Host` header of the request.
    package static func misdirected(_ localize: Localizer, host: String) -> HTML {
        PageFrame.bare(title: localize("Wrong host", "主机名不符"), localize, languages: nil) {
            element("h1") { localize("Wrong host", "主机名不符") }
            element("p") {
                localize(
                    "The dashboard has no pages under the name that arrived in the Host header: ",
                    "控制台不以 Host 标头中到达的这个名称提供页面：")
                HTML.code(host, limit: 255)
            }
            element("p") {
                localize(
                    "If this is the name of your server, add it to \"dashboardHosts\" in the configuration, without a "
                        + "port, and run till reload.",
                    "如果这正是您的服务器的名称，请把它（不含端口）加入配置的 \"dashboardHosts\"，再运行 till reload。")
            }
            element("p") {
                localize(
                    "If your browser shows another name, the proxy in front replaces the header: let it pass on the "
                        + "browser's Host header (nginx: proxy_set_header Host $host;).",
                    "如果浏览器中显示的是另一个名称，说明前面的代理替换了标头：请让代理原样转发浏览器的 Host 标头"
                        + "（nginx：proxy_set_header Host $host;）。")
            }
        }
    }

    package static func refused(_ refused: RefusalError, status: Int, _ localize: Localizer) -> HTML {
        PageFrame.bare(title: localize("Request refused", "请求被拒绝"), localize, languages: nil) {
            message("\(status)", localize(refused.refusal.sentence))
            if let detail = refused.detail { element("p", .class("hint")) { HTML.untrusted(localize(detail)) } }
            element("p") { element("a", .href(.home)) { localize("Back to the orders", "返回订单") } }
        }
    }

    private static func message(_ title: String, _ sentence: String) -> HTML {
        element("h1") { title } + element("p") { sentence }
    }
}

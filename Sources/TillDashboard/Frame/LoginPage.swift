import TillBilling
import TillHTTP
import TillPages

/// The login form for operators. The mounting server checks the token.
package struct LoginPage {
    package enum Notice {
        case wrong
        /// Too many wrong tokens; the next attempt is possible after this many seconds.
        case tooMany(seconds: Int64)
        /// The form belongs to another browser, another server or an earlier process.
        case expired
        /// A proxy in front replaced the browser's host name.
        case otherHost(HostMismatch)
        /// A proxy in front seems to have replaced the browser's host name with this one.
        case proxiedAs(host: String)
        /// The configuration names no operators.
        case noOperators
    }

    let localize: Localizer
    let formToken: String
    let wanted: DashboardLink?
    let notice: Notice?
    let languages: HTTPRequest

    /// - Parameters:
    ///   - wanted: the page to continue to.
    ///   - languages: the request that the language switch repeats.
    package init(
        localize: Localizer, formToken: String, wanted: DashboardLink?, notice: Notice?, languages: HTTPRequest
    ) {
        self.localize = localize
        self.formToken = formToken
        self.wanted = wanted
        self.notice = notice
        self.languages = languages
    }

    package var html: HTML {
        PageFrame.bare(title: localize("Log in", "登录"), localize, languages: languages) {
            element("form", Attribute("method", "post"), .action(.login), .class("card", "narrow")) {
                element("h1") { localize("Operator login", "运营人员登录") }
                if let notice {
                    element("p", .class("error"), Attribute("role", "alert")) { sentence(notice) }
                }
                element("label", Attribute("for", "token")) { localize("Operator token", "运营令牌") }
                emptyElement(
                    "input", Attribute("id", "token"), Attribute("name", "token"), Attribute("type", "password"),
                    Attribute("autocomplete", "current-password"), Attribute("maxlength", "512"),
                    .flag("required"), .flag("autofocus"), Attribute("aria-describedby", "token-hint"))
                element("p", .class("hint"), Attribute("id", "token-hint")) {
                    localize(
                        "The token that was shown when this server was set up. The login lasts 12 hours.",
                        "设置本服务器时显示的令牌。登录状态保持 12 小时。")
                }
                HTML.hidden("form", formToken)
                if let wanted { HTML.hidden("to", wanted.text) }
                element("button", Attribute("type", "submit"), .class("primary")) { localize("Log in", "登录") }
            }
        }
    }

    private func sentence(_ notice: Notice) -> String {
        switch notice {
        case .wrong: localize("This is not a valid operator token.", "这不是有效的运营令牌。")
        case .tooMany(let seconds):
            localize(
                "Too many wrong tokens came from your address. Try again in \(seconds) "
                    + (seconds == 1 ? "second." : "seconds."),
                "您的地址提交了过多错误的令牌，请在 \(seconds) 秒后重试。")
        case .otherHost(let mismatch): localize(mismatch.sentence)
        case .proxiedAs(let host):
            localize(
                "This page came through a proxy, and the Host header that arrived is \(host.prefix(255)). If your "
                    + "browser shows another name, the login will fail: let the proxy pass on the browser's "
                    + "Host header (nginx: proxy_set_header Host $host;), and list that name under "
                    + "\"dashboardHosts\" in the configuration.",
                "此页面经过代理，到达的 Host 标头是 \(host.prefix(255))。如果浏览器中显示的是另一个名称，登录将会失败："
                    + "请让代理原样转发浏览器的 Host 标头（nginx：proxy_set_header Host $host;），"
                    + "并在配置的 \"dashboardHosts\" 中列出浏览器中的名称。")
        case .expired:
            localize("This form has expired. Enter the token again.", "此表单已失效，请重新输入令牌。")
        case .noOperators:
            localize(
                "The configuration names no operators, so the dashboard accepts no login. Add one under \"operators\".",
                "配置中没有运营人员，无法登录。请在 \"operators\" 下添加。")
        }
    }
}

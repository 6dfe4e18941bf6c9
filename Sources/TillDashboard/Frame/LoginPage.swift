import TillBilling
import TillHTTP
import TillPages

/// The login form for operators. The mounting server checks the token.
package struct LoginPage {
    package enum Complaint {
        case wrong
        case tooMany
        /// The form belongs to another browser, another server or an earlier process.
        case outlived
        /// The configuration names no operators.
        case nobody
    }

    let say: Reader
    let formToken: String
    let wanted: DashboardLink?
    let complaint: Complaint?
    let languages: HTTPRequest

    /// - Parameters:
    ///   - wanted: the page to continue to.
    ///   - languages: the request that the language switch repeats.
    package init(
        say: Reader, formToken: String, wanted: DashboardLink?, complaint: Complaint?, languages: HTTPRequest
    ) {
        self.say = say
        self.formToken = formToken
        self.wanted = wanted
        self.complaint = complaint
        self.languages = languages
    }

    package var html: HTML {
        PageFrame.bare(title: say("Log in", "登录"), say, languages: languages) {
            element("form", Attribute("method", "post"), .action(.login), .class("card", "narrow")) {
                element("h1") { say("Operator login", "运营人员登录") }
                if let complaint {
                    element("p", .class("complaint"), Attribute("role", "alert")) { sentence(complaint) }
                }
                element("label", Attribute("for", "token")) { say("Operator token", "运营令牌") }
                emptyElement(
                    "input", Attribute("id", "token"), Attribute("name", "token"), Attribute("type", "password"),
                    Attribute("autocomplete", "current-password"), Attribute("maxlength", "512"),
                    .flag("required"), .flag("autofocus"), Attribute("aria-describedby", "token-hint"))
                element("p", .class("hint"), Attribute("id", "token-hint")) {
                    say(
                        "The token that was shown when this server was set up. The login lasts 12 hours.",
                        "设置本服务器时显示的令牌。登录状态保持 12 小时。")
                }
                HTML.hidden("form", formToken)
                if let wanted { HTML.hidden("to", wanted.text) }
                element("button", Attribute("type", "submit"), .class("primary")) { say("Log in", "登录") }
            }
        }
    }

    private func sentence(_ complaint: Complaint) -> String {
        switch complaint {
        case .wrong: say("This is not a valid operator token.", "这不是有效的运营令牌。")
        case .tooMany:
            say(
                "Too many wrong tokens came from your address. Wait a minute, then try again.",
                "您的地址提交了过多错误的令牌，请一分钟后重试。")
        case .outlived:
            say("This form has expired. Enter the token again.", "此表单已失效，请重新输入令牌。")
        case .nobody:
            say(
                "The configuration names no operators, so the dashboard accepts no login. Add one under \"operators\".",
                "配置中没有运营人员，无法登录。请在 \"operators\" 下添加。")
        }
    }
}

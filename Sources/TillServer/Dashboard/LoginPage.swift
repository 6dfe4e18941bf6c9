import TillBilling
import TillHTTP
import TillLedger
import TillPages

extension Server {
    /// `GET /dashboard/login?to=`.
    func showLogin(_ request: HTTPRequest, _ say: Reader) -> HTTPResponse {
        loginPage(200, request, say, complaint: nil, wanted: request.queryValue("to"))
    }

    /// `POST /dashboard/login`: an operator token becomes a session. The token is never part of an address.
    func login(_ request: HTTPRequest, _ say: Reader) throws -> HTTPResponse {
        let form = try request.form()
        guard dashboard.isFromOwnPage(request), dashboard.isLoginForm(request, token: form["form"] ?? "") else {
            return loginPage(403, request, say, complaint: .outlived, wanted: form["to"])
        }
        let operatorID: String
        do {
            operatorID = try dashboard.operatorID(token: form["token"] ?? "", from: request.clientNetwork)
        } catch let refused as Refused {
            var response = loginPage(
                refused.refusal.status, request, say,
                complaint: refused.refusal == .tooManyRequests ? .tooMany : .wrong, wanted: form["to"])
            if refused.refusal == .tooManyRequests {
                response.headers.add("Retry-After", String(LoginAttempts.windowSeconds))
            }
            return response
        }
        if let old = request.cookie(Dashboard.sessionCookie) { dashboard.sessions.end(old) }
        var response = HTTPResponse.redirect(to: form["to"].flatMap(DashboardLink.init(wanted:)) ?? .home)
        response.setCookie(
            Dashboard.sessionCookie, dashboard.begin(operatorID: operatorID),
            seconds: DashboardSessions.lifetimeSeconds, for: request)
        response.setCookie(Dashboard.loginCookie, nil, for: request)
        return response
    }

    /// `POST /dashboard/logout`.
    func logout(_ request: HTTPRequest, _ say: Reader) throws -> HTTPResponse {
        guard case .browser(let cookie, let session)? = try dashboard.visitor(request) else {
            return .redirect(to: .login)
        }
        guard dashboard.isFromOwnPage(request), session.isFormToken(try request.form()["form"]) else {
            throw Refused(.forbidden)
        }
        dashboard.sessions.end(cookie)
        var response = HTTPResponse.redirect(to: .login)
        response.setCookie(Dashboard.sessionCookie, nil, for: request)
        return response
    }

    private func loginPage(
        _ status: Int, _ request: HTTPRequest, _ say: Reader, complaint: LoginPage.Complaint?, wanted: String?
    ) -> HTTPResponse {
        let form = dashboard.loginForm(for: request)
        let page = LoginPage(
            say: say, formToken: form.token, wanted: wanted.flatMap(DashboardLink.init(wanted:)),
            complaint: dashboard.hasOperators ? complaint : .nobody,
            languages: request.method == .get ? request : HTTPRequest(method: .get, path: request.path))
        var response = HTTPResponse.page(status, page.html, in: say.language)
        response.setCookie(Dashboard.loginCookie, form.cookie, for: request)
        return response
    }
}

struct LoginPage {
    enum Complaint {
        case wrong
        case tooMany
        /// The form is of another browser, another server or another day.
        case outlived
        /// The configuration names no operators.
        case nobody
    }

    let say: Reader
    let formToken: String
    let wanted: DashboardLink?
    let complaint: Complaint?
    let languages: HTTPRequest

    var html: HTML {
        PageFrame.bare(title: say("Log in", "登录"), say, languages: languages) {
            element("form", Attribute("method", "post"), .action(.login), .class("card", "narrow")) {
                element("h1") { say("Operators", "运营登录") }
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
                        "The token that was shown when this shop was set up. You stay logged in for 12 hours.",
                        "设置本店时显示过的令牌。登录状态保持 12 小时。")
                }
                HTML.hidden("form", formToken)
                if let wanted { HTML.hidden("to", wanted.text) }
                element("button", Attribute("type", "submit"), .class("primary")) { say("Log in", "登录") }
            }
        }
    }

    private func sentence(_ complaint: Complaint) -> String {
        switch complaint {
        case .wrong: say("That is no operator's token.", "这不是有效的运营令牌。")
        case .tooMany:
            say(
                "Too many wrong tokens came from your address. Wait a minute, then try again.",
                "您的地址提交了过多错误的令牌，请一分钟后重试。")
        case .outlived:
            say("This form was too old. Enter the token once more.", "此表单已失效，请重新输入令牌。")
        case .nobody:
            say(
                "The configuration names no operators, so nobody can log in. Add one under \"operators\".",
                "配置中没有运营人员，无法登录。请在 \"operators\" 下添加。")
        }
    }
}

import TillBilling
import TillDashboard
import TillHTTP
import TillLedger
import TillPages

extension Server {
    /// `GET /dashboard/login?to=`.
    func showLogin(_ request: HTTPRequest, _ localize: Localizer) -> HTTPResponse {
        let notice = request.hostOfProxy.map { LoginPage.Notice.proxiedAs(host: $0) }
        return loginPage(200, request, localize, notice: notice, wanted: request.queryValue("to"))
    }

    /// `POST /dashboard/login`: exchanges an operator token for a session. The token is never part of a URL.
    func login(_ request: HTTPRequest, _ localize: Localizer) async throws -> HTTPResponse {
        let form = try request.form()
        guard request.isFromOwnPage else {
            let notice = request.hostMismatch.map(LoginPage.Notice.otherHost) ?? .expired
            return loginPage(403, request, localize, notice: notice, wanted: form["to"])
        }
        guard operators.isLoginForm(request, token: form["form"] ?? "") else {
            return loginPage(403, request, localize, notice: .expired, wanted: form["to"])
        }
        let key: SecretKey
        do {
            key = try operators.key(token: form["token"] ?? "", from: request)
        } catch let refused as RefusalError {
            RequestTrace.current?.note(code: refused.refusal.rawValue)
            var response = loginPage(
                refused.refusal.status, request, localize,
                notice: refused.retryAfter.map { .tooMany(seconds: $0) } ?? .wrong, wanted: form["to"])
            if let wait = refused.retryAfter { response.headers.add("Retry-After", String(wait)) }
            return response
        }
        if let old = request.cookie(OperatorAuthentication.sessionCookie) { try await endSession(old) }
        var response = HTTPResponse.redirect(to: form["to"].flatMap(DashboardLink.init(wanted:)) ?? .home)
        response.setCookie(
            OperatorAuthentication.sessionCookie, operators.begin(for: key),
            seconds: OperatorSessions.lifetimeSeconds, for: request)
        response.setCookie(OperatorAuthentication.loginCookie, nil, for: request)
        return response
    }

    /// `POST /dashboard/logout`.
    func logout(_ request: HTTPRequest, _ localize: Localizer) async throws -> HTTPResponse {
        guard let visitor = try operators.visitor(request), let cookie = visitor.cookie else {
            return .redirect(to: .login)
        }
        try request.requireOwnPage()
        guard visitor.session.isFormToken(try request.form()["form"]) else { throw RefusalError(.forbidden) }
        try await endSession(cookie)
        var response = HTTPResponse.redirect(to: .login)
        response.setCookie(OperatorAuthentication.sessionCookie, nil, for: request)
        return response
    }

    private func loginPage(
        _ status: Int, _ request: HTTPRequest, _ localize: Localizer, notice: LoginPage.Notice?, wanted: String?
    ) -> HTTPResponse {
        let form = operators.loginForm(for: request)
        let page = LoginPage(
            localize: localize, formToken: form.token, wanted: wanted.flatMap(DashboardLink.init(wanted:)),
            notice: operators.hasOperators ? notice : .noOperators,
            languages: request.method == .get ? request : HTTPRequest(method: .get, path: request.path))
        var response = HTTPResponse.page(status, page.html, in: localize.language)
        response.setCookie(OperatorAuthentication.loginCookie, form.cookie, for: request)
        return response
    }
}

extension HTTPResponse {
    /// Sets a cookie that scripts can't read and other sites can't send. Nil deletes the cookie.
    mutating func setCookie(_ name: String, _ value: String?, seconds: Int64? = nil, for request: HTTPRequest) {
        var text = "\(name)=\(value ?? ""); Path=/dashboard; HttpOnly; SameSite=Strict"
        if request.isEncrypted { text += "; Secure" }
        if value == nil { text += "; Max-Age=0" } else if let seconds { text += "; Max-Age=\(seconds)" }
        headers.add("Set-Cookie", text)
    }
}

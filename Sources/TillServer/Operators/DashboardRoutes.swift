import TillAPI
import TillBilling
import TillCrypto
import TillDashboard
import TillHTTP
import TillLedger
import TillPages

extension Server {
    /// The pages for operators, and the login in front of them.
    func addDashboard(to router: inout Router) {
        let dashboard = Dashboard(ledger: ledger, finance: finance, reportLimiter: reportLimiter)
        for route in dashboard.routes {
            let handler = page(route.action)
            let service = route.takesFile ? Router.Service(admission: operatorsOnly, handler: handler.handler) : handler
            if let limit = route.bodyLimit {
                router.on(route.method, route.path, bodyLimit: limit, service)
            } else {
                router.on(route.method, route.path, service)
            }
        }
        router.on(
            .get, Paths.dashboardLogin, publicPage { [self] request, _, localize in showLogin(request, localize) })
        router.on(
            .post, Paths.dashboardLogin, bodyLimit: Dashboard.formLimit,
            publicPage { [self] request, _, localize in try await login(request, localize) })
        router.on(
            .post, Paths.dashboardLogout, bodyLimit: Dashboard.formLimit,
            publicPage { [self] request, _, localize in try await logout(request, localize) })
        router.on(.get, Paths.dashboardStylesheet, asset("text/css; charset=utf-8", Dashboard.stylesheet))
        router.on(.get, Paths.dashboardScript, asset("text/javascript; charset=utf-8", Dashboard.script))
    }

    /// A page for operators. Other visitors are redirected to the login.
    private func page(_ action: @escaping Dashboard.Route.Action) -> Router.Service {
        publicPage { [self] request, parameters, localize in
            guard let visitor = try operators.visitor(request) else {
                // The script requests part of a page and can't follow a redirect to a form, so it gets 401.
                if request.path == Paths.dashboardLive { throw OperatorAuthentication.missing }
                return .redirect(to: request.method == .post ? .login : .login(then: request))
            }
            RequestTrace.current?.note(caller: "operator:\(visitor.session.operatorID)")
            return try await action(
                DashboardVisit(
                    request: request, parameters: parameters, session: visitor.session, localize: localize,
                    now: clock(), isTestServer: configuration.apple.acceptsXcode))
        }
    }

    /// For a form that uploads a file.
    private var operatorsOnly: Admission.Decide {
        admit { [self] head in
            guard operators.isAddressedHere(head), try operators.visitor(head) != nil else {
                throw OperatorAuthentication.missing
            }
        }
    }

    private typealias PublicPageAction = @Sendable (HTTPRequest, PathParameters, Localizer) async throws -> HTTPResponse

    /// For every visitor who addresses this server by its own name. Sets the language if the visitor used the switch.
    private func publicPage(_ action: @escaping PublicPageAction) -> Router.Service {
        Router.Service(admission: anonymousAdmission()) { [self] request, parameters in
            let localize = Localizer(language: operators.language(of: request))
            guard operators.isAddressedHere(request) else {
                return .page(
                    421, MessagePage.misdirected(localize, host: request.headers["Host"] ?? ""), in: localize.language)
            }
            if request.method == .get, let chosen = request.queryValue("lang").flatMap(Language.init(rawValue:)) {
                var response = HTTPResponse.redirect(to: DashboardLink(of: request))
                response.setCookie(
                    OperatorAuthentication.languageCookie, chosen.rawValue, seconds: 365 * 86_400, for: request)
                return response
            }
            do {
                try await prepareSession(of: request)
                return try await action(request, parameters, localize)
            } catch let refused as RefusalError {
                return refusal(refused, localize)
            } catch {
                return refusal(serverError(error), localize)
            }
        }
    }

    private func refusal(_ refused: RefusalError, _ localize: Localizer) -> HTTPResponse {
        let status = refused.refusal.status
        RequestTrace.current?.note(code: refused.refusal.rawValue)
        var response = HTTPResponse.page(
            status, MessagePage.refused(refused, status: status, localize), in: localize.language)
        switch refused.refusal {
        case .unauthorized: response.headers.add("WWW-Authenticate", "Bearer")
        case .tooManyRequests:
            response.headers.add("Retry-After", String(refused.retryAfter ?? LoginAttempts.windowSeconds))
        case .unavailable: response.headers.add("Retry-After", Self.retryAfter)
        default: break
        }
        return response
    }

    private func asset(_ type: String, _ text: String) -> Router.Service {
        let digest = Digest.sha256.hash(text.utf8)
        let tag = "\"\(Base64.encode(digest.prefix(12), .url))\""
        return publicPage { request, _, _ in .asset(type, text, tag: tag, for: request) }
    }
}

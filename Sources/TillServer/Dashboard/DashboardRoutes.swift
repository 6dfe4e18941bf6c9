import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillPages
import TillSQL

extension Server {
    /// The pages for operators (CONTRACT §2, U9).
    func addDashboard(to router: inout Router) {
        router.on(.get, Paths.dashboard, page(listOrders))
        router.on(.get, Paths.dashboardLive, page(refreshOrders))
        router.on(.get, Paths.dashboardOrder, page(showOrder))
        router.on(.get, Paths.dashboardTransaction, page(showTransaction))
        router.on(.get, Paths.dashboardQuarantine, page(listQuarantine))
        router.on(
            .post, Paths.dashboardClaims, bodyLimit: Dashboard.formLimit,
            threshold { request, parameters, say in try await claimForm(request, parameters, say) })
        router.on(.get, Paths.dashboardRefusals, page(listRefusals))
        router.on(.get, Paths.dashboardFinance, page(showFinance))
        router.on(
            .post, Paths.dashboardAppleReports, bodyLimit: Self.importFormLimit,
            Router.Service(
                admission: admit { head in
                    guard dashboard.isAddressedHere(head), try dashboard.visitor(head) != nil else {
                        throw Refused(.unauthorized)
                    }
                },
                handler: threshold { request, _, say in try await importReportForm(request, say) }.handler))
        router.on(.get, Paths.dashboardLogin, threshold { request, _, say in showLogin(request, say) })
        router.on(
            .post, Paths.dashboardLogin, bodyLimit: Dashboard.formLimit,
            threshold { request, _, say in try login(request, say) })
        router.on(
            .post, Paths.dashboardLogout, bodyLimit: Dashboard.formLimit,
            threshold { request, _, say in try logout(request, say) })
        router.on(
            .get, Paths.dashboardStylesheet,
            asset("text/css; charset=utf-8", "\(Stylesheet.text)\(DashboardStyle.text)\(FinanceStyle.text)"))
        router.on(.get, Paths.dashboardScript, asset("text/javascript; charset=utf-8", "\(LiveScript.text)"))
    }

    typealias PageAction = @Sendable (DashboardVisit) async throws -> HTTPResponse
    typealias ThresholdAction = @Sendable (HTTPRequest, PathParameters, Reader) async throws -> HTTPResponse

    /// For operators. Others are shown the way to the login.
    private func page(_ action: @escaping PageAction) -> Router.Service {
        threshold { request, parameters, say in
            guard let visitor = try dashboard.visitor(request) else {
                // The script, which asks for a part of a page, is told: it can't follow to a form.
                if request.path == Paths.dashboardLive { throw Refused(.unauthorized) }
                return .redirect(to: .login(then: request))
            }
            let visit = DashboardVisit(
                request: request, parameters: parameters, visitor: visitor, say: say, now: clock())
            return try await action(visit)
        }
    }

    /// For anybody who asks under this server's own name. Sets the language if the switch was used.
    private func threshold(_ action: @escaping ThresholdAction) -> Router.Service {
        Router.Service(admission: strangers()) { request, parameters in
            let say = Reader(language: dashboard.language(of: request))
            guard dashboard.isAddressedHere(request) else {
                return .page(421, MessagePage.misdirected(say), in: say.language)
            }
            if request.method == .get, let chosen = request.queryValue("lang").flatMap(Language.init(rawValue:)) {
                var response = HTTPResponse.redirect(to: DashboardLink(of: request))
                response.setCookie(
                    Dashboard.languageCookie, chosen.rawValue, seconds: 365 * 86_400, for: request)
                return response
            }
            do {
                return try await action(request, parameters, say)
            } catch let refused as Refused {
                return refusal(refused, say)
            } catch let fault as DatabaseError where fault.isRetryable {
                return refusal(Refused(.unavailable), say)
            } catch {
                return refusal(Refused(.internalError), say)
            }
        }
    }

    private func refusal(_ refused: Refused, _ say: Reader) -> HTTPResponse {
        var response = HTTPResponse.page(refused.refusal.status, MessagePage.refused(refused, say), in: say.language)
        switch refused.refusal {
        case .unauthorized: response.headers.add("WWW-Authenticate", "Bearer")
        case .tooManyRequests: response.headers.add("Retry-After", String(LoginAttempts.windowSeconds))
        case .unavailable: response.headers.add("Retry-After", Self.retryAfter)
        default: break
        }
        return response
    }

    private func asset(_ type: String, _ text: String) -> Router.Service {
        let digest = Digest.sha256.hash(text.utf8)
        let tag = "\"\(Base64.encode(digest.prefix(12), .url))\""
        return threshold { request, _, _ in .asset(type, text, tag: tag, for: request) }
    }
}

import TillBilling
import TillHTTP
import TillLedger
import TillPages

extension Server {
    /// `POST /dashboard/quarantine/{sequence}/claims`: an operator decides whose a purchase is, with a reason (U1).
    func claimForm(_ request: HTTPRequest, _ parameters: PathParameters, _ say: Reader) async throws -> HTTPResponse {
        guard let visitor = try dashboard.visitor(request), case .browser(_, let session) = visitor else {
            return .redirect(to: .login)
        }
        guard dashboard.isFromOwnPage(request) else { throw Refused(.forbidden) }
        let form = try request.form()
        guard session.isFormToken(form["form"]) else { throw Refused(.forbidden) }
        guard let sequence = Int64(parameters["sequence"]) else { throw Refused(.unknownTransaction) }
        let decision = OperatorClaim(
            user: try Bounds.user(form["user"] ?? ""), reason: try Bounds.prose(form["reason"] ?? "", "reason", 500),
            operatorName: session.operatorID, actor: "operator:\(session.operatorID)")
        _ = try await decide(sequence, decision)
        return .redirect(to: .transaction(sequence))
    }
}

/// Whose a purchase in quarantine is: asked for in its row, folded until somebody wants it.
struct ClaimForm {
    let say: Reader
    let sequence: Int64
    let token: String

    var html: HTML {
        element("details") {
            element("summary") { say("Give it to…", "发放给…") }
            element("form", Attribute("method", "post"), .action(.claims(sequence)), .class("claim")) {
                element("label", .reference("for", "user", sequence)) { say("User id", "用户 ID") }
                emptyElement(
                    "input", .id("user", sequence), Attribute("name", "user"), Attribute("maxlength", "128"),
                    Attribute("autocomplete", "off"), .flag("required"))
                element("label", .reference("for", "reason", sequence)) { say("Why", "理由") }
                emptyElement(
                    "input", .id("reason", sequence), Attribute("name", "reason"), Attribute("maxlength", "500"),
                    Attribute("autocomplete", "off"), .flag("required"))
                HTML.hidden("form", token)
                element("button", Attribute("type", "submit"), .class("primary")) { say("Grant", "发放") }
            }
        }
    }
}

import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let cursor = OpenAPIOperation.Parameter.query(
        "cursor", ["type": "string", "pattern": "^[1-9][0-9]{0,17}$"],
        "Goes on with older ones, as the page's own link does.")

    private static let filters: [OpenAPIOperation.Parameter] = [
        .query(
            "status", ["type": "string", "enum": .array([""] + OrderStatus.allCases.map { .string($0.name) })],
            "Only orders that stand so."),
        .query("user", ["type": "string", "maxLength": 128], "Only this user's orders."),
        .query("q", ["type": "string", "maxLength": 128], "An order id or a transaction id."), cursor,
    ]

    private static let financeChoice: [OpenAPIOperation.Parameter] = [
        .query("fiscalYear", ["type": "string", "pattern": "^([0-9]{4})?$"], "Apple's; the present one if absent."),
        .query("period", ["type": "string", "pattern": "^([0-9]{1,2})?$"], "A month of it, 1 to 12; all if absent."),
        .query("currency", ["type": "string", "pattern": "^([A-Z]{3})?$"], "That with the most sales if absent."),
        .query("environment", ["type": "string", "enum": ["", "production", "sandbox"]], "Whose purchases."),
    ]

    static let dashboardOperations: [OpenAPIOperation] = [
        page(Paths.dashboard, id: "showOrders", "The orders, newest first", parameters: filters),
        page(Paths.dashboardLive, id: "refreshOrders", "The table of the orders alone", parameters: filters),
        page(
            Paths.dashboardOrder, id: "showOrder", "One order: every step with its evidence", parameters: [.orderID],
            mayBeMissing: true),
        page(
            Paths.dashboardTransaction, id: "showTransaction", "One transaction",
            parameters: [
                .path("sequence", OpenAPISchema.integer("As the pages' links say."), "Its place in the ledger.")
            ],
            mayBeMissing: true),
        page(Paths.dashboardQuarantine, id: "showQuarantine", "Paid, but nobody's yet", parameters: [cursor]),
        OpenAPIOperation(
            method: .post, path: Paths.dashboardClaims, id: "claimForm", tag: .dashboard,
            summary: "Give what is nobody's to a user",
            description:
                "Sent by the forms on the quarantine page. Scripts post to `/v1/quarantine/{transactionId}/claims`.",
            caller: .operators,
            parameters: [
                .path("sequence", OpenAPISchema.integer("As the pages' links say."), "Its place in the ledger.")
            ],
            body: OpenAPIOperation.Body("ClaimForm", type: "application/x-www-form-urlencoded"),
            bodyLimit: Dashboard.formLimit,
            answers: [
                OpenAPIOperation.Answer(303, "Given; or not logged in.").with(
                    headers: ["Location": "The transaction; or the login."]),
                .page(400, "No form, or a field isn't usable."), .page(401, "No operator's token."),
                .page(403, "Not from a page of this session."), .page(404, "There is no such thing."),
                .page(409, "It isn't in quarantine any more, or can't be given."), misdirected,
                .page(429, "Too many wrong tokens from there; wait a minute."),
                .page(503, "The ledger can't be written now."),
            ]),
        page(Paths.dashboardRefusals, id: "showRefusals", "Proofs that were refused, and why", parameters: [cursor]),
        page(
            Paths.dashboardFinance, id: "showFinance", "What Apple owes, and what Apple says of it",
            parameters: financeChoice),
        OpenAPIOperation(
            method: .post, path: Paths.dashboardAppleReports, id: "importReportForm", tag: .dashboard,
            summary: "Import a financial report of Apple's",
            description: "Sent by the form on the finance page. Scripts post to `/v1/finance/apple-reports`.",
            caller: .operators, body: OpenAPIOperation.Body("ImportForm", type: "multipart/form-data"),
            bodyLimit: Server.importFormLimit,
            answers: [
                OpenAPIOperation.Answer(303, "Kept; or not logged in.").with(
                    headers: ["Location": "The finance page; or the login."]),
                .page(400, "No form."), .page(401, "No operator's token."),
                .page(403, "Not from a page of this session."), misdirected,
                .page(422, "No report of Apple's that can be read whole, and why."),
                .page(429, "Too many wrong tokens from there; wait a minute."),
                .page(503, "The ledger can't be written now."),
            ]),
        OpenAPIOperation(
            method: .get, path: Paths.dashboardLogin, id: "showLogin", tag: .dashboard, summary: "The login form",
            parameters: [.query("to", ["type": "string"], "The page of the dashboard to go on to.")],
            answers: [.page(200, "The form."), misdirected]),
        OpenAPIOperation(
            method: .post, path: Paths.dashboardLogin, id: "login", tag: .dashboard, summary: "Log in",
            description: "Sent by the form, which holds a token of its own. Scripts show an operator token instead.",
            body: OpenAPIOperation.Body("LoginForm", type: "application/x-www-form-urlencoded"),
            bodyLimit: Dashboard.formLimit,
            answers: [
                OpenAPIOperation.Answer(303, "Logged in, and on the way.").with(
                    headers: ["Location": "A page of the dashboard.", "Set-Cookie": "The session."]),
                .page(400, "No form."), .page(401, "No operator's token."),
                .page(403, "Not from the form that was given to this browser."), misdirected,
                .page(429, "Too many wrong tokens from there; wait a minute."),
            ]),
        OpenAPIOperation(
            method: .post, path: Paths.dashboardLogout, id: "logout", tag: .dashboard, summary: "Log out",
            caller: .operators, body: OpenAPIOperation.Body("LogoutForm", type: "application/x-www-form-urlencoded"),
            bodyLimit: Dashboard.formLimit,
            answers: [
                OpenAPIOperation.Answer(303, "Logged out."), .page(400, "No form."),
                .page(401, "No operator's token."), .page(403, "Not from a page of this session."), misdirected,
                .page(429, "Too many wrong tokens from there; wait a minute."),
            ]),
        asset(Paths.dashboardStylesheet, id: "readStylesheet", "How the pages look", type: "text/css"),
        asset(Paths.dashboardScript, id: "readScript", "What makes the list refresh", type: "text/javascript"),
    ]

    private static let misdirected = OpenAPIOperation.Answer.page(
        421, "Asked for under a name that isn't this server's.")

    private static func page(
        _ path: String, id: String, _ summary: String, parameters: [OpenAPIOperation.Parameter],
        mayBeMissing: Bool = false
    ) -> OpenAPIOperation {
        OpenAPIOperation(
            method: .get, path: path, id: id, tag: .dashboard, summary: summary, caller: .operators,
            parameters: parameters,
            answers: [
                .page(200, "The page."),
                OpenAPIOperation.Answer(303, "Not logged in: to the login.").with(headers: ["Location": "The login."]),
                .page(400, "A field of the filter isn't usable."), .page(401, "No operator's token."), misdirected,
                .page(429, "Too many wrong tokens from there; wait a minute."),
                .page(503, "The ledger can't be read now."),
            ] + (mayBeMissing ? [.page(404, "There is no such thing.")] : []))
    }

    private static func asset(_ path: String, id: String, _ summary: String, type: String) -> OpenAPIOperation {
        var answer = OpenAPIOperation.Answer(200, "The file.").with(headers: ["ETag": "Changes with the version."])
        answer.type = type
        return OpenAPIOperation(
            method: .get, path: path, id: id, tag: .dashboard, summary: summary,
            parameters: [.header("If-None-Match", ["type": "string"], "The `ETag` of an earlier answer.")],
            answers: [answer, OpenAPIOperation.Answer(304, "Unchanged."), misdirected])
    }

    static let dashboardSchemas: [String: JSONValue] = [
        "LoginForm": OpenAPISchema.object(
            "The login form.",
            [
                "token": OpenAPISchema.text("The operator token."),
                "form": OpenAPISchema.text("As the form came with it."),
                "to": OpenAPISchema.text("The page to go on to."),
            ], optional: ["to"]),
        "ImportForm": OpenAPISchema.object(
            "The form of the finance page.",
            [
                "form": OpenAPISchema.text("As the page came with it."),
                "report": OpenAPISchema.text("The file, tab-separated text."),
            ]),
        "LogoutForm": OpenAPISchema.object(
            "The form of a page's log-out button.", ["form": OpenAPISchema.text("As the page came with it.")]),
    ]
}

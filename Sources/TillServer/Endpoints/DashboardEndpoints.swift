import TillAPI
import TillBilling
import TillDashboard
import TillJSON

/// The pages for operators, which `Server.addDashboard` serves.
extension OpenAPI {
    static let dashboardEndpoints: [Endpoint] = [
        page(Paths.dashboard, id: "showOrders", "The orders, newest first", filters),
        page(Paths.dashboardLive, id: "refreshOrders", "The table of the orders alone", filters),
        page(
            Paths.dashboardOrder, id: "showOrder", "One order: every step with its evidence", [.orderID],
            mayBeMissing: true),
        page(Paths.dashboardTransaction, id: "showTransaction", "One transaction", [place], mayBeMissing: true),
        page(Paths.dashboardQuarantine, id: "showQuarantine", "Paid, but nobody's yet", [cursor]),
        Endpoint(
            method: .post, path: Paths.dashboardClaims, id: "claimForm", tag: .dashboard,
            summary: "Give what is nobody's to a user",
            description:
                "Sent by the forms on the quarantine page. Scripts post to `/v1/quarantine/{transactionId}/claims`.",
            caller: .operators, parameters: [place], body: .form("ClaimForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [
                .answer(303, "Given; or not logged in.").with(headers: ["Location": "The transaction; or the login."]),
                .page(400, "No form, or a field isn't usable."), foreign, missing,
                .page(409, "It isn't in quarantine any more, or can't be given."), unwritable,
            ]),
        page(Paths.dashboardRefusals, id: "showRefusals", "Proofs that were refused, and why", [cursor]),
        page(
            Paths.dashboardFinance, id: "showFinance", "What Apple owes, and what Apple says of it",
            [
                choice("fiscalYear", "^([0-9]{4})?$", "Apple's; the present one if absent."),
                choice("period", "^([0-9]{1,2})?$", "A month of it, 1 to 12; all if absent."),
                choice("currency", "^([A-Z]{3})?$", "That with the most sales if absent."),
                .query(
                    "environment", schema: ["type": "string", "enum": ["", "production", "sandbox"]],
                    "Whose purchases."),
            ]),
        Endpoint(
            method: .post, path: Paths.dashboardAppleReports, id: "importReportForm", tag: .dashboard,
            summary: "Import a financial report of Apple's",
            description: "Sent by the form on the finance page. Scripts post to `/v1/finance/apple-reports`.",
            caller: .operators, body: Endpoint.Request(body: "ImportForm", type: "multipart/form-data"),
            bodyLimit: Dashboard.importFormLimit,
            answers: common + [
                .answer(303, "Kept; or not logged in.").with(headers: ["Location": "The finance page; or the login."]),
                .page(400, "No form."), foreign, .page(422, "No report of Apple's that can be read whole, and why."),
                unwritable,
            ]),
        Endpoint(
            method: .get, path: Paths.dashboardLogin, id: "showLogin", tag: .dashboard, summary: "The login form",
            parameters: [.query("to", schema: ["type": "string"], "The page of the dashboard to go on to.")],
            answers: [.page(200, "The form."), misdirected]),
        Endpoint(
            method: .post, path: Paths.dashboardLogin, id: "login", tag: .dashboard, summary: "Log in",
            description: "Sent by the form, which holds a token of its own. Scripts show an operator token instead.",
            body: .form("LoginForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [
                .answer(303, "Logged in, and on the way.").with(
                    headers: ["Location": "A page of the dashboard.", "Set-Cookie": "The session."]),
                .page(400, "No form."), .page(403, "Not from the form that was given to this browser."),
            ]),
        Endpoint(
            method: .post, path: Paths.dashboardLogout, id: "logout", tag: .dashboard, summary: "Log out",
            caller: .operators, body: .form("LogoutForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [.answer(303, "Logged out."), .page(400, "No form."), foreign]),
        asset(Paths.dashboardStylesheet, id: "readStylesheet", "How the pages look", type: "text/css"),
        asset(Paths.dashboardScript, id: "readScript", "What makes the list refresh", type: "text/javascript"),
    ]

    private static let misdirected = Endpoint.Answer.page(421, "Asked for under a name that isn't this server's.")
    private static let foreign = Endpoint.Answer.page(403, "Not from a page of this session.")
    private static let missing = Endpoint.Answer.page(404, "There is no such thing.")
    private static let unwritable = Endpoint.Answer.page(503, "The ledger can't be written now.")
    private static let common: [Endpoint.Answer] = [
        .page(401, "No operator's token."), misdirected, .page(429, "Too many wrong tokens from there; wait a minute."),
    ]

    private static let place = Endpoint.Parameter.path(
        "sequence", .integer("As the pages' links say."), "Its place in the ledger.")
    private static let cursor = choice(
        "cursor", "^[1-9][0-9]{0,17}$", "Goes on with older ones, as the page's own link does.")
    private static let filters: [Endpoint.Parameter] = [
        .query(
            "status", schema: ["type": "string", "enum": .array([""] + OrderStatus.allCases.map { .string($0.name) })],
            "Only orders that stand so."),
        .query("user", schema: ["type": "string", "maxLength": 128], "Only this user's orders."),
        .query("q", schema: ["type": "string", "maxLength": 128], "An order id or a transaction id."), cursor,
    ]

    private static func choice(_ name: String, _ pattern: String, _ description: String) -> Endpoint.Parameter {
        .query(name, schema: ["type": "string", "pattern": .string(pattern)], description)
    }

    private static func page(
        _ path: String, id: String, _ summary: String, _ parameters: [Endpoint.Parameter], mayBeMissing: Bool = false
    ) -> Endpoint {
        Endpoint(
            method: .get, path: path, id: id, tag: .dashboard, summary: summary, caller: .operators,
            parameters: parameters,
            answers: common + [
                .page(200, "The page."),
                .answer(303, "Not logged in: to the login.").with(headers: ["Location": "The login."]),
                .page(400, "A field of the filter isn't usable."), .page(503, "The ledger can't be read now."),
            ] + (mayBeMissing ? [missing] : []))
    }

    private static func asset(_ path: String, id: String, _ summary: String, type: String) -> Endpoint {
        Endpoint(
            method: .get, path: path, id: id, tag: .dashboard, summary: summary,
            parameters: [.header("If-None-Match", "The `ETag` of an earlier answer.")],
            answers: [
                .page(200, "The file.", type: type).with(headers: ["ETag": "Changes with the version."]),
                .answer(304, "Unchanged."), misdirected,
            ])
    }

    static let dashboardBodies: BodyTable = [
        Body("LoginForm", "The login form."): [
            "token": "The operator token.", "form": "As the form came with it.",
            "to": .optional("The page to go on to."),
        ],
        Body("LogoutForm", "The form of a page's log-out button."): ["form": "As the page came with it."],
        Body("ImportForm", "The form of the finance page."): [
            "form": "As the page came with it.", "report": "The file, tab-separated text.",
        ],
        Body("ClaimForm", "The form on the page of what is nobody's."): [
            "form": "The page's own token.", "user": .name("Who gets it.", 128),
            "reason": .prose("For the record.", 500),
        ],
    ]
}

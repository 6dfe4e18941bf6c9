import TillAPI
import TillBilling
import TillDashboard
import TillJSON

/// The pages for operators, which `Server.addDashboard` serves.
extension OpenAPI {
    static let dashboardEndpoints: [Endpoint] = [
        page(Paths.dashboard, id: "showOrders", "List the orders, newest first", filters),
        page(Paths.dashboardLive, id: "refreshOrders", "The table of orders without the page around it", filters),
        page(
            Paths.dashboardOrder, id: "showOrder", "One order: every step with its evidence", [.orderID],
            mayBeMissing: true),
        page(
            Paths.dashboardTransaction, id: "showTransaction", "One transaction with its evidence", [place],
            mayBeMissing: true),
        page(Paths.dashboardQuarantine, id: "showQuarantine", "Paid purchases without an owner", [cursor]),
        Endpoint(
            method: .post, path: Paths.dashboardClaims, id: "claimForm", tag: .dashboard,
            summary: "Grant a quarantined purchase to a user",
            description: """
                Sent by the forms on the quarantine page. With `user` and `reason`, the answer is a page that shows \
                what the claim would do; the form of that page sends both as `decision`, which grants the purchase. \
                The same decision again changes nothing. Scripts post to `/v1/quarantine/{transactionId}/claims`.
                """,
            caller: .operators, parameters: [place], body: .form("ClaimForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [
                .page(200, "What the claim would do, with the form that confirms it."),
                .answer(303, "Granted, or not logged in.").with(headers: [
                    "Location": "The transaction's page, or the login page."
                ]),
                .page(400, "The body is not a form, or a field is invalid."), foreign, missing,
                .page(409, "The purchase is no longer in quarantine, or cannot be granted."), unwritable,
            ]),
        page(
            Paths.dashboardTransfers, id: "showTransfers", "Merges, moves of purchases and reversals, newest first",
            [
                .query("user", schema: ["type": "string", "maxLength": 128], "Only transfers from or to this user."),
                cursor,
            ]),
        page(
            Paths.dashboardTransfer, id: "showTransfer", "One transfer, and what its reversal would move back",
            [.transferID], mayBeMissing: true),
        Endpoint(
            method: .post, path: Paths.dashboardReversal, id: "reverseForm", tag: .dashboard,
            summary: "Reverse a transfer",
            description: """
                Sent by the form on the transfer's page. The same form again leads to the same reversal. Scripts post \
                to `/v1/transfers/{id}/reversal`.
                """,
            caller: .operators, parameters: [.transferID], body: .form("ReversalForm"),
            bodyLimit: Dashboard.formLimit,
            answers: common + [
                .answer(303, "Reversed, now or before, or not logged in.").with(headers: [
                    "Location": "The reversal's page, or the login page."
                ]),
                .page(400, "The body is not a form, or the reason is missing or too long."), foreign, missing,
                .page(409, "The transfer cannot be reversed, or the time for it is over."), unwritable,
            ]),
        page(
            Paths.dashboardCustomer, id: "showCustomer", "One customer, with the export and the erasure of their data",
            [.query("user", schema: ["type": "string", "maxLength": 128], "The user's id.")], mayBeMissing: true),
        Endpoint(
            method: .post, path: Paths.dashboardCustomerExport, id: "exportForm", tag: .dashboard,
            summary: "Export a customer's data as a file",
            description: """
                Sent by the form on the customer's page. Scripts read `/v1/users/{userId}/export`, which has no limit.
                """,
            caller: .operators, body: .form("ExportForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [
                .page(200, "The export.", type: "application/json"),
                .answer(303, "Not logged in.").with(headers: ["Location": "The login page."]),
                .page(400, "The body is not a form, or a field is invalid."), foreign, missing,
                .page(409, "The user is a guest that was merged into an account."),
                .page(413, "The export is larger than 8 MiB."),
            ]),
        Endpoint(
            method: .post, path: Paths.dashboardCustomerErasure, id: "eraseForm", tag: .dashboard,
            summary: "Erase a customer",
            description: """
                Sent by the form on the customer's page. Scripts post to `/v1/users/{userId}/erasure`.
                """,
            caller: .operators, body: .form("EraseForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [
                .answer(303, "Erased, now or before, or not logged in.").with(headers: [
                    "Location": "The page of the pseudonym, or the login page."
                ]),
                .page(400, "The body is not a form, or a field is invalid."), foreign, missing,
                .page(409, "The user id was typed differently, or points or subscriptions changed meanwhile."),
                .page(501, "The server has no key for erasures."), unwritable,
            ]),
        page(Paths.dashboardRefusals, id: "showRefusals", "Refused proofs with the reason for each refusal", [cursor]),
        page(
            Paths.dashboardFinance, id: "showFinance",
            "Expected proceeds by fiscal period, compared with Apple's reports",
            [
                choice("fiscalYear", "^([0-9]{4})?$", "Apple's fiscal year; the current one if absent."),
                choice("period", "^([0-9]{1,2})?$", "The fiscal month, 1 to 12; all if absent."),
                choice(
                    "currency", "^([A-Z]{3})?$", "The currency of the figures; the one with the most sales if absent."),
                .query(
                    "environment", schema: ["type": "string", "enum": ["", "production", "sandbox", "xcode"]],
                    "The environment of the purchases."),
            ]),
        Endpoint(
            method: .post, path: Paths.dashboardAppleReports, id: "importReportForm", tag: .dashboard,
            summary: "Import a financial report from Apple",
            description: "Sent by the form on the finance page. Scripts post to `/v1/finance/apple-reports`.",
            caller: .operators, body: Endpoint.Request(body: "ImportForm", type: "multipart/form-data"),
            bodyLimit: Dashboard.importFormLimit,
            answers: common + [
                .answer(303, "Imported, or not logged in.").with(headers: [
                    "Location": "The finance page, or the login page."
                ]),
                .page(400, "The body is not a form."), foreign,
                .page(422, "The file is not a complete financial report from Apple; the page names the reason."),
                unwritable,
            ]),
        Endpoint(
            method: .get, path: Paths.dashboardLogin, id: "showLogin", tag: .dashboard, summary: "The login form",
            parameters: [.query("to", schema: ["type": "string"], "The dashboard page to open after the login.")],
            answers: [.page(200, "The login form."), misdirected]),
        Endpoint(
            method: .post, path: Paths.dashboardLogin, id: "login", tag: .dashboard, summary: "Log in",
            description: "Sent by the login form, which carries its own token. Scripts send an operator token instead.",
            body: .form("LoginForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [
                .answer(303, "Logged in.").with(
                    headers: ["Location": "A page of the dashboard.", "Set-Cookie": "The session."]),
                .page(400, "The body is not a form."), .page(403, "The form was not issued to this browser."),
            ]),
        Endpoint(
            method: .post, path: Paths.dashboardLogout, id: "logout", tag: .dashboard, summary: "Log out",
            caller: .operators, body: .form("LogoutForm"), bodyLimit: Dashboard.formLimit,
            answers: common + [.answer(303, "Logged out."), .page(400, "The body is not a form."), foreign]),
        asset(Paths.dashboardStylesheet, id: "readStylesheet", "The style sheet of the pages", type: "text/css"),
        asset(
            Paths.dashboardScript, id: "readScript", "The script that refreshes the list of orders",
            type: "text/javascript"),
    ]

    private static let misdirected = Endpoint.Answer.page(
        421, "The `Host` header names a host that the dashboard does not serve.")
    private static let foreign = Endpoint.Answer.page(403, "The form was issued to another session.")
    private static let missing = Endpoint.Answer.page(404, "The id in the address is unknown.")
    private static let unwritable = Endpoint.Answer.page(503, "The ledger cannot be written at the moment.")
    private static let common: [Endpoint.Answer] = [
        .page(401, "The operator token is missing or invalid."), misdirected,
        .page(429, "The client's address sent too many wrong tokens; retry in a minute."),
    ]

    private static let place = Endpoint.Parameter.path(
        "sequence", .integer("The row id in the links of the pages."), "The transaction's row id in the ledger.")
    private static let cursor = choice(
        "cursor", "^[1-9][0-9]{0,17}$", "Continues the list with older entries; the page's own link carries it.")
    private static let filters: [Endpoint.Parameter] = [
        .query(
            "status", schema: ["type": "string", "enum": .array([""] + OrderStatus.allCases.map { .string($0.name) })],
            "Only orders with this status."),
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
                .answer(303, "Not logged in; redirected to the login page.").with(headers: [
                    "Location": "The login page."
                ]),
                .page(400, "A field of the filter is invalid."), .page(503, "The ledger cannot be read at the moment."),
            ] + (mayBeMissing ? [missing] : []))
    }

    private static func asset(_ path: String, id: String, _ summary: String, type: String) -> Endpoint {
        Endpoint(
            method: .get, path: path, id: id, tag: .dashboard, summary: summary,
            parameters: [.header("If-None-Match", "The `ETag` of an earlier response.")],
            answers: [
                .page(200, "The file.", type: type).with(headers: ["ETag": "Changes with the server's version."]),
                .answer(304, "Unchanged."), misdirected,
            ])
    }

    static let dashboardBodies: BodyTable = [
        Body("LoginForm", "The login form."): [
            "token": "The operator token.", "form": "The form's own token, unchanged.",
            "to": .optional("The page to open after the login."),
        ],
        Body("LogoutForm", "The form of a page's log-out button."): ["form": "The page's own token, unchanged."],
        Body("ImportForm", "The form of the finance page."): [
            "form": "The page's own token, unchanged.", "report": "The report file, tab-separated text.",
        ],
        Body("ClaimForm", "The form on the quarantine page."): [
            "form": "The page's own token, unchanged.",
            "user": .optional(.name("The user who is granted the purchase.", 128)),
            "reason": .optional(.prose("The reason for the decision, kept in the evidence.", 500)),
            "decision": .optional("User and reason, as the page that confirms the claim sends them."),
        ],
        Body("ExportForm", "A form on a customer's page."): [
            "form": "The page's own token, unchanged.", "user": .name("The user's id.", 128),
        ],
        Body("EraseForm", "The form on a customer's page that erases the customer."): [
            "form": "The page's own token, unchanged.", "user": .name("The user's id.", 128),
            "typed": .name("The user's id, as the operator typed it.", 128),
            "forfeit": .optional("The points that the page showed."),
            "endsAccess": .optional(.oneOf("Whether a running subscription is no obstacle.", ["yes"])),
        ],
        Body("ReversalForm", "The form on a transfer's page."): [
            "form": "The page's own token, unchanged.",
            "reason": .prose("The reason for the reversal, kept in the transfer with the operator's name.", 500),
        ],
    ]
}

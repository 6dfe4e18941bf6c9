import TillAPI
import TillBilling
import TillHTTP
import TillJSON

/// For the people who run the server: its health, and the comparison of its ledger with Apple's records.
extension OpenAPI {
    static let operationEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.health, id: "readHealth", tag: .operations, action: Server.readHealth,
            summary: "Is the process there?", answers: [.ok("It answers.", "Health")]),
        Endpoint(
            method: .get, path: Paths.readiness, id: "readReadiness", tag: .operations, action: Server.readReadiness,
            summary: "Can purchases be taken?",
            answers: [
                .ok("The ledger can be read and written.", "Readiness"),
                .answer(
                    503, "It can't; `database` says what is wrong.", "Readiness",
                    ["status": "not_ready", "database": "full"]
                ).with(headers: ["Retry-After": "Seconds to wait."]),
            ]),
        Endpoint(
            method: .get, path: Paths.openAPI, id: "readOpenAPI", tag: .operations, action: Server.readOpenAPI,
            summary: "This document",
            parameters: [.header("If-None-Match", "The `ETag` of an earlier answer.")],
            answers: [
                .ok("OpenAPI 3.1.", "AnyObject").with(headers: ["ETag": "Changes with it."]),
                .answer(304, "Unchanged."),
            ]),
        Endpoint(
            method: .post, path: Paths.reconciliations, id: "startReconciliation", tag: .operations,
            action: Server.startReconciliation, summary: "Compare the ledger with Apple's books now",
            description: """
                It goes on by itself, also after a restart; what differs is settled like everything else. If one is \
                under way, that one is told of. With `dryRun` nothing is changed, and the run is forgotten when the \
                server stops.
                """,
            caller: .operatorOrBackend, body: .json("StartReconciliation", isRequired: false),
            answers: [.accepted("Under way.", "Reconciliation")], refusals: [.noInAppPurchaseKey]),
        Endpoint(
            method: .get, path: Paths.reconciliations, id: "listReconciliations", tag: .operations,
            action: Server.listReconciliations, summary: "List the comparisons with Apple's books",
            caller: .operatorOrBackend, parameters: [.limit, .cursor],
            answers: [.ok("Those on record; dry runs are not.", "ReconciliationPage")]),
        Endpoint(
            method: .get, path: Paths.reconciliation, id: "readReconciliation", tag: .operations,
            action: Server.readReconciliation, summary: "Read how far a comparison is, and what it found",
            caller: .operatorOrBackend,
            parameters: [.path("id", "As it was told.", "The run's id."), .limit, .cursor],
            answers: [
                .ok(
                    "The run, and a page of its differences, in the order in which they were found.",
                    "ReconciliationDetail")
            ],
            refusals: [.notFound]),
        Endpoint(
            method: .get, path: Paths.metrics, id: "readMetrics", tag: .operations, action: Server.readMetrics,
            summary: "Read figures for Prometheus", caller: .operators,
            answers: [.page(200, "The figures, in Prometheus' text format.", type: "text/plain")]),
    ]

    static let operationBodies: BodyTable = [
        Body("StartReconciliation", StartReconciliationBody.self, "What to compare."): [
            "dryRun": "Say what would change, and change nothing. False if absent.",
            "since": """
            From when on notifications are read, and all histories whole. Goes on after the last run if absent.
            """,
        ],
        Body("ReconciliationCount", ReconciliationReply.Count.self, "A figure of one environment."): [
            "environment": "Whose books.",
            "name": "What was counted: `notifications`, `customers`, a difference's kind.", "count": "How many.",
        ],
        Body("Reconciliation", ReconciliationReply.self, "One comparison of the ledger with Apple's books."): [
            "id": "Its name.", "dryRun": "Whether it changes nothing.", "state": "Where it stands.",
            "reason": .words("Why it was begun.", ["first", "regular", "gap", "asked"]), "caller": "Who asked for it.",
            "since": "What was asked for.", "beganAt": "When it began.",
            "phase": .words(
                "What is being done.", ["notifications", "suspects", "customers", "refunds", "quarantine", "orders"]),
            "environment": "Whose books are being read.",
            "done": "How many customers, transactions or pages of this phase are done.",
            "progressedAt": "When it last came on.", "waitsUntil": "When it is taken up again, if it can't go on now.",
            "waitsFor": "Why it can't: a code and a sentence.", "endedAt": "When it ended.", "ending": "How it ended.",
            "counts": "What was counted.",
        ],
        .page("ReconciliationPage", of: ReconciliationReply.self): [:],
        Body(
            "Difference", DifferenceReply.self, "Something in which Apple's books and the ledger were not the same."
        ): [
            "kind": .words("For programs. More may come.", Difference.Kind.self),
            "isDrift": """
            Whether the books differed; else it says what could not be compared, or what became of an order.
            """,
            "environment": "Whose books.", "transactionId": "What it is about.", "orderId": "The order it is about.",
            "notificationId": "Apple's id of the notification it is about.", "was": "How the ledger had it.",
            "now": "How it is.", "foundAt": "When it was found; absent in a dry run.",
        ],
        .page("DifferencePage", of: DifferenceReply.self): [:],
        Body("ReconciliationDetail", ReconciliationDetail.self, "How far a run is, and what it found."): [:],
        Body("Health", "It answers."): ["status": .words("Always the same.", ["ok"])],
        Body("Readiness", "Whether the ledger can be read and written."): [
            "status": .words("Whether it can.", ["ready", "not_ready"]), "database": "`ok`, or what is wrong.",
        ],
        Body("AnyObject", "See the OpenAPI specification.", schema: ["type": "object"]): [:],
        Body("Problem", Problem.self, "Why not (RFC 9457)."): [
            "type": "A URI that names the kind of problem: `urn:till:problem:` and the code.",
            "title": "One sentence for people, in their language.",
            "status": .integer("The HTTP status once more.", 400...599),
            "code": .words("What programs decide by. More may come.", Refusal.allCases.map(\.rawValue) + listenerCodes),
            "retryable": "Whether the very same request may go through later.",
            "requestId": "Names this answer when asking the operators.",
            "detail": "What exactly, for programmers, in English.",
        ],
    ]

    /// Codes that the listener answers with before any handler is called.
    private static let listenerCodes: [String] =
        BadRequest.allCases.map(\.rawValue)
        + [
            ListenerRefusal.bodyTooLarge(limit: 0), .headerTooLarge, .tooSlow, .methodNotImplemented,
            .stopping(retryAfter: 0), .cutOff(retryAfter: 0), .crowded(retryAfter: 0),
        ].map(\.code)

    static let operationExamples: [String: JSONValue] = [
        "Health": ["status": "ok"],
        "Readiness": ["status": "ready", "database": "ok"],
        "StartReconciliation": ["dryRun": true],
        "Reconciliation": run,
        "ReconciliationDetail": [
            "reconciliation": run, "differences": ["data": [difference], "hasMore": false, "nextCursor": nil],
        ],
    ]

    private static let run: JSONValue = [
        "id": "12", "dryRun": false, "state": "finished", "reason": "gap", "caller": "till",
        "beganAt": "2026-03-01T03:00:00.000Z", "progressedAt": "2026-03-01T03:04:00.000Z",
        "endedAt": "2026-03-01T03:04:00.000Z", "ending": "reconciled",
        "counts": [["environment": "Production", "name": "refund_missed", "count": 1]],
    ]

    private static let difference: JSONValue = [
        "kind": "refund_missed", "isDrift": true, "environment": "Production", "transactionId": "340001196262039",
        "orderId": "9d1c2f0e-7a55-4c0b-9a39-6f1f0d2b8c11", "was": "granted", "now": "revoked: 2026-02-27T10:00:00.000Z",
        "explanation": [
            "en": .string(Difference.Kind.refundMissed.sentence.en),
            "zh": .string(Difference.Kind.refundMissed.sentence.zh),
        ],
        "foundAt": "2026-03-01T03:01:00.000Z",
    ]
}

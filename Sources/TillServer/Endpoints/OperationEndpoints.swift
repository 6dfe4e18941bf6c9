import TillAPI
import TillBilling
import TillHTTP
import TillJSON

/// For the people who run the server: its health, and the comparison of its ledger with Apple's records.
extension OpenAPI {
    static let operationEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.health, id: "readHealth", tag: .operations, action: Server.readHealth,
            summary: "Check that the process runs", countsAddress: false,
            answers: [.ok("The process runs.", "Health")]),
        Endpoint(
            method: .get, path: Paths.readiness, id: "readReadiness", tag: .operations, action: Server.readReadiness,
            summary: "Check that purchases can be processed", countsAddress: false,
            answers: [
                .ok("The ledger can be read and written; `reasons` names what else is missing.", "Readiness"),
                .answer(
                    503, "The ledger cannot be read or written; `database` names the fault.", "Readiness",
                    ["status": "not_ready", "code": "unavailable", "database": "full", "reasons": []]
                ).with(headers: ["Retry-After": "Seconds to wait."]),
            ]),
        Endpoint(
            method: .get, path: Paths.openAPI, id: "readOpenAPI", tag: .operations, action: Server.readOpenAPI,
            summary: "Read this document",
            parameters: [.header("If-None-Match", "The `ETag` of an earlier response.")],
            answers: [
                .ok("OpenAPI 3.1.", "AnyObject").with(headers: ["ETag": "Changes with the document."]),
                .answer(304, "Unchanged."),
            ]),
        Endpoint(
            method: .post, path: Paths.reconciliations, id: "startReconciliation", tag: .operations,
            action: Server.startReconciliation, summary: "Start a reconciliation with Apple",
            description: """
                The run continues in the background, also after a restart; differences are processed like any other \
                purchase. If a run is under way, the response describes that run. With `dryRun` nothing changes, and \
                the run is discarded when the server stops.
                """,
            caller: .operatorOrBackend, body: .json("StartReconciliation", isRequired: false),
            answers: [.accepted("The run is under way.", "Reconciliation")], refusals: [.noInAppPurchaseKey]),
        Endpoint(
            method: .get, path: Paths.reconciliations, id: "listReconciliations", tag: .operations,
            action: Server.listReconciliations, summary: "List the reconciliation runs",
            caller: .operatorOrBackend, parameters: [.limit, .cursor],
            answers: [.ok("The recorded runs; dry runs are not recorded.", "ReconciliationPage")]),
        Endpoint(
            method: .get, path: Paths.reconciliation, id: "readReconciliation", tag: .operations,
            action: Server.readReconciliation, summary: "Read the progress and the differences of a run",
            caller: .operatorOrBackend,
            parameters: [.path("id", "The `id` of the run.", "The run's id."), .limit, .cursor],
            answers: [
                .ok(
                    "The run and a page of its differences, in the order in which they were found.",
                    "ReconciliationDetail")
            ],
            refusals: [.notFound]),
        Endpoint(
            method: .get, path: Paths.metrics, id: "readMetrics", tag: .operations, action: Server.readMetrics,
            summary: "Read the metrics", caller: .operators,
            answers: [.page(200, "The metrics in the text format of Prometheus.", type: "text/plain")]),
    ]

    static let operationBodies: BodyTable = [
        Body("StartReconciliation", StartReconciliationBody.self, "The options of a run."): [
            "dryRun": "Whether to report the differences without changing anything. False if absent.",
            "since": """
            The time from which notifications are read; transaction histories are read completely. If absent, the run \
            continues after the last one.
            """,
        ],
        Body("ReconciliationCount", ReconciliationReply.Count.self, "A count in one environment."): [
            "environment": "The environment of the counted entries.",
            "name": "The name of the count: `notifications`, `customers`, a difference's kind.", "count": "The count.",
        ],
        Body("Reconciliation", ReconciliationReply.self, "One comparison of the ledger with Apple's records."): [
            "id": "The run's id.", "dryRun": "Whether the run changes nothing.", "state": "The run's state.",
            "reason": .oneOf("The reason for the run.", ["first", "regular", "gap", "restored", "asked"]),
            "caller": "The caller who started the run.",
            "since": "The `since` of the request.", "beganAt": "The start of the run.",
            "phase": .oneOf(
                "The current phase.", ["notifications", "candidates", "customers", "refunds", "quarantine", "orders"]),
            "environment": "The environment that the run is reading.",
            "done": "The number of customers, transactions or pages that this phase has finished.",
            "progressedAt": "The time of the last progress.",
            "waitsUntil": "The time of the next attempt, if the run cannot continue now.",
            "waitsFor": "The reason for the wait: a code and a sentence.", "endedAt": "The end of the run.",
            "ending": "The result of the run.", "counts": "The run's counts.",
        ],
        .page("ReconciliationPage", of: ReconciliationReply.self): [:],
        Body(
            "Difference", DifferenceReply.self, "A difference between Apple's records and the ledger."
        ): [
            "kind": .oneOf("The kind of the difference. New kinds may be added.", Difference.Kind.self),
            "isDrift": """
            Whether the records differed; otherwise the entry records a failed comparison or the outcome of an order.
            """,
            "environment": "The environment of the transaction.", "transactionId": "The id of the transaction.",
            "orderId": "The id of the order.",
            "notificationId": "Apple's id of the notification.", "was": "The state in the ledger before.",
            "now": "The state found.", "foundAt": "The time of the finding; absent in a dry run.",
        ],
        .page("DifferencePage", of: DifferenceReply.self): [:],
        Body("ReconciliationDetail", ReconciliationDetail.self, "The progress of a run and its differences."): [:],
        Body("Health", "The process runs."): ["status": .oneOf("Always `ok`.", ["ok"])],
        Body("Readiness", "Whether the server can process purchases."): [
            "status": .oneOf(
                "Whether it can: `degraded` if it can, and something that it needs is missing.",
                ["ready", "degraded", "not_ready"]),
            "code": .optional(.oneOf("Only if it cannot.", ["unavailable"])),
            "database": "`ok`, or the kind of the fault; `stalled` if the disk does not answer.",
            "reasons": .list("What is missing. New reasons may be added.", ofSome: Health.Reason.self),
        ],
        Body("AnyObject", "See the OpenAPI specification.", schema: ["type": "object"]): [:],
        Body("Problem", ProblemDetails.self, "An error (RFC 9457)."): [
            "type": "A URI that names the kind of problem: `urn:till:problem:` and the code.",
            "title": "One sentence for people, in the language of `Accept-Language`.",
            "status": .integer("The HTTP status.", 400...599),
            "code": .oneOf(
                "The code by which programs decide. New codes may be added.",
                Refusal.allCases.map(\.rawValue) + listenerCodes),
            "retryable": "Whether the same request may succeed later.",
            "requestId": "The id of this request, for questions to the operators.",
            "detail": "The exact cause, usually a field name and a rule, in the language of `Accept-Language`.",
        ],
    ]

    /// Codes that the listener answers with before any handler is called.
    private static let listenerCodes: [String] =
        HTTPRequestError.allCases.map(\.rawValue)
        + [
            ListenerRefusal.bodyTooLarge(limit: 0), .headerTooLarge, .tooSlow, .methodNotImplemented,
            .stopping(retryAfter: 0), .cutOff(retryAfter: 0), .crowded(retryAfter: 0),
        ].map(\.code)

    static let operationExamples: [String: JSONValue] = [
        "Health": ["status": "ok"],
        "Readiness": ["status": "degraded", "database": "ok", "reasons": ["apple_refuses_key"]],
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
            "en": .string(Difference.Kind.refundMissed.sentence(isDryRun: false).en),
            "zh": .string(Difference.Kind.refundMissed.sentence(isDryRun: false).zh),
        ],
        "foundAt": "2026-03-01T03:01:00.000Z",
    ]
}

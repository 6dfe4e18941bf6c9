import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let runExample: JSONValue = [
        "id": "12", "dryRun": false, "state": "finished", "reason": "gap", "caller": "till",
        "beganAt": "2026-03-01T03:00:00.000Z", "progressedAt": "2026-03-01T03:04:00.000Z",
        "endedAt": "2026-03-01T03:04:00.000Z", "ending": "reconciled",
        "counts": [["environment": "Production", "name": "refund_missed", "count": 1]],
    ]

    private static let differenceExample: JSONValue = [
        "kind": "refund_missed", "isDrift": true, "environment": "Production", "transactionId": "340001196262039",
        "orderId": "9d1c2f0e-7a55-4c0b-9a39-6f1f0d2b8c11", "was": "granted",
        "now": "revoked: 2026-02-27T10:00:00.000Z",
        "explanation": [
            "en": .string(Difference.Kind.refundMissed.sentence.en),
            "zh": .string(Difference.Kind.refundMissed.sentence.zh),
        ],
        "foundAt": "2026-03-01T03:01:00.000Z",
    ]

    static let reconciliationOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.reconciliations, id: "startReconciliation", tag: .operations,
            summary: "Compare the ledger with Apple's books now",
            description: """
                It goes on by itself, also after a restart; what differs is settled like everything else. If one is \
                under way, that one is told of. With `dryRun` nothing is changed, and the run is forgotten when the \
                server stops.
                """,
            caller: .operatorOrBackend,
            body: OpenAPIOperation.Body("StartReconciliation", isRequired: false, example: ["dryRun": true]),
            answers: [
                OpenAPIOperation.Answer(202, "Under way.", "Reconciliation", example: runExample)
            ],
            refusals: [.forbidden, .invalidField, .noInAppPurchaseKey, .tooManyRequests]),
        OpenAPIOperation(
            method: .get, path: Paths.reconciliations, id: "listReconciliations", tag: .operations,
            summary: "List the comparisons with Apple's books", caller: .operatorOrBackend,
            parameters: [.limit, .cursor],
            answers: [
                OpenAPIOperation.Answer(
                    200, "Those on record; dry runs are not.", "ReconciliationPage",
                    example: ["data": [runExample], "hasMore": false, "nextCursor": nil])
            ],
            refusals: [.forbidden, .invalidField, .tooManyRequests]),
        OpenAPIOperation(
            method: .get, path: Paths.reconciliation, id: "readReconciliation", tag: .operations,
            summary: "Read how far a comparison is, and what it found", caller: .operatorOrBackend,
            parameters: [
                .path("id", OpenAPISchema.text("As it was told."), "The run's id."), .limit, .cursor,
            ],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The run, and a page of its differences, in the order in which they were found.",
                    "ReconciliationDetail",
                    example: [
                        "reconciliation": runExample,
                        "differences": ["data": [differenceExample], "hasMore": false, "nextCursor": nil],
                    ])
            ],
            refusals: [.forbidden, .notFound, .invalidField, .tooManyRequests]),
        OpenAPIOperation(
            method: .get, path: Paths.metrics, id: "readMetrics", tag: .operations,
            summary: "Read figures for Prometheus", caller: .operators,
            answers: [metricsAnswer], refusals: [.tooManyRequests]),
    ]

    private static let metricsAnswer: OpenAPIOperation.Answer = {
        var answer = OpenAPIOperation.Answer(200, "The figures, in Prometheus' text format.")
        answer.type = "text/plain"
        return answer
    }()

    static let reconciliationSchemas: [String: JSONValue] = [
        "StartReconciliation": OpenAPISchema.object(
            "What to compare.",
            [
                "dryRun": OpenAPISchema.truth("Say what would change, and change nothing. False if absent."),
                "since": OpenAPISchema.time(
                    "From when on notifications are read, and all histories whole. Goes on after the last run if "
                        + "absent."),
            ], optional: ["dryRun", "since"]),
        "ReconciliationCount": OpenAPISchema.object(
            "A figure of one environment.",
            [
                "environment": OpenAPISchema.words("Whose books.", Environment.allCases.map(\.rawValue)),
                "name": OpenAPISchema.text("What was counted: `notifications`, `customers`, a difference's kind."),
                "count": OpenAPISchema.integer("How many."),
            ]),
        "Reconciliation": OpenAPISchema.object(
            "One comparison of the ledger with Apple's books.",
            [
                "id": OpenAPISchema.text("Its name."), "dryRun": OpenAPISchema.truth("Whether it changes nothing."),
                "state": OpenAPISchema.words("Where it stands.", ReconciliationReply.State.allCases.map(\.rawValue)),
                "reason": OpenAPISchema.words("Why it was begun.", ["first", "regular", "gap", "asked"]),
                "caller": OpenAPISchema.text("Who asked for it."),
                "since": OpenAPISchema.time("What was asked for."), "beganAt": OpenAPISchema.time("When it began."),
                "phase": OpenAPISchema.words(
                    "What is being done.",
                    ["notifications", "suspects", "customers", "refunds", "quarantine", "orders"]),
                "environment": OpenAPISchema.words(
                    "Whose books are being read.", Environment.allCases.map(\.rawValue)),
                "done": OpenAPISchema.integer("How many customers, transactions or pages of this phase are done."),
                "progressedAt": OpenAPISchema.time("When it last came on."),
                "waitsUntil": OpenAPISchema.time("When it is taken up again, if it can't go on now."),
                "waitsFor": OpenAPISchema.text("Why it can't: a code and a sentence."),
                "endedAt": OpenAPISchema.time("When it ended."), "ending": OpenAPISchema.text("How it ended."),
                "counts": OpenAPISchema.list("What was counted.", of: ref("ReconciliationCount")),
            ],
            optional: [
                "since", "phase", "environment", "done", "progressedAt", "waitsUntil", "waitsFor", "endedAt", "ending",
            ]),
        "DifferenceText": OpenAPISchema.object(
            "One sentence in both languages.",
            ["en": OpenAPISchema.text("English."), "zh": OpenAPISchema.text("Chinese.")]),
        "Difference": OpenAPISchema.object(
            "Something in which Apple's books and the ledger were not the same.",
            [
                "kind": OpenAPISchema.words("For programs. More may come.", Difference.Kind.allCases.map(\.rawValue)),
                "isDrift": OpenAPISchema.truth(
                    "Whether the books differed; else it says what could not be compared, or what became of an order."),
                "environment": OpenAPISchema.words("Whose books.", Environment.allCases.map(\.rawValue)),
                "transactionId": OpenAPISchema.text("What it is about."),
                "orderId": OpenAPISchema.uuid("The order it is about."),
                "notificationId": OpenAPISchema.text("Apple's id of the notification it is about."),
                "was": OpenAPISchema.text("How the ledger had it."), "now": OpenAPISchema.text("How it is."),
                "explanation": ref("DifferenceText"),
                "foundAt": OpenAPISchema.time("When it was found; absent in a dry run."),
            ], optional: ["transactionId", "orderId", "notificationId", "foundAt"]),
        "DifferencePage": OpenAPISchema.page(of: "Difference"),
        "ReconciliationPage": OpenAPISchema.page(of: "Reconciliation"),
        "ReconciliationDetail": OpenAPISchema.object(
            "How far a run is, and what it found.",
            ["reconciliation": ref("Reconciliation"), "differences": ref("DifferencePage")]),
    ]
}

import TillAPI
import TillBilling
import TillJSON

extension OpenAPI {
    private static let requestExample: JSONValue = [
        "transactionId": "2000000000000001", "environment": "Production", "userId": "u1", "productId": "points60",
        "reason": "UNINTENDED_PURCHASE", "requestedAt": "2026-03-01T09:00:00.000Z",
        "answerBy": "2026-03-01T21:00:00.000Z", "state": "answered", "attempts": 0, "detail": "",
        "answer": [
            "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false,
            "consumptionPercentage": 16_666,
        ], "endedAt": "2026-03-01T09:00:30.000Z",
    ]

    static let consumptionOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .get, path: Paths.consumptionConsent, id: "readConsumptionConsent", tag: .consents,
            summary: "Read whether Apple may be told how much of a purchase was used", caller: .app,
            parameters: [.userID],
            answers: [
                OpenAPIOperation.Answer(
                    200, "How it stands. Who never said anything has not agreed.", "ConsentReply",
                    example: ["given": false])
            ],
            refusals: [.forbidden, .invalidField]),
        OpenAPIOperation(
            method: .put, path: Paths.consumptionConsent, id: "recordConsumptionConsent", tag: .consents,
            summary: "Record whether Apple may be told how much of a purchase was used",
            description: """
                The newest word counts, at the moment when Apple is answered. Older ones stay on record, so consent is \
                given ten times a day at most; taking it back is never refused.
                """,
            caller: .app, parameters: [.userID], body: OpenAPIOperation.Body("Consent", example: ["given": true]),
            answers: [
                OpenAPIOperation.Answer(
                    200, "Recorded, or so already.", "ConsentReply",
                    example: ["given": true, "at": "2026-03-01T09:00:00.000Z"])
            ],
            refusals: [.forbidden, .guestMerged, .tooManyRequests]),
        OpenAPIOperation(
            method: .get, path: Paths.consumptionRequests, id: "listConsumptionRequests", tag: .operations,
            summary: "List what Apple asked before refunds, and what it was told", caller: .backend,
            parameters: [.limit, .cursor],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The questions.", "ConsumptionRequestPage",
                    example: ["data": [requestExample], "hasMore": false, "nextCursor": nil])
            ],
            refusals: [.invalidField]),
    ]

    static let consumptionSchemas: [String: JSONValue] = [
        "Consent": OpenAPISchema.object(
            "What a user says.", ["given": OpenAPISchema.truth("Whether Apple may be told.")]),
        "ConsentReply": OpenAPISchema.object(
            "How a user's consent stands.",
            [
                "given": OpenAPISchema.truth("Whether Apple may be told."),
                "at": OpenAPISchema.time("Since when; absent if nobody ever said."),
            ], optional: ["at"]),
        "ConsumptionAnswer": OpenAPISchema.object(
            "What Apple was told, in Apple's words.",
            [
                "customerConsented": OpenAPISchema.truth("Always true: without it nothing is sent."),
                "deliveryStatus": OpenAPISchema.text("DELIVERED, or why not."),
                "sampleContentProvided": OpenAPISchema.truth("As configured."),
                "consumptionPercentage": OpenAPISchema.integer("Thousandths of a percent.", 0...100_000),
                "refundPreference": OpenAPISchema.text("DECLINE, GRANT_FULL or GRANT_PRORATED."),
            ], optional: ["consumptionPercentage", "refundPreference"]),
        "ConsumptionRequest": OpenAPISchema.object(
            "A question of Apple's about a purchase whose money a customer wants back.",
            [
                "transactionId": OpenAPISchema.text("What is asked about."),
                "environment": OpenAPISchema.words("Where it was bought.", Environment.allCases.map(\.rawValue)),
                "userId": OpenAPISchema.text("Whose it is; absent if nobody knows."),
                "productId": OpenAPISchema.text("What was bought; absent if nobody knows."),
                "reason": OpenAPISchema.text("What the customer told Apple."),
                "requestedAt": OpenAPISchema.time("When Apple asked."),
                "answerBy": OpenAPISchema.time("Until when an answer counts."),
                "state": OpenAPISchema.words(
                    "What became of it.", ConsumptionRequestReply.State.allCases.map(\.rawValue)),
                "attempts": OpenAPISchema.integer("How often nothing could be sent."),
                "detail": OpenAPISchema.text("What it waits for, or why it ended so: a code and a sentence."),
                "answer": ref("ConsumptionAnswer"),
                "endedAt": OpenAPISchema.time("When it was answered or given up."),
            ], optional: ["userId", "productId", "reason", "answer", "endedAt"]),
        "ConsumptionRequestPage": OpenAPISchema.page(of: "ConsumptionRequest"),
    ]
}

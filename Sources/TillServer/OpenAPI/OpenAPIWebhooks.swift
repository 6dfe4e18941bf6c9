import TillAPI
import TillBilling
import TillJSON
import TillLedger

extension OpenAPI {
    private static let eventExample: JSONValue = [
        "id": "evt_42_mkgayayo", "type": "grant.created", "timestamp": "2026-01-16T00:00:00.000Z", "sequence": 42,
        "userSequence": 3, "userId": "u1", "environment": "Production",
        "data": [
            "grantId": "0d1a35b3-eea1-46d2-9a75-8b7273506f71", "orderId": "6d9a35b3-eea1-46d2-9a75-8b7273506f71",
            "transactionId": "2000000356937285", "originalTransactionId": "2000000356937285",
            "productId": "com.example.learn.points60", "quantity": 1, "purchasedAt": "2026-01-16T00:00:00.000Z",
            "price": ["amount": 600, "currency": "CNY"],
            "postings": [["account": "user:u1", "currency": "points", "amount": 60, "kind": "purchase"]],
        ],
    ]

    private static let deliveryExample: JSONValue = [
        "eventId": "evt_42_mkgayayo", "sequence": 42, "type": "grant.created", "userId": "u1", "state": "dead",
        "isReplay": false, "attempts": 10, "lastAttemptAt": "2026-01-19T03:35:05.000Z", "lastStatus": 500,
        "lastError": "answered 500: out of memory", "endedAt": "2026-01-19T03:35:05.000Z",
    ]

    private static let replayExample: JSONValue = [
        "id": "7", "endpointId": "backend", "from": "2026-01-16T00:00:00.000Z", "to": "2026-01-17T00:00:00.000Z",
        "count": 0, "createdAt": "2026-01-18T00:00:00.000Z",
    ]

    /// As far as every reader of JSON counts exactly.
    static let sequences: ClosedRange<Int64> = 1...9_007_199_254_740_991

    static let webhookOperations: [OpenAPIOperation] = feedOperations + sendingOperations

    private static let feedOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .get, path: Paths.events, id: "listEvents", tag: .webhooks,
            summary: "Fetch events, oldest first",
            description: """
                The same events that are pushed, for a backend that can't be reached, or wants to be sure: ask for \
                what comes after the last `sequence` you have dealt with. `nextCursor` is that sequence, also on the \
                last page. All events are kept.
                """,
            caller: .backend,
            parameters: [
                .query(
                    "after", OpenAPISchema.integer("A sequence.", 0...sequences.upperBound), "Only what comes after it."
                ),
                .limit, .query("user", OpenAPISchema.userID, "Only this user's."),
            ],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The events.", "EventPage",
                    example: ["data": [eventExample], "hasMore": false, "nextCursor": "42"])
            ],
            refusals: [.invalidField]),
        OpenAPIOperation(
            method: .get, path: Paths.webhooks, id: "listWebhooks", tag: .webhooks,
            summary: "List the endpoints that events are pushed to, and how they do",
            description: "All of the configuration's, on one page.", caller: .backend,
            answers: [OpenAPIOperation.Answer(200, "The endpoints.", "WebhookEndpointPage")]),
        OpenAPIOperation(
            method: .get, path: Paths.webhookDeliveries, id: "listWebhookDeliveries", tag: .webhooks,
            summary: "List what was sent to an endpoint, and what became of it",
            description: "Dead letters are `state=dead`. What went through is forgotten after 30 days.",
            caller: .backend, parameters: [.endpointID, .deliveryState, .limit, .cursor],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The deliveries.", "WebhookDeliveryPage",
                    example: ["data": [deliveryExample], "hasMore": false, "nextCursor": nil])
            ],
            refusals: [.unknownEndpoint, .invalidField]),
    ]

    private static let sendingOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .post, path: Paths.webhookDeliveryReplay, id: "replayWebhookDelivery", tag: .webhooks,
            summary: "Send one event once more",
            description: """
                Under the same `webhook-id`. A dead letter gets all its attempts anew; what waits for its next attempt \
                gets it now.
                """,
            caller: .backend, parameters: [.endpointID, .eventSequence], isRepeatable: true,
            answers: [OpenAPIOperation.Answer(200, "In line.", "WebhookDelivery")],
            refusals: [.unknownEndpoint, .unknownEvent, .invalidField]),
        OpenAPIOperation(
            method: .post, path: Paths.webhookReplays, id: "replayWebhooks", tag: .webhooks,
            summary: "Send a span of time once more",
            description: "The events are put in line little by little, beside what happens meanwhile.",
            caller: .backend,
            body: OpenAPIOperation.Body(
                "WebhookReplayWish",
                example: [
                    "from": "2026-01-16T00:00:00.000Z", "to": "2026-01-17T00:00:00.000Z", "endpoint": "backend",
                ]),
            isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    201, "One for each endpoint.", "WebhookReplayPage",
                    example: ["data": [replayExample], "hasMore": false, "nextCursor": nil])
            ],
            refusals: [.unknownEndpoint]),
        OpenAPIOperation(
            method: .get, path: Paths.webhookReplays, id: "listWebhookReplays", tag: .webhooks,
            summary: "List the spans of time that were sent once more", caller: .backend,
            parameters: [.limit, .cursor],
            answers: [OpenAPIOperation.Answer(200, "The replays.", "WebhookReplayPage")],
            refusals: [.invalidField]),
        OpenAPIOperation(
            method: .post, path: Paths.webhookTest, id: "testWebhook", tag: .webhooks,
            summary: "Send a test event now",
            description: "Of type `webhook.test`, once, signed like any other; it has no sequence and is not kept.",
            caller: .backend, parameters: [.endpointID], isRepeatable: true,
            answers: [
                OpenAPIOperation.Answer(
                    200, "What came of it.", "WebhookTest",
                    example: [
                        "eventId": "evt_test_9d1c2f0e-7a55-4c0b-9a39-6f1f0d2b8c11", "delivered": true, "status": 204,
                    ])
            ],
            refusals: [.unknownEndpoint]),
        OpenAPIOperation(
            method: .post, path: Paths.webhookResumption, id: "resumeWebhook", tag: .webhooks,
            summary: "Send to an endpoint again that answered 410",
            description: "Or one that asked to be left alone for a while. It goes on where it stopped.",
            caller: .backend, parameters: [.endpointID], isRepeatable: true,
            answers: [OpenAPIOperation.Answer(200, "The endpoint.", "WebhookEndpoint")],
            refusals: [.unknownEndpoint]),
    ]

    static let webhookSchemas: [String: JSONValue] = [
        "Event": OpenAPISchema.object(
            "Something that happened, as it is pushed and fetched.",
            [
                "id": OpenAPISchema.text("`webhook-id`: the same each time it is sent. Do nothing twice for it."),
                "type": OpenAPISchema.text(
                    "One of \(EventType.allCases.map(\.rawValue).joined(separator: ", ")); more may come."),
                "timestamp": OpenAPISchema.time("When it happened."),
                "sequence": OpenAPISchema.integer("Its place among all events.", sequences),
                "userSequence": OpenAPISchema.integer(
                    "Its place among its user's events: 1, 2, 3, without a gap. Absent where there is no user.",
                    sequences),
                "userId": OpenAPISchema.text("Whose it is; absent if it is nobody's."),
                "environment": OpenAPISchema.words(
                    "Whose books; absent for what concerns both.", Environment.allCases.map(\.rawValue)),
                "data": ["type": "object", "description": "What happened, by type: see docs/webhooks.md."],
                "sandbox": OpenAPISchema.sandboxMark,
            ], optional: ["userSequence", "userId", "environment", "sandbox"]),
        "EventPage": OpenAPISchema.object(
            "One page, oldest first.",
            [
                "data": OpenAPISchema.list("The page.", of: ref("Event")),
                "hasMore": OpenAPISchema.truth("Whether there are younger ones."),
                "nextCursor": OpenAPISchema.text("For `after`, to go on. Always there."),
            ]),
        "WebhookEndpoint": endpoint, "WebhookEndpointPage": OpenAPISchema.page(of: "WebhookEndpoint"),
        "WebhookDelivery": delivery, "WebhookDeliveryPage": OpenAPISchema.page(of: "WebhookDelivery"),
        "WebhookReplayWish": OpenAPISchema.object(
            "A span of time.",
            [
                "from": OpenAPISchema.time("Events from then on."), "to": OpenAPISchema.time("And before then."),
                "endpoint": OpenAPISchema.text("To which endpoint; to all of them, if absent."),
            ], optional: ["endpoint"]),
        "WebhookReplay": OpenAPISchema.object(
            "A span of time that an endpoint is sent once more.",
            [
                "id": OpenAPISchema.text("Its name."), "endpointId": OpenAPISchema.text("To which endpoint."),
                "from": OpenAPISchema.time("Events from then on."), "to": OpenAPISchema.time("And before then."),
                "count": OpenAPISchema.integer("How many are in line by now."),
                "createdAt": OpenAPISchema.time("When it was asked for."),
                "endedAt": OpenAPISchema.time("When all of them were in line; absent until then."),
            ], optional: ["endedAt"]),
        "WebhookReplayPage": OpenAPISchema.page(of: "WebhookReplay"),
        "WebhookTest": OpenAPISchema.object(
            "What came of a test.",
            [
                "eventId": OpenAPISchema.text("Its `webhook-id`."),
                "delivered": OpenAPISchema.truth("Whether the endpoint took it: any 2xx."),
                "status": OpenAPISchema.integer("What it answered; absent if it did not."),
                "error": OpenAPISchema.text("Why it was not taken."),
            ], optional: ["status", "error"]),
    ]

    private static let endpoint = OpenAPISchema.object(
        "An endpoint, and how it does.",
        [
            "id": OpenAPISchema.text("Its name in the configuration."), "url": OpenAPISchema.text("Where it is."),
            "state": OpenAPISchema.words("How it does.", WebhookEndpointReply.State.allCases.map(\.rawValue)),
            "types": OpenAPISchema.list("What it wants to hear of; absent: everything.", of: ["type": "string"]),
            "position": OpenAPISchema.integer("The last event that was put in line for it, or passed over."),
            "behind": OpenAPISchema.integer("How many events there are after that one."),
            "waiting": OpenAPISchema.integer("How many are in line."),
            "dead": OpenAPISchema.integer("How many were given up."),
            "lastSuccessAt": OpenAPISchema.time("When it last took one."),
            "lastFailureAt": OpenAPISchema.time("When it last did not take one."),
            "lastError": OpenAPISchema.text("Why."),
            "restsUntil": OpenAPISchema.time("Until when it is left alone, because it asked for that."),
            "goneAt": OpenAPISchema.time("When it answered 410. Nothing is sent since."),
        ],
        optional: ["types", "position", "lastSuccessAt", "lastFailureAt", "lastError", "restsUntil", "goneAt"])

    private static let delivery = OpenAPISchema.object(
        "One event on its way to one endpoint.",
        [
            "eventId": OpenAPISchema.text("The event's `webhook-id`."),
            "sequence": OpenAPISchema.integer("The event's place among all."),
            "type": OpenAPISchema.text("The event's type."), "userId": OpenAPISchema.text("Whose event it is."),
            "state": OpenAPISchema.words("What became of it.", WebhookDeliveryReply.State.allCases.map(\.rawValue)),
            "isReplay": OpenAPISchema.truth("Whether somebody had it sent once more."),
            "attempts": OpenAPISchema.integer("How often it was sent."),
            "nextAttemptAt": OpenAPISchema.time(
                "When it is sent next; absent behind another event of its user, and when it has ended."),
            "lastAttemptAt": OpenAPISchema.time("When it was sent last."),
            "lastStatus": OpenAPISchema.integer("What was answered; absent if nothing was."),
            "lastError": OpenAPISchema.text("Why it was not taken."),
            "endedAt": OpenAPISchema.time("When it was taken or given up."),
        ],
        optional: [
            "userId", "nextAttemptAt", "lastAttemptAt", "lastStatus", "lastError", "endedAt",
        ])
}

extension OpenAPIOperation.Parameter {
    static let endpointID = path("id", OpenAPISchema.text("An endpoint's id."), "The endpoint's id.")
    static let eventSequence = path(
        "sequence", OpenAPISchema.integer("An event's sequence.", OpenAPI.sequences), "The event's sequence.")
    static let deliveryState = query(
        "state", ["type": "string", "enum": .array(WebhookDeliveryReply.State.allCases.map { .string($0.rawValue) })],
        "Only those.")
}

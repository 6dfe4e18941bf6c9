import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// The events for the app's backend: pushed to its endpoints, or fetched.
extension OpenAPI {
    static let webhookEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.events, id: "listEvents", tag: .webhooks, action: Server.listEvents,
            summary: "Fetch events, oldest first",
            description: """
                The same events that are pushed, for a backend that can't be reached, or wants to be sure: ask for \
                what comes after the last page you have dealt with. `nextCursor` says where that ended, also on the \
                last page. All events are kept. After the ledger was put back to a backup the answer is \
                `stale_cursor`: begin again without `after`; an event that you know has the id that you know.
                """,
            caller: .backend,
            parameters: [
                .query(
                    "after", schema: Endpoint.Parameter.cursorText, "`nextCursor` of the page before; 0 begins anew."),
                .limit, .query("user", .userID, "Only this user's."),
            ],
            answers: [.ok("The events.", "EventPage")]),
        Endpoint(
            method: .get, path: Paths.webhooks, id: "listWebhooks", tag: .webhooks, action: Server.listWebhooks,
            summary: "List the endpoints that events are pushed to, and how they do",
            description: "All of the configuration's, on one page.", caller: .backend,
            answers: [.ok("The endpoints.", "WebhookEndpointPage")]),
        Endpoint(
            method: .get, path: Paths.webhookDeliveries, id: "listWebhookDeliveries", tag: .webhooks,
            action: Server.listWebhookDeliveries, summary: "List what was sent to an endpoint, and what became of it",
            description: "Dead letters are `state=dead`. What went through is forgotten after 30 days.",
            caller: .backend,
            parameters: [
                .endpointID,
                .query("state", .words("", WebhookDeliveryReply.State.self), "Only those."), .limit, .cursor,
            ],
            answers: [.ok("The deliveries.", "WebhookDeliveryPage")], refusals: [.unknownEndpoint]),
        Endpoint(
            method: .post, path: Paths.webhookDeliveryReplay, id: "replayWebhookDelivery", tag: .webhooks,
            action: Server.replayWebhookDelivery, summary: "Send one event once more",
            description: """
                Under the same `webhook-id`. A dead letter gets all its attempts anew; what waits for its next attempt \
                gets it now.
                """,
            caller: .backend,
            parameters: [
                .endpointID, .path("sequence", .integer("An event's sequence.", sequences), "The event's sequence."),
            ], answers: [.ok("In line.", "WebhookDelivery").bare],
            refusals: [.unknownEndpoint, .unknownEvent, .invalidField]),
        Endpoint(
            method: .post, path: Paths.webhookReplays, id: "replayWebhooks", tag: .webhooks,
            action: Server.replayWebhooks, summary: "Send a span of time once more",
            description: "The events are put in line little by little, beside what happens meanwhile.",
            caller: .backend, body: .json("WebhookReplayWish"),
            answers: [.created("One for each endpoint.", "WebhookReplayPage")], refusals: [.unknownEndpoint]),
        Endpoint(
            method: .get, path: Paths.webhookReplays, id: "listWebhookReplays", tag: .webhooks,
            action: Server.listWebhookReplays, summary: "List the spans of time that were sent once more",
            caller: .backend, parameters: [.limit, .cursor], answers: [.ok("The replays.", "WebhookReplayPage")]),
        Endpoint(
            method: .post, path: Paths.webhookTest, id: "testWebhook", tag: .webhooks, action: Server.testWebhook,
            summary: "Send a test event now",
            description: "Of type `webhook.test`, once, signed like any other; it has no sequence and is not kept.",
            caller: .backend, parameters: [.endpointID], answers: [.ok("What came of it.", "WebhookTest")],
            refusals: [.unknownEndpoint]),
        Endpoint(
            method: .post, path: Paths.webhookResumption, id: "resumeWebhook", tag: .webhooks,
            action: Server.resumeWebhook, summary: "Send to an endpoint again that answered 410",
            description: "Or one that asked to be left alone for a while. It goes on where it stopped.",
            caller: .backend, parameters: [.endpointID], answers: [.ok("The endpoint.", "WebhookEndpoint")],
            refusals: [.unknownEndpoint]),
    ]

    /// Up to the largest integer that every JSON reader represents exactly.
    private static let sequences: ClosedRange<Int64> = 1...9_007_199_254_740_991

    static let webhookBodies: BodyTable = [
        Body("Event", "Something that happened, as it is pushed and fetched."): [
            "id": "`webhook-id`: the same each time it is sent. Do nothing twice for it.",
            "type": """
            One of \(EventType.allCases.map(\.rawValue).joined(separator: ", ")); more may come.
            """,
            "timestamp": .time("When it happened."),
            "sequence": .integer("Its place among all events.", sequences),
            "userSequence": .optional(
                .integer(
                    "Its place among its user's events: 1, 2, 3, without a gap. Absent where there is no user.",
                    sequences)),
            "userId": .optional("Whose it is; absent if it is nobody's."),
            "environment": .optional(.words("Whose books; absent for what concerns both.", Environment.self)),
            "data": .object("What happened, by type: see docs/webhooks.md."), "sandbox": .sandbox,
        ],
        Body("EventPage", "One page, oldest first."): [
            "data": .list("The page.", of: "Event"), "hasMore": .truth("Whether there are younger ones."),
            "nextCursor": "For `after`, to go on. Always there.",
        ],
        Body("WebhookEndpoint", WebhookEndpointReply.self, "An endpoint, and how it does."): [
            "id": "Its name in the configuration.", "url": "Where it is.", "state": "How it does.",
            "types": "What it wants to hear of; absent: everything.",
            "position": "The last event that was put in line for it, or passed over.",
            "behind": "How many events there are after that one.", "waiting": "How many are in line.",
            "dead": "How many were given up.", "lastSuccessAt": "When it last took one.",
            "lastFailureAt": "When it last did not take one.", "lastError": "Why.",
            "restsUntil": "Until when it is left alone, because it asked for that.",
            "goneAt": "When it answered 410. Nothing is sent since.",
        ],
        .page("WebhookEndpointPage", of: WebhookEndpointReply.self): [:],
        Body("WebhookDelivery", WebhookDeliveryReply.self, "One event on its way to one endpoint."): [
            "eventId": "The event's `webhook-id`.", "sequence": "The event's place among all.",
            "type": "The event's type.", "userId": "Whose event it is.", "state": "What became of it.",
            "isReplay": "Whether somebody had it sent once more.", "attempts": "How often it was sent.",
            "nextAttemptAt": "When it is sent next; absent behind another event of its user, and when it has ended.",
            "lastAttemptAt": "When it was sent last.", "lastStatus": "What was answered; absent if nothing was.",
            "lastError": "Why it was not taken.", "endedAt": "When it was taken or given up.",
        ],
        .page("WebhookDeliveryPage", of: WebhookDeliveryReply.self): [:],
        Body("WebhookReplayWish", WebhookReplayBody.self, "A span of time."): [
            "from": "Events from then on.", "to": "And before then.",
            "endpoint": "To which endpoint; to all of them, if absent.",
        ],
        Body("WebhookReplay", WebhookReplayReply.self, "A span of time that an endpoint is sent once more."): [
            "id": "Its name.", "endpointId": "To which endpoint.", "from": "Events from then on.",
            "to": "And before then.", "count": "How many are in line by now.", "createdAt": "When it was asked for.",
            "endedAt": "When all of them were in line; absent until then.",
        ],
        .page("WebhookReplayPage", of: WebhookReplayReply.self): [:],
        Body("WebhookTest", WebhookTestReply.self, "What came of a test."): [
            "eventId": "Its `webhook-id`.", "delivered": "Whether the endpoint took it: any 2xx.",
            "status": "What it answered; absent if it did not.", "error": "Why it was not taken.",
        ],
    ]

    static let webhookExamples: [String: JSONValue] = [
        "EventPage": ["data": [event], "hasMore": false, "nextCursor": "42"],
        "WebhookDelivery": [
            "eventId": "evt_4c1f0e7ab2d98d3f9a6b1c25e07f8d11", "sequence": 42, "type": "grant.created", "userId": "u1",
            "state": "dead",
            "isReplay": false, "attempts": 10, "lastAttemptAt": "2026-01-19T03:35:05.000Z", "lastStatus": 500,
            "lastError": "answered 500: out of memory", "endedAt": "2026-01-19T03:35:05.000Z",
        ],
        "WebhookReplayWish": [
            "from": "2026-01-16T00:00:00.000Z", "to": "2026-01-17T00:00:00.000Z", "endpoint": "backend",
        ],
        "WebhookReplay": [
            "id": "7", "endpointId": "backend", "from": "2026-01-16T00:00:00.000Z", "to": "2026-01-17T00:00:00.000Z",
            "count": 0, "createdAt": "2026-01-18T00:00:00.000Z",
        ],
        "WebhookTest": ["eventId": "evt_test_9d1c2f0e-7a55-4c0b-9a39-6f1f0d2b8c11", "delivered": true, "status": 204],
    ]

    private static let event: JSONValue = [
        "id": "evt_4c1f0e7ab2d98d3f9a6b1c25e07f8d11", "type": "grant.created", "timestamp": "2026-01-16T00:00:00.000Z",
        "sequence": 42,
        "userSequence": 3, "userId": "u1", "environment": "Production",
        "data": [
            "grantId": "0d1a35b3-eea1-46d2-9a75-8b7273506f71", "orderId": "6d9a35b3-eea1-46d2-9a75-8b7273506f71",
            "transactionId": "2000000356937285", "originalTransactionId": "2000000356937285",
            "productId": "com.example.learn.points60", "quantity": 1, "purchasedAt": "2026-01-16T00:00:00.000Z",
            "price": ["amount": 600, "currency": "CNY"],
            "postings": [["account": "user:u1", "currency": "points", "amount": 60, "kind": "purchase"]],
        ],
    ]
}

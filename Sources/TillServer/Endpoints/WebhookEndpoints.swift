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
                The same events that are pushed, for a backend that cannot be reached or wants to check that it has \
                all: request the events after the last page that you have processed. `nextCursor` is the end of the \
                page, also on the last one. All events are kept. After the ledger was restored from a backup the \
                response is `stale_cursor`: start again without `after`; events that you have processed keep their \
                ids.
                """,
            caller: .backend,
            parameters: [
                .query(
                    "after", schema: Endpoint.Parameter.cursorText,
                    "The `nextCursor` of the previous page; 0 starts from the first event."),
                .limit, .query("user", .userID, "Only events of this user."),
            ],
            answers: [.ok("The events.", "EventPage")]),
        Endpoint(
            method: .get, path: Paths.webhooks, id: "listWebhooks", tag: .webhooks, action: Server.listWebhooks,
            summary: "List the endpoints that events are pushed to, with their state",
            description: "All endpoints of the configuration, on one page.", caller: .backend,
            answers: [.ok("The endpoints.", "WebhookEndpointPage")]),
        Endpoint(
            method: .get, path: Paths.webhookDeliveries, id: "listWebhookDeliveries", tag: .webhooks,
            action: Server.listWebhookDeliveries, summary: "List the deliveries to an endpoint",
            description:
                "`state=dead` lists the dead letters. Successful deliveries are deleted after 30 days.",
            caller: .backend,
            parameters: [
                .endpointID,
                .query("state", .oneOf("", WebhookDeliveryReply.State.self), "Only deliveries in this state."), .limit,
                .cursor,
            ],
            answers: [.ok("The deliveries.", "WebhookDeliveryPage")], refusals: [.unknownEndpoint]),
        Endpoint(
            method: .post, path: Paths.webhookDeliveryReplay, id: "replayWebhookDelivery", tag: .webhooks,
            action: Server.replayWebhookDelivery, summary: "Send one event again",
            description: """
                The event keeps its `webhook-id`. A delivery that was given up gets all its attempts again; a delivery \
                that waits for its next attempt gets it now.
                """,
            caller: .backend,
            parameters: [
                .endpointID, .path("sequence", .integer("An event's sequence.", sequences), "The event's sequence."),
            ], answers: [.ok("Queued.", "WebhookDelivery").bare],
            refusals: [.unknownEndpoint, .unknownEvent, .invalidField]),
        Endpoint(
            method: .post, path: Paths.webhookReplays, id: "replayWebhooks", tag: .webhooks,
            action: Server.replayWebhooks, summary: "Send the events of a span of time again",
            description: "The server queues the events gradually, beside new events.",
            caller: .backend, body: .json("WebhookReplayRequest"),
            answers: [.created("One replay for each endpoint.", "WebhookReplayPage")], refusals: [.unknownEndpoint]),
        Endpoint(
            method: .get, path: Paths.webhookReplays, id: "listWebhookReplays", tag: .webhooks,
            action: Server.listWebhookReplays, summary: "List the replays",
            caller: .backend, parameters: [.limit, .cursor], answers: [.ok("The replays.", "WebhookReplayPage")]),
        Endpoint(
            method: .post, path: Paths.webhookTest, id: "testWebhook", tag: .webhooks, action: Server.testWebhook,
            summary: "Send a test event now",
            description: "Of type `webhook.test`, once, signed like any other; it has no sequence and is not kept.",
            caller: .backend, parameters: [.endpointID], answers: [.ok("The result of the test.", "WebhookTest")],
            refusals: [.unknownEndpoint]),
        Endpoint(
            method: .post, path: Paths.webhookResumption, id: "resumeWebhook", tag: .webhooks,
            action: Server.resumeWebhook, summary: "Resume an endpoint that answered 410",
            description: "Also resumes an endpoint that asked for a pause. Delivery continues where it stopped.",
            caller: .backend, parameters: [.endpointID], answers: [.ok("The endpoint.", "WebhookEndpoint")],
            refusals: [.unknownEndpoint]),
    ]

    /// Up to the largest integer that every JSON reader represents exactly.
    private static let sequences: ClosedRange<Int64> = 1...9_007_199_254_740_991

    static let webhookBodies: BodyTable = [
        Body("Event", "An event, as pushed and fetched."): [
            "id": "The `webhook-id`, the same for each delivery. Process each id once.",
            "type": """
            One of \(EventType.allCases.map(\.rawValue).joined(separator: ", ")); new types may be added.
            """,
            "timestamp": .time("The time of the event."),
            "epoch": .integer(
                "The ledger's epoch in which it was written. A restore from a backup begins the next one, and "
                    + "numbers that the backup lacked are given again.", sequences),
            "sequence": .integer("The event's position among all events.", sequences),
            "userSequence": .optional(
                .integer(
                    "The event's position among its user's events: 1, 2, 3, without gaps. Absent without a user.",
                    sequences)),
            "userId": .optional("The event's user; absent without one."),
            "environment": .optional(
                .oneOf("The environment; absent for an event of both environments.", StoreEnvironment.self)),
            "data": .object("The event's content, by type: see docs/webhooks.md."), "sandbox": .sandbox,
        ],
        Body("EventPage", "One page, oldest first."): [
            "data": .list("The events of this page.", of: "Event"), "hasMore": .boolean("Whether newer events follow."),
            "nextCursor": "The `after` of the next page. Always present.",
        ],
        Body("WebhookEndpoint", WebhookEndpointReply.self, "An endpoint and its state."): [
            "id": "The endpoint's name in the configuration.", "url": "The endpoint's URL.",
            "state": "The endpoint's state.",
            "types": "The event types that it receives; absent for all types.",
            "position": "The position of the last event that was queued or skipped for it.",
            "behind": "The number of events after that position.", "waiting": "The number of queued deliveries.",
            "dead": "The number of deliveries that were given up.",
            "lastSuccessAt": "The time of the last successful delivery.",
            "lastFailureAt": "The time of the last failed delivery.", "lastError": "The reason for the last failure.",
            "restsUntil": "The end of the pause that the endpoint asked for.",
            "goneAt": "The time at which it answered 410. Nothing is sent after that.",
        ],
        .page("WebhookEndpointPage", of: WebhookEndpointReply.self): [:],
        Body("WebhookDelivery", WebhookDeliveryReply.self, "The delivery of one event to one endpoint."): [
            "eventId": "The event's `webhook-id`.", "sequence": "The event's position among all events.",
            "type": "The event's type.", "userId": "The event's user.", "state": "The delivery's state.",
            "isReplay": "Whether the event is sent again on request.", "attempts": "The number of attempts so far.",
            "nextAttemptAt": "The next attempt; absent behind an earlier event of the same user and after the end.",
            "lastAttemptAt": "The time of the last attempt.",
            "lastStatus": "The HTTP status of the last answer; absent without one.",
            "lastError": "The reason for the last failure.",
            "endedAt": "The time at which it was delivered or given up.",
        ],
        .page("WebhookDeliveryPage", of: WebhookDeliveryReply.self): [:],
        Body("WebhookReplayRequest", WebhookReplayBody.self, "The span of time to send again."): [
            "from": "The start of the span, included.", "to": "The end of the span, excluded.",
            "endpoint": "The receiving endpoint; all endpoints if absent.",
        ],
        Body("WebhookReplay", WebhookReplayReply.self, "The replay of a span of time to one endpoint."): [
            "id": "The replay's id.", "endpointId": "The receiving endpoint.",
            "from": "The start of the span, included.",
            "to": "The end of the span, excluded.", "count": "The number of events queued so far.",
            "createdAt": "The time of the request.",
            "endedAt": "The time at which the last event was queued; absent until then.",
        ],
        .page("WebhookReplayPage", of: WebhookReplayReply.self): [:],
        Body("WebhookTest", WebhookTestReply.self, "The result of a test."): [
            "eventId": "The test event's `webhook-id`.",
            "delivered": "Whether the endpoint answered with a 2xx status.",
            "status": "The HTTP status of the answer; absent without one.", "error": "The reason for a failure.",
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
        "WebhookReplayRequest": [
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
        "epoch": 1, "sequence": 42, "userSequence": 3, "userId": "u1",
        "environment": "Production",
        "data": [
            "grantId": "0d1a35b3-eea1-46d2-9a75-8b7273506f71", "orderId": "6d9a35b3-eea1-46d2-9a75-8b7273506f71",
            "transactionId": "2000000356937285", "originalTransactionId": "2000000356937285",
            "productId": "com.example.learn.points60", "quantity": 1, "purchasedAt": "2026-01-16T00:00:00.000Z",
            "price": ["amount": 600, "currency": "CNY"],
            "postings": [["account": "user:u1", "currency": "points", "amount": 60, "kind": "purchase"]],
        ],
    ]
}

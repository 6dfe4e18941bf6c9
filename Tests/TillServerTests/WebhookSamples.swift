import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    /// Calls to a server without endpoints that has some events.
    static var webhookCalls: [(HTTPMethod, String, String, JSONValue?, Int)] {
        let span: JSONValue = ["from": "2026-01-16T00:00:00Z", "to": "2026-01-17T00:00:00Z"]
        let back: JSONValue = ["from": "2026-01-17T00:00:00Z", "to": "2026-01-16T00:00:00Z"]
        return [
            (.get, Paths.events, "/v1/events", nil, 200),
            (.get, Paths.events, "/v1/events?user=u1&after=MS4x", nil, 200),
            (.get, Paths.events, "/v1/events?after=-1", nil, 400), (.get, Paths.webhooks, "/v1/webhooks", nil, 200),
            (.get, Paths.webhookDeliveries, "/v1/webhooks/x/deliveries", nil, 404),
            (.post, Paths.webhookDeliveryReplay, "/v1/webhooks/x/deliveries/1/replay", nil, 404),
            (.post, Paths.webhookReplays, Paths.webhookReplays, span, 201),
            (.post, Paths.webhookReplays, Paths.webhookReplays, back, 400),
            (.get, Paths.webhookReplays, Paths.webhookReplays, nil, 200),
            (.post, Paths.webhookTest, "/v1/webhooks/x/test", nil, 404),
            (.post, Paths.webhookResumption, "/v1/webhooks/x/resumption", nil, 404),
        ]
    }

    /// Request and reply bodies of webhooks, each once with every member and once with the required members only.
    static var webhookSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let now = Instant(seconds: 1_790_000_000)
            var endpoint = WebhookEndpointReply(id: "a", url: "https://a", state: .gone, types: ["grant.created"])
            endpoint.position = 1
            endpoint.lastSuccessAt = now
            endpoint.lastFailureAt = now
            endpoint.lastError = "answered 410"
            endpoint.restsUntil = now
            endpoint.goneAt = now
            let newcomer = WebhookEndpointReply(id: "a", url: "https://a", state: .new, types: nil)
            func delivery(_ user: String?) -> WebhookDeliveryReply {
                WebhookDeliveryReply(
                    eventId: "evt_1_a", sequence: 1, type: "grant.created", userId: user, state: .waiting,
                    isReplay: false, attempts: 0)
            }
            var tried = delivery("u1")
            tried.nextAttemptAt = now
            tried.lastAttemptAt = now
            tried.lastStatus = 500
            tried.lastError = "answered 500"
            tried.endedAt = now
            func replay(_ end: Instant?) -> WebhookReplayReply {
                WebhookReplayReply(id: "1", endpointId: "a", from: now, to: now, count: 0, createdAt: now, endedAt: end)
            }
            let leastEvent: JSONValue = [
                "id": "evt_1_a", "type": "transfer.created", "timestamp": .string(now.rfc3339), "epoch": 1,
                "sequence": 1, "data": [:],
            ]
            var event = leastEvent.object ?? [:]
            event["userSequence"] = 1
            event["userId"] = "u1"
            event["environment"] = "Sandbox"
            event["sandbox"] = true
            let page: JSONValue = ["data": [leastEvent], "hasMore": false, "nextCursor": "1"]
            return [
                "Event": (.object(event), leastEvent),
                "EventPage": (page, page),
                "WebhookEndpoint": try both(endpoint, newcomer),
                "WebhookEndpointPage": try same(Page(data: [newcomer], hasMore: false, nextCursor: nil)),
                "WebhookDelivery": try both(tried, delivery(nil)),
                "WebhookDeliveryPage": try same(Page(data: [tried], hasMore: true, nextCursor: "1")),
                "WebhookReplayRequest": try both(
                    WebhookReplayBody(from: now, to: now, endpoint: "a"), WebhookReplayBody(from: now, to: now)),
                "WebhookReplay": try both(replay(now), replay(nil)),
                "WebhookReplayPage": try same(Page(data: [replay(nil)], hasMore: true, nextCursor: "1")),
                "WebhookTest": try both(
                    WebhookTestReply(eventId: "e", delivered: false, status: 500, error: "answered 500"),
                    WebhookTestReply(eventId: "e", delivered: true, status: nil, error: nil)),
            ]
        }
    }
}

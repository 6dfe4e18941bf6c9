import TillBilling

/// One endpoint of `GET /v1/webhooks`.
public struct WebhookEndpointReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        /// Events are sent as they occur.
        case active
        /// The last delivery got no response: the server tries one event at a time until the endpoint responds.
        case silent
        /// The endpoint asked the server to pause.
        case resting
        /// The endpoint answered 410: no events are sent until it is resumed or its address changes.
        case gone
        /// Switched off in the configuration.
        case disabled
        /// The server has not processed it yet.
        case new
    }

    public let id: String
    public let url: String
    public let state: State
    /// The event types that it receives; absent: all.
    public let types: [String]?
    /// The last event that was queued for it, or skipped.
    public var position: Int64?
    /// The number of events after that one, of all types.
    public var behind: Int64 = 0
    /// Queued events: not tried yet, failed, or waiting behind a failed one.
    public var waiting: Int64 = 0
    public var dead: Int64 = 0
    public var lastSuccessAt: Instant?
    public var lastFailureAt: Instant?
    /// The cause of the last failure, in English.
    public var lastError: String?
    public var restsUntil: Instant?
    public var goneAt: Instant?

    public init(id: String, url: String, state: State, types: [String]?) {
        self.id = id
        self.url = url
        self.state = state
        self.types = types
    }
}

/// The delivery of one event to one endpoint: `GET /v1/webhooks/{id}/deliveries`.
public struct WebhookDeliveryReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        case waiting, delivered, dead
    }

    /// The event's id, sent as `webhook-id`.
    public let eventId: String
    public let sequence: Int64
    public let type: String
    public let userId: String?
    public let state: State
    /// Whether it was sent again on request.
    public let isReplay: Bool
    public let attempts: Int64
    /// Nil while an earlier event of its user is pending, and after the end.
    public var nextAttemptAt: Instant?
    public var lastAttemptAt: Instant?
    /// The endpoint's status; nil if there was no response.
    public var lastStatus: Int64?
    /// Why the delivery failed, with the beginning of the endpoint's response, in English.
    public var lastError: String?
    public var endedAt: Instant?

    public init(
        eventId: String, sequence: Int64, type: String, userId: String?, state: State, isReplay: Bool, attempts: Int64
    ) {
        self.eventId = eventId
        self.sequence = sequence
        self.type = type
        self.userId = userId
        self.state = state
        self.isReplay = isReplay
        self.attempts = attempts
    }
}

/// `POST /v1/webhooks/replays`: sends all events of a time range again.
public struct WebhookReplayBody: Codable, Sendable {
    public var from: Instant
    /// Not included.
    public var to: Instant
    /// The endpoint; all of them if absent.
    public var endpoint: String?

    public init(from: Instant, to: Instant, endpoint: String? = nil) {
        self.from = from
        self.to = to
        self.endpoint = endpoint
    }
}

/// A time range whose events are sent to an endpoint again.
public struct WebhookReplayReply: Codable, Sendable, Hashable {
    public let id: String
    public let endpointId: String
    public let from: Instant
    public let to: Instant
    /// The number of events queued so far.
    public let count: Int64
    public let createdAt: Instant
    /// When all of them were queued; absent until then.
    public let endedAt: Instant?

    public init(
        id: String, endpointId: String, from: Instant, to: Instant, count: Int64, createdAt: Instant, endedAt: Instant?
    ) {
        self.id = id
        self.endpointId = endpointId
        self.from = from
        self.to = to
        self.count = count
        self.createdAt = createdAt
        self.endedAt = endedAt
    }
}

/// The result of `POST /v1/webhooks/{id}/test`.
public struct WebhookTestReply: Codable, Sendable, Hashable {
    /// The `webhook-id` of the test event.
    public let eventId: String
    public let delivered: Bool
    /// The endpoint's status; absent if there was no response.
    public let status: Int?
    /// Why the delivery failed, in English.
    public let error: String?

    public init(eventId: String, delivered: Bool, status: Int?, error: String?) {
        self.eventId = eventId
        self.delivered = delivered
        self.status = status
        self.error = error
    }
}

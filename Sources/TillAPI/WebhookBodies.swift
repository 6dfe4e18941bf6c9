import TillBilling

/// One endpoint of `GET /v1/webhooks`.
public struct WebhookEndpointReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        /// Events are sent as they come.
        case active
        /// Nobody answered last: one event at a time is tried until somebody does.
        case silent
        /// It asked to be left alone for a while.
        case resting
        /// It answered 410: nothing is sent until it is resumed, or lives at another address.
        case gone
        /// The configuration has it switched off.
        case disabled
        /// The server has not looked at it yet.
        case new
    }

    public let id: String
    public let url: String
    public let state: State
    /// What it wants to hear of; absent: everything.
    public let types: [String]?
    /// The last event that was put in line for it, or passed over.
    public var position: Int64?
    /// How many events there are after that one, of all types.
    public var behind: Int64 = 0
    /// In line: not tried yet, tried in vain, or behind one that was.
    public var waiting: Int64 = 0
    public var dead: Int64 = 0
    public var lastSuccessAt: Instant?
    public var lastFailureAt: Instant?
    /// What went wrong then; English.
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

/// One event on its way to one endpoint: `GET /v1/webhooks/{id}/deliveries`.
public struct WebhookDeliveryReply: Codable, Sendable, Hashable {
    public enum State: String, Codable, Sendable, CaseIterable {
        case waiting, delivered, dead
    }

    /// The event's id, `webhook-id` on the wire.
    public let eventId: String
    public let sequence: Int64
    public let type: String
    public let userId: String?
    public let state: State
    /// Whether somebody had it sent once more.
    public let isReplay: Bool
    public let attempts: Int64
    /// Nil behind another event of its user, and when it has ended.
    public var nextAttemptAt: Instant?
    public var lastAttemptAt: Instant?
    /// What the endpoint answered; nil if it did not.
    public var lastStatus: Int64?
    /// Why it was not taken, with the beginning of what the endpoint said; English.
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

/// `POST /v1/webhooks/replays`: everything of a span of time is to be sent once more.
public struct WebhookReplayBody: Codable, Sendable {
    public var from: Instant
    /// Not included.
    public var to: Instant
    /// To which endpoint; to all of them if absent.
    public var endpoint: String?

    public init(from: Instant, to: Instant, endpoint: String? = nil) {
        self.from = from
        self.to = to
        self.endpoint = endpoint
    }
}

/// A span of time that an endpoint is sent once more.
public struct WebhookReplayReply: Codable, Sendable, Hashable {
    public let id: String
    public let endpointId: String
    public let from: Instant
    public let to: Instant
    /// How many events are in line by now.
    public let count: Int64
    public let createdAt: Instant
    /// When all of them were put in line; absent until then.
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

/// What came of `POST /v1/webhooks/{id}/test`.
public struct WebhookTestReply: Codable, Sendable, Hashable {
    /// The `webhook-id` it was sent under.
    public let eventId: String
    public let delivered: Bool
    /// What the endpoint answered; absent if it did not.
    public let status: Int?
    /// Why it was not taken; English.
    public let error: String?

    public init(eventId: String, delivered: Bool, status: Int?, error: String?) {
        self.eventId = eventId
        self.delivered = delivered
        self.status = status
        self.error = error
    }
}

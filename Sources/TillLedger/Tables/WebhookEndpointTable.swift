import TillBilling
import TillSQL

extension Schema {
    /// The outbox with each user's event numbers, and the progress of each of the app's webhook endpoints.
    ///
    /// The unique index by user prevents duplicate event numbers and serves one user's feed. An event's row contains
    /// its data as of its commit, in the shape that `version` numbers. An event that may recur has the hash of its key,
    /// which is used to count its occurrences. `event_positions` is the order of the feed; `unplaced_events` are
    /// committed and have no position yet. `seals` are digests of rows (`sealStreams`).
    ///
    /// A delivery is waiting (0), delivered (1) or dead (2). A waiting delivery has a `due_at` only if it is the first
    /// of its user's queue in its lane: lane 0 for live events, 1 for replays.
    static let webhooks: StaticString = """
        CREATE TABLE outbox (
            row_id INTEGER PRIMARY KEY,
            event_id BLOB NOT NULL CHECK (length(event_id) = 16),
            type TEXT NOT NULL,
            customer_id INTEGER REFERENCES customers (customer_id),
            user_sequence INTEGER,
            transaction_row_id INTEGER REFERENCES transactions (row_id),
            transfer_row_id INTEGER REFERENCES transfers (row_id),
            at INTEGER NOT NULL,
            key_hash INTEGER,
            revision INTEGER NOT NULL,
            version INTEGER NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX outbox_repeated ON outbox (key_hash, revision) WHERE key_hash IS NOT NULL;
        CREATE UNIQUE INDEX outbox_by_user ON outbox (customer_id, user_sequence) WHERE customer_id IS NOT NULL;
        CREATE TRIGGER events_are_never_edited BEFORE UPDATE ON outbox
            BEGIN SELECT RAISE(ABORT, 'events are never edited'); END;
        CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON outbox
            BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;

        CREATE TABLE seals (
            row_id INTEGER PRIMARY KEY,
            first_position INTEGER NOT NULL,
            last_position INTEGER NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 32),
            mac BLOB NOT NULL CHECK (length(mac) = 32),
            at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE event_positions (
            position INTEGER PRIMARY KEY,
            event_row_id INTEGER NOT NULL UNIQUE REFERENCES outbox (row_id),
            seal_row_id INTEGER REFERENCES seals (row_id)
        ) STRICT;

        CREATE TABLE unplaced_events (event_row_id INTEGER PRIMARY KEY REFERENCES outbox (row_id)) STRICT;

        CREATE TABLE webhook_endpoints (
            row_id INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            url TEXT NOT NULL,
            position INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            is_silent INTEGER NOT NULL CHECK (is_silent IN (0, 1)),
            rests_until INTEGER,
            gone_at INTEGER,
            succeeded_at INTEGER,
            failed_at INTEGER,
            error TEXT
        ) STRICT;

        CREATE TABLE webhook_deliveries (
            row_id INTEGER PRIMARY KEY,
            endpoint_row_id INTEGER NOT NULL REFERENCES webhook_endpoints (row_id),
            event_position INTEGER NOT NULL REFERENCES event_positions (position),
            queue INTEGER NOT NULL CHECK (queue IN (0, 1)),
            customer_id INTEGER REFERENCES customers (customer_id),
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
            attempts INTEGER NOT NULL,
            due_at INTEGER,
            attempted_at INTEGER,
            status INTEGER,
            error TEXT,
            ended_at INTEGER,
            UNIQUE (endpoint_row_id, event_position),
            CHECK ((state = 0) = (ended_at IS NULL)),
            CHECK (due_at IS NULL OR state = 0)
        ) STRICT;
        CREATE INDEX webhook_deliveries_due_users ON webhook_deliveries (endpoint_row_id, due_at, event_position)
            WHERE due_at IS NOT NULL AND customer_id IS NOT NULL;
        CREATE INDEX webhook_deliveries_due_others ON webhook_deliveries (endpoint_row_id, due_at, event_position)
            WHERE due_at IS NOT NULL AND customer_id IS NULL;
        CREATE INDEX webhook_deliveries_queued
            ON webhook_deliveries (endpoint_row_id, queue, customer_id, event_position) WHERE state = 0;
        CREATE INDEX webhook_deliveries_dead ON webhook_deliveries (endpoint_row_id, event_position)
            WHERE state = 2;
        CREATE INDEX webhook_deliveries_delivered ON webhook_deliveries (ended_at) WHERE state = 1;

        CREATE TABLE webhook_replays (
            row_id INTEGER PRIMARY KEY,
            endpoint_row_id INTEGER NOT NULL REFERENCES webhook_endpoints (row_id),
            from_at INTEGER NOT NULL,
            to_at INTEGER NOT NULL,
            position INTEGER NOT NULL,
            last_row_id INTEGER NOT NULL,
            count INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            ended_at INTEGER
        ) STRICT;
        CREATE INDEX webhook_replays_open ON webhook_replays (endpoint_row_id, row_id) WHERE ended_at IS NULL;
        """
}

/// `webhook_endpoints`: the progress and the state of each configured endpoint.
public struct WebhookEndpointTable {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let id: String
        public let url: String
        /// Every event up to here has a delivery, or is not for this endpoint.
        public let position: Int64
        public let createdAt: Instant
        /// The endpoint did not respond to the last attempts: it gets one event in each pass until it responds.
        public let isSilent: Bool
        /// The endpoint asked for a pause until then.
        public let restsUntil: Instant?
        /// When it responded with 410: nothing is sent to it after that.
        public let goneAt: Instant?
        public let succeededAt: Instant?
        public let failedAt: Instant?
        /// The error at `failedAt`.
        public let error: String?
    }

    @discardableResult
    public func insert(_ id: String, url: String, position: Int64, at now: Instant) throws -> Int64 {
        try connection.insert(
            "INSERT INTO webhook_endpoints (id, url, position, created_at, is_silent) VALUES (?1, ?2, ?3, ?4, 0)",
            [.text(id), .text(url), .integer(position), .instant(now)])
    }

    public func find(_ id: String) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, id, url, position, created_at, is_silent, rests_until, gone_at, succeeded_at, failed_at, \
            error FROM webhook_endpoints WHERE id = ?1
            """, [.text(id)], Self.read)
    }

    public func advance(_ rowID: Int64, to position: Int64) throws {
        try connection.write(
            "UPDATE webhook_endpoints SET position = ?1 WHERE row_id = ?2 AND position < ?1",
            [.integer(position), .integer(rowID)])
    }

    /// Sets another URL and clears the state of the old one.
    public func move(_ rowID: Int64, to url: String) throws {
        try connection.write(
            """
            UPDATE webhook_endpoints SET url = ?1, is_silent = 0, rests_until = NULL, gone_at = NULL \
            WHERE row_id = ?2
            """, [.text(url), .integer(rowID)])
    }

    /// Resumes sending, whatever the endpoint responded before.
    public func resume(_ rowID: Int64) throws {
        try connection.write(
            "UPDATE webhook_endpoints SET is_silent = 0, rests_until = NULL, gone_at = NULL WHERE row_id = ?1",
            [.integer(rowID)])
    }

    /// Records whether the endpoint responds, and until when to pause.
    public func update(_ rowID: Int64, isSilent: Bool, restsUntil: Instant?) throws {
        try connection.write(
            "UPDATE webhook_endpoints SET is_silent = ?1, rests_until = ?2 WHERE row_id = ?3",
            [.flag(isSilent), .optional(restsUntil?.milliseconds), .integer(rowID)])
    }

    public func markSucceeded(_ rowID: Int64, at now: Instant) throws {
        try connection.write(
            "UPDATE webhook_endpoints SET succeeded_at = ?1 WHERE row_id = ?2", [.instant(now), .integer(rowID)])
    }

    public func markFailed(_ rowID: Int64, error: String, isGone: Bool, at now: Instant) throws {
        try connection.write(
            """
            UPDATE webhook_endpoints SET failed_at = ?1, error = ?2, gone_at = CASE WHEN ?3 = 1 \
            THEN coalesce(gone_at, ?1) ELSE gone_at END WHERE row_id = ?4
            """, [.instant(now), .text(error), .flag(isGone), .integer(rowID)])
    }

    private static func read(_ row: any Row) -> Stored {
        Stored(
            rowID: row.integer("row_id"), id: row.text("id"), url: row.text("url"),
            position: row.integer("position"),
            createdAt: row.instant("created_at"), isSilent: row.integer("is_silent") != 0,
            restsUntil: row.optionalInstant("rests_until"),
            goneAt: row.optionalInstant("gone_at"), succeededAt: row.optionalInstant("succeeded_at"),
            failedAt: row.optionalInstant("failed_at"),
            error: row.optionalText("error"))
    }
}

import TillBilling
import TillSQL

/// `outbox`: the events for the app's backend, each written in the same commit as the change that it reports. Rows are
/// never edited and never deleted, so no position, and no user's event number, is ever used twice.
///
/// Readers follow positions, not row ids: with several writers a row may become visible after rows with greater ids.
/// There `place` gives an event its position after its commit, so no event is ever added at a position that a reader
/// has passed. With one writer at a time, rows are committed in the order of their ids, and get positions at once.
public struct OutboxTable {
    private static let columns: Columns = """
        event_id, type, customer_id, user_sequence, at, transaction_row_id, transfer_row_id, key_hash, revision, \
        version, body
        """
    private static let inserting: SQL = """
        INSERT INTO outbox (\(columns), row_id) VALUES (?1, ?2, \(customer: 3), \
        (SELECT c.last_event FROM customers c WHERE c.app_id = 1 AND c.user_id = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        """

    private static let insertingForKnown: SQL = """
        INSERT INTO outbox (\(columns), row_id) VALUES (?1, ?2, ?3, \
        (SELECT c.last_event FROM customers c WHERE c.customer_id = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        """

    /// With one writer at a time, the position comes with the row, unless earlier events still wait for theirs.
    private static let placingNew: SQL = """
        INSERT INTO event_positions (event_row_id) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM unplaced_events)
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Event: Sendable, Hashable {
        /// The position in the feed.
        public let position: Int64
        /// Constant over repeated deliveries, and in a ledger that was restored from a backup.
        public let id: UniqueID
        /// Dotted, as webhooks name events: `grant.created`.
        public let type: String
        public let user: UserID?
        /// 1 for the first event of its user, then one more for each, without a gap; nil if there is no user.
        public let userSequence: Int64?
        public let at: Instant
        /// The transaction that it reports on.
        public let transactionRowID: Int64?
        /// The transfer that it reports on; its parties are included in the event.
        public let transferRowID: Int64?
        /// The event's data, as JSON.
        public internal(set) var body: String
    }

    /// What a row has as its `body`.
    enum Form: Int64 {
        /// The event's data, as JSON.
        case whole = 1
        /// What `GrantEventBody` stores of a `grant.created`.
        case short = 2
    }

    /// - Parameters:
    ///   - key: what happened, and to what, in the form that `DerivedID.event` takes.
    ///   - happensOnce: whether at most one event has this key.
    ///   - body: the event's data, as JSON, unless `form` says otherwise.
    ///   - customer: the number of the user, if it is known.
    func insert(
        type: String, user: UserID?, key: String, happensOnce: Bool, transaction: Int64?, transfer: Int64?,
        body: String, form: Form = .whole, at: Instant, customer: Int64? = nil
    ) throws {
        if let customer {
            try connection.write(
                "UPDATE customers SET last_event = last_event + 1 WHERE customer_id = ?1", [.integer(customer)])
        } else if let user {
            try connection.write(
                """
                INSERT INTO customers (user_id, first_seen, last_event) VALUES (?1, ?2, 1) \
                ON CONFLICT (app_id, user_id) DO UPDATE SET last_event = customers.last_event + 1
                """, [.text(user.text), .instant(at)])
        }
        let hash = happensOnce ? nil : DerivedID.hash(key)
        let revision = try hash.map { try lastRevision(of: $0) + 1 } ?? 0
        let data = happensOnce || EventType(rawValue: type)?.movesValue ?? false ? nil : body
        let rowID = try connection.drawID(of: "outbox")
        try connection.write(
            customer == nil ? Self.inserting : Self.insertingForKnown,
            [
                .id(DerivedID.event(key, revision: revision, data: data)), .text(type),
                customer.map { .integer($0) } ?? .optional(user?.text),
                .instant(at), .optional(transaction), .optional(transfer), .optional(hash), .integer(revision),
                .integer(form.rawValue), .text(body), .integer(rowID),
            ])
        if !connection.isShared, try connection.execute(Self.placingNew, [.integer(rowID)]) == 1 { return }
        try connection.write("INSERT INTO unplaced_events (event_row_id) VALUES (?1)", [.integer(rowID)])
    }

    // MARK: Positions

    public func hasUnplaced() throws -> Bool {
        try connection.first("SELECT 1 FROM unplaced_events LIMIT 1", []) { _ in true } ?? false
    }

    /// Gives the next positions to committed events without one. Runs alone, under the lock key of the feed.
    ///
    /// A user's events keep the order of their numbers: each is sorted by the greatest row id among it and the user's
    /// earlier events, and waits for the one before it.
    /// - Parameter limit: how many are read at least, those with the lowest row ids: the cost of a call does not grow
    ///   with the number that wait.
    /// - Returns: whether there may be more.
    public func place(limit: Int) throws -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.followsRowIDs.isPlanted {
                try connection.write(
                    """
                    INSERT INTO event_positions (position, event_row_id) SELECT event_row_id, event_row_id FROM \
                    unplaced_events
                    """, [])
                try connection.write("DELETE FROM unplaced_events", [])
                return false
            }
        #endif
        var limit = Int64(limit)
        while let (last, count) = try lowestUnplaced(limit) {
            let placed = try connection.execute(Self.placing, [.integer(last)])
            try connection.write(
                """
                DELETE FROM unplaced_events WHERE event_row_id <= ?1 AND EXISTS (SELECT 1 FROM event_positions p \
                WHERE p.event_row_id = unplaced_events.event_row_id)
                """, [.integer(last)])
            if placed > 0 || count < limit { return count == limit }
            // All of them wait for events with greater row ids.
            limit *= 2
        }
        return false
    }

    /// The last of the lowest row ids without a position, and how many these are; nil if there are none.
    private func lowestUnplaced(_ limit: Int64) throws -> (last: Int64, count: Int64)? {
        try connection.first(
            """
            SELECT max(f.event_row_id) AS last, count(*) AS count FROM (SELECT event_row_id FROM unplaced_events \
            ORDER BY event_row_id LIMIT ?1) f
            """, [.integer(limit)]
        ) { row in row.optionalInteger("last").map { ($0, row.integer("count")) } } ?? nil
    }

    /// The cross join keeps SQLite from reading all events up to ?1.
    private static let placing: SQL = """
        INSERT INTO event_positions (position, event_row_id) SELECT (SELECT coalesce(max(p.position), 0) FROM \
        event_positions p) + row_number() OVER (ORDER BY w.turn, w.user_sequence, w.row_id), w.row_id FROM \
        (SELECT o.row_id, o.user_sequence, max(o.row_id) OVER (PARTITION BY coalesce(o.customer_id, -o.row_id) \
        ORDER BY o.user_sequence) AS turn, max(CASE WHEN o.user_sequence > 1 AND EXISTS (SELECT 1 FROM outbox q JOIN \
        unplaced_events v ON v.event_row_id = q.row_id WHERE q.customer_id = o.customer_id AND q.user_sequence = \
        o.user_sequence - 1 AND q.row_id > ?1) THEN 1 ELSE 0 END) OVER (PARTITION BY coalesce(o.customer_id, \
        -o.row_id) ORDER BY o.user_sequence) AS waits FROM unplaced_events u CROSS JOIN outbox o ON \
        o.row_id = u.event_row_id WHERE u.event_row_id <= ?1) w WHERE w.waits = 0
        """

    // MARK: Reading

    /// The number of events with this hash.
    private func lastRevision(of hash: Int64) throws -> Int64 {
        try connection.first(
            """
            SELECT coalesce(max(revision), 0) AS last FROM outbox WHERE key_hash = ?1
            """, [.integer(hash)]
        ) {
            $0.integer("last")
        } ?? 0
    }

    /// Oldest first.
    public func list(after position: Int64, limit: Int) throws -> [Event] {
        try read(
            """
            SELECT p.position, \(Self.columns, userOf: "o") FROM event_positions p JOIN outbox o ON o.row_id = \
            p.event_row_id WHERE p.position > ?1 ORDER BY p.position LIMIT ?2
            """, [.integer(position), .integer(Int64(limit))])
    }

    /// One user's events, oldest first. A user's event numbers rise with the positions, and the index by user contains
    /// the numbers.
    public func list(of user: UserID, after position: Int64, limit: Int) throws -> [Event] {
        try read(
            """
            SELECT p.position, \(Self.columns, userOf: "o") FROM outbox o JOIN event_positions p ON \
            p.event_row_id = o.row_id WHERE o.customer_id = \(customer: 1) AND p.position > ?2 \
            ORDER BY o.user_sequence LIMIT ?3
            """, [.text(user.text), .integer(position), .integer(Int64(limit))])
    }

    public func find(_ position: Int64) throws -> Event? {
        try read(
            """
            SELECT p.position, \(Self.columns, userOf: "o") FROM event_positions p JOIN outbox o ON o.row_id = \
            p.event_row_id WHERE p.position = ?1
            """, [.integer(position)]
        ).first
    }

    /// The position of the newest event; 0 if there is none.
    public func lastPosition() throws -> Int64 {
        try connection.first("SELECT coalesce(max(position), 0) AS last_position FROM event_positions", []) {
            $0.integer("last_position")
        } ?? 0
    }

    /// The position before the first event from `start` on; that of the newest event if there is none yet. Reads all
    /// events before it.
    public func position(before start: Instant) throws -> Int64 {
        try connection.first(
            """
            SELECT p.position - 1 AS position FROM event_positions p JOIN outbox o ON o.row_id = p.event_row_id \
            WHERE o.at >= ?1 ORDER BY p.position LIMIT 1
            """, [.instant(start)]
        ) { $0.integer("position") } ?? lastPosition()
    }

    private func read(_ sql: SQL, _ values: [SQLValue]) throws -> [Event] {
        var events: [Event] = []
        var short: [Int] = []
        try connection.each(sql, values) { row in
            if row.integer("version") == Form.short.rawValue { short.append(events.count) }
            events.append(try Self.read(row))
        }
        for index in short { events[index].body = try GrantEventBody.whole(of: events[index], connection) }
        return events
    }

    private static func read(_ row: any Row) throws -> Event {
        Event(
            position: row.integer("position"), id: try row.uniqueID("event_id"), type: row.text("type"),
            user: row.optionalText("user_id").map { UserID($0) },
            userSequence: row.optionalInteger("user_sequence"), at: row.instant("at"),
            transactionRowID: row.optionalInteger("transaction_row_id"),
            transferRowID: row.optionalInteger("transfer_row_id"), body: row.text("body"))
    }
}

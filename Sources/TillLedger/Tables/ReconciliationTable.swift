import TillBilling
import TillSQL

extension Schema {
    /// The reconciliation runs, their progress, and the differences found. A run's row contains its place, so that
    /// another process can continue it.
    static let reconciliations: StaticString = """
        CREATE TABLE reconciliations (
            row_id INTEGER PRIMARY KEY,
            environments INTEGER NOT NULL CHECK (environments BETWEEN 1 AND 3),
            reason TEXT NOT NULL,
            caller TEXT NOT NULL,
            since INTEGER,
            state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
            environment INTEGER NOT NULL,
            phase INTEGER NOT NULL,
            position INTEGER NOT NULL,
            done INTEGER NOT NULL,
            subject TEXT,
            token TEXT,
            has_undecided INTEGER NOT NULL CHECK (has_undecided IN (0, 1)),
            began_at INTEGER NOT NULL,
            progressed_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            waits_until INTEGER,
            waits_for TEXT,
            ended_at INTEGER,
            ending TEXT,
            CHECK ((state = 1) = (ended_at IS NULL))
        ) STRICT;
        CREATE UNIQUE INDEX reconciliations_one_at_a_time ON reconciliations (state) WHERE state = 1;

        CREATE TABLE reconciliation_counts (
            run INTEGER NOT NULL REFERENCES reconciliations (row_id),
            environment INTEGER NOT NULL,
            name TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (run, environment, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE differences (
            row_id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES reconciliations (row_id),
            kind TEXT NOT NULL,
            environment INTEGER NOT NULL,
            transaction_id TEXT,
            order_id BLOB,
            notification_uuid TEXT,
            was TEXT NOT NULL,
            now TEXT NOT NULL,
            purchased_at INTEGER,
            found_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX differences_by_run ON differences (run, row_id);
        CREATE INDEX differences_by_order ON differences (order_id) WHERE order_id IS NOT NULL;
        CREATE INDEX differences_by_transaction ON differences (transaction_id) WHERE transaction_id IS NOT NULL;

        CREATE TABLE apple_chains (
            row_id INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL,
            original_id TEXT NOT NULL,
            customer INTEGER REFERENCES apple_chains (row_id),
            history_run INTEGER NOT NULL DEFAULT 0,
            history_revision TEXT,
            refunds_run INTEGER NOT NULL DEFAULT 0,
            refunds_revision TEXT,
            refusal TEXT,
            UNIQUE (environment, original_id)
        ) STRICT;
        CREATE INDEX apple_chains_by_history ON apple_chains (environment, history_run, row_id DESC)
            WHERE customer IS NULL;
        CREATE INDEX apple_chains_by_refunds ON apple_chains (environment, refunds_run, row_id DESC)
            WHERE customer IS NULL;
        CREATE INDEX apple_chains_by_customer ON apple_chains (customer) WHERE customer IS NOT NULL;

        CREATE TABLE server_activity (
            single_row INTEGER PRIMARY KEY CHECK (single_row = 1),
            at INTEGER NOT NULL,
            chains_seen INTEGER NOT NULL
        ) STRICT;
        """
}

/// `reconciliations` and `reconciliation_counts`: the reconciliation runs. At most one is under way.
public struct ReconciliationTable {
    private static let columns: Columns = """
        environments, reason, caller, since, state, environment, phase, position, done, subject, token, has_undecided, \
        began_at, progressed_at, attempts, waits_until, waits_for, ended_at, ending
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public enum State: Int64, Sendable, Hashable, CaseIterable {
        case running = 1
        case finished = 2
        /// Given up; `ending` says why. What it had processed stays processed.
        case failed = 3
    }

    /// The phases of a run, in this order, in each environment.
    public enum Phase: Int64, Sendable, Hashable, CaseIterable {
        /// Apple's notification history.
        case notifications = 0
        /// Marks the customers to read first; makes no requests to Apple.
        case candidates = 1
        /// Transaction histories, customer by customer.
        case customers = 2
        /// Refund histories, customer by customer.
        case refunds = 3
        /// Purchases in quarantine, one by one.
        case quarantine = 4
        /// Orders that stay open; makes no requests to Apple.
        case orders = 5
    }

    /// A run's place inside a phase.
    public struct Progress: Sendable, Hashable {
        public var environment: StoreEnvironment
        public var phase: Phase
        /// For notifications the first moment of the query whose pages are being read; otherwise a row id.
        public var position: Int64 = 0
        /// The number of customers or transactions done in this phase; for notifications, of pages.
        public var done: Int64 = 0
        /// The chain whose pages are being read.
        public var subject: TransactionID?
        /// Apple's token for the next page.
        public var token: String?
        /// Something on the pages being read could not be decided yet, so a later run reads them again.
        public var hasUndecided = false

        public init(_ phase: Phase, in environment: StoreEnvironment) {
            self.phase = phase
            self.environment = environment
        }
    }

    /// Why the run pauses.
    public struct Wait: Sendable, Hashable {
        public let until: Instant
        /// An error's `kind` and its sentence in English.
        public let reason: String

        public init(until: Instant, reason: String) {
            self.until = until
            self.reason = reason
        }
    }

    public struct Run: Sendable, Hashable {
        public let rowID: Int64
        public let environments: Set<StoreEnvironment>
        /// `first`, `regular`, `gap`, `restored` or `asked`.
        public let reason: String
        /// The requester: `till`, `key:backend`, `operator:anna`.
        public let caller: String
        /// For a requested run: notifications are read from this moment on, and histories from their beginning.
        public let since: Instant?
        public internal(set) var state: State
        public var progress: Progress
        public let beganAt: Instant
        public internal(set) var progressedAt: Instant
        /// How many times in a row it could not continue.
        public internal(set) var attempts: Int64
        public internal(set) var wait: Wait?
        public internal(set) var endedAt: Instant?
        public internal(set) var ending: String?
    }

    /// Begins a run.
    public func insert(
        _ environments: Set<StoreEnvironment>, from first: StoreEnvironment, reason: String, caller: String,
        since: Instant?,
        at now: Instant
    ) throws -> Run {
        let rowID = try connection.insert(
            """
            INSERT INTO reconciliations (\(Self.columns)) \
            VALUES (?1, ?2, ?3, ?4, 1, ?5, 0, 0, 0, NULL, NULL, 0, ?6, ?6, 0, NULL, NULL, NULL, NULL)
            """,
            [
                .integer(environments.mask), .text(reason), .text(caller), .optional(since?.milliseconds),
                first.column, .instant(now),
            ])
        return Run(
            rowID: rowID, environments: environments, reason: reason, caller: caller, since: since,
            state: .running, progress: Progress(.notifications, in: first), beganAt: now, progressedAt: now, attempts: 0
        )
    }

    /// Records the run's next place and ends its wait.
    public func move(_ rowID: Int64, to progress: Progress, at now: Instant) throws {
        try connection.write(
            """
            UPDATE reconciliations SET environment = ?1, phase = ?2, position = ?3, done = ?4, subject = ?5, token \
            = ?6, has_undecided = ?7, progressed_at = ?8, attempts = 0, waits_until = NULL, waits_for = NULL \
            WHERE row_id = ?9
            """,
            [
                progress.environment.column, .integer(progress.phase.rawValue), .integer(progress.position),
                .integer(progress.done), .optional(progress.subject?.text), .optional(progress.token),
                .flag(progress.hasUndecided),
                .instant(now), .integer(rowID),
            ])
    }

    /// Pauses the run.
    public func postpone(_ rowID: Int64, _ wait: Wait) throws {
        try connection.write(
            "UPDATE reconciliations SET attempts = attempts + 1, waits_until = ?1, waits_for = ?2 WHERE row_id = ?3",
            [.instant(wait.until), .text(wait.reason), .integer(rowID)])
    }

    public func end(_ rowID: Int64, _ state: State, ending: String, at now: Instant) throws {
        try connection.write(
            """
            UPDATE reconciliations SET state = ?1, ending = ?2, ended_at = ?3, progressed_at = ?4, waits_until = NULL, \
            waits_for = NULL WHERE row_id = ?5 AND state = 1
            """, [.integer(state.rawValue), .text(ending), .instant(now), .instant(now), .integer(rowID)])
    }

    // MARK: Finding

    public func find(_ rowID: Int64) throws -> Run? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns) FROM reconciliations WHERE row_id = ?1
            """, [.integer(rowID)], Self.read)
    }

    public func running() throws -> Run? {
        try connection.first(
            "SELECT row_id, \(Self.columns) FROM reconciliations WHERE state = 1", [], Self.read)
    }

    /// The newest finished run that covered an environment.
    public func lastFinished(in environment: StoreEnvironment) throws -> Run? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns) FROM reconciliations WHERE state = 2 AND environments & ?1 <> 0 \
            ORDER BY row_id DESC LIMIT 1
            """, [.integer(Set([environment]).mask)], Self.read)
    }

    /// Newest first, from before a row id.
    public func list(before rowID: Int64, limit: Int) throws -> [Run] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM reconciliations WHERE row_id < ?1 ORDER BY row_id DESC LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))], Self.read)
    }

    // MARK: Counting

    public struct Count: Sendable, Hashable {
        public let environment: StoreEnvironment
        /// The name of the count: `notifications`, `customers`, a difference's kind.
        public let name: String
        public let count: Int64
    }

    public func add(_ count: Int64, to name: String, of run: Int64, in environment: StoreEnvironment) throws {
        guard count != 0 else { return }
        try connection.write(
            """
            INSERT INTO reconciliation_counts (run, environment, name, count) VALUES (?1, ?2, ?3, ?4) \
            ON CONFLICT (run, environment, name) DO UPDATE SET count = reconciliation_counts.count + excluded.count
            """, [.integer(run), environment.column, .text(name), .integer(count)])
    }

    public func counts(of run: Int64) throws -> [Count] {
        try connection.query(
            "SELECT environment, name, count FROM reconciliation_counts WHERE run = ?1 ORDER BY environment, name",
            [.integer(run)]
        ) { Count(environment: try $0.environment("environment"), name: $0.text("name"), count: $0.integer("count")) }
    }

    /// The total over all runs. There are a few rows for each run, and one run a day.
    public func total(of name: String, in environment: StoreEnvironment) throws -> Int64 {
        try connection.first(
            """
            SELECT CAST(coalesce(sum(count), 0) AS BIGINT) AS total FROM reconciliation_counts WHERE name = ?1 AND \
            environment = ?2
            """, [.text(name), environment.column]
        ) { $0.integer("total") } ?? 0
    }

    private static func read(_ row: any Row) throws -> Run {
        guard let state = State(rawValue: row.integer("state")), let phase = Phase(rawValue: row.integer("phase"))
        else {
            throw row.unreadable("a reconciliation's state")
        }
        var progress = Progress(phase, in: try row.environment("environment"))
        progress.position = row.integer("position")
        progress.done = row.integer("done")
        progress.subject = row.optionalText("subject").map { TransactionID($0) }
        progress.token = row.optionalText("token")
        progress.hasUndecided = row.integer("has_undecided") != 0
        let wait = row.optionalInstant("waits_until").map {
            Wait(until: $0, reason: row.optionalText("waits_for") ?? "")
        }
        return Run(
            rowID: row.integer("row_id"), environments: Set(mask: row.integer("environments")),
            reason: row.text("reason"),
            caller: row.text("caller"), since: row.optionalInstant("since"), state: state, progress: progress,
            beganAt: row.instant("began_at"),
            progressedAt: row.instant("progressed_at"), attempts: row.integer("attempts"), wait: wait,
            endedAt: row.optionalInstant("ended_at"),
            ending: row.optionalText("ending"))
    }
}

extension Set<StoreEnvironment> {
    fileprivate var mask: Int64 { reduce(0) { $0 | ($1 == .production ? 1 : 2) } }

    fileprivate init(mask: Int64) {
        self = Set([.production, .sandbox].filter { mask & ($0 == .production ? 1 : 2) != 0 })
    }
}

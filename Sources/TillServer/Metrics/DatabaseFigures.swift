/// What the driver of a shared database, and the database's server, say about themselves.
public struct DatabaseFigures: Sendable, Hashable {
    /// The connections of one kind: those that run a body now, and all that the server may open.
    public struct Pool: Sendable, Hashable {
        public let busy: Int
        public let size: Int

        public init(busy: Int, size: Int) {
            self.busy = busy
            self.size = size
        }
    }

    public var writers: Pool
    public var readers: Pool
    /// Round trips since the start.
    public var exchanges: Int64 = 0
    /// Bodies that ran again.
    public var reruns: Int64 = 0
    /// Commits of which it was unknown whether they happened.
    public var inDoubt: Int64 = 0
    public var connects: Int64 = 0
    public var failedConnects: Int64 = 0
    /// Of the slowest standby; nil if it is unknown.
    public var lagMilliseconds: Int64?
    /// Standbys that a commit waits for; nil if it is unknown.
    public var synchronousStandbys: Int64?
    /// Sessions that wait for a lock of another one; nil if it is unknown.
    public var waitingLocks: Int64?

    public init(writers: Pool, readers: Pool) {
        self.writers = writers
        self.readers = readers
    }

    /// Nil figures are those of a ledger in a file: every value is NaN.
    static func metrics(_ figures: DatabaseFigures?) -> [Metric] {
        func pools(_ value: (Pool) -> Int) -> [Metric.Sample] {
            [("write", figures?.writers), ("read", figures?.readers)].map { name, pool in
                Metric.Sample(pool.map { Double(value($0)) } ?? .nan, (name: "pool", value: name))
            }
        }
        func number(_ value: Int64??) -> Double? { (value ?? nil).map(Double.init) }
        return [
            Metric(.databaseBusy, pools(\.busy)), Metric(.databaseConnections, pools(\.size)),
            Metric(.databaseExchanges, number(figures?.exchanges)), Metric(.databaseReruns, number(figures?.reruns)),
            Metric(.databaseInDoubt, number(figures?.inDoubt)), Metric(.databaseConnects, number(figures?.connects)),
            Metric(.databaseConnectFailures, number(figures?.failedConnects)),
            Metric(.replicationLag, (figures?.lagMilliseconds).map { Double($0) / 1_000 }),
            Metric(.synchronousStandbys, number(figures?.synchronousStandbys)),
            Metric(.waitingLocks, number(figures?.waitingLocks)),
        ]
    }
}

extension MetricDefinition {
    static let databaseBusy = MetricDefinition(
        "till_database_connections_busy", .gauge, .count, ["pool"],
        "Connections to PostgreSQL that run a transaction now, of those that write and of those that read; NaN for a "
            + "ledger in a file.")
    static let databaseConnections = MetricDefinition(
        "till_database_connections", .gauge, .count, ["pool"],
        "Connections to PostgreSQL that this server may open; NaN for a ledger in a file.")
    static let databaseExchanges = MetricDefinition(
        "till_database_exchanges_total", .counter, .count,
        "Round trips to PostgreSQL since the start; NaN for a ledger in a file.")
    static let databaseReruns = MetricDefinition(
        "till_database_reruns_total", .counter, .count,
        "Transactions that ran again after a deadlock, a late key or a lost connection; NaN for a ledger in a file.")
    static let databaseInDoubt = MetricDefinition(
        "till_database_commits_in_doubt_total", .counter, .count,
        "Commits of which it was unknown whether they happened; NaN for a ledger in a file.")
    static let databaseConnects = MetricDefinition(
        "till_database_connects_total", .counter, .count,
        "Connections to PostgreSQL that were made since the start; NaN for a ledger in a file.")
    static let databaseConnectFailures = MetricDefinition(
        "till_database_connect_failures_total", .counter, .count,
        "Attempts to connect to PostgreSQL that failed since the start; NaN for a ledger in a file.")
    static let replicationLag = MetricDefinition(
        "till_replication_lag_seconds", .gauge, .seconds,
        "How far PostgreSQL's slowest standby is behind; NaN without a standby, or if the role may not see it.")
    static let synchronousStandbys = MetricDefinition(
        "till_synchronous_standbys", .gauge, .count,
        "Standbys that a commit waits for; NaN for a ledger in a file, or if the role may not see them.")
    static let waitingLocks = MetricDefinition(
        "till_database_waiting_locks", .gauge, .count,
        "Sessions of PostgreSQL that wait for a lock of another one; NaN for a ledger in a file.")
    /// Those of a shared database, in the order of a scrape.
    static let sharedDatabase = [
        databaseBusy, databaseConnections, databaseExchanges, databaseReruns, databaseInDoubt, databaseConnects,
        databaseConnectFailures, replicationLag, synchronousStandbys, waitingLocks,
    ]

    static let jobsLeader = MetricDefinition(
        "till_jobs_leader", .gauge, .flag,
        "1 on the server that runs the ledger's jobs; NaN where one server has the ledger alone.")
    static let jobLeaseAge = MetricDefinition(
        "till_job_lease_age_seconds", .gauge, .seconds,
        "Seconds since the lease of the jobs was renewed, as far as this server knows; NaN where one server has the "
            + "ledger alone.")
}

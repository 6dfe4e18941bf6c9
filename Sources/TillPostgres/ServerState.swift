import TillSQL

/// What a database's server says about itself, for `till doctor` and for metrics.
public struct ServerState: Sendable, Hashable {
    /// The main number: 15.
    public let version: Int
    /// The role of this connection.
    public let role: String
    public let isSuperuser: Bool
    /// Whether the role owns the ledger's tables, or is a member of the role that does.
    public let ownsTables: Bool
    /// Append-only tables whose rows the role may change or delete.
    public let editableTables: [String]
    public let isPooled: Bool
    /// Whether it is a standby.
    public let isInRecovery: Bool
    /// Settings that durability rests on: `fsync`, `full_page_writes`, `synchronous_commit`.
    public let settings: [String: String]
    /// The standbys that a commit waits for, by name.
    public let synchronousStandbys: [String]
    public let standbyCount: Int
    /// How far the slowest standby is behind, in milliseconds; nil without a standby.
    public let lagMilliseconds: Int64?
    public let sizeBytes: Int64
    public let maximumConnections: Int
    public let connectionCount: Int
    /// Sessions that wait for a lock of another one.
    public let waitingLocks: Int

    init(of handle: PostgresHandle, appendOnly tables: [StaticString] = []) throws(DatabaseError) {
        version = handle.serverVersion / 10_000
        isPooled = try PoolerCheck.isPooled(handle)
        let names = tables.map { "\($0)" }.joined(separator: ",")
        editableTables = try handle.query(
            """
            SELECT name FROM unnest(string_to_array(?1, ',')) AS name WHERE to_regclass(name) IS NOT NULL AND \
            (has_table_privilege(name, 'UPDATE') OR has_table_privilege(name, 'DELETE') \
            OR has_table_privilege(name, 'TRUNCATE'))
            """, [.text(names)]
        ) { $0.text("name") }
        let standbys = try handle.query(
            """
            SELECT application_name, sync_state, (extract(epoch FROM replay_lag) * 1000)::bigint AS lag \
            FROM pg_stat_replication
            """
        ) { ($0.text("application_name"), $0.text("sync_state"), $0.optionalInteger("lag")) }
        standbyCount = standbys.count
        synchronousStandbys = standbys.filter { $0.1 == "sync" || $0.1 == "quorum" }.map(\.0)
        // The lag is null while nothing is written: then the standby has everything.
        lagMilliseconds = standbys.map { $0.2 ?? 0 }.max()
        settings = Dictionary(
            try handle.query(
                """
                SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', \
                'synchronous_commit', 'synchronous_standby_names', 'max_connections')
                """
            ) { ($0.text("name"), $0.text("setting")) }, uniquingKeysWith: { first, _ in first })
        maximumConnections = Int(settings["max_connections"] ?? "") ?? 0
        let facts = try handle.query(
            """
            SELECT current_user::text AS role, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS super, \
            coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('schema_identity')), \
            false) AS owner, pg_is_in_recovery() AS recovery, pg_database_size(current_database()) AS size, \
            (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections, \
            (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()) \
            AS waits
            """
        ) { row in
            Facts(
                role: row.text("role"), isSuperuser: row.integer("super") == 1, isOwner: row.integer("owner") == 1,
                isInRecovery: row.integer("recovery") == 1, size: row.integer("size"),
                connections: Int(row.integer("connections")), waits: Int(row.integer("waits")))
        }.first
        guard let facts else { throw DatabaseError(.other, "the database did not describe itself") }
        role = facts.role
        isSuperuser = facts.isSuperuser
        ownsTables = facts.isOwner
        isInRecovery = facts.isInRecovery
        sizeBytes = facts.size
        connectionCount = facts.connections
        waitingLocks = facts.waits
    }

    private struct Facts {
        let role: String
        let isSuperuser: Bool
        let isOwner: Bool
        let isInRecovery: Bool
        let size: Int64
        let connections: Int
        let waits: Int
    }
}

import TillSQL

/// Statements that only PostgreSQL understands: who wrote a row (docs/decisions/0082). All others mean the same to both
/// databases.
enum PostgresStatements {
    /// Selects the number of the running transaction, and whose ledger it writes to.
    static let commit: SQL = """
        SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint) AS number, (SELECT ledger_id FROM ledger \
        WHERE single_row = 1) AS ledger_id, (SELECT epoch FROM ledger WHERE single_row = 1) AS epoch
        """

    /// ?1 has the numbers, separated by commas.
    static let removeMarks: SQL = """
        DELETE FROM commit_marks WHERE number IN (SELECT CAST(unnest(string_to_array(?1, ',')) AS bigint))
        """

    static let olderServer: SQL = """
        SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'till' LIMIT 1
        """

    /// Selects the rows from ?1 to ?2, and the number of the transaction that wrote each as it is now.
    static func writers(of stream: SealedStream) -> SQL {
        switch stream {
        case .customers: customersWriters
        case .orders:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM orders \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .transactions:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM transactions \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .evidence:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM evidence \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .postings:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM postings \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .transfers:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM transfers \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .consents:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM consents \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .claims:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM claims \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .erasures:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM erasures \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .catalogVersions: catalogVersionsWriters
        case .changes:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM sealed_changes \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .imports:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM imports \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .accountTokens:
            """
            SELECT row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM account_token_log \
            WHERE row_id >= ?1 AND row_id <= ?2
            """
        case .events: eventsWriters
        }
    }

    private static let customersWriters: SQL = """
        SELECT customer_id AS row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM customers \
        WHERE customer_id >= ?1 AND customer_id <= ?2
        """

    private static let catalogVersionsWriters: SQL = """
        SELECT version AS row_id, CAST(CAST(xmin AS text) AS bigint) AS writer FROM catalog_versions \
        WHERE version >= ?1 AND version <= ?2
        """

    private static let eventsWriters: SQL = """
        SELECT o.row_id, CAST(CAST(o.xmin AS text) AS bigint) AS writer FROM event_positions p JOIN outbox o \
        ON o.row_id = p.event_row_id WHERE p.position >= ?1 AND p.position <= ?2
        """
}

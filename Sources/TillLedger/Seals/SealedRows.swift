import TillSQL

/// The statements that read what is sealed.
extension SealedStream {
    /// Selects the rows from ?1 to ?2 in the order of `position`, which is the first column. All columns are sealed,
    /// but of customers and account tokens, of which what names the person is hashed first.
    var rows: SQL {
        switch self {
        case .customers: Self.customersRows
        case .orders: Self.ordersRows
        case .transactions: Self.transactionsRows
        case .evidence: Self.evidenceRows
        case .postings: Self.postingsRows
        case .transfers: Self.transfersRows
        case .events: Self.eventsRows
        case .consents: Self.consentsRows
        case .claims: Self.claimsRows
        case .erasures: Self.erasuresRows
        case .catalogVersions: Self.catalogVersionsRows
        case .changes: Self.changesRows
        case .imports: Self.importsRows
        case .accountTokens: Self.accountTokensRows
        }
    }

    /// Further rows that belong to a row, in the order of `position`.
    var parts: [SQL] {
        switch self {
        case .transactions: [Self.plainGrants]
        case .transfers:
            [
                """
                SELECT transfer_row_id AS position, grant_row_id FROM transfer_items WHERE transfer_row_id >= ?1 AND \
                transfer_row_id <= ?2 ORDER BY transfer_row_id, grant_row_id
                """,
                """
                SELECT transfer_row_id AS position, environment, currency, amount FROM transfer_points WHERE \
                transfer_row_id >= ?1 AND transfer_row_id <= ?2 ORDER BY transfer_row_id, environment, currency
                """,
            ]
        default: []
        }
    }

    /// A grant that says its decision itself was made in the commit that recorded the transaction. No other grant has a
    /// caller's key; one that somebody adds is found here.
    private static let plainGrants: SQL = """
        SELECT g.transaction_row_id AS position, g.id, g.order_row_id, g.customer_id, g.entitlement, \
        g.catalog_version, g.at, d.ground, d.source, d.caller_kind, g.caller_key FROM grants g LEFT JOIN \
        grant_decisions d ON d.number = g.decision WHERE g.transaction_row_id >= ?1 AND g.transaction_row_id <= ?2 \
        AND (g.decision IS NOT NULL OR g.caller_key IS NOT NULL) ORDER BY g.transaction_row_id
        """

    /// The last id of every table.
    static func ends(_ connection: any Connection) throws -> [SealedStream: Int64] {
        try connection.first(lastIDs, []) { row in
            func end(_ column: StaticString) -> Int64 { row.optionalInteger(column) ?? 0 }
            return [
                .customers: end("customers"), .orders: end("orders"), .transactions: end("transactions"),
                .evidence: end("evidence"), .postings: end("postings"), .transfers: end("transfers"),
                .events: end("events"), .consents: end("consents"), .claims: end("claims"),
                .erasures: end("erasures"), .catalogVersions: end("catalog_versions"),
                .changes: end("sealed_changes"), .imports: end("imports"), .accountTokens: end("account_tokens"),
            ]
        } ?? [:]
    }

    private static let lastIDs: SQL = """
        SELECT (SELECT max(customer_id) FROM customers) AS customers, (SELECT max(row_id) FROM orders) AS orders, \
        (SELECT max(row_id) FROM transactions) AS transactions, (SELECT max(row_id) FROM evidence) AS evidence, \
        (SELECT max(row_id) FROM postings) AS postings, (SELECT max(row_id) FROM transfers) AS transfers, \
        (SELECT max(position) FROM event_positions) AS events, (SELECT max(row_id) FROM consents) AS consents, \
        (SELECT max(row_id) FROM claims) AS claims, (SELECT max(row_id) FROM erasures) AS erasures, \
        (SELECT max(version) FROM catalog_versions) AS catalog_versions, \
        (SELECT max(row_id) FROM sealed_changes) AS sealed_changes, (SELECT max(row_id) FROM imports) AS imports, \
        (SELECT max(row_id) FROM account_token_log) AS account_tokens
        """

    private static let customersRows: SQL = """
        SELECT c.customer_id AS position, c.app_id, c.first_seen, c.user_id, e.sealed_name FROM customers c \
        LEFT JOIN erasures e ON e.customer_id = c.customer_id WHERE c.customer_id >= ?1 AND c.customer_id <= ?2 \
        ORDER BY c.customer_id
        """
    private static let ordersRows: SQL = """
        SELECT row_id AS position, app_id, id, customer_id, product, quantity, price, currency, created_at, \
        id_source, catalog_version FROM orders WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
        """
    private static let transactionsRows: SQL = """
        SELECT row_id AS position, app_id, environment, id, original_id, product, quantity, purchased_at, \
        received_at FROM transactions WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
        """
    /// A grant is sealed with the row of the decision that made it.
    private static let evidenceRows: SQL = """
        SELECT e.row_id AS position, e.transaction_row_id, e.at, e.decision, e.ground, e.source, e.caller_kind, \
        e.caller_customer_id, e.caller_key, e.detail, g.id, g.order_row_id, g.customer_id, g.entitlement, \
        g.catalog_version, g.at AS granted_at FROM evidence e LEFT JOIN grants g ON g.transaction_row_id = \
        e.transaction_row_id AND e.decision = 'granted' WHERE e.row_id >= ?1 AND e.row_id <= ?2 ORDER BY e.row_id
        """
    private static let postingsRows: SQL = """
        SELECT row_id AS position, environment, customer_id, contra, currency, amount, kind, grant_row_id, \
        transfer_row_id, reference, at, reason, caller_kind, caller_customer_id, caller_key FROM postings \
        WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
        """
    private static let transfersRows: SQL = """
        SELECT row_id AS position, id, kind, from_customer_id, to_customer_id, reason, caller_kind, \
        caller_customer_id, caller_key, operator, reverses, at FROM transfers WHERE row_id >= ?1 AND \
        row_id <= ?2 ORDER BY row_id
        """
    private static let eventsRows: SQL = """
        SELECT p.position, o.row_id, o.event_id, o.type, o.customer_id, o.user_sequence, o.transaction_row_id, \
        o.transfer_row_id, o.at, o.key_hash, o.revision, o.version, o.body FROM event_positions p JOIN outbox o \
        ON o.row_id = p.event_row_id WHERE p.position >= ?1 AND p.position <= ?2 ORDER BY p.position
        """
    private static let consentsRows: SQL = """
        SELECT row_id AS position, customer_id, given, caller_kind, caller_customer_id, caller_key, at \
        FROM consents WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
        """
    private static let claimsRows: SQL = """
        SELECT row_id AS position, id, customer_id, transaction_row_id, caller_kind, caller_customer_id, \
        caller_key, operator, reason, at, is_acceptance FROM claims WHERE row_id >= ?1 AND row_id <= ?2 \
        ORDER BY row_id
        """
    /// With the name that the customer's rows show since then.
    private static let erasuresRows: SQL = """
        SELECT e.row_id AS position, e.app_id, e.customer_id, e.user_hash, e.caller, e.at, e.sealed_name, \
        c.user_id FROM erasures e JOIN customers c ON c.customer_id = e.customer_id WHERE e.row_id >= ?1 AND \
        e.row_id <= ?2 ORDER BY e.row_id
        """
    private static let catalogVersionsRows: SQL = """
        SELECT version AS position, app_id, sha256, body, since FROM catalog_versions WHERE version >= ?1 AND \
        version <= ?2 ORDER BY version
        """
    private static let changesRows: SQL = """
        SELECT row_id AS position, stream, changed_row_id, was, now, at FROM sealed_changes WHERE row_id >= ?1 \
        AND row_id <= ?2 ORDER BY row_id
        """
    private static let importsRows: SQL = """
        SELECT row_id AS position, id, format, name, sha256, environment, caller, began_at FROM imports \
        WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
        """
    private static let accountTokensRows: SQL = """
        SELECT row_id AS position, kind, customer_id, at, token, sealed_token FROM account_token_log \
        WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
        """
}

import TillBilling
import TillCrypto
import TillSQL

/// The tables whose rows are sealed, each as a chain of its own in the order of their ids; events in the order of the
/// feed. What is sealed of a row never changes.
public enum SealedStream: Int64, Sendable, Hashable, CaseIterable {
    case customers = 1
    case orders
    case transactions
    case evidence
    case postings
    case transfers
    case events
    case consents
    case claims
    case erasures
    case catalogVersions
    case changes
    case imports

    var column: SQLValue { .integer(rawValue) }

    /// The table, as a person finds it in the database.
    public var name: String { self == .events ? "event_positions" : "\(table)" }

    /// The table to which the server adds the row.
    var table: StaticString {
        switch self {
        case .customers: "customers"
        case .orders: "orders"
        case .transactions: "transactions"
        case .evidence: "evidence"
        case .postings: "postings"
        case .transfers: "transfers"
        case .events: "outbox"
        case .consents: "consents"
        case .claims: "claims"
        case .erasures: "erasures"
        case .catalogVersions: "catalog_versions"
        case .changes: "sealed_changes"
        case .imports: "imports"
        }
    }

    /// Selects the greatest id as `last`.
    var last: SQL {
        switch self {
        case .customers: "SELECT coalesce(max(customer_id), 0) AS last FROM customers"
        case .orders: "SELECT coalesce(max(row_id), 0) AS last FROM orders"
        case .transactions: "SELECT coalesce(max(row_id), 0) AS last FROM transactions"
        case .evidence: "SELECT coalesce(max(row_id), 0) AS last FROM evidence"
        case .postings: "SELECT coalesce(max(row_id), 0) AS last FROM postings"
        case .transfers: "SELECT coalesce(max(row_id), 0) AS last FROM transfers"
        case .events: "SELECT coalesce(max(position), 0) AS last FROM event_positions"
        case .consents: "SELECT coalesce(max(row_id), 0) AS last FROM consents"
        case .claims: "SELECT coalesce(max(row_id), 0) AS last FROM claims"
        case .erasures: "SELECT coalesce(max(row_id), 0) AS last FROM erasures"
        case .catalogVersions: "SELECT coalesce(max(version), 0) AS last FROM catalog_versions"
        case .changes: "SELECT coalesce(max(row_id), 0) AS last FROM sealed_changes"
        case .imports: "SELECT coalesce(max(row_id), 0) AS last FROM imports"
        }
    }

    /// Selects the rows from ?1 to ?2 in the order of `position`, which is the first column. All columns are sealed,
    /// but of customers, whose names are hashed first.
    private var rows: SQL {
        switch self {
        case .customers:
            """
            SELECT c.customer_id AS position, c.app_id, c.first_seen, c.user_id, e.sealed_name FROM customers c \
            LEFT JOIN erasures e ON e.customer_id = c.customer_id WHERE c.customer_id >= ?1 AND c.customer_id <= ?2 \
            ORDER BY c.customer_id
            """
        case .orders:
            """
            SELECT row_id AS position, app_id, id, customer_id, product, quantity, price, currency, created_at, \
            id_source, catalog_version FROM orders WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
            """
        case .transactions:
            """
            SELECT row_id AS position, app_id, environment, id, original_id, product, quantity, purchased_at, \
            received_at FROM transactions WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
            """
        // A grant is sealed with the decision that made it.
        case .evidence:
            """
            SELECT e.row_id AS position, e.transaction_row_id, e.at, e.decision, e.ground, e.source, e.caller_kind, \
            e.caller_customer_id, e.caller_key, e.detail, g.id, g.order_row_id, g.customer_id, g.entitlement, \
            g.catalog_version, g.at AS granted_at FROM evidence e LEFT JOIN grants g ON g.transaction_row_id = \
            e.transaction_row_id AND e.decision = 'granted' WHERE e.row_id >= ?1 AND e.row_id <= ?2 ORDER BY e.row_id
            """
        case .postings:
            """
            SELECT row_id AS position, environment, customer_id, contra, currency, amount, kind, grant_row_id, \
            transfer_row_id, reference, at, reason, caller_kind, caller_customer_id, caller_key FROM postings \
            WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
            """
        case .transfers:
            """
            SELECT row_id AS position, id, kind, from_customer_id, to_customer_id, reason, caller_kind, \
            caller_customer_id, caller_key, operator, reverses, at FROM transfers WHERE row_id >= ?1 AND \
            row_id <= ?2 ORDER BY row_id
            """
        case .events:
            """
            SELECT p.position, o.row_id, o.event_id, o.type, o.customer_id, o.user_sequence, o.transaction_row_id, \
            o.transfer_row_id, o.at, o.key_hash, o.revision, o.version, o.body FROM event_positions p JOIN outbox o \
            ON o.row_id = p.event_row_id WHERE p.position >= ?1 AND p.position <= ?2 ORDER BY p.position
            """
        case .consents:
            """
            SELECT row_id AS position, customer_id, given, caller_kind, caller_customer_id, caller_key, at \
            FROM consents WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
            """
        case .claims:
            """
            SELECT row_id AS position, id, customer_id, transaction_row_id, caller_kind, caller_customer_id, \
            caller_key, operator, reason, at, is_acceptance FROM claims WHERE row_id >= ?1 AND row_id <= ?2 \
            ORDER BY row_id
            """
        // With the name that the customer's rows show since then.
        case .erasures:
            """
            SELECT e.row_id AS position, e.app_id, e.customer_id, e.user_hash, e.caller, e.at, e.sealed_name, \
            c.user_id FROM erasures e JOIN customers c ON c.customer_id = e.customer_id WHERE e.row_id >= ?1 AND \
            e.row_id <= ?2 ORDER BY e.row_id
            """
        case .catalogVersions:
            """
            SELECT version AS position, app_id, sha256, body, since FROM catalog_versions WHERE version >= ?1 AND \
            version <= ?2 ORDER BY version
            """
        case .changes:
            """
            SELECT row_id AS position, stream, changed_row_id, was, now, at FROM sealed_changes WHERE row_id >= ?1 \
            AND row_id <= ?2 ORDER BY row_id
            """
        case .imports:
            """
            SELECT row_id AS position, id, format, name, sha256, environment, caller, began_at FROM imports \
            WHERE row_id >= ?1 AND row_id <= ?2 ORDER BY row_id
            """
        }
    }

    /// Further rows that belong to a row, in the order of `position`.
    private var parts: [SQL] {
        guard self == .transfers else { return [] }
        return [
            """
            SELECT transfer_row_id AS position, grant_row_id FROM transfer_items WHERE transfer_row_id >= ?1 AND \
            transfer_row_id <= ?2 ORDER BY transfer_row_id, grant_row_id
            """,
            """
            SELECT transfer_row_id AS position, environment, currency, amount FROM transfer_points WHERE \
            transfer_row_id >= ?1 AND transfer_row_id <= ?2 ORDER BY transfer_row_id, environment, currency
            """,
        ]
    }

    /// What is sealed of one row.
    struct Row {
        let position: Int64
        /// In `table`; an event's position is another number.
        let rowID: Int64
        /// Valid until the next row is read.
        let content: UnsafeRawBufferPointer
        /// Whether the row is as it was sealed, or as the last recorded change left it.
        let isCurrent: Bool
    }

    /// Reads the rows from one id to another in their order. Of a row with recorded changes, the content is that of
    /// before the first one.
    func read(
        from first: Int64, to last: Int64, key: SealKey, _ connection: any Connection, _ body: (Row) -> Void
    ) throws {
        let changes = try SealedChangeTable(connection).changes(of: self, from: first, to: last)
        try readPresent(from: first, to: last, key: key, connection) { position, rowID, content in
            guard let change = changes[position] else {
                return body(Row(position: position, rowID: rowID, content: content.bytes, isCurrent: true))
            }
            let isCurrent = content.bytes.elementsEqual(change.now)
            change.was.withUnsafeBytes {
                body(Row(position: position, rowID: rowID, content: $0, isCurrent: isCurrent))
            }
        }
    }

    /// The same as the rows are now.
    ///
    /// - Parameter key: needed for customers only.
    func readPresent(
        from first: Int64, to last: Int64, key: SealKey?, _ connection: any Connection,
        _ row: (_ position: Int64, _ rowID: Int64, _ content: RowContent) -> Void
    ) throws {
        let range: [SQLValue] = [.integer(first), .integer(last)]
        var further: [Int64: RowContent] = [:]
        for sql in parts {
            _ = try connection.query(sql, range) { row in
                let position = row.integer("position")
                let content = further[position] ?? RowContent()
                row.append(to: content)
                further[position] = content
            }
        }
        let content = RowContent()
        let isCustomers = self == .customers
        let isEvents = self == .events
        let mark = [UInt8(truncatingIfNeeded: rawValue)]
        _ = try connection.query(rows, range) { read in
            let position = read.integer("position")
            content.clear()
            mark.withUnsafeBytes { content.append(raw: $0) }
            if isCustomers {
                try append(read, position, key, to: content)
            } else {
                read.append(to: content)
            }
            if let more = further[position] { content.append(raw: more.bytes) }
            row(position, isEvents ? read.integer("row_id") : position, content)
        }
    }

    /// A customer, with a hash in place of the name.
    private func append(_ read: any TillSQL.Row, _ position: Int64, _ key: SealKey?, to content: RowContent) throws {
        guard let key else { throw DatabaseError(.other, "customers are sealed under a key") }
        content.append(position)
        content.append(read.integer("app_id"))
        content.append(read.integer("first_seen"))
        let name =
            read.isNull("sealed_name")
            ? key.name(of: UserID(read.text("user_id")), customer: position) : read.blob("sealed_name")
        name.withUnsafeBytes { content.append(blob: $0) }
    }

    /// What stands in the chain for an id that no row has.
    func gap(_ position: Int64) -> [UInt8] {
        [0xFF, UInt8(truncatingIfNeeded: rawValue)] + withUnsafeBytes(of: position.bigEndian) { Array($0) }
    }

    /// Where the chain of a ledger begins.
    func start(of ledger: UniqueID) -> [UInt8] {
        Digest.sha256.hash(Array("till chain 1 \(name)".utf8) + ledger.bytes)
    }
}

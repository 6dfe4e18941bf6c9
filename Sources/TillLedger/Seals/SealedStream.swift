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

    var column: SQLValue { .integer(rawValue) }

    /// The table, as a person finds it in the database.
    public var name: String {
        switch self {
        case .customers: "customers"
        case .orders: "orders"
        case .transactions: "transactions"
        case .evidence: "evidence"
        case .postings: "postings"
        case .transfers: "transfers"
        case .events: "event_positions"
        case .consents: "consents"
        case .claims: "claims"
        case .erasures: "erasures"
        case .catalogVersions: "catalog_versions"
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

    /// Reads the rows from one id to another in their order.
    ///
    /// - Parameter row: is given what is sealed of each.
    func read(
        from first: Int64, to last: Int64, key: SealKey, _ connection: any Connection,
        _ row: (_ position: Int64, _ content: [UInt8]) -> Void
    ) throws {
        let range: [SQLValue] = [.integer(first), .integer(last)]
        var further: [Int64: [UInt8]] = [:]
        for sql in parts {
            _ = try connection.query(sql, range) { $0.append(to: &further[$0.integer("position"), default: []]) }
        }
        var content: [UInt8] = []
        content.reserveCapacity(1_024)
        _ = try connection.query(rows, range) { read in
            let position = read.integer("position")
            content.removeAll(keepingCapacity: true)
            content.append(UInt8(truncatingIfNeeded: rawValue))
            if self == .customers {
                SQLValue.append(position, to: &content)
                SQLValue.append(read.integer("app_id"), to: &content)
                SQLValue.append(read.integer("first_seen"), to: &content)
                content +=
                    read.isNull("sealed_name")
                    ? key.name(of: UserID(read.text("user_id")), customer: position) : read.blob("sealed_name")
            } else {
                read.append(to: &content)
            }
            if let more = further[position] { content += more }
            row(position, content)
        }
    }

    /// What stands in the chain for an id that no row has.
    func gap(_ position: Int64) -> [UInt8] {
        var content: [UInt8] = [0xFF, UInt8(truncatingIfNeeded: rawValue)]
        SQLValue.append(position, to: &content)
        return content
    }

    /// Where the chain of a ledger begins.
    func start(of ledger: UniqueID) -> [UInt8] {
        Digest.sha256.hash(Array("till chain 1 \(name)".utf8) + ledger.bytes)
    }
}

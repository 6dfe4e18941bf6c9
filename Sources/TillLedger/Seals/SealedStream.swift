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
    case accountTokens

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
        case .accountTokens: "account_token_log"
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
        case .accountTokens: "SELECT coalesce(max(row_id), 0) AS last FROM account_token_log"
        }
    }

    /// Whether its rows are hashed under the key, because they name persons.
    var namesPersons: Bool { self == .customers || self == .accountTokens }

    /// The same of an event's row, which has a position only after its commit.
    static let lastEvent: SQL = "SELECT coalesce(max(row_id), 0) AS last FROM outbox"

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

    /// The queries of `readPresent`, for databases where each query is a round trip.
    func reads(from first: Int64, to last: Int64) -> [Statement] {
        (parts + [rows]).map { Statement($0, [.integer(first), .integer(last)]) }
    }

    /// The same as the rows are now.
    ///
    /// - Parameter key: needed for customers and account tokens only.
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
        let isEvents = self == .events
        let mark = [UInt8(truncatingIfNeeded: rawValue)]
        _ = try connection.query(rows, range) { read in
            let position = read.integer("position")
            content.clear()
            mark.withUnsafeBytes { content.append(raw: $0) }
            if namesPersons {
                guard let key else { throw DatabaseError(.other, "rows that name persons are sealed under a key") }
                try appendHashed(read, position, key, to: content)
            } else {
                read.append(to: content)
            }
            if let more = further[position] { content.append(raw: more.bytes) }
            row(position, isEvents ? read.integer("row_id") : position, content)
        }
    }

    /// A row with a hash in place of what names the person: an erasure keeps the hash.
    private func appendHashed(
        _ read: any TillSQL.Row, _ position: Int64, _ key: SealKey, to content: RowContent
    ) throws {
        content.append(position)
        if self == .customers {
            content.append(read.integer("app_id"))
            content.append(read.integer("first_seen"))
            let name =
                read.isNull("sealed_name")
                ? key.name(of: UserID(read.text("user_id")), customer: position) : read.blob("sealed_name")
            name.withUnsafeBytes { content.append(blob: $0) }
        } else {
            let customer = read.integer("customer_id")
            content.append(customer)
            content.append(read.integer("kind"))
            content.append(read.integer("at"))
            let code =
                read.isNull("token")
                ? (read.isNull("sealed_token") ? [] : read.blob("sealed_token"))
                : key.token(try read.uniqueID("token"), customer: customer)
            code.withUnsafeBytes { content.append(blob: $0) }
        }
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

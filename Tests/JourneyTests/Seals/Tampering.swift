import TillLedger
import TillSQL
import TillSimulation

/// Changes that somebody with access to the database makes by SQL, drawn from a seed. None goes through a server.
struct Tampering {
    /// Undoes a change after it was audited.
    struct Undone: Error {
        let change: String
        let violations: [AuditViolation]
    }

    /// What is sealed of each table, or summed from what is sealed.
    private static let columns: [String: [String]] = [
        "customers": ["app_id", "user_id", "first_seen", "merged_into"],
        "account_tokens": ["token", "customer_id"],
        "account_token_log": ["kind", "token", "sealed_token", "customer_id", "at"],
        "orders": ["id", "customer_id", "product", "quantity", "price", "currency", "created_at", "id_source"],
        "transactions": ["environment", "id", "original_id", "product", "quantity", "purchased_at", "received_at"],
        "evidence": ["transaction_row_id", "at", "decision", "ground", "source", "caller_key", "detail"],
        "grants": [
            "id", "order_row_id", "customer_id", "entitlement", "catalog_version", "at", "decision", "caller_key",
        ],
        "postings": [
            "environment", "customer_id", "contra", "currency", "amount", "kind", "reference", "at", "reason",
            "caller_key",
        ],
        "balances": ["amount", "currency", "customer_id"],
        "transfers": ["id", "kind", "from_customer_id", "to_customer_id", "reason", "operator", "at"],
        "transfer_items": ["grant_row_id"],
        "transfer_points": ["environment", "currency", "amount"],
        "outbox": [
            "event_id", "type", "customer_id", "user_sequence", "at", "key_hash", "revision", "version", "body",
        ],
        "event_positions": ["event_row_id", "position"],
        "consents": ["customer_id", "given", "at"],
        "claims": ["id", "customer_id", "operator", "reason", "at"],
        "erasures": ["user_hash", "caller", "at", "sealed_name", "customer_id"],
        "catalog_versions": ["sha256", "body", "since"],
        "seals": ["stream", "first_position", "last_position", "digest", "mac", "at", "is_found"],
        "seal_summary": ["at", "mac"],
        "seal_gaps": ["position", "seal_row_id", "stream"],
        "grant_owners": ["customer_id"],
    ]
    private let tables: [CopiedTable]
    private let rows: [String: [CopiedTable.Values]]

    init(_ connection: any Connection) throws {
        tables = CopiedTable.all.filter { Self.columns[$0.text] != nil }
        var rows: [String: [CopiedTable.Values]] = [:]
        for table in tables {
            // No row says the same as a balance of nothing.
            let amount = table.text == "balances" ? table.columns.firstIndex { "\($0.name)" == "amount" } : nil
            rows[table.text] = try table.read(after: nil, limit: 10_000, connection).filter { row in
                amount.map { row[$0] != .integer(0) } ?? true
            }
        }
        self.rows = rows
    }

    /// The tables that have rows to change.
    var filled: Set<String> { Set(rows.filter { !$0.value.isEmpty }.keys) }

    /// Makes one change.
    ///
    /// - Returns: what was changed; nil if the draw has nothing to change, or the database refused it.
    func change(_ connection: any Connection, _ random: inout SeededRandom) throws -> String? {
        let candidates = tables.filter { !(rows[$0.text] ?? []).isEmpty }
        let table = random.pick(candidates)
        let held = rows[table.text] ?? []
        let row = random.pick(held)
        do {
            switch random.below(10) {
            case 0, 1, 2, 3: return try edit(table, row, held, connection, &random)
            case 4, 5: return try remove(table, row, connection)
            case 6: return try add(table, row, connection, &random)
            case 7: return try swap(table, row, held, connection, &random)
            case 8: return try fit(connection, &random)
            default: return try cut(connection, &random)
            }
        } catch let error as DatabaseError where error.kind == .constraint {
            return nil
        }
    }

    // MARK: Rows

    private func edit(
        _ table: CopiedTable, _ row: CopiedTable.Values, _ held: [CopiedTable.Values], _ connection: any Connection,
        _ random: inout SeededRandom
    ) throws -> String? {
        let names = Self.columns[table.text] ?? []
        let name = random.pick(names)
        guard let index = table.columns.firstIndex(where: { "\($0.name)" == name }) else { return nil }
        let other = random.pick(held)[index]
        let value = random.below(3) == 0 && other != row[index] ? other : changed(row[index], table.columns[index])
        guard value != row[index], try set(table, index, value, row, connection) == 1 else { return nil }
        return "\(table.text).\(name): \(row[index]) → \(value)"
    }

    private func changed(_ value: SQLValue, _ column: CopiedTable.Column) -> SQLValue {
        switch value {
        case .null:
            switch column.kind {
            case .integer: .integer(1)
            case .text: .text("x")
            case .blob: .blob([UInt8](repeating: 7, count: 32))
            }
        case .integer(let number): .integer(number + 1)
        case .text(let text): .text(text + "x")
        case .blob(let bytes): .blob(bytes.enumerated().map { $0 == 5 ? $1 ^ 1 : $1 })
        }
    }

    private func set(
        _ table: CopiedTable, _ index: Int, _ value: SQLValue, _ row: CopiedTable.Values, _ connection: any Connection
    ) throws -> Int {
        let (sql, key) = key(of: table, row, from: 2)
        return try connection.execute(
            "UPDATE \(table: table.name) SET \(table: table.columns[index].name) = ?1 WHERE \(where: sql)",
            [value] + key)
    }

    private func remove(
        _ table: CopiedTable, _ row: CopiedTable.Values, _ connection: any Connection
    ) throws -> String? {
        let (sql, key) = key(of: table, row, from: 1)
        guard try connection.execute("DELETE FROM \(table: table.name) WHERE \(where: sql)", key) == 1 else {
            return nil
        }
        return "\(table.text): removed \(table.keyValues(of: row))"
    }

    /// A copy of a row under a new number, with other values where they must be unique.
    private func add(
        _ table: CopiedTable, _ row: CopiedTable.Values, _ connection: any Connection, _ random: inout SeededRandom
    ) throws -> String? {
        guard let number = table.number, let last = try table.lastNumber(connection) else { return nil }
        let unique: Set<String> = ["id", "user_id", "event_id", "user_sequence", "position", "event_row_id"]
        let copy = zip(table.columns, row).map { column, value -> SQLValue in
            if "\(column.name)" == "\(number.name)" { return .integer(last + 1 + Int64(random.below(3))) }
            return unique.contains("\(column.name)") ? changed(value, column) : value
        }
        try table.write([copy], connection)
        return "\(table.text): added \(table.keyValues(of: copy))"
    }

    /// Two rows change places.
    private func swap(
        _ table: CopiedTable, _ row: CopiedTable.Values, _ held: [CopiedTable.Values], _ connection: any Connection,
        _ random: inout SeededRandom
    ) throws -> String? {
        let names = Self.columns[table.text] ?? []
        let other = random.pick(held)
        let indices = table.columns.indices.filter { names.contains("\(table.columns[$0].name)") }
        guard table.number != nil, !indices.isEmpty, indices.contains(where: { row[$0] != other[$0] }) else {
            return nil
        }
        // Unique values give way first.
        for index in indices where row[index] != other[index] {
            _ = try set(
                table, index, changed(changed(row[index], table.columns[index]), table.columns[index]), row, connection)
            _ = try set(table, index, row[index], other, connection)
            _ = try set(table, index, other[index], row, connection)
        }
        return "\(table.text): \(table.keyValues(of: row)) and \(table.keyValues(of: other)) changed places"
    }

    // MARK: Books that fit

    /// A posting that was never made, or a changed one, with a balance that fits.
    private func fit(_ connection: any Connection, _ random: inout SeededRandom) throws -> String? {
        guard let table = tables.first(where: { $0.text == "postings" }), let held = rows["postings"], !held.isEmpty,
            let amount = table.columns.firstIndex(where: { "\($0.name)" == "amount" }),
            let kind = table.columns.firstIndex(where: { "\($0.name)" == "kind" }),
            let reference = table.columns.firstIndex(where: { "\($0.name)" == "reference" }),
            let grant = table.columns.firstIndex(where: { "\($0.name)" == "grant_row_id" })
        else { return nil }
        let row = random.pick(held)
        let points = Int64(random.below(999_999)) + 1
        if random.below(2) == 0, case .integer(let before) = row[amount], before != points {
            guard try set(table, amount, .integer(points), row, connection) == 1 else { return nil }
            try raise(row, by: points - before, table, connection)
            return "postings: \(table.keyValues(of: row)) has \(points), and the balance fits"
        }
        var copy = row
        copy[0] = .integer((try table.lastNumber(connection) ?? 0) + 1)
        (copy[amount], copy[kind]) = (.integer(points), .text("bonus"))
        (copy[reference], copy[grant]) = (.text("gift \(points)"), .null)
        try table.write([copy], connection)
        try raise(copy, by: points, table, connection)
        return "postings: added \(points), and the balance fits"
    }

    private func raise(
        _ posting: CopiedTable.Values, by points: Int64, _ table: CopiedTable, _ connection: any Connection
    ) throws {
        func value(_ name: String) -> SQLValue {
            table.columns.firstIndex { "\($0.name)" == name }.map { posting[$0] } ?? .null
        }
        try connection.execute(
            """
            UPDATE balances SET amount = balances.amount + ?1 WHERE environment = ?2 AND customer_id = ?3 AND \
            currency = ?4
            """, [.integer(points), value("environment"), value("customer_id"), value("currency")])
    }

    /// The newest rows of a table, and the newest seals with them.
    private func cut(_ connection: any Connection, _ random: inout SeededRandom) throws -> String? {
        switch random.below(4) {
        case 0:
            try connection.execute("DELETE FROM seals WHERE row_id = (SELECT max(row_id) FROM seals)", [])
            return "the newest seal is gone"
        case 1:
            try connection.execute("DELETE FROM seals", [])
            try connection.execute("DELETE FROM seal_summary", [])
            return "all seals are gone"
        case 2:
            let count = try connection.execute(
                "DELETE FROM postings WHERE row_id > (SELECT max(row_id) - 3 FROM postings) AND kind = 'debit'", [])
            try connection.execute("DELETE FROM seals WHERE stream = 5", [])
            return count > 0 ? "the newest debits and the seals of postings are gone" : nil
        default:
            try connection.execute("DELETE FROM seal_summary", [])
            return "the summary of the seals is gone"
        }
    }

    // MARK: Statements

    /// A condition for one row, its parameters numbered from one on.
    private func key(
        of table: CopiedTable, _ row: CopiedTable.Values, from first: Int
    ) -> (SQL.StringInterpolation.Condition, [SQLValue]) {
        (.init(names: table.keyColumns.map(\.name), first: first), table.keyValues(of: row))
    }
}

extension SQL.StringInterpolation {
    /// `a = ?2 AND b = ?3`.
    struct Condition {
        let names: [StaticString]
        let first: Int
    }

    fileprivate mutating func appendInterpolation(where condition: Condition) {
        for (index, name) in condition.names.enumerated() {
            if index > 0 { appendLiteral(" AND ") }
            appendInterpolation(table: name)
            appendLiteral(" = ")
            appendInterpolation(parameter: condition.first + index)
        }
    }
}

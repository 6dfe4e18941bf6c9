/// A value for one of a statement's parameters `?1`, `?2` and so on.
public enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}

/// One row of a result, read by column names: `row.integer("signed_at")`.
///
/// A column that the result does not have reads as null, and the query then throws after the row has been read.
public protocol Row {
    func isNull(_ column: StaticString) -> Bool
    func integer(_ column: StaticString) -> Int64
    func text(_ column: StaticString) -> String
    func blob(_ column: StaticString) -> [UInt8]
    /// Appends all columns in their order.
    func append(to content: RowContent)
}

extension Row {
    public func optionalInteger(_ column: StaticString) -> Int64? { isNull(column) ? nil : integer(column) }
    public func optionalText(_ column: StaticString) -> String? { isNull(column) ? nil : text(column) }
}

/// One statement with its values, for `Connection.run`.
public struct Statement: Sendable, Hashable {
    public let sql: SQL
    public let values: [SQLValue]

    public init(_ sql: SQL, _ values: [SQLValue] = []) {
        self.sql = sql
        self.values = values
    }

    /// Of the text alone: a body repeats few texts, and a value may be long.
    public func hash(into hasher: inout Hasher) { hasher.combine(sql) }
}

/// The result of one of several statements.
public struct StatementResult: Sendable, Hashable {
    /// How many rows were inserted, changed or deleted; 0 for a query.
    public let changes: Int
    private let names: [String]
    private let values: [[SQLValue]]
    private let sql: SQL

    /// Used by drivers.
    public init(of sql: SQL, changes: Int, names: [String] = [], values: [[SQLValue]] = []) {
        self.sql = sql
        self.changes = changes
        self.names = names
        self.values = values
    }

    /// Reads the rows of a query, or of a statement with `RETURNING`.
    public func rows<Value>(_ read: (any Row) throws -> Value) throws -> [Value] {
        try values.map { values in
            let row = ResultRow(names: names, values: values)
            let value = Result { try read(row) }
            if let missing = row.missing { throw DatabaseError(.other, "no column \(missing) in \(sql)") }
            return try value.get()
        }
    }

    /// Reads the first row; nil without one.
    public func first<Value>(_ read: (any Row) throws -> Value) throws -> Value? {
        try StatementResult(of: sql, changes: changes, names: names, values: Array(values.prefix(1))).rows(read).first
    }
}

/// A row copied out of its statement.
private final class ResultRow: Row {
    private let names: [String]
    private let values: [SQLValue]
    /// The first requested column that the result does not have.
    private(set) var missing: String?

    init(names: [String], values: [SQLValue]) {
        self.names = names
        self.values = values
    }

    private func value(_ column: StaticString) -> SQLValue {
        let name = column.description
        guard let index = names.firstIndex(of: name) else {
            missing = missing ?? name
            return .null
        }
        return values[index]
    }

    func isNull(_ column: StaticString) -> Bool { value(column) == .null }

    func integer(_ column: StaticString) -> Int64 {
        if case .integer(let integer) = value(column) { integer } else { 0 }
    }

    func text(_ column: StaticString) -> String {
        if case .text(let text) = value(column) { text } else { "" }
    }

    func blob(_ column: StaticString) -> [UInt8] {
        if case .blob(let blob) = value(column) { blob } else { [] }
    }

    func append(to content: RowContent) {
        for value in values { content.append(value) }
    }
}

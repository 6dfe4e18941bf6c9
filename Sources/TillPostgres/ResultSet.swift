import CTillPostgres
import TillSQL

/// The result of one statement, in libpq's memory.
final class ResultSet {
    private let pointer: OpaquePointer
    private let columns: StatementColumns

    init(_ pointer: OpaquePointer, _ columns: StatementColumns) {
        self.pointer = pointer
        self.columns = columns
    }

    deinit { PQclear(pointer) }

    var rowCount: Int { Int(PQntuples(pointer)) }
    private var columnCount: Int32 { PQnfields(pointer) }

    var names: [String] {
        (0..<columnCount).map { column in PQfname(pointer, column).map { String(cString: $0) } ?? "" }
    }

    /// `COMMIT`, `ROLLBACK`, `INSERT 0 1`.
    var tag: String { PQcmdStatus(pointer).map { String(cString: $0) } ?? "" }

    /// How many rows were inserted, changed or deleted; 0 for a query.
    var changes: Int {
        guard !tag.hasPrefix("SELECT") else { return 0 }
        return PQcmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The position of the column with this name; nil if the result has none. If two share the name, the first.
    func place(of column: StaticString) -> Int32? {
        if let known = columns.index.find(column) { return known >= 0 ? known : nil }
        let place = names.firstIndex(of: column.description).map { Int32($0) }
        columns.index.insert(column, place ?? -1)
        return place
    }

    /// Reads every row.
    func rows<Value>(of sql: SQL, _ read: (any Row) throws -> Value) throws -> [Value] {
        let row = PostgresRow(self)
        var answer: [Value] = []
        answer.reserveCapacity(rowCount)
        for index in 0..<rowCount {
            row.index = Int32(index)
            let value = Result { try read(row) }
            if let problem = row.problem { throw DatabaseError(.other, "\(problem) in \(sql)") }
            answer.append(try value.get())
        }
        return answer
    }

    func values() throws(DatabaseError) -> [[SQLValue]] {
        var answer: [[SQLValue]] = []
        for row in 0..<Int32(rowCount) {
            var values: [SQLValue] = []
            for column in 0..<columnCount { values.append(try value(row, column)) }
            answer.append(values)
        }
        return answer
    }

    func isNull(_ row: Int32, _ column: Int32) -> Bool { PQgetisnull(pointer, row, column) == 1 }

    private func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(pointer, row, column), count: Int(PQgetlength(pointer, row, column)))
    }

    /// Nil for a type that is no integer.
    func integer(_ row: Int32, _ column: Int32) -> Int64? {
        let bytes = bytes(row, column)
        return switch PostgresType(PQftype(pointer, column)) {
        case .int8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        case .int4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case .int2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case .bool: bytes[0] == 0 ? 0 : 1
        case .text, .bytea, nil: nil
        }
    }

    func text(_ row: Int32, _ column: Int32) -> String? {
        if PostgresType(PQftype(pointer, column)) == .text {
            return String(decoding: bytes(row, column), as: UTF8.self)
        }
        return integer(row, column).map { "\($0)" }
    }

    func blob(_ row: Int32, _ column: Int32) -> [UInt8]? {
        switch PostgresType(PQftype(pointer, column)) {
        case .bytea, .text: [UInt8](bytes(row, column))
        default: nil
        }
    }

    private func value(_ row: Int32, _ column: Int32) throws(DatabaseError) -> SQLValue {
        if isNull(row, column) { return .null }
        switch PostgresType(PQftype(pointer, column)) {
        case .text: if let text = text(row, column) { return .text(text) }
        case .bytea: if let blob = blob(row, column) { return .blob(blob) }
        case .int8, .int4, .int2, .bool: if let integer = integer(row, column) { return .integer(integer) }
        case nil: break
        }
        throw DatabaseError(.other, unreadable(column))
    }

    /// Appends a row; nil, or what can't be read.
    func append(_ row: Int32, to content: RowContent) -> String? {
        for column in 0..<columnCount {
            if isNull(row, column) {
                content.appendNull()
                continue
            }
            switch PostgresType(PQftype(pointer, column)) {
            case .text: content.append(text: bytes(row, column))
            case .bytea: content.append(blob: bytes(row, column))
            case .int8, .int4, .int2, .bool: content.append(integer(row, column) ?? 0)
            case nil: return unreadable(column)
            }
        }
        return nil
    }

    func unreadable(_ column: Int32) -> String {
        let name = PQfname(pointer, column).map { String(cString: $0) } ?? ""
        return "the column \(name) has the type \(PQftype(pointer, column)), which the driver does not read as this"
    }
}

/// The types that the driver reads and writes, by their numbers in pg_type.
enum PostgresType: Sendable {
    case int8, int4, int2, bool, text, bytea

    init?(_ number: Oid) {
        switch number {
        case 20: self = .int8
        case 23: self = .int4
        case 21: self = .int2
        case 16: self = .bool
        // text, varchar, name, and a literal of the statement.
        case 25, 1_043, 19, 705: self = .text
        case 17: self = .bytea
        default: return nil
        }
    }
}

/// Where the columns of one prepared statement are.
final class StatementColumns {
    var index = ColumnIndex()
}

/// One row of a result, moved from row to row.
final class PostgresRow: Row {
    private let result: ResultSet
    var index: Int32 = 0
    /// The first column that the result does not have, or that has another type.
    private(set) var problem: String?

    init(_ result: ResultSet) { self.result = result }

    private func place(_ column: StaticString) -> Int32? {
        if let place = result.place(of: column) { return place }
        problem = problem ?? "no column \(column)"
        return nil
    }

    private func value<Value>(_ column: StaticString, _ empty: Value, _ read: (Int32) -> Value?) -> Value {
        guard let place = place(column), !result.isNull(index, place) else { return empty }
        if let value = read(place) { return value }
        problem = problem ?? result.unreadable(place)
        return empty
    }

    func isNull(_ column: StaticString) -> Bool { place(column).map { result.isNull(index, $0) } ?? true }
    func integer(_ column: StaticString) -> Int64 { value(column, 0) { result.integer(index, $0) } }
    func text(_ column: StaticString) -> String { value(column, "") { result.text(index, $0) } }
    func blob(_ column: StaticString) -> [UInt8] { value(column, []) { result.blob(index, $0) } }

    func append(to content: RowContent) {
        let unreadable = result.append(index, to: content)
        problem = problem ?? unreadable
    }
}

import CTillSQLite
import TillSQL

/// The current row of a running query. After the query ends, its columns read as null.
final class CurrentRow: Row {
    private let statement: PreparedStatement
    private var pointer: OpaquePointer?
    /// The first requested column that the result does not have.
    private(set) var missing: StaticString?

    init(of statement: PreparedStatement) {
        self.statement = statement
        pointer = statement.pointer
    }

    func end() { pointer = nil }

    func isNull(_ column: StaticString) -> Bool {
        guard let pointer, let place = place(column) else { return true }
        return sqlite3_column_type(pointer, place) == SQLITE_NULL
    }

    func integer(_ column: StaticString) -> Int64 {
        guard let pointer, let place = place(column) else { return 0 }
        return sqlite3_column_int64(pointer, place)
    }

    func text(_ column: StaticString) -> String {
        guard let pointer, let place = place(column) else { return "" }
        return Self.text(pointer, place)
    }

    func blob(_ column: StaticString) -> [UInt8] {
        guard let pointer, let place = place(column) else { return [] }
        return Self.blob(pointer, place)
    }

    /// The whole row, in the order of its columns.
    func values() -> [SQLValue] {
        guard let pointer else { return [] }
        return (0..<Int32(statement.columnCount)).map { place in
            switch sqlite3_column_type(pointer, place) {
            case SQLITE_NULL: .null
            case SQLITE_INTEGER: .integer(sqlite3_column_int64(pointer, place))
            case SQLITE_BLOB: .blob(Self.blob(pointer, place))
            default: .text(Self.text(pointer, place))
            }
        }
    }

    func append(to bytes: inout [UInt8]) {
        guard let pointer else { return }
        for place in 0..<Int32(statement.columnCount) {
            let type = sqlite3_column_type(pointer, place)
            switch type {
            case SQLITE_NULL: SQLValue.null.append(to: &bytes)
            case SQLITE_INTEGER: SQLValue.append(sqlite3_column_int64(pointer, place), to: &bytes)
            default:
                // As it is stored: no conversion, no copy.
                let start = sqlite3_column_blob(pointer, place)
                let content = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, place)))
                SQLValue.append(content, kind: type == SQLITE_BLOB ? 3 : 2, to: &bytes)
            }
        }
    }

    private func place(_ column: StaticString) -> Int32? {
        if let place = statement.place(of: column) { return place }
        if missing == nil { missing = column }
        return nil
    }

    private static func text(_ pointer: OpaquePointer, _ place: Int32) -> String {
        guard let start = sqlite3_column_text(pointer, place) else { return "" }
        let count = Int(sqlite3_column_bytes(pointer, place))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    private static func blob(_ pointer: OpaquePointer, _ place: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(pointer, place) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, place))))
    }
}

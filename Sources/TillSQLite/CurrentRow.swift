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

    func append(to content: RowContent) {
        guard let pointer else { return }
        for place in 0..<Int32(statement.columnCount) {
            switch sqlite3_column_type(pointer, place) {
            case SQLITE_NULL: content.appendNull()
            case SQLITE_INTEGER: content.append(sqlite3_column_int64(pointer, place))
            case SQLITE_BLOB: content.append(blob: stored(pointer, place))
            default: content.append(text: stored(pointer, place))
            }
        }
    }

    /// As it is stored: no conversion, no copy.
    private func stored(_ pointer: OpaquePointer, _ place: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(pointer, place)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, place)))
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

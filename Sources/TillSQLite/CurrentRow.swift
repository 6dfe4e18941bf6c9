import CTillSQLite
import TillSQL

/// The current row of a running query. After the query ends, its columns read as null.
extension PreparedStatement: Row {
    func isNull(_ column: StaticString) -> Bool {
        guard let place = place(of: column) else { return true }
        return sqlite3_column_type(pointer, place) == SQLITE_NULL
    }

    func integer(_ column: StaticString) -> Int64 {
        guard let place = place(of: column) else { return 0 }
        return sqlite3_column_int64(pointer, place)
    }

    func text(_ column: StaticString) -> String {
        guard let place = place(of: column) else { return "" }
        return text(place)
    }

    func blob(_ column: StaticString) -> [UInt8] {
        guard let place = place(of: column) else { return [] }
        return blob(place)
    }

    /// The whole row, in the order of its columns.
    func values() -> [SQLValue] {
        guard isReading else { return [] }
        return (0..<Int32(columnCount)).map { place in
            switch sqlite3_column_type(pointer, place) {
            case SQLITE_NULL: .null
            case SQLITE_INTEGER: .integer(sqlite3_column_int64(pointer, place))
            case SQLITE_BLOB: .blob(blob(place))
            default: .text(text(place))
            }
        }
    }

    func append(to content: RowContent) {
        guard isReading else { return }
        for place in 0..<Int32(columnCount) {
            switch sqlite3_column_type(pointer, place) {
            case SQLITE_NULL: content.appendNull()
            case SQLITE_INTEGER: content.append(sqlite3_column_int64(pointer, place))
            case SQLITE_BLOB: content.append(blob: stored(place))
            default: content.append(text: stored(place))
            }
        }
    }

    /// As it is stored: no conversion, no copy.
    private func stored(_ place: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(pointer, place)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, place)))
    }

    private func text(_ place: Int32) -> String {
        guard let start = sqlite3_column_text(pointer, place) else { return "" }
        let count = Int(sqlite3_column_bytes(pointer, place))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    private func blob(_ place: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(pointer, place) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, place))))
    }
}

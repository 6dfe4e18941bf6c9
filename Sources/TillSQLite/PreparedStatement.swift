import CTillSQLite
import TillSQL

/// One prepared statement of one connection.
final class PreparedStatement {
    let pointer: OpaquePointer
    let isReadOnly: Bool
    /// BEGIN, COMMIT, SAVEPOINT and settings: they change no row and return none.
    let isControl: Bool
    let parameterCount: Int
    private(set) var columnCount: Int
    private var columnIndex = ColumnIndex()
    /// How often SQLite has prepared the statement again after a schema change.
    private var preparations: Int32 = 0
    /// A query may run the same statement again while it reads its rows; the inner run then needs a second copy.
    var isRunning = false

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        isReadOnly = sqlite3_stmt_readonly(pointer) != 0
        columnCount = Int(sqlite3_column_count(pointer))
        isControl = isReadOnly && columnCount == 0
        parameterCount = Int(sqlite3_bind_parameter_count(pointer))
    }

    var columnNames: [String] {
        (0..<Int32(columnCount)).map { place in sqlite3_column_name(pointer, place).map { String(cString: $0) } ?? "" }
    }

    /// Call at the first row: `*` may stand for other columns after a schema change.
    func refreshColumns() {
        let count = sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_REPREPARE, 0)
        guard count != preparations else { return }
        preparations = count
        columnCount = Int(sqlite3_column_count(pointer))
        columnIndex = ColumnIndex()
    }

    /// The position of the column with this name; nil if the result has none. If two columns share the name, the first.
    func place(of column: StaticString) -> Int32? {
        if let known = columnIndex.find(column) { return known >= 0 ? known : nil }
        let place = columnNames.firstIndex(of: column.description).map { Int32($0) }
        columnIndex.insert(column, place ?? -1)
        return place
    }

    /// Binds `values`, calls `run` and clears the bindings. If binding fails, returns its code without calling `run`.
    func bound(to values: [SQLValue], _ run: () -> Int32) -> Int32 {
        let code = bind(values, from: 0, run)
        sqlite3_clear_bindings(pointer)
        return code
    }

    /// From this size on, bytes are borrowed until `run` returns instead of copied: proofs have 4 to 8 KiB, receipts up
    /// to 4 MiB.
    private static let borrowedFrom = 512

    private func bind(_ values: [SQLValue], from start: Int, _ run: () -> Int32) -> Int32 {
        var index = start
        while index < values.count {
            let position = Int32(index + 1)
            index += 1
            let code: Int32
            switch values[index - 1] {
            case .null:
                code = sqlite3_bind_null(pointer, position)
            case .integer(let value):
                code = sqlite3_bind_int64(pointer, position, value)
            case .text(var text):
                let next = index
                let (done, answer) = text.withUTF8 { bytes -> (Bool, Int32) in
                    guard let count = Int32(exactly: bytes.count) else { return (true, SQLITE_TOOBIG) }
                    // A nil pointer would bind null, and an empty text is not null.
                    let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
                    guard let start else { return (false, till_sqlite_bind_text_copy(pointer, position, "", 0)) }
                    guard bytes.count >= Self.borrowedFrom else {
                        return (false, till_sqlite_bind_text_copy(pointer, position, start, count))
                    }
                    let code = sqlite3_bind_text(pointer, position, start, count, nil)
                    return (true, code == SQLITE_OK ? bind(values, from: next, run) : code)
                }
                if done { return answer }
                code = answer
            case .blob(let blob):
                guard let count = Int32(exactly: blob.count) else { return SQLITE_TOOBIG }
                if blob.isEmpty {
                    code = sqlite3_bind_zeroblob(pointer, position, 0)
                } else if blob.count < Self.borrowedFrom {
                    code = till_sqlite_bind_blob_copy(pointer, position, blob, count)
                } else {
                    let next = index
                    return blob.withUnsafeBytes { bytes in
                        let code = sqlite3_bind_blob(pointer, position, bytes.baseAddress, count, nil)
                        return code == SQLITE_OK ? bind(values, from: next, run) : code
                    }
                }
            }
            guard code == SQLITE_OK else { return code }
        }
        return run()
    }
}

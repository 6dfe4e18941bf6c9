import CTillSQLite
import TillSQL

/// One prepared statement of one connection.
final class Statement {
    let pointer: OpaquePointer
    let isReadOnly: Bool
    /// BEGIN, COMMIT, SAVEPOINT and settings: they change no row and answer none.
    let isControl: Bool
    let parameterCount: Int
    /// A query may run the same statement again while it reads its rows; it then needs a second copy.
    var isRunning = false

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        isReadOnly = sqlite3_stmt_readonly(pointer) != 0
        isControl = isReadOnly && sqlite3_column_count(pointer) == 0
        parameterCount = Int(sqlite3_bind_parameter_count(pointer))
    }

    /// Binds `values`, calls `run` and takes the bindings away again; a code other than `SQLITE_OK` from binding is
    /// answered without running.
    func bound(to values: [SQLValue], _ run: () -> Int32) -> Int32 {
        let code = bind(values, from: 0, run)
        sqlite3_clear_bindings(pointer)
        return code
    }

    /// Bytes worth not copying stay borrowed until `run` has returned: proofs have 4 to 8 KiB, receipts up to 4 MiB.
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

/// Where a running query stands. It answers nothing any more once the query is over.
final class CurrentRow: Row {
    private var statement: OpaquePointer?

    init(of statement: Statement) { self.statement = statement.pointer }

    func end() { statement = nil }

    func isNull(_ column: Int) -> Bool {
        guard let statement else { return true }
        return sqlite3_column_type(statement, Int32(clamping: column)) == SQLITE_NULL
    }

    func integer(_ column: Int) -> Int64 {
        guard let statement else { return 0 }
        return sqlite3_column_int64(statement, Int32(clamping: column))
    }

    func text(_ column: Int) -> String {
        guard let statement, let start = sqlite3_column_text(statement, Int32(clamping: column)) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, Int32(clamping: column)))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ column: Int) -> [UInt8] {
        guard let statement, let start = sqlite3_column_blob(statement, Int32(clamping: column)) else { return [] }
        return [UInt8](
            UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, Int32(clamping: column)))))
    }
}

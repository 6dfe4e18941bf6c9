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
    /// Whether its connection keeps it for later runs.
    var isKept = false
    private var buffer = ValueBuffer()

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
        let code = bind(values)
        defer {
            sqlite3_clear_bindings(pointer)
            buffer.trim()
        }
        return code == SQLITE_OK ? run() : code
    }

    /// Texts and blobs are copied behind each other into one buffer, which SQLite reads while the statement runs: its
    /// own copies would cost an allocation for each.
    private func bind(_ values: [SQLValue]) -> Int32 {
        var room = 0
        for value in values {
            switch value {
            case .null, .integer: break
            case .text(let text): room += text.utf8.count
            case .blob(let blob): room += blob.count
            }
        }
        guard room <= Self.maximumBytes else { return SQLITE_TOOBIG }
        var free = buffer.room(for: room)
        for (index, value) in values.enumerated() {
            let position = Int32(truncatingIfNeeded: index + 1)
            let code: Int32
            switch value {
            case .null:
                code = sqlite3_bind_null(pointer, position)
            case .integer(let value):
                code = sqlite3_bind_int64(pointer, position, value)
            case .text(var text):
                let count = text.withUTF8 { bytes in
                    free.copyMemory(from: UnsafeRawBufferPointer(bytes))
                    return bytes.count
                }
                let start = free.baseAddress?.assumingMemoryBound(to: CChar.self)
                code = sqlite3_bind_text(pointer, position, start, Int32(truncatingIfNeeded: count), nil)
                free = UnsafeMutableRawBufferPointer(rebasing: free[count...])
            case .blob(let blob):
                blob.withUnsafeBytes { free.copyMemory(from: $0) }
                let count = Int32(truncatingIfNeeded: blob.count)
                code =
                    blob.isEmpty
                    ? sqlite3_bind_zeroblob(pointer, position, 0)
                    : sqlite3_bind_blob(pointer, position, free.baseAddress, count, nil)
                free = UnsafeMutableRawBufferPointer(rebasing: free[blob.count...])
            }
            guard code == SQLITE_OK else { return code }
        }
        return SQLITE_OK
    }

    /// More than SQLite's own limit for one value (https://sqlite.org/limits.html) is refused before it is copied.
    private static let maximumBytes = 1_000_000_000
}

/// The texts and blobs of one run of a statement.
private struct ValueBuffer: ~Copyable {
    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)

    private static let size = 256
    /// Larger ones, for proofs and receipts, are not kept for the next run.
    private static let keptSize = 8 << 10

    deinit { memory.deallocate() }

    /// At least one byte more than asked, so that the start of an empty text is a valid address.
    mutating func room(for count: Int) -> UnsafeMutableRawBufferPointer {
        if count >= memory.count { replace(count + Self.size) }
        return memory
    }

    mutating func trim() {
        if memory.count > Self.keptSize { replace(Self.size) }
    }

    private mutating func replace(_ count: Int) {
        memory.deallocate()
        memory = .allocate(byteCount: count, alignment: 1)
    }
}

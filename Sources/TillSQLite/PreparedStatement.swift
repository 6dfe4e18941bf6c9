import CTillSQLite
import TillSQL

/// One prepared statement of one connection, and the row that it is at.
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
    /// Whether its current row may be read.
    private(set) var isReading = false
    /// The first requested column that the result does not have.
    private(set) var missing: StaticString?
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

    /// Call before the first row of a query, and `endReading` after its last.
    func beginReading() {
        isReading = true
        missing = nil
    }

    func endReading() { isReading = false }

    /// The position of the column with this name; nil if there is no row, or the result has no such column. If two
    /// columns share the name, the first.
    func place(of column: StaticString) -> Int32? {
        guard isReading else { return nil }
        let place = columnIndex.find(column) ?? find(column)
        if place >= 0 { return place }
        if missing == nil { missing = column }
        return nil
    }

    private func find(_ column: StaticString) -> Int32 {
        let place = columnNames.firstIndex(of: column.description).map { Int32($0) } ?? -1
        columnIndex.insert(column, place)
        return place
    }

    /// Binds `values`, calls `run` and clears the bindings. If binding fails, returns its code without calling `run`.
    @inline(__always)
    func bound(to values: [SQLValue], _ run: () -> Int32) -> Int32 {
        var code = values.isEmpty ? SQLITE_OK : bind(values)
        if code == SQLITE_OK { code = run() }
        if !values.isEmpty {
            sqlite3_clear_bindings(pointer)
            buffer.trim()
        }
        return code
    }

    /// Texts and blobs are copied behind each other into one buffer, which SQLite reads while the statement runs: its
    /// own copies would cost an allocation for each. Parameters without a value are null from the last clearing.
    private func bind(_ values: [SQLValue]) -> Int32 {
        // Values are read where they are: a loop over the array counts references to each text.
        let room = values.withUnsafeBufferPointer { values in
            values.indices.reduce(0) { $0 + Self.byteCount(values[$1]) }
        }
        guard room <= Self.maximumBytes else { return SQLITE_TOOBIG }
        let memory = buffer.room(for: room)
        var used = 0
        return values.withUnsafeBufferPointer { values in
            for index in values.indices {
                let code = bind(values[index], at: Int32(truncatingIfNeeded: index + 1), in: memory, &used)
                guard code == SQLITE_OK else { return code }
            }
            return SQLITE_OK
        }
    }

    @inline(__always)
    private func bind(
        _ value: SQLValue, at position: Int32, in memory: UnsafeMutableRawPointer, _ used: inout Int
    ) -> Int32 {
        switch value {
        case .null: return SQLITE_OK
        case .integer(let value): return sqlite3_bind_int64(pointer, position, value)
        case .text(let text):
            let offset = used
            let written = text.utf8.withContiguousStorageIfAvailable {
                Self.copy(UnsafeRawBufferPointer($0), to: memory, at: offset)
            }
            let count = written ?? Array(text.utf8).withUnsafeBytes { Self.copy($0, to: memory, at: offset) }
            used += count
            let start = (memory + offset).assumingMemoryBound(to: CChar.self)
            return sqlite3_bind_text(pointer, position, start, Int32(truncatingIfNeeded: count), nil)
        case .blob(let blob):
            let offset = used
            let count = blob.withUnsafeBytes { Self.copy($0, to: memory, at: offset) }
            used += count
            return count == 0
                ? sqlite3_bind_zeroblob(pointer, position, 0)
                : sqlite3_bind_blob(pointer, position, memory + offset, Int32(truncatingIfNeeded: count), nil)
        }
    }

    @inline(__always)
    private static func byteCount(_ value: SQLValue) -> Int {
        switch value {
        case .null, .integer: 0
        case .text(let text): text.utf8.count
        case .blob(let blob): blob.count
        }
    }

    /// - Returns: how many bytes were copied.
    @inline(__always)
    private static func copy(
        _ bytes: UnsafeRawBufferPointer, to memory: UnsafeMutableRawPointer, at offset: Int
    ) -> Int {
        if let start = bytes.baseAddress { (memory + offset).copyMemory(from: start, byteCount: bytes.count) }
        return bytes.count
    }

    /// More than SQLite's own limit for one value (https://sqlite.org/limits.html) is refused before it is copied.
    private static let maximumBytes = 1_000_000_000
}

/// The texts and blobs of one run of a statement.
private struct ValueBuffer: ~Copyable {
    private var memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
    private var count = size

    private static let size = 256
    /// Larger ones, for proofs and receipts, are not kept for the next run.
    private static let keptSize = 8 << 10

    deinit { memory.deallocate() }

    /// At least one byte more than asked, so that the start of an empty text is a valid address.
    mutating func room(for wanted: Int) -> UnsafeMutableRawPointer {
        if wanted >= count { replace(wanted + Self.size) }
        return memory
    }

    mutating func trim() {
        if count > Self.keptSize { replace(Self.size) }
    }

    private mutating func replace(_ size: Int) {
        memory.deallocate()
        memory = .allocate(byteCount: size, alignment: 1)
        count = size
    }
}

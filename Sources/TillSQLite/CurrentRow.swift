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

/// Column positions, keyed by the address of the column name's literal: a name is compared with the statement's column
/// names once, not for every row.
struct ColumnIndex {
    private struct Entry {
        var start: UnsafePointer<UInt8>?
        var count = 0
        var place: Int32 = 0
    }

    private var entries: [Entry] = []
    private var count = 0

    func find(_ column: StaticString) -> Int32? {
        guard column.hasPointerRepresentation, !entries.isEmpty else { return nil }
        let start = column.utf8Start
        var slot = Self.slot(start, entries.count)
        while true {
            let entry = entries[slot]
            guard entry.start != nil else { return nil }
            if entry.start == start, entry.count == column.utf8CodeUnitCount { return entry.place }
            slot = (slot + 1) & (entries.count - 1)
        }
    }

    mutating func insert(_ column: StaticString, _ place: Int32) {
        guard column.hasPointerRepresentation else { return }
        // The table is at most half full, so a search always ends at an empty slot.
        if 2 * (count + 1) > entries.count {
            let old = entries
            entries = Array(repeating: Entry(), count: max(16, 2 * old.count))
            for entry in old { if let start = entry.start { put(entry, at: start) } }
        }
        put(Entry(start: column.utf8Start, count: column.utf8CodeUnitCount, place: place), at: column.utf8Start)
        count += 1
    }

    private mutating func put(_ entry: Entry, at start: UnsafePointer<UInt8>) {
        var slot = Self.slot(start, entries.count)
        while entries[slot].start != nil { slot = (slot + 1) & (entries.count - 1) }
        entries[slot] = entry
    }

    /// The upper bits of a product by the golden ratio spread the slots, because neighbouring literals are only a few
    /// bytes apart.
    private static func slot(_ start: UnsafePointer<UInt8>, _ size: Int) -> Int {
        Int(truncatingIfNeeded: (UInt64(UInt(bitPattern: start)) &* 0x9E37_79B9_7F4A_7C15) >> 40) & (size - 1)
    }
}

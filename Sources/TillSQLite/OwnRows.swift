import CTillSQLite
import TillThreads

/// The ids of the rows that this process has inserted into some tables. A row that another program wrote is not among
/// them.
final class OwnRows: Sendable {
    private let tables: [StaticString]
    /// For each table, ranges in the order of their insertion.
    private let ranges: Locked<[[ClosedRange<Int64>]]>

    init(of tables: [StaticString]) {
        self.tables = tables
        ranges = Locked(Array(repeating: [], count: tables.count))
    }

    /// Has SQLite report each inserted row. Rows that are rolled back stay noted: their ids are given again.
    func watch(_ handle: OpaquePointer) {
        guard !tables.isEmpty else { return }
        sqlite3_update_hook(
            handle,
            { context, operation, _, table, rowID in
                guard operation == SQLITE_INSERT, let context, let table else { return }
                Unmanaged<OwnRows>.fromOpaque(context).takeUnretainedValue().note(rowID, table)
            },
            // The engine keeps this object for longer than its connections.
            Unmanaged.passUnretained(self).toOpaque())
    }

    private func note(_ rowID: Int64, _ table: UnsafePointer<CChar>) {
        guard let index = tables.firstIndex(where: { strcmp($0.utf8Start, table) == 0 }) else { return }
        ranges.withLock { ranges in
            if let last = ranges[index].last, last.contains(rowID) { return }
            if let last = ranges[index].last, last.upperBound + 1 == rowID {
                ranges[index][ranges[index].count - 1] = last.lowerBound...rowID
            } else {
                ranges[index].append(rowID...rowID)
            }
        }
    }

    /// Nil for a table that is not watched.
    func ranges(of table: StaticString) -> [ClosedRange<Int64>]? {
        guard let index = tables.firstIndex(where: { strcmp($0.utf8Start, table.utf8Start) == 0 }) else { return nil }
        return ranges.withLock { $0[index] }
    }
}

private func strcmp(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<CChar>) -> Int32 {
    var index = 0
    while true {
        let (a, b) = (left[index], UInt8(bitPattern: right[index]))
        guard a == b else { return 1 }
        if a == 0 { return 0 }
        index += 1
    }
}

private func strcmp(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>) -> Int32 {
    right.withMemoryRebound(to: CChar.self, capacity: 1) { strcmp(left, $0) }
}

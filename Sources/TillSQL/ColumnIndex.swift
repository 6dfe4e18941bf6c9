/// Column positions, keyed by the address of the column name's literal: a name is compared with the statement's column
/// names once, not for every row.
package struct ColumnIndex {
    private struct Entry {
        var start: UnsafePointer<UInt8>?
        var count = 0
        var place: Int32 = 0
    }

    private var entries: [Entry] = []
    private var count = 0

    package init() {}

    package func find(_ column: StaticString) -> Int32? {
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

    package mutating func insert(_ column: StaticString, _ place: Int32) {
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

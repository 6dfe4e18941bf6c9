@testable import TillClient

/// A disk in memory that can be full, can lose data, and can lose power during a write.
final class PretendDisk: Sendable {
    struct State {
        var bytes: [UInt8] = []
        var aside: [UInt8]?
        /// The most bytes of the file; further writes find the disk full.
        var capacity = Int.max
        /// The next write is torn: only this many of its bytes are written, and the caller gets an error.
        var tearNextWriteAfter: Int?
        var writes = 0
        var rewrites = 0
        var bytesWritten = 0

        mutating func write(_ new: ArraySlice<UInt8>, at offset: Int) {
            bytes.removeSubrange(min(offset, bytes.count)...)
            bytes += new
        }
    }

    let state: Guarded<State>

    init(_ bytes: [UInt8] = []) { state = Guarded(State(bytes: bytes)) }

    var bytes: [UInt8] { state.now.bytes }

    var disk: Disk {
        Disk(
            read: { () throws(DiskError) in self.state.now.bytes },
            write: { (bytes, offset) throws(DiskError) in
                let error = self.state.withLock { state -> DiskError? in
                    if let count = state.tearNextWriteAfter {
                        state.tearNextWriteAfter = nil
                        state.write(bytes.prefix(count), at: offset)
                        return DiskError(.other, number: 5)
                    }
                    guard offset + bytes.count <= state.capacity else { return DiskError(.full) }
                    state.write(bytes[...], at: offset)
                    state.writes += 1
                    state.bytesWritten += bytes.count
                    return nil
                }
                if let error { throw error }
            },
            replace: { (bytes) throws(DiskError) in
                let error = self.state.withLock { state -> DiskError? in
                    // The old file stays until the new one is complete.
                    guard bytes.count <= state.capacity - min(state.bytes.count, state.capacity) else {
                        return DiskError(.full)
                    }
                    state.bytes = bytes
                    state.rewrites += 1
                    state.bytesWritten += bytes.count
                    return nil
                }
                if let error { throw error }
            },
            setAside: { () throws(DiskError) in self.state.withLock { $0.aside = $0.bytes } })
    }
}

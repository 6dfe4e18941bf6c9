import TillBilling
import TillClient

/// One file on a phone: written data is durable, a write interrupted by power loss is torn, and a full disk refuses
/// writes.
final class DeviceDisk: @unchecked Sendable {
    private(set) var bytes: [UInt8] = []
    private let name: String
    private let parts: WorldParts
    private var random: SeededRandom
    /// While set, the disk refuses writes.
    private(set) var isFull = false

    init(_ name: String, _ parts: WorldParts) {
        self.name = name
        self.parts = parts
        random = SeededRandom(seed: parts.seed, stream: "disk \(name)")
    }

    func fill(for milliseconds: Int64) {
        isFull = true
        parts.clockwork.after(milliseconds) { self.isFull = false }
    }

    func makeRoom() { isFull = false }

    func erase() { bytes = [] }

    /// The file as one run of the app opens it.
    func open(by process: SimulatedProcess) -> Disk {
        Disk(
            read: { [self] () throws(DiskFault) -> [UInt8] in
                guard process.isAlive else { throw DiskFault(.other) }
                return bytes
            },
            write: { [self] (new, offset) throws(DiskFault) in
                try check(process)
                let kept = Array(bytes.prefix(offset))
                if parts.faults.strikes(.tornWrite, at: name) {
                    bytes = kept + new.prefix(random.below(new.count + 1))
                    process.kill()
                    throw DiskFault(.other)
                }
                bytes = kept + new
            },
            replace: { [self] (new) throws(DiskFault) in
                try check(process)
                if parts.faults.strikes(.tornWrite, at: name) {
                    if random.chance(0.5) { bytes = new }
                    process.kill()
                    throw DiskFault(.other)
                }
                bytes = new
            },
            setAside: {})
    }

    private func check(_ process: SimulatedProcess) throws(DiskFault) {
        guard process.isAlive else { throw DiskFault(.other) }
        if isFull { throw DiskFault(.full) }
    }
}

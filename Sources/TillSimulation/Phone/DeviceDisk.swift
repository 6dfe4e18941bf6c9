import TillBilling
import TillClient

/// One file on a phone: written data is durable, a write interrupted by power loss is torn, and a full disk refuses
/// writes.
final class DeviceDisk: @unchecked Sendable {
    private(set) var bytes: [UInt8] = []
    private let name: String
    private let parts: SimulationContext
    private var random: SeededRandom
    /// While set, the disk refuses writes.
    private(set) var isFull = false

    init(_ name: String, _ parts: SimulationContext) {
        self.name = name
        self.parts = parts
        random = SeededRandom(seed: parts.seed, stream: "disk \(name)")
    }

    func fill(for milliseconds: Int64) {
        isFull = true
        parts.scheduler.after(milliseconds) { self.isFull = false }
    }

    func makeRoom() { isFull = false }

    func erase() { bytes = [] }

    /// The file as one run of the app opens it.
    func open(by process: SimulatedProcess) -> Disk {
        Disk(
            read: { [self] () throws(DiskError) -> [UInt8] in
                guard process.isAlive else { throw DiskError(.other) }
                return bytes
            },
            write: { [self] (new, offset) throws(DiskError) in
                try check(process)
                let kept = Array(bytes.prefix(offset))
                if parts.faults.occurs(.tornWrite, at: name) {
                    bytes = kept + new.prefix(random.below(new.count + 1))
                    process.kill()
                    throw DiskError(.other)
                }
                bytes = kept + new
            },
            replace: { [self] (new) throws(DiskError) in
                try check(process)
                if parts.faults.occurs(.tornWrite, at: name) {
                    if random.chance(0.5) { bytes = new }
                    process.kill()
                    throw DiskError(.other)
                }
                bytes = new
            },
            setAside: {})
    }

    private func check(_ process: SimulatedProcess) throws(DiskError) {
        guard process.isAlive else { throw DiskError(.other) }
        if isFull { throw DiskError(.full) }
    }
}

import Glibc

/// The files of a disk: their current state, and the durable state that a power cut leaves.
struct DiskImage {
    var files: [String: DiskFile] = [:]
    private var durableNames: [String: DiskFile] = [:]

    init(durable: [String: [UInt8]] = [:]) {
        files = durable.mapValues { DiskFile(durable: $0) }
        durableNames = files
    }

    var usedBytes: Int { files.values.reduce(0) { $0 + $1.content.count } }

    mutating func syncNames() { durableNames = files }

    mutating func syncName(_ name: String) { durableNames[name] = files[name] }

    /// The state after a process with open files has ended: all of its writes, and none of its locks.
    func afterProcessEnd() -> DiskImage {
        var after = DiskImage()
        var moved: [ObjectIdentifier: DiskFile] = [:]
        func move(_ file: DiskFile) -> DiskFile {
            let new = moved[ObjectIdentifier(file)] ?? DiskFile(copying: file)
            moved[ObjectIdentifier(file)] = new
            return new
        }
        after.files = files.mapValues(move)
        after.durableNames = durableNames.mapValues(move)
        return after
    }

    func afterPowerCut(_ random: inout SeededRandom) -> DiskImage {
        let loss = PowerLoss.allCases[random.below(PowerLoss.allCases.count)]
        var after = DiskImage()
        // In sorted order, so that a seed makes the same decisions in every process.
        for name in Set(files.keys).union(durableNames.keys).sorted() {
            let now = files[name]
            let before = durableNames[name]
            let survivor = now === before || random.chance(0.5) ? now : before
            guard let survivor else { continue }
            let file = DiskFile(durable: survivor.afterPowerCut(loss, &random))
            after.files[name] = file
            after.durableNames[name] = file
        }
        return after
    }
}

/// Which unsynced changes survive a power cut. Real cuts do any of these; scattered sectors alone would almost never
/// keep a whole commit.
enum PowerLoss: CaseIterable {
    case everythingKept
    case everythingLost
    /// The first changes in order remain; the last of them is torn.
    case endLost
    /// Any whole changes are lost.
    case changesLost
    /// Any sectors are lost.
    case sectorsLost
}

/// One file: its content, and what undoes each change since the last sync.
final class DiskFile {
    private(set) var content: [UInt8]
    private var unsynced: [Undo] = []
    var locks = FileLocks()
    let index = SharedIndex()

    private static let sectorSize = 512

    /// A change, made again after a power cut.
    private enum Change {
        case write(offset: Int, bytes: [UInt8])
        case resize(Int)
    }

    /// What the file held before a change: keeping this costs a sync nothing, and the file as it was then is needed
    /// only at a power cut.
    private enum Undo {
        /// The bytes that the write replaced; fewer than it wrote, if it went beyond the end.
        case write(offset: Int, count: Int, replaced: [UInt8], size: Int)
        case resize(size: Int, removed: [UInt8])
    }

    /// The same file, closed by all programs.
    init(copying file: DiskFile) {
        content = file.content
        unsynced = file.unsynced
    }

    init(durable: [UInt8] = []) { content = durable }

    /// - Returns: false if the file ends before the buffer does; SQLite expects the rest as zeros.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
        let count = max(0, min(buffer.count, content.count - offset))
        if count > 0 {
            content.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
            }
        }
        if count < buffer.count, let start = buffer.baseAddress { memset(start + count, 0, buffer.count - count) }
        return count == buffer.count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        let size = content.count
        let replaced = offset < size ? Array(content[offset..<min(size, offset + bytes.count)]) : []
        unsynced.append(.write(offset: offset, count: bytes.count, replaced: replaced, size: size))
        Self.write(bytes, at: offset, to: &content)
    }

    func resize(to size: Int) {
        let removed = size < content.count ? Array(content[size...]) : []
        unsynced.append(.resize(size: content.count, removed: removed))
        Self.resize(&content, to: size, filler: nil)
    }

    func sync() { unsynced = [] }

    /// The content at the last sync, and the changes since.
    private func durable() -> (content: [UInt8], changes: [Change]) {
        var result = content
        var changes: [Change] = []
        for undo in unsynced.reversed() {
            switch undo {
            case .write(let offset, let count, let replaced, let size):
                changes.append(.write(offset: offset, bytes: Array(result[offset..<(offset + count)])))
                Self.resize(&result, to: size, filler: nil)
                replaced.withUnsafeBytes { if !$0.isEmpty { Self.write($0, at: offset, to: &result) } }
            case .resize(let size, let removed):
                changes.append(.resize(result.count))
                Self.resize(&result, to: size - removed.count, filler: nil)
                result += removed
            }
        }
        return (result, changes.reversed())
    }

    func afterPowerCut(_ loss: PowerLoss, _ random: inout SeededRandom) -> [UInt8] {
        var (result, changes) = durable()
        let end = random.below(changes.count + 1)
        // A file system may have extended the file without writing its new content.
        let filler: UInt8? = random.chance(0.5) ? UInt8(truncatingIfNeeded: random.next()) : nil
        for (position, change) in changes.enumerated() {
            let keeps: (inout SeededRandom) -> Bool
            switch loss {
            case .everythingKept: keeps = { _ in true }
            case .everythingLost: keeps = { _ in false }
            case .endLost:
                if position > end { return result }
                keeps = { position < end || $0.chance(0.5) }
            case .changesLost:
                let kept = random.chance(0.5)
                keeps = { _ in kept }
            case .sectorsLost: keeps = { $0.chance(0.5) }
            }
            switch change {
            case .resize(let size):
                if keeps(&random) { Self.resize(&result, to: size, filler: filler) }
            case .write(let offset, let bytes):
                var start = 0
                while start < bytes.count {
                    let sectorEnd = ((offset + start) / Self.sectorSize + 1) * Self.sectorSize
                    let stop = min(bytes.count, sectorEnd - offset)
                    if keeps(&random) {
                        Self.resize(&result, to: max(result.count, offset + start), filler: filler)
                        bytes[start..<stop].withUnsafeBytes { Self.write($0, at: offset + start, to: &result) }
                    }
                    start = stop
                }
            }
        }
        return result
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, to content: inout [UInt8]) {
        if content.count < offset + bytes.count { resize(&content, to: offset + bytes.count, filler: nil) }
        content.withUnsafeMutableBytes { target in
            UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: bytes)
        }
    }

    private static func resize(_ content: inout [UInt8], to size: Int, filler: UInt8?) {
        if content.count > size {
            content.removeLast(content.count - size)
        } else if content.count < size {
            content.append(contentsOf: [UInt8](repeating: filler ?? 0, count: size - content.count))
        }
    }
}

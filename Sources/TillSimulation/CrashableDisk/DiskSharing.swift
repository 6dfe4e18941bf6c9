import CTillSQLite
import Glibc

/// One open file of one SQLite connection.
final class DiskHandle {
    let disk: CrashableDisk
    let file: DiskFile
    let name: String?
    /// The number of the disk's start at which it was opened; it is invalid after the next start.
    let boot: Int
    let deletesOnClose: Bool
    let isReadOnly: Bool
    /// SQLite's own VFS syncs the directory together with the first sync of a journal or log. This makes its name
    /// durable, and the deletion of the previous journal, on which WAL mode relies.
    var syncsDirectory: Bool

    init(_ disk: CrashableDisk, _ file: DiskFile, name: String?, boot: Int, flags: Int32, isReadOnly: Bool) {
        self.disk = disk
        self.file = file
        self.name = name
        self.boot = boot
        self.isReadOnly = isReadOnly
        let journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL
        syncsDirectory = flags & SQLITE_OPEN_CREATE != 0 && flags & journals != 0
        deletesOnClose = flags & SQLITE_OPEN_DELETEONCLOSE != 0
    }
}

/// The five-level lock of a database file (https://sqlite.org/lockingv3.html), between connections of this process.
struct FileLocks {
    private var levels: [ObjectIdentifier: Int32] = [:]

    mutating func raise(_ handle: DiskHandle, to level: Int32) -> Int32 {
        let me = ObjectIdentifier(handle)
        let mine = levels[me] ?? SQLITE_LOCK_NONE
        guard mine < level else { return SQLITE_OK }
        let highest = levels.filter { $0.key != me }.values.max() ?? SQLITE_LOCK_NONE
        switch level {
        case SQLITE_LOCK_SHARED:
            guard highest < SQLITE_LOCK_PENDING else { return SQLITE_BUSY }
        case SQLITE_LOCK_RESERVED:
            guard highest < SQLITE_LOCK_RESERVED else { return SQLITE_BUSY }
        default:
            guard highest < SQLITE_LOCK_RESERVED else { return SQLITE_BUSY }
            guard highest == SQLITE_LOCK_NONE else {
                levels[me] = SQLITE_LOCK_PENDING
                return SQLITE_BUSY
            }
        }
        levels[me] = level
        return SQLITE_OK
    }

    mutating func lower(_ handle: DiskHandle, to level: Int32) {
        let me = ObjectIdentifier(handle)
        if level == SQLITE_LOCK_NONE { levels[me] = nil } else if (levels[me] ?? 0) > level { levels[me] = level }
    }

    mutating func release(_ handle: DiskHandle) { lower(handle, to: SQLITE_LOCK_NONE) }

    var isReserved: Bool { levels.values.contains { $0 >= SQLITE_LOCK_RESERVED } }
}

/// The shared index of WAL mode (the `-shm` file): memory and eight locks. It is lost at a power cut and when the last
/// connection closes.
final class SharedIndex {
    private var regions: [UnsafeMutableRawBufferPointer] = []
    private var users: [ObjectIdentifier: HeldLocks] = [:]

    private struct HeldLocks {
        var shared: UInt8 = 0
        var exclusive: UInt8 = 0
    }

    deinit { clear() }

    private func clear() {
        for region in regions { region.deallocate() }
        regions = []
    }

    /// The memory of one region, created if `extend`; nil if it does not exist.
    func map(_ handle: DiskHandle, region: Int, size: Int, extend: Bool) -> UnsafeMutableRawPointer? {
        if users[ObjectIdentifier(handle)] == nil { users[ObjectIdentifier(handle)] = HeldLocks() }
        while regions.count <= region {
            guard extend else { return nil }
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4_096)
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            regions.append(memory)
        }
        return regions[region].baseAddress
    }

    func lock(_ handle: DiskHandle, offset: Int, count: Int, flags: Int32) -> Int32 {
        let me = ObjectIdentifier(handle)
        let slots = UInt8(truncatingIfNeeded: ((1 << count) - 1) << offset)
        var locks = users[me] ?? HeldLocks()
        if flags & SQLITE_SHM_UNLOCK != 0 {
            locks.shared &= ~slots
            locks.exclusive &= ~slots
            users[me] = locks
            return SQLITE_OK
        }
        let isExclusive = flags & SQLITE_SHM_EXCLUSIVE != 0
        for (other, theirs) in users where other != me {
            let hindering = isExclusive ? theirs.shared | theirs.exclusive : theirs.exclusive
            guard hindering & slots == 0 else { return SQLITE_BUSY }
        }
        if isExclusive { locks.exclusive |= slots } else { locks.shared |= slots }
        users[me] = locks
        return SQLITE_OK
    }

    func unmap(_ handle: DiskHandle) {
        guard users.removeValue(forKey: ObjectIdentifier(handle)) != nil else { return }
        if users.isEmpty { clear() }
    }
}

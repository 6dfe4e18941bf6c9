import CTillSQLite
import Glibc
import TillThreads

/// A disk that loses unsynced data when its power is cut: an SQLite VFS over files in memory, on which the real SQLite
/// driver runs. Pass `vfs` to `SQLiteDatabase.Options.vfs`.
///
/// The files are in memory because a real file system never loses a write for a test, a run must be repeatable from its
/// seed, and a thousand power cuts must not take minutes. The disk implements everything SQLite uses, including locks
/// and the shared index of WAL mode, so several connections of this process work as on a real disk.
///
/// A power cut follows what disks promise SQLite (https://sqlite.org/atomiccommit.html §2): writes since the file's
/// last sync are kept, lost or torn between 512-byte sectors, in any order, and so are changes of a file's size; a name
/// that was created or deleted and not synced may exist or not. Bytes that no write touched stay unchanged ("powersafe
/// overwrite", SQLite's own default assumption).
public final class CrashableDisk: @unchecked Sendable {
    /// The disk's name in SQLite; unique in the process.
    public let vfs: String

    private let lock = Locked<Void>()
    private var image: DiskImage
    private var random: SeededRandom
    private var current = Conditions()
    private var failures: [Failure] = []
    private var operationsLeft: Int?
    private var isOn = true
    private var isClosingAfterEnd = false
    private var boots = 0
    private var operationCount = 0
    private var lastErrno: Int32 = 0
    private var cut: PowerCut?
    private var registration: VFSRegistration?

    /// - Parameter files: what the disk holds durably, by name.
    public init(seed: UInt64, files: [String: [UInt8]] = [:]) {
        random = SeededRandom(seed: seed)
        image = DiskImage(durable: files)
        let registration = VFSRegistration()
        vfs = registration.name
        self.registration = registration
        registration.register(self)
    }

    deinit { registration?.unregister() }

    // MARK: Failures

    /// The operations of a disk.
    public enum Operation: Sendable, Hashable {
        /// The creation of a file.
        case create
        case read
        case write
        case sync
        case truncate
        case delete
    }

    /// The failure of an operation.
    public enum Fault: Sendable, Hashable {
        case inputOutput
        case full
        case readOnly
    }

    /// The disk's behaviour until it is changed.
    public struct Conditions: Sendable {
        /// The most bytes of all files together; a write that exceeds it is `SQLITE_FULL`, possibly after a part of it
        /// was written.
        public var capacity: Int?
        public var isReadOnly = false
        /// Syncs report success and keep nothing, as on a cheap controller.
        public var syncsLie = false
        /// False: SQLite is told that a write may destroy adjacent bytes, and writes the end of each commit again so
        /// that the next write is at a distance. (The disk destroys none.) Takes effect when the database is opened.
        public var hasPowersafeOverwrite = true
        /// The share of operations that fail with an input/output error, 0 to 1.
        public var failureRates: [Operation: Double] = [:]

        public init() {}
    }

    private struct Failure {
        let operation: Operation
        let fault: Fault
        var skip: Int
    }

    public var conditions: Conditions {
        get { lock.withLock { current } }
        set { lock.withLock { current = newValue } }
    }

    /// Makes one operation fail: the next of its kind, or the one after `skip` others.
    public func failNext(_ operation: Operation, with fault: Fault = .inputOutput, after skip: Int = 0) {
        lock.withLock { failures.append(Failure(operation: operation, fault: fault, skip: skip)) }
    }

    /// Cancels the failures of `failNext` that have not occurred yet.
    public func forgetFailures() { lock.withLock { failures = [] } }

    /// The number of creations, writes, syncs, truncations and deletions, which are the points at which power can fail.
    public var operations: Int { lock.withLock { operationCount } }

    public var usedBytes: Int { lock.withLock { image.usedBytes } }

    /// Cuts the power during the operation after `count` others. Until `restart` all operations fail.
    public func cutPower(afterOperations count: Int) { lock.withLock { operationsLeft = count } }

    public var hasPower: Bool { lock.withLock { isOn } }

    /// The operation and file of the last power cut; nil before the first.
    public var lastCut: PowerCut? { lock.withLock { cut } }

    public struct PowerCut: Sendable, Hashable {
        public let operation: Operation
        /// SQLite's name of the file: the database, or with `-wal`. Empty for a temporary file.
        public let file: String

        public init(operation: Operation, file: String) {
            self.operation = operation
            self.file = file
        }
    }

    /// Cuts the power if it is on, selects which unsynced writes survive, and starts again. Open files fail from now
    /// on; open the database anew.
    public func restart() {
        lock.withLock {
            image = image.afterPowerCut(&random)
            boots += 1
            isOn = true
            operationsLeft = nil
            failures = []
        }
    }

    /// The program with open files was killed: its writes remain, synced or not, and its locks are released. Open files
    /// fail from now on; open the database anew.
    public func endProcess() {
        lock.withLock {
            image = image.afterProcessEnd()
            boots += 1
            operationsLeft = nil
            failures = []
        }
    }

    /// Closes the connections of a program that ended. SQLite deletes the log by name with its last connection, and
    /// that name already belongs to the next program's log.
    public func closeAfterEnd(_ close: () async -> Void) async {
        lock.withLock { isClosingAfterEnd = true }
        await close()
        lock.withLock { isClosingAfterEnd = false }
    }

    /// The content of a file as a program reads it now; nil if it does not exist. For checks.
    public func contents(of name: String) -> [UInt8]? { lock.withLock { image.files[name]?.content } }

    // MARK: SQLite's calls, each returning a result code

    func open(_ name: String?, flags: Int32) -> (handle: DiskHandle?, code: Int32) {
        lock.withLock {
            let known = name.flatMap { image.files[$0] }
            if known == nil, name != nil {
                guard flags & SQLITE_OPEN_CREATE != 0 else { return (nil, refuse(SQLITE_CANTOPEN, ENOENT)) }
                if current.isReadOnly { return (nil, refuse(SQLITE_CANTOPEN, EROFS)) }
                if let code = begin(.create, name, SQLITE_CANTOPEN) { return (nil, code) }
            } else if !isOn {
                return (nil, refuse(SQLITE_CANTOPEN, EIO))
            }
            let file = known ?? DiskFile()
            if let name, known == nil { image.files[name] = file }
            let readOnly = flags & SQLITE_OPEN_READONLY != 0 || current.isReadOnly
            return (DiskHandle(self, file, name: name, boot: boots, flags: flags, isReadOnly: readOnly), SQLITE_OK)
        }
    }

    func close(_ handle: DiskHandle) {
        lock.withLock {
            handle.file.locks.release(handle)
            handle.file.index.unmap(handle)
            if handle.deletesOnClose, let name = handle.name, image.files[name] === handle.file {
                image.files[name] = nil
            }
        }
    }

    func read(_ handle: DiskHandle, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        lock.withLock {
            guard isAlive(handle) else { return refuse(till_sqlite_ioerr_read, EIO) }
            if let code = failure(.read, till_sqlite_ioerr_read) { return code }
            return handle.file.read(into: buffer, at: offset) ? SQLITE_OK : till_sqlite_ioerr_short_read
        }
    }

    func write(_ handle: DiskHandle, _ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        lock.withLock {
            guard isAlive(handle) else { return refuse(till_sqlite_ioerr_write, EIO) }
            let wasOn = isOn
            if let code = begin(.write, handle.name, till_sqlite_ioerr_write) {
                // The cut may come before, during or after this write.
                if wasOn, !isOn, random.chance(0.5) { handle.file.write(bytes, at: offset) }
                return code
            }
            if current.isReadOnly { return refuse(till_sqlite_ioerr_write, EROFS) }
            let growth = max(0, offset + bytes.count - handle.file.content.count)
            if let capacity = current.capacity, growth > 0, image.usedBytes + growth > capacity {
                let room = max(0, bytes.count - (image.usedBytes + growth - capacity))
                let part = random.below(room + 1)
                if part > 0 { handle.file.write(UnsafeRawBufferPointer(rebasing: bytes[..<part]), at: offset) }
                return refuse(SQLITE_FULL, ENOSPC)
            }
            handle.file.write(bytes, at: offset)
            return SQLITE_OK
        }
    }

    func truncate(_ handle: DiskHandle, to size: Int) -> Int32 {
        lock.withLock {
            guard isAlive(handle) else { return refuse(till_sqlite_ioerr_truncate, EIO) }
            if let code = begin(.truncate, handle.name, till_sqlite_ioerr_truncate) { return code }
            if current.isReadOnly { return refuse(till_sqlite_ioerr_truncate, EROFS) }
            handle.file.resize(to: size)
            return SQLITE_OK
        }
    }

    func sync(_ handle: DiskHandle) -> Int32 {
        lock.withLock {
            guard isAlive(handle) else { return refuse(till_sqlite_ioerr_fsync, EIO) }
            if let code = begin(.sync, handle.name, till_sqlite_ioerr_fsync) { return code }
            guard !current.syncsLie else { return SQLITE_OK }
            handle.file.sync()
            if let name = handle.name { image.syncName(name) }
            if handle.syncsDirectory {
                image.syncNames()
                handle.syncsDirectory = false
            }
            return SQLITE_OK
        }
    }

    func delete(_ name: String, durably: Bool) -> Int32 {
        lock.withLock {
            if isClosingAfterEnd { return refuse(till_sqlite_ioerr_delete, EIO) }
            guard image.files[name] != nil else {
                return SQLITE_IOERR | 23 << 8  // SQLITE_IOERR_DELETE_NOENT, which SQLite expects
            }
            if let code = begin(.delete, name, till_sqlite_ioerr_delete) { return code }
            if current.isReadOnly { return refuse(till_sqlite_ioerr_delete, EROFS) }
            image.files[name] = nil
            if durably, !current.syncsLie { image.syncName(name) }
            return SQLITE_OK
        }
    }

    /// A file's size; nil if it does not exist.
    func size(of name: String) -> Int? { lock.withLock { image.files[name]?.content.count } }

    func size(of handle: DiskHandle) -> Int? { lock.withLock { isAlive(handle) ? handle.file.content.count : nil } }

    /// Runs under the disk's lock: state of connections that is not on the disk, such as locks and the shared index.
    func shared<Value>(_ body: () -> Value) -> Value { lock.withLock(body) }

    func systemError() -> Int32 { lock.withLock { lastErrno } }

    func fillRandomly(_ buffer: UnsafeMutableRawBufferPointer) {
        lock.withLock {
            var rest = buffer
            while !rest.isEmpty {
                withUnsafeBytes(of: random.next()) { rest.copyBytes(from: $0.prefix(rest.count)) }
                rest = UnsafeMutableRawBufferPointer(rebasing: rest.dropFirst(8))
            }
        }
    }

    // MARK: Faults

    private func isAlive(_ handle: DiskHandle) -> Bool { isOn && handle.boot == boots }

    private func refuse(_ code: Int32, _ errno: Int32) -> Int32 {
        lastErrno = errno
        return code
    }

    /// Counts an operation during which power can fail; returns a code if it must fail.
    private func begin(_ operation: Operation, _ name: String?, _ code: Int32) -> Int32? {
        guard isOn else { return refuse(code, EIO) }
        operationCount += 1
        if let left = operationsLeft {
            operationsLeft = left - 1
            if left <= 0 {
                isOn = false
                cut = PowerCut(operation: operation, file: name ?? "")
                return refuse(code, EIO)
            }
        }
        return failure(operation, code)
    }

    private func failure(_ operation: Operation, _ code: Int32) -> Int32? {
        if let rate = current.failureRates[operation], random.chance(rate) { return refuse(code, EIO) }
        var struck: Fault?
        for index in failures.indices where failures[index].operation == operation {
            failures[index].skip -= 1
            if failures[index].skip < 0, struck == nil { struck = failures[index].fault }
        }
        guard let struck else { return nil }
        failures.removeAll { $0.operation == operation && $0.skip < 0 }
        switch struck {
        case .inputOutput: return refuse(code, EIO)
        case .readOnly: return refuse(code, EROFS)
        case .full: return refuse(operation == .write ? SQLITE_FULL : code, ENOSPC)
        }
    }
}

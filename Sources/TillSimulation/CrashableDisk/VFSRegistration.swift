import CTillSQLite
import Glibc

/// SQLite's view of a `CrashableDisk`: the C structures, and functions that find the disk and call it.
///
/// The structures are allocated on the heap: Swift 6.3.1 miscompiles a global of an imported C struct.
final class VFSRegistration: @unchecked Sendable {
    let name: String
    private let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    private let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    private let cName: UnsafeMutablePointer<CChar>

    /// After `sqlite3_file`'s one pointer follows a pointer to the `DiskHandle`.
    fileprivate static let fileSize = 2 * MemoryLayout<UnsafeRawPointer>.size

    init() {
        memset(vfs, 0, MemoryLayout<sqlite3_vfs>.size)
        memset(methods, 0, MemoryLayout<sqlite3_io_methods>.size)
        // Named by its address, which is unique as long as this registration exists.
        name = "crashable-\(UInt(bitPattern: vfs))"
        cName = strdup(name)
    }

    func register(_ disk: CrashableDisk) {
        fillMethods()
        vfs.pointee.iVersion = 2
        vfs.pointee.szOsFile = Int32(Self.fileSize)
        vfs.pointee.mxPathname = 1_024
        vfs.pointee.zName = UnsafePointer(cName)
        // SQLite keeps the disk while it is registered; unregistering releases it.
        vfs.pointee.pAppData = UnsafeMutableRawPointer(
            Unmanaged.passRetained(Disk(disk, UnsafePointer(methods))).toOpaque())
        fillFunctions()
        sqlite3_vfs_register(vfs, 0)
    }

    func unregister() {
        sqlite3_vfs_unregister(vfs)
        if let context = vfs.pointee.pAppData { Unmanaged<Disk>.fromOpaque(context).release() }
        free(cName)
        methods.deallocate()
        vfs.deallocate()
    }

    /// Weak: open files keep the disk alive, and a strong reference here would keep it for ever.
    fileprivate final class Disk {
        weak var disk: CrashableDisk?
        let methods: UnsafePointer<sqlite3_io_methods>

        init(_ disk: CrashableDisk, _ methods: UnsafePointer<sqlite3_io_methods>) {
            self.disk = disk
            self.methods = methods
        }
    }

    // MARK: Disk functions

    private func fillFunctions() {
        vfs.pointee.xOpen = { vfs, name, file, flags, outFlags in
            guard let file, let context = context(vfs) else { return SQLITE_CANTOPEN }
            file.pointee.pMethods = nil
            guard let disk = context.disk else { return SQLITE_CANTOPEN }
            let (handle, code) = disk.open(name.map { String(cString: $0) }, flags: flags)
            guard let handle else { return code }
            file.pointee.pMethods = context.methods
            // SQLite's file keeps the handle until xClose releases it.
            UnsafeMutableRawPointer(file).storeBytes(
                of: Unmanaged.passRetained(handle).toOpaque(), toByteOffset: MemoryLayout<UnsafeRawPointer>.size,
                as: UnsafeMutableRawPointer.self)
            let access = SQLITE_OPEN_READONLY | SQLITE_OPEN_READWRITE
            outFlags?.pointee = flags & ~access | (handle.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE)
            return SQLITE_OK
        }
        vfs.pointee.xDelete = { vfs, name, syncDirectory in
            guard let disk = context(vfs)?.disk, let name else { return till_sqlite_ioerr_delete }
            return disk.delete(String(cString: name), durably: syncDirectory != 0)
        }
        vfs.pointee.xAccess = { vfs, name, flags, answer in
            guard let disk = context(vfs)?.disk, let name else { return SQLITE_IOERR }
            let size = disk.size(of: String(cString: name))
            // As in SQLite's own VFS, an empty file does not exist, so that an empty journal is not rolled back.
            answer?.pointee = flags == SQLITE_ACCESS_EXISTS ? ((size ?? 0) > 0 ? 1 : 0) : (size != nil ? 1 : 0)
            return SQLITE_OK
        }
        vfs.pointee.xFullPathname = { _, name, count, answer in
            guard let name, let answer, strlen(name) < Int(count) else { return SQLITE_CANTOPEN }
            strcpy(answer, name)
            return SQLITE_OK
        }
        vfs.pointee.xRandomness = { vfs, count, buffer in
            guard let disk = context(vfs)?.disk, let buffer, count > 0 else { return 0 }
            disk.fillRandomly(UnsafeMutableRawBufferPointer(start: buffer, count: Int(count)))
            return count
        }
        vfs.pointee.xSleep = { _, microseconds in
            usleep(UInt32(clamping: microseconds))
            return microseconds
        }
        // SQL that asks for the time gets 1970, because the clock is passed in separately.
        vfs.pointee.xCurrentTimeInt64 = { _, answer in
            answer?.pointee = 210_866_760_000_000
            return SQLITE_OK
        }
        vfs.pointee.xCurrentTime = { _, answer in
            answer?.pointee = 2_440_587.5
            return SQLITE_OK
        }
        vfs.pointee.xGetLastError = { vfs, _, _ in context(vfs)?.disk?.systemError() ?? 0 }
    }

    // MARK: File functions

    private func fillMethods() {
        methods.pointee.iVersion = 2
        methods.pointee.xClose = { file in
            guard let file, let slot = slot(file) else { return SQLITE_OK }
            let handle = Unmanaged<DiskHandle>.fromOpaque(slot).takeRetainedValue()
            file.pointee.pMethods = nil
            handle.disk.close(handle)
            return SQLITE_OK
        }
        methods.pointee.xRead = { file, buffer, count, offset in
            guard let handle = handle(file), let buffer else { return till_sqlite_ioerr_read }
            let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
            return handle.disk.read(handle, into: bytes, at: Int(offset))
        }
        methods.pointee.xWrite = { file, bytes, count, offset in
            guard let handle = handle(file), let bytes else { return till_sqlite_ioerr_write }
            let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            return handle.disk.write(handle, buffer, at: Int(offset))
        }
        methods.pointee.xTruncate = { file, size in
            guard let handle = handle(file) else { return till_sqlite_ioerr_truncate }
            return handle.disk.truncate(handle, to: Int(size))
        }
        methods.pointee.xSync = { file, _ in
            guard let handle = handle(file) else { return till_sqlite_ioerr_fsync }
            return handle.disk.sync(handle)
        }
        methods.pointee.xFileSize = { file, answer in
            guard let handle = handle(file), let size = handle.disk.size(of: handle) else { return SQLITE_IOERR }
            answer?.pointee = sqlite3_int64(size)
            return SQLITE_OK
        }
        methods.pointee.xFileControl = { file, operation, argument in
            guard let handle = handle(file), operation == SQLITE_FCNTL_POWERSAFE_OVERWRITE, let argument else {
                return SQLITE_NOTFOUND
            }
            argument.storeBytes(of: handle.disk.conditions.hasPowersafeOverwrite ? 1 : 0, as: Int32.self)
            return SQLITE_OK
        }
        methods.pointee.xSectorSize = { _ in 4_096 }
        methods.pointee.xDeviceCharacteristics = { file in
            guard let handle = handle(file) else { return 0 }
            return handle.disk.conditions.hasPowersafeOverwrite ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0
        }
        fillSharing()
    }

    private func fillSharing() {
        methods.pointee.xLock = { file, level in
            guard let handle = handle(file) else { return SQLITE_IOERR }
            return handle.disk.shared { handle.file.locks.raise(handle, to: level) }
        }
        methods.pointee.xUnlock = { file, level in
            guard let handle = handle(file) else { return SQLITE_IOERR }
            handle.disk.shared { handle.file.locks.lower(handle, to: level) }
            return SQLITE_OK
        }
        methods.pointee.xCheckReservedLock = { file, answer in
            guard let handle = handle(file) else { return SQLITE_IOERR }
            answer?.pointee = handle.disk.shared { handle.file.locks.isReserved } ? 1 : 0
            return SQLITE_OK
        }
        methods.pointee.xShmMap = { file, region, size, extend, answer in
            guard let handle = handle(file) else { return SQLITE_IOERR }
            answer?.pointee = handle.disk.shared {
                handle.file.index.map(handle, region: Int(region), size: Int(size), extend: extend != 0)
            }
            return SQLITE_OK
        }
        methods.pointee.xShmLock = { file, offset, count, flags in
            guard let handle = handle(file) else { return SQLITE_IOERR }
            return handle.disk.shared {
                handle.file.index.lock(handle, offset: Int(offset), count: Int(count), flags: flags)
            }
        }
        // Taking and releasing a mutex orders memory between threads.
        methods.pointee.xShmBarrier = { file in handle(file)?.disk.shared {} }
        methods.pointee.xShmUnmap = { file, _ in
            guard let handle = handle(file) else { return SQLITE_OK }
            handle.disk.shared { handle.file.index.unmap(handle) }
            return SQLITE_OK
        }
    }
}

private func context(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> VFSRegistration.Disk? {
    guard let pointer = vfs?.pointee.pAppData else { return nil }
    return Unmanaged<VFSRegistration.Disk>.fromOpaque(pointer).takeUnretainedValue()
}

private func slot(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(file).load(
        fromByteOffset: MemoryLayout<UnsafeRawPointer>.size, as: UnsafeMutableRawPointer?.self)
}

private func handle(_ file: UnsafeMutablePointer<sqlite3_file>?) -> DiskHandle? {
    guard let file, let slot = slot(file) else { return nil }
    return Unmanaged<DiskHandle>.fromOpaque(slot).takeUnretainedValue()
}

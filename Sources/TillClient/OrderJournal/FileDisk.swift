#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Disk {
    /// A file on this device. Its directory is created if only the last component is missing. Next to the file are
    /// `-lock` (held as long as this value lives, so that two instances of an app can't overwrite each other's
    /// changes), temporarily `-new`, and possibly `-damaged`.
    ///
    /// - Parameter path: the path of the file, outside of an app group's container: iOS terminates an app that holds a
    ///   lock there while it is suspended.
    public static func file(at path: String) throws(DiskError) -> Disk {
        let file = try FileDisk(path: path)
        return Disk(
            read: { () throws(DiskError) in try file.read() },
            write: { (bytes, offset) throws(DiskError) in try file.write(bytes, at: offset) },
            replace: { (bytes) throws(DiskError) in try file.replace(with: bytes) },
            setAside: { () throws(DiskError) in try file.setAside() })
    }
}

/// Calls are serialized: the journal is an actor, and the lock file excludes other processes. All properties are
/// constant after `init`.
private final class FileDisk: Sendable {
    private let path: String
    private let directory: String
    private let lock: Int32

    init(path: String) throws(DiskError) {
        self.path = path
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if mkdir(directory, 0o700) != 0, errno != EEXIST { throw Self.fault() }
        lock = try Self.open(path + "-lock", O_RDWR | O_CREAT)
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let fault = errno == EWOULDBLOCK ? DiskError(.inUse, number: errno) : Self.fault()
            close(lock)
            throw fault
        }
    }

    deinit { close(lock) }

    func read() throws(DiskError) -> [UInt8] {
        let descriptor: Int32
        do throws(DiskError) {
            descriptor = try Self.open(path, O_RDONLY)
        } catch {
            if error.number == ENOENT { return [] }
            throw error
        }
        defer { close(descriptor) }
        let size = lseek(descriptor, 0, SEEK_END)
        guard size >= 0 else { throw Self.fault() }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(done))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.fault()
            }
            if count == 0 { break }
            done += count
        }
        return Array(bytes.prefix(done))
    }

    func write(_ bytes: [UInt8], at offset: Int) throws(DiskError) {
        let descriptor = try Self.open(path, O_WRONLY | O_CREAT)
        defer { close(descriptor) }
        do throws(DiskError) {
            guard ftruncate(descriptor, off_t(offset)) == 0 else { throw Self.fault() }
            try Self.writeAll(bytes, to: descriptor, at: offset)
            try Self.sync(descriptor)
            // Creating a file also changes its directory.
            if offset == 0 { try syncDirectory() }
        } catch {
            // The partial write is not a valid frame; without truncation it would stay until the next launch removes
            // it.
            _ = ftruncate(descriptor, off_t(offset))
            throw error
        }
    }

    func replace(with bytes: [UInt8]) throws(DiskError) {
        try writeAnew(bytes, to: path + "-new")
        guard rename(path + "-new", path) == 0 else { throw Self.fault() }
        try syncDirectory()
    }

    func setAside() throws(DiskError) {
        try writeAnew(try read(), to: path + "-damaged")
        try syncDirectory()
    }

    private func writeAnew(_ bytes: [UInt8], to path: String) throws(DiskError) {
        let descriptor = try Self.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        defer { close(descriptor) }
        do throws(DiskError) {
            try Self.writeAll(bytes, to: descriptor, at: 0)
            try Self.sync(descriptor)
        } catch {
            unlink(path)
            throw error
        }
    }

    private func syncDirectory() throws(DiskError) {
        let descriptor = try Self.open(directory, O_RDONLY)
        defer { close(descriptor) }
        try Self.sync(descriptor)
    }

    private static func open(_ path: String, _ flags: Int32) throws(DiskError) -> Int32 {
        while true {
            let descriptor = systemOpen(path, flags | O_CLOEXEC, 0o600)
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw fault() }
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32, at offset: Int) throws(DiskError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset + done))
            }
            if count > 0 {
                done += count
            } else if errno != EINTR {
                throw fault()
            }
        }
    }

    private static func sync(_ descriptor: Int32) throws(DiskError) {
        #if canImport(Darwin)
            // On Darwin, fsync leaves the bytes in the drive's cache (fsync(2)).
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw fault() }
    }

    private static func fault() -> DiskError {
        let number = errno
        return switch number {
        case ENOSPC, EDQUOT, EFBIG: DiskError(.full, number: number)
        case EACCES, EPERM, EROFS: DiskError(.notAllowed, number: number)
        default: DiskError(.other, number: number)
        }
    }
}

private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }

import Glibc
import TillBilling
import TillCrypto
import TillJSON
import TillSQLite

/// The form of a backup: an SQLite file that every tool opens, and behind its last page a *label* of 4,096 bytes. The
/// label states how long the file is and its digest, so a copy that was cut off or damaged is recognised.
struct BackupFile: Sendable, Hashable {
    /// The ledger that it is a copy of; nil if the program could not read it.
    var ledgerID: String?
    var epoch: Int64?
    /// What happened later is not in the backup.
    let takenAt: Instant
    let schemaVersion: Int
    /// Without the label.
    let bytes: Int64
    /// Of these bytes, in hexadecimal.
    let sha256: String

    static let labelLength = 4_096
    private static let firstLine = "Till backup 1\n"
    /// How SQLite's files begin.
    private static let databaseHeader = "SQLite format 3\0"
    /// Where the application id is in SQLite's header, big-endian.
    private static let applicationIDOffset: off_t = 68

    enum Fault: Error, Hashable {
        /// It is no SQLite file.
        case noDatabase
        /// The label is missing, or belongs to a longer file.
        case halfCopy
        /// The digest differs.
        case damaged
    }

    var json: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "takenAt": .string(takenAt.rfc3339), "schemaVersion": .int(Int64(schemaVersion)), "bytes": .int(bytes),
            "sha256": .string(sha256),
        ]
        if let ledgerID { members["ledgerId"] = .string(ledgerID) }
        if let epoch { members["epoch"] = .int(epoch) }
        return members
    }

    // MARK: The label

    /// The bytes behind the last page.
    var label: [UInt8] {
        var bytes = Array((Self.firstLine + JSONValue.object(json).encoded() + "\n").utf8)
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: Self.labelLength - bytes.count))
        return bytes
    }

    private init?(label: [UInt8]) {
        let first = Array(Self.firstLine.utf8)
        guard label.starts(with: first),
            let members = try? JSONValue(decoding: label[first.count...].prefix { $0 != UInt8(ascii: "\n") }),
            let taken = members["takenAt"]?.string.flatMap({ Instant(rfc3339: $0) }),
            let version = members["schemaVersion"]?.int, let bytes = members["bytes"]?.int,
            let sha256 = members["sha256"]?.string
        else { return nil }
        (ledgerID, epoch) = (members["ledgerId"]?.string, members["epoch"]?.int)
        (takenAt, schemaVersion, self.bytes, self.sha256) = (taken, Int(version), bytes, sha256)
    }

    init(takenAt: Instant, schemaVersion: Int, bytes: Int64, sha256: [UInt8]) {
        (self.takenAt, self.schemaVersion, self.bytes) = (takenAt, schemaVersion, bytes)
        self.sha256 = hexadecimal(sha256)
    }

    // MARK: Reading

    /// The label of the file at `path`; nil for a ledger's own file, which has none.
    ///
    /// - Throws: `FileError`, or `Fault` for what is neither.
    static func read(_ path: String) throws -> BackupFile? {
        let file = try OpenFile(path)
        let (header, marked) = (file.read(databaseHeader.utf8.count, at: 0), file.read(4, at: applicationIDOffset))
        guard header == Array(databaseHeader.utf8), marked.count == 4 else { throw Fault.noDatabase }
        let applicationID = marked.reduce(Int32(0)) { $0 << 8 | Int32($1) }
        let end = file.size - Int64(labelLength)
        if end > 0, let found = BackupFile(label: file.read(labelLength, at: off_t(end))), found.bytes == end {
            return found
        }
        guard applicationID != SQLiteDatabase.backupApplicationID else { throw Fault.halfCopy }
        return nil
    }

    /// Reads all bytes again.
    ///
    /// - Parameter body: takes each part, in order.
    /// - Throws: `Fault.damaged` if they are not those that the label describes.
    func verify(_ path: String, _ body: (UnsafeRawBufferPointer) throws -> Void = { _ in }) throws {
        guard try hexadecimal(Self.digest(of: path, bytes: bytes, body)) == sha256 else { throw Fault.damaged }
    }

    /// The digest of the first `bytes` of a file.
    static func digest(
        of path: String, bytes: Int64, _ body: (UnsafeRawBufferPointer) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        let (file, stream) = (try OpenFile(path), SHA256Stream())
        try file.readParts(bytes) {
            stream.add($0)
            try body($0)
        }
        return stream.finish()
    }
}

/// A file that is open for reading.
final class OpenFile {
    private let descriptor: Int32
    private let path: String
    let size: Int64

    private static let partLength = 1 << 20

    init(_ path: String) throws(FileError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        self.path = path
        guard descriptor >= 0 else { throw FileError(path, errno) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileError(path: path, reason: LocalizedText(en: "is not a file", zh: "不是普通文件"))
        }
        size = Int64(facts.st_size)
    }

    deinit { close(descriptor) }

    /// Up to `count` bytes.
    func read(_ count: Int, at offset: off_t) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            length = max(0, pread(descriptor, buffer.baseAddress, count, offset))
        }
    }

    /// The first `bytes`, in parts.
    func readParts(_ bytes: Int64, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.partLength, alignment: 16)
        defer { buffer.deallocate() }
        var done: Int64 = 0
        while done < bytes {
            let count = pread(descriptor, buffer.baseAddress, min(buffer.count, Int(bytes - done)), off_t(done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(path, errno) }
            guard count > 0 else { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            done += Int64(count)
        }
    }
}

/// A new file that only this user can read. It has its name only when it is complete and on the disk.
final class NewFile {
    /// Its name until then.
    let path: String
    private let target: String
    private var descriptor: Int32

    init(_ target: String) throws(FileError) {
        guard !fileExists(target) else { throw FileError(target, EEXIST) }
        self.target = target
        path = target + ".partial"
        unlink(path)
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError(path, errno) }
    }

    deinit { discard() }

    func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(path, errno) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Behind what another program wrote into the file.
    func appendAtEnd(_ bytes: [UInt8]) throws {
        guard lseek(descriptor, 0, SEEK_END) >= 0 else { throw FileError(path, errno) }
        try bytes.withUnsafeBytes { try append($0) }
        try sync()
    }

    func sync() throws(FileError) {
        guard fsync(descriptor) == 0 else { throw FileError(path, errno) }
    }

    /// Drops what the system keeps of it in memory, so that the next read is one of the disk.
    func forget() { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }

    /// Gives the file its name.
    func finish() throws(FileError) {
        try sync()
        guard !fileExists(target) else { throw FileError(target, EEXIST) }
        guard rename(path, target) == 0 else { throw FileError(target, errno) }
        close(descriptor)
        descriptor = -1
        let folder = open(directory(of: target), O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    func discard() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        unlink(path)
    }
}

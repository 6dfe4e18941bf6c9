import TillBilling
import TillSQL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The list of erasures beside the backups: one line for each, which is on disk before the erasure is answered. Several
/// processes may add to it.
struct ErasureListFile: Sendable {
    let path: String
    /// Some hundred thousand erasures.
    private static let limit = 64 << 20

    /// The list in the directory of a backup, to which `till backup` adds.
    static func besideBackup(_ file: String) -> String { resolve("erasures.jsonl", from: directory(of: file)) }

    /// The lines of the file; none if there is no file.
    func lines() throws(FileError) -> [String] {
        guard fileExists(path) else { return [] }
        let content = try readFile(path, limit: Self.limit)
        return content.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Adds the lines that the file does not have.
    ///
    /// - Throws: `DatabaseError`, as for a ledger that can't be written: the same erasure may succeed later.
    func add(_ lines: [String]) throws {
        do throws(FileError) {
            let known = Set(try self.lines())
            let new = lines.filter { !known.contains($0) }
            guard !new.isEmpty else { return }
            try append(Array((new.joined(separator: "\n") + "\n").utf8))
        } catch {
            throw DatabaseError(
                .inputOutput,
                "the list of erasures \(error.sentence.en); every erasure has to be added to it (erasure.list)")
        }
    }

    private func append(_ bytes: [UInt8]) throws(FileError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError(path, errno) }
        defer { close(descriptor) }
        // One write appends all lines or reports that it did not. A line cut by a full disk is no line of a list, so
        // the next one starts anew.
        var content = bytes
        if let size = fileSize(path), size > 0, try !endsWithLine() { content.insert(0x0A, at: 0) }
        let written = content.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == content.count else { throw FileError(path, written < 0 ? errno : ENOSPC) }
        guard fsync(descriptor) == 0 else { throw FileError(path, errno) }
        let folder = open(directory(of: path), O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private func endsWithLine() throws(FileError) -> Bool { try readFile(path, limit: Self.limit).last == 0x0A }
}

import Glibc
import TillSQL

/// A file whose first line is a password.
enum PasswordFile {
    private static let longest = 1_024

    static func read(_ path: String) throws(DatabaseError) -> String {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw DatabaseError(
                .other, "the database's password file \(path) can't be read: \(String(cString: strerror(errno)))")
        }
        defer { Glibc.close(file) }
        var status = stat()
        if fstat(file, &status) == 0, status.st_mode & 0o077 != 0 {
            throw DatabaseError(
                .other, "other users may read the database's password file \(path); run `chmod 600` on it")
        }
        var bytes = [UInt8](repeating: 0, count: longest)
        let count = Glibc.read(file, &bytes, longest)
        let line = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !line.isEmpty else {
            throw DatabaseError(.other, "the first line of the database's password file \(path) is empty")
        }
        return String(decoding: line, as: UTF8.self)
    }
}

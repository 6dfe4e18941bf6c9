import TillBilling
import TillThreads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Names the server's process to the commands of its machine, where the ledger is no file that the driver locks:
/// `flock` on `<statePath>-lock`, which the kernel releases when the process ends.
final class StateLock: Sendable {
    private let descriptor: Locked<Int32>

    /// - Throws: `CommandError` if another server has the path, or the file can't be created.
    init(_ path: String) throws {
        let name = path + "-lock"
        let file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw CommandError(FileError(name, errno).sentence) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            throw CommandError(
                LocalizedText(
                    en: "another server of this machine uses database.statePath \(shown(path)); "
                        + "give each server a path of its own",
                    zh: "本机的另一个服务器正在使用 database.statePath \(shown(path))；请为每个服务器指定不同的路径"))
        }
        let text = "\(getpid())\n"
        if ftruncate(file, 0) == 0 { _ = pwrite(file, text, text.utf8.count, 0) }
        descriptor = Locked(file)
    }

    func release() {
        descriptor.withLock { file in
            if file >= 0 { close(file) }
            file = -1
        }
    }

    deinit { release() }
}

extension LedgerLocation {
    /// Nil where the driver locks the ledger's file, or the server keeps no state on this machine.
    func stateLock() throws -> StateLock? {
        guard case .postgres(let location) = self else { return nil }
        return try location.statePath.map { try StateLock($0) }
    }
}

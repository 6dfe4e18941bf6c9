import TillBilling
import TillJSON
import TillServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The configuration file of the commands that edit its keys.
struct ConfigurationFile {
    /// Without symbolic links, so that a link stays a link.
    let path: String

    /// - Throws: `CommandError` if there is no such file.
    init(_ named: String) throws(CommandError) {
        guard let real = realpath(named, nil) else { throw CommandError(FileError(named, errno).sentence) }
        defer { free(real) }
        path = String(cString: real)
    }

    /// The keys of the file, in its order.
    ///
    /// - Throws: `CommandError` with the errors of the three lists.
    func keys(_ call: Invocation) throws -> [ConfiguredKey] {
        var reader = ConfigurationReader(
            ConfigurationSources(file: path, environment: call.process.environment, flags: [:]))
        let keys = reader.readKeys()
        guard reader.problems.isEmpty else { throw ConfigurationError(problems: reader.problems).failure }
        return keys
    }

    /// Replaces the file by its edited text, with the same owner and permissions. Two commands at the same time edit
    /// one after the other.
    ///
    /// - Parameters:
    ///   - edit: changes the text.
    ///   - expected: the lists after the edit, from those before it.
    /// - Throws: `CommandError` if other users may write the file, or it can't be replaced.
    func edit(
        _ edit: (inout JSONListText) throws -> Void, expecting expected: (inout [String: JSONValue]) -> Void
    ) throws {
        let (lock, facts) = try locked()
        defer { close(lock) }
        guard facts.st_mode & 0o022 == 0 else {
            throw CommandError(
                LocalizedText(
                    en: "\(shown(path)) can be written by other users of this machine, who could add keys of their "
                        + "own; run chmod go-w first",
                    zh: "\(shown(path)) 可被本机其他用户写入，他们可以添加自己的密钥；请先运行 chmod go-w"))
        }
        do throws(FileError) {
            let old = try readFile(path, limit: ConfigurationSources.maximumFileBytes)
            guard var text = JSONListText(old), case .object(var members)? = try? JSONValue(decoding: old) else {
                throw FileError(path: path, reason: LocalizedText(en: "is not a JSON object", zh: "不是 JSON 对象"))
            }
            do {
                try edit(&text)
            } catch let error as CommandError {
                throw FileError(path: path, reason: error.reasons[0])
            } catch {
                throw FileError(path: path, reason: LocalizedText("\(error)"))
            }
            expected(&members)
            // The edit is one of text. What it means is compared with what was intended before anything is written.
            guard (try? JSONValue(decoding: text.bytes)) == .object(members),
                text.bytes.count <= ConfigurationSources.maximumFileBytes
            else {
                throw FileError(
                    path: path, reason: LocalizedText(en: "can't be edited; edit it by hand", zh: "无法编辑；请手工修改"))
            }
            try replaceFile(
                path, mode: facts.st_mode & 0o7777, owner: (facts.st_uid, facts.st_gid), text.bytes)
        } catch {
            throw CommandError(error.sentence)
        }
    }

    /// The file, opened and locked. Another command may have replaced it while this one waited for the lock.
    private func locked() throws(CommandError) -> (descriptor: Int32, facts: stat) {
        while true {
            let file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { throw CommandError(FileError(path, errno).sentence) }
            var (held, named) = (stat(), stat())
            guard flock(file, LOCK_EX) == 0, fstat(file, &held) == 0, stat(path, &named) == 0 else {
                let number = errno
                close(file)
                throw CommandError(FileError(path, number).sentence)
            }
            if held.st_ino == named.st_ino, held.st_dev == named.st_dev { return (file, held) }
            close(file)
        }
    }
}

extension ConfigurationReader {
    /// The keys of the three lists, in the order of the configuration.
    mutating func readKeys() -> [ConfiguredKey] {
        let secretKeys = readSecretKeys(.secretKeys)
        let userTokens = readUserTokens()
        return ConfiguredKey.all(secretKeys, userTokens, readSecretKeys(.operators))
    }
}

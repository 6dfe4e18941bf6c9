import TillBilling
import TillJSON
import TillServer

/// `till keys add`.
struct NewKey {
    private let id: String
    private let list: KeyUses.Kind
    private let validity: KeyValidity

    init(_ id: String, _ call: Invocation) throws {
        self.id = id
        list = call.keyList ?? .secretKeys
        validity = KeyValidity(
            notBefore: try call.moment(ahead: .keyStart, command: "keys"),
            expires: try call.moment(ahead: .keyExpiry, command: "keys"))
        if let start = validity.notBefore, let end = validity.expires, end <= start {
            throw UsageError(
                LocalizedText(en: "--expires must be later than --not-before", zh: "--expires 应晚于 --not-before"),
                command: "keys")
        }
        // The id of a user token key names its file, too.
        let isFileName = id.utf8.allSatisfy { unit in
            (0x30...0x39).contains(unit) || (0x41...0x5A).contains(unit & 0xDF) || [0x2D, 0x2E, 0x5F].contains(unit)
        }
        guard (1...64).contains(id.utf8.count), isFileName else {
            throw UsageError(
                LocalizedText(
                    en: "ID must be 1 to 64 letters, digits, hyphens, periods and underscores",
                    zh: "ID 应为 1 到 64 个字母、数字、连字符、句点或下划线"),
                command: "keys")
        }
    }

    func add(to file: ConfigurationFile, _ call: Invocation) throws {
        try call.requireFile(for: list)
        guard !(try file.keys(call)).contains(where: { $0.name == KeyUses.Key(kind: list, id: id) }) else {
            throw CommandError(
                LocalizedText(
                    en: "\(list.rawValue) has a key \"\(id)\" already; choose another id",
                    zh: "\(list.rawValue) 中已有密钥“\(id)”；请换一个 id"))
        }
        let secret = KeyText(list, call.process.entropy)
        var members = list == .userTokens ? try userToken(secret, beside: file) : hashed(secret)
        if let start = validity.notBefore { members.append(("notBefore", .string(start.rfc3339))) }
        if let end = validity.expires { members.append(("expires", .string(end.rfc3339))) }
        let text = members.map { "\"\($0.name)\": \($0.value.encoded())" }.joined(separator: ", ")
        let entry = JSONValue.object(Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value) }))
        do {
            try file.edit {
                $0.append("{ \(text) }", to: list.rawValue)
            } expecting: { found in
                found[list.rawValue] = .array((found[list.rawValue]?.array ?? []) + [entry])
            }
        } catch {
            if list == .userTokens { removeFile(secretFile(beside: file)) }
            throw error
        }
        announce(secret, file, call)
    }

    private func hashed(_ secret: KeyText) -> [(name: String, value: JSONValue)] {
        [("id", .string(id)), ("sha256", .string(secret.sha256))]
    }

    private func secretFileName() -> String { "user-token-\(id).secret" }

    private func secretFile(beside file: ConfigurationFile) -> String {
        resolve(secretFileName(), from: directory(of: file.path))
    }

    /// The secret of user tokens is stored in its file and nowhere else: the server needs it, not its hash.
    private func userToken(
        _ secret: KeyText, beside file: ConfigurationFile
    ) throws -> [(name: String, value: JSONValue)] {
        do throws(FileError) {
            try createFile(secretFile(beside: file), mode: 0o600, Array((secret.text + "\n").utf8))
        } catch {
            throw CommandError(error.sentence)
        }
        return [("id", .string(id)), ("algorithm", "HS256"), ("secretFile", .string(secretFileName()))]
    }

    private func announce(_ secret: KeyText, _ file: ConfigurationFile, _ call: Invocation) {
        var members: [String: JSONValue] = ["list": .string(list.rawValue), "id": .string(id)]
        members["expires"] = validity.expires.map { .string($0.rfc3339) }
        if list == .userTokens {
            members["secretFile"] = .string(secretFile(beside: file))
        } else {
            members["key"] = .string(secret.text)
        }
        guard !call.wantsJSON else { return call.console.print(JSONValue.object(members).encoded(pretty: true)) }
        if list == .userTokens {
            let path = shown(secretFile(beside: file))
            call.say(
                LocalizedText(
                    en: "The secret of \(id) (HS256) is in \(path) and nowhere else; its tokens name the kid \(id).",
                    zh: "\(id) 的密钥（HS256）只在 \(path) 中；用它签发的令牌以 \(id) 为 kid。"))
        } else {
            call.say(
                LocalizedText(
                    en: "The key \(id), shown only this time (the file has its hash):\n  \(secret.text)",
                    zh: "密钥 \(id)，只显示这一次（文件中只有哈希值）：\n  \(secret.text)"))
        }
        call.sayReload()
    }
}

import TillBilling
import TillJSON
import TillServer

/// `till keys retire`.
struct RetiredKey {
    private let id: String
    private let end: Instant?

    init(_ id: String, _ call: Invocation) throws {
        self.id = id
        end = try call.moment(ahead: .keyExpiry, command: "keys")
    }

    func retire(in file: ConfigurationFile, _ call: Invocation) throws {
        let found = try file.keys(call).map(\.name).filter {
            $0.id == id && (call.keyList == nil || $0.kind == call.keyList)
        }
        guard let key = found.first else {
            throw CommandError(LocalizedText(en: "there is no key \"\(shown(id))\"", zh: "没有密钥“\(shown(id))”"))
        }
        guard found.count == 1 else {
            let lists = found.map(\.kind.rawValue).joined(separator: ", ")
            throw UsageError(
                LocalizedText(
                    en: "\"\(shown(id))\" is in several lists (\(lists)); name one with --list",
                    zh: "“\(shown(id))”在多个列表中（\(lists)）；请用 --list 指定"),
                command: "keys")
        }
        try call.requireFile(for: key.kind)
        let list = key.kind.rawValue
        try file.edit {
            guard let index = Self.index(of: id, in: (try? JSONValue(decoding: $0.bytes))?[list]) else {
                throw CommandError(LocalizedText(en: "there is no key \"\(shown(id))\"", zh: "没有密钥“\(shown(id))”"))
            }
            if let end {
                $0.set("expires", to: end.rfc3339, in: index, of: list)
            } else {
                $0.remove(index, of: list)
            }
        } expecting: { members in
            guard let index = Self.index(of: id, in: members[list]), var entries = members[list]?.array else { return }
            if let end, var entry = entries[index].object {
                entry["expires"] = .string(end.rfc3339)
                entries[index] = .object(entry)
            } else {
                entries.remove(at: index)
            }
            members[list] = .array(entries)
        }
        announce(key, call)
    }

    private static func index(of id: String, in list: JSONValue?) -> Int? {
        list?.array?.firstIndex { $0["id"]?.string == id }
    }

    private func announce(_ key: KeyUses.Key, _ call: Invocation) {
        var members: [String: JSONValue] = ["list": .string(key.kind.rawValue), "id": .string(key.id)]
        members["expires"] = end.map { .string($0.rfc3339) }
        if call.wantsJSON { call.console.print(JSONValue.object(members).encoded(pretty: true)) }
        call.say(
            end.map { LocalizedText(en: "\(key.id) expires at \($0).", zh: "\(key.id) 将于 \($0) 到期。") }
                ?? LocalizedText(
                    en: "\(key.id) is removed from \(key.kind.rawValue).", zh: "已从 \(key.kind.rawValue) 删除 \(key.id)。"))
        let base = (try? Configuration.statePath(for: call)) ?? nil
        let uses = base.flatMap { ServerState.read(besideLedger: $0) }?.uses
        if let last = uses?[key], last > call.process.clock().adding(seconds: -7_200) {
            call.warn(
                LocalizedText(
                    en:
                        "warning: \(key.id) was used at \(last), in the last two hours; its users are refused after "
                        + "the reload",
                    zh: "警告：\(key.id) 在 \(last) 还用过（两小时之内）；重新载入之后，使用它的请求会被拒绝"))
        }
        call.sayReload()
    }
}

import TillBilling
import TillJSON
import TillServer

/// `till keys list`.
struct KeyList {
    private struct Row {
        let key: ConfiguredKey
        let state: KeyValidity.State
        let lastUse: Instant?
    }

    private let rows: [Row]
    private let call: Invocation

    init(_ file: ConfigurationFile, _ call: Invocation) throws {
        self.call = call
        let now = call.process.clock()
        let base = (try? Configuration.statePath(for: call)) ?? nil
        let uses = base.flatMap { ServerState.read(besideLedger: $0) }?.uses ?? [:]
        rows = try file.keys(call).filter { call.keyList == nil || $0.name.kind == call.keyList }.map { key in
            Row(key: key, state: key.validity.state(at: now), lastUse: uses[key.name])
        }
    }

    func print() {
        guard !call.wantsJSON else { return call.console.print(json.encoded(pretty: true)) }
        for row in rows {
            let expiry = row.key.validity.expires.map { LocalizedText(en: "expires \($0)", zh: "\($0) 到期") }
            let use = row.lastUse.map { LocalizedText(en: "last used \($0)", zh: "最近使用 \($0)") }
            let parts: [LocalizedText] = [
                LocalizedText(row.key.name.kind.rawValue), LocalizedText(shown(row.key.name.id)), Self.text(row.state),
                expiry ?? LocalizedText(en: "does not expire", zh: "不会到期"),
                use ?? LocalizedText(en: "no use known", zh: "没有使用记录"),
            ]
            call.console.print(parts.map { $0(call.language) }.joined(separator: "  "))
        }
        if rows.isEmpty { call.say(LocalizedText(en: "There are no keys.", zh: "没有密钥。")) }
    }

    private static func text(_ state: KeyValidity.State) -> LocalizedText {
        switch state {
        case .valid: LocalizedText(en: "valid", zh: "有效")
        case .notYetValid: LocalizedText(en: "not yet valid", zh: "尚未生效")
        case .expired: LocalizedText(en: "expired", zh: "已到期")
        }
    }

    private var json: JSONValue {
        let keys = rows.map { row -> JSONValue in
            var members: [String: JSONValue] = [
                "list": .string(row.key.name.kind.rawValue), "id": .string(row.key.name.id),
                "state": .string(row.state.rawValue),
            ]
            members["notBefore"] = row.key.validity.notBefore.map { .string($0.rfc3339) }
            members["expires"] = row.key.validity.expires.map { .string($0.rfc3339) }
            members["lastUsedAt"] = row.lastUse.map { .string($0.rfc3339) }
            return .object(members)
        }
        return ["keys": .array(keys)]
    }
}

import TillBilling
import TillLedger
import TillServer

/// `webhooks.endpoints` and `webhooks.allowPrivate`. No message of this file contains a secret.
extension ConfigurationReader {
    static let maximumEndpoints = 20
    private static let maximumPreviousSecrets = 5

    mutating func readWebhooks() -> WebhookSettings {
        var settings = WebhookSettings()
        if let setting = setting(.webhooksAllowPrivate) { settings.allowsPrivate = reader.boolean(setting) ?? false }
        guard let setting = setting(.webhookEndpoints), let list = reader.list(setting, most: Self.maximumEndpoints)
        else { return settings }
        for entry in list {
            let taken = settings.endpoints.map(\.id)
            if let endpoint = readEndpoint(entry, taken, settings.allowsPrivate) { settings.endpoints.append(endpoint) }
        }
        return settings
    }

    /// Nil only after a problem was recorded.
    private mutating func readEndpoint(
        _ entry: Setting, _ taken: [String], _ allowsPrivate: Bool
    ) -> WebhookEndpoint? {
        guard let members = reader.object(entry, names: ConfigurationKey.webhookEndpointNames) else { return nil }
        let id = readID(members, entry, taken: taken)
        let url = reader.required("url", of: members, in: entry.place).flatMap { readURL($0, allowsPrivate) }
        let secrets = readWebhookSecrets(members, entry)
        let types = members["types"].flatMap { readTypes($0) }
        let isDisabled = members["disabled"].flatMap { reader.boolean($0) }
        let start = members["from"].flatMap { readTime($0) }
        guard let id, let url, !secrets.isEmpty else { return nil }
        var endpoint = WebhookEndpoint(id: id, url: url, secrets: secrets)
        endpoint.types = types
        endpoint.isDisabled = isDisabled ?? false
        endpoint.start = start
        return endpoint
    }

    private mutating func readURL(_ setting: Setting, _ allowsPrivate: Bool) -> WebhookURL? {
        guard let text = reader.text(setting, most: 2_048) else { return nil }
        do {
            return try WebhookURL(text, allowsPlain: allowsPrivate)
        } catch {
            reader.complain(setting.place, error.sentence)
            return nil
        }
    }

    /// The current secret, then older ones. Empty only after a problem was recorded.
    private mutating func readWebhookSecrets(_ members: [String: Setting], _ entry: Setting) -> [WebhookSecret] {
        guard let current = contents("secret", "secretFile", of: members, entry) else { return [] }
        var texts: [(text: String, place: SettingLocation)] = [
            (String(decoding: current.bytes, as: UTF8.self), current.place)
        ]
        for (name, fileName) in [("previousSecrets", ""), ("", "previousSecretFiles")] {
            guard let setting = members[name.isEmpty ? fileName : name],
                let list = reader.list(setting, most: Self.maximumPreviousSecrets)
            else { continue }
            for item in list {
                let named = [name.isEmpty ? "file" : "text": item]
                guard let old = contents("text", "file", of: named, item) else { continue }
                texts.append((String(decoding: old.bytes, as: UTF8.self), old.place))
            }
        }
        let secrets = texts.map { text, place -> WebhookSecret? in
            if let secret = WebhookSecret(text) { return secret }
            reader.complain(
                place,
                LocalizedText(
                    en: "must be whsec_ and 24 to 64 random bytes in base64: "
                        + "echo \"whsec_$(head -c 32 /dev/urandom | base64)\"",
                    zh: "应为 whsec_ 加 24 到 64 个随机字节的 base64：echo \"whsec_$(head -c 32 /dev/urandom | base64)\""))
            return nil
        }
        return secrets.contains { $0 == nil } ? [] : secrets.compactMap { $0 }
    }

    /// An unknown type is a problem, because its events would silently never arrive.
    private mutating func readTypes(_ setting: Setting) -> Set<String>? {
        guard let list = reader.list(setting, most: 100) else { return nil }
        if list.isEmpty {
            reader.complain(
                setting.place, LocalizedText(en: "is empty; leave it out to receive all events", zh: "为空；删去此项即接收全部事件"))
        }
        return Set(list.compactMap { reader.choice($0, of: EventType.self)?.rawValue })
    }

    mutating func readTime(_ setting: Setting) -> Instant? {
        guard let text = reader.text(setting) else { return nil }
        if let instant = Instant(rfc3339: text) { return instant }
        reader.complain(
            setting.place,
            LocalizedText(
                en: "must be a time like 2026-01-16T00:00:00Z, found \"\(shown(text))\"",
                zh: "应为 2026-01-16T00:00:00Z 这样的时间，实际为“\(shown(text))”"))
        return nil
    }
}

extension WebhookURL.FormatError {
    fileprivate var sentence: LocalizedText {
        switch self {
        case .form:
            LocalizedText(
                en: "must be a URL of at most 2048 printable ASCII characters, without spaces and backslashes",
                zh: "应为最多 2048 个可见 ASCII 字符的 URL，不带空格和反斜杠")
        case .scheme: LocalizedText(en: "must begin with https://", zh: "必须以 https:// 开头")
        case .plain:
            LocalizedText(
                en: "must begin with https://; plain http is for this machine and private networks, with "
                    + "webhooks.allowPrivate",
                zh: "必须以 https:// 开头；明文 http 只用于本机和内网，并要设 webhooks.allowPrivate")
        case .credentials:
            LocalizedText(
                en: "must not contain a user name or password: the sent events are signed", zh: "不能带用户名和密码：发送的内容有签名")
        case .host: LocalizedText(en: "needs a host name or an IP address after ://", zh: "在 :// 后面需要主机名或 IP 地址")
        case .port: LocalizedText(en: "needs a port from 1 to 65535, or none", zh: "端口应在 1 到 65535 之间，或省略")
        case .fragment:
            LocalizedText(
                en: "must not contain #: the part after it is never sent to a server", zh: "不能带 #：其后的内容不会发送到服务器")
        }
    }
}

import TillAppStore
import TillBilling
import TillCrypto
import TillServer

/// `secretKeys`, `operators` and `userTokens`, and the shared parts of such entries. No message of this file contains a
/// secret.
extension ConfigurationReader {
    /// RFC 7518 §3.2: a key for HS256 is as long as the hash.
    static let minimumSecretBytes = 32
    private static let maximumSecretBytes = 4_096
    private static let maximumKeys = 100

    mutating func readSecretKeys(_ key: ConfigurationKey) -> [SecretKey] {
        guard let setting = setting(key), let list = reader.list(setting, most: Self.maximumKeys) else { return [] }
        var keys: [SecretKey] = []
        for entry in list {
            guard let members = reader.object(entry, names: ConfigurationKey.hashedKeyNames) else { continue }
            let id = readID(members, entry, taken: keys.map(\.id))
            let validity = readValidity(members)
            guard let hash = reader.required("sha256", of: members, in: entry.place), let text = reader.text(hash)
            else {
                continue
            }
            guard let sha256 = bytes(hexadecimal: text), sha256.count == 32 else {
                reader.complain(
                    hash.place,
                    LocalizedText(
                        en: "must be 64 hexadecimal digits: the SHA-256 of the key, not the key itself",
                        zh: "应为 64 位十六进制数字：密钥的 SHA-256，而不是密钥本身"))
                continue
            }
            if let id { keys.append(SecretKey(id: id, sha256: sha256, validity: validity)) }
        }
        return keys
    }

    mutating func readUserTokens() -> [UserTokenKey] {
        guard let setting = setting(.userTokens), let list = reader.list(setting, most: Self.maximumKeys) else {
            return []
        }
        var keys: [UserTokenKey] = []
        for entry in list {
            guard let members = reader.object(entry, names: ConfigurationKey.userTokenNames) else { continue }
            let id = readID(members, entry, taken: keys.map(\.id))
            let issuer = members["issuer"].flatMap { reader.identifier($0) }
            let audience = members["audience"].flatMap { reader.identifier($0) }
            let lifetime = readLifetime(members)
            let algorithm = readAlgorithm(members, entry)
            let validity = readValidity(members)
            if let id, let algorithm {
                var key = UserTokenKey(
                    id: id, algorithm: algorithm, issuer: issuer, audience: audience, maximumLifetime: lifetime)
                key.validity = validity
                keys.append(key)
            }
        }
        return keys
    }

    /// `notBefore` and `expires`. A key that has expired is no problem: it is refused when it is used, and a server
    /// with such a key starts.
    private mutating func readValidity(_ members: [String: Setting]) -> KeyValidity {
        let start = members["notBefore"].flatMap { readTime($0) }
        let end = members["expires"].flatMap { readTime($0) }
        if let start, let end, let setting = members["expires"], end <= start {
            reader.complain(
                setting.place, LocalizedText(en: "must be later than notBefore", zh: "应晚于 notBefore"))
        }
        return KeyValidity(notBefore: start, expires: end)
    }

    /// At most a year: a credential that lives longer is a key and not a token.
    private mutating func readLifetime(_ members: [String: Setting]) -> Int64? {
        guard let setting = members["maximumLifetime"], let seconds = reader.positiveInteger(setting) else {
            return nil
        }
        guard (60...31_536_000).contains(seconds) else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "must be 60 to 31536000 seconds, is \(seconds)", zh: "应在 60 到 31536000 秒之间，现在是 \(seconds)"))
            return nil
        }
        return seconds
    }

    /// The name of an entry, as shown in logs and histories.
    mutating func readID(_ members: [String: Setting], _ entry: Setting, taken: [String]) -> String? {
        guard let setting = reader.required("id", of: members, in: entry.place),
            let id = reader.text(setting, most: 64)
        else { return nil }
        guard id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            reader.complain(
                setting.place,
                LocalizedText(en: "must be printable ASCII without spaces", zh: "应为不含空格的可见 ASCII 字符"))
            return nil
        }
        guard !taken.contains(id) else {
            reader.complain(
                setting.place,
                LocalizedText(en: "\"\(shown(id))\" is the id of an earlier entry", zh: "“\(shown(id))”和前面一项的 id 相同"))
            return nil
        }
        return id
    }

    private mutating func readAlgorithm(
        _ members: [String: Setting], _ entry: Setting
    ) -> UserTokenKey.Algorithm? {
        guard let setting = reader.required("algorithm", of: members, in: entry.place),
            let algorithm = reader.text(setting)
        else { return nil }
        switch algorithm {
        case "HS256":
            refuse(["publicKey", "publicKeyFile"], of: members, besides: algorithm)
            return readSecret(members, entry)
        case "ES256":
            refuse(["secret", "secretFile"], of: members, besides: algorithm)
            return readPublicKey(members, entry)
        default:
            let near = nearestName(to: algorithm, among: ["HS256", "ES256"])
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "must be HS256 or ES256, found \"\(shown(algorithm))\""
                        + (near.map { ". Did you mean \($0)?" } ?? ""),
                    zh: "应为 HS256 或 ES256，实际为“\(shown(algorithm))”" + (near.map { "。是否想写 \($0)？" } ?? "")))
            return nil
        }
    }

    private mutating func refuse(_ names: [String], of members: [String: Setting], besides algorithm: String) {
        for name in names {
            guard let setting = members[name] else { continue }
            reader.complain(
                setting.place, LocalizedText(en: "can't be used with \(algorithm)", zh: "不能与 \(algorithm) 一起使用"))
        }
    }

    private mutating func readSecret(_ members: [String: Setting], _ entry: Setting) -> UserTokenKey.Algorithm? {
        guard let (secret, place) = contents("secret", "secretFile", of: members, entry) else { return nil }
        guard secret.count >= Self.minimumSecretBytes else {
            reader.complain(
                place,
                LocalizedText(
                    en: "must be at least \(Self.minimumSecretBytes) bytes, is \(secret.count)",
                    zh: "至少为 \(Self.minimumSecretBytes) 字节，现在是 \(secret.count)"))
            return nil
        }
        return .hs256(secret: secret)
    }

    private mutating func readPublicKey(_ members: [String: Setting], _ entry: Setting) -> UserTokenKey.Algorithm? {
        guard let (text, place) = contents("publicKey", "publicKeyFile", of: members, entry) else { return nil }
        guard let key = PublicKey(pem: String(decoding: text, as: UTF8.self)), key.isP256 else {
            reader.complain(
                place,
                LocalizedText(
                    en: "is not a P-256 public key in PEM (-----BEGIN PUBLIC KEY-----)",
                    zh: "不是 PEM 格式的 P-256 公钥（-----BEGIN PUBLIC KEY-----）"))
            return nil
        }
        return .es256(key)
    }

    /// The text of `name`, or the content of the file in `fileName`, without the trailing line end that editors add.
    mutating func contents(
        _ name: String, _ fileName: String, of members: [String: Setting], _ entry: Setting
    ) -> (bytes: [UInt8], place: SettingLocation)? {
        switch (members[name], members[fileName]) {
        case (nil, nil):
            reader.complain(
                entry.place, LocalizedText(en: "needs \(name) or \(fileName)", zh: "需要 \(name) 或 \(fileName)"))
            return nil
        case (_?, let file?):
            reader.complain(
                file.place,
                LocalizedText(en: "can't be combined with \(name); set only one", zh: "不能与 \(name) 同时设置；只能设置一个"))
            return nil
        case (let setting?, nil):
            if name != "publicKey" { reader.noteSecret(in: setting.place.origin) }
            return reader.text(setting, most: Self.maximumSecretBytes).map { (Array($0.utf8), setting.place) }
        case (nil, let setting?):
            if fileName != "publicKeyFile", let path = reader.text(setting, most: 4_096) {
                reader.noteSecret(in: resolve(path, from: setting.base))
            }
            guard let path = reader.text(setting, most: 4_096),
                var content = reader.file(
                    resolve(path, from: setting.base), place: setting.place, most: Self.maximumSecretBytes)
            else { return nil }
            while content.last == 0x0A || content.last == 0x0D { content.removeLast() }
            return (content, setting.place)
        }
    }
}

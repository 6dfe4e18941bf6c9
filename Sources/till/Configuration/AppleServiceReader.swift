import TillAppStore
import TillBilling
import TillCrypto

/// The settings for calls to Apple: key, secret, hosts and revocation checking.
struct AppleServiceSettings: Sendable {
    /// Nil: the App Store Server API is not used, and no offers are signed.
    let key: InAppPurchaseKey?
    /// Nil: verifyReceipt is called without a secret, and refuses receipts with subscriptions (21004).
    let sharedSecret: String?
    let revocation: RevocationPolicy
    let hosts: AppleHosts
    /// Whether the host is an emulator and not Apple.
    var asksEmulator: Bool { hosts.emulator != nil }

    /// Whether Apple can be asked about receipts: by the App Store Server API or by verifyReceipt.
    var canAskAboutReceipts: Bool { key != nil || sharedSecret != nil }

    /// No calls to Apple.
    static let none = AppleServiceSettings(
        key: nil, sharedSecret: nil, revocation: .off, hosts: .apple)
}

/// `apple.issuerId`, `keyId`, `privateKey`, `sharedSecret`, `revocation`, `emulator`. No message contains a secret.
extension ConfigurationReader {
    /// Nil only after a problem was recorded.
    mutating func readAppleService() -> AppleServiceSettings? {
        let before = problems.count
        let key = readInAppPurchaseKey()
        let sharedSecret = readSharedSecret()
        let revocation = readRevocation()
        let emulator = readEmulator()
        guard problems.count == before else { return nil }
        return AppleServiceSettings(
            key: key, sharedSecret: sharedSecret, revocation: revocation,
            hosts: emulator.map(AppleHosts.emulator(at:)) ?? .apple)
    }

    /// All three parts or none.
    private mutating func readInAppPurchaseKey() -> InAppPurchaseKey? {
        let keyText = secret(.privateKey, .privateKeyFile)
        let parts: [ConfigurationKey] = [.issuerID, .keyID]
        let given = parts.compactMap(setting)
        guard setting(.privateKey) ?? setting(.privateKeyFile) != nil || !given.isEmpty else { return nil }
        let issuerID = requiredSetting(.issuerID).flatMap { matching($0, Self.issuerForm) { UniqueID($0) != nil } }
        let keyID = requiredSetting(.keyID).flatMap { setting in
            matching(setting, Self.keyIDForm) { text in
                text.utf8.count <= 32
                    && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }
            }
        }
        if setting(.privateKey) == nil, setting(.privateKeyFile) == nil { _ = requiredSetting(.privateKey) }
        guard let issuerID, let keyID, let keyText else { return nil }
        do {
            let privateKey = try PrivateKey(pem: keyText.text)
            return try InAppPurchaseKey(issuerID: issuerID, keyID: keyID, privateKey: privateKey)
        } catch {
            reader.complain(
                keyText.place,
                LocalizedText(
                    en: "is not a P-256 private key in PKCS#8 PEM (-----BEGIN PRIVATE KEY-----), as App Store Connect "
                        + "provides in a .p8 file",
                    zh: "不是 PKCS#8 PEM 格式的 P-256 私钥（-----BEGIN PRIVATE KEY-----），即 App Store Connect 提供的 .p8 文件"))
            return nil
        }
    }

    private mutating func readSharedSecret() -> String? {
        guard let secret = secret(.sharedSecret, .sharedSecretFile) else { return nil }
        if (1...128).contains(secret.text.utf8.count), secret.text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            return secret.text
        }
        reader.complain(
            secret.place,
            LocalizedText(
                en: "must be 1 to 128 printable ASCII characters without spaces, as shown in App Store Connect",
                zh: "应为 1 到 128 个不含空格的可见 ASCII 字符，与 App Store Connect 中显示的一致"))
        return nil
    }

    private mutating func readRevocation() -> RevocationPolicy {
        guard let setting = setting(.revocation), let text = reader.text(setting) else { return .off }
        if let policy = RevocationPolicy(rawValue: text) { return policy }
        let names = RevocationPolicy.allCases.map(\.rawValue)
        let near = nearestName(to: text, among: names)
        reader.complain(
            setting.place,
            LocalizedText(
                en: "must be off, soft or hard, found \"\(shown(text))\""
                    + (near.map { ". Did you mean \($0)?" } ?? ""),
                zh: "应为 off、soft 或 hard，实际为“\(shown(text))”" + (near.map { "。是否想写 \($0)？" } ?? "")))
        return .off
    }

    /// `http://127.0.0.1:8788`: scheme, host and port only.
    private mutating func readEmulator() -> String? {
        guard let setting = setting(.emulator), let text = reader.text(setting) else { return nil }
        let origin = text.hasSuffix("/") ? String(text.dropLast()) : text
        let rest = origin.hasPrefix("http://") ? origin.dropFirst(7) : origin.dropFirst(8)
        let isOrigin = origin.hasPrefix("http://") || origin.hasPrefix("https://")
        guard isOrigin, ListenAddress(String(rest)) != nil || ListenAddress(rest + ":80") != nil else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "must be the origin of an emulated store such as http://127.0.0.1:8788, found "
                        + "\"\(shown(text))\"",
                    zh: "应为模拟商店的地址，如 http://127.0.0.1:8788，实际为“\(shown(text))”"))
            return nil
        }
        // An emulator's answers would be accepted as Apple's.
        let environments = self.setting(.environments)?.value.array ?? []
        guard !environments.contains(.string(StoreEnvironment.production.rawValue)) else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en:
                        "can't be combined with Production: an emulated store knows no real purchases. Remove "
                        + "one of the two",
                    zh: "不能与 Production 同时使用：真实的购买绝不能向模拟商店查询。请去掉其中之一"))
            return nil
        }
        return origin
    }

    // MARK: Forms

    private static let issuerForm = LocalizedText(
        en: "must be the issuer id of App Store Connect, a UUID", zh: "应为 App Store Connect 的 issuer id，是一个 UUID")
    private static let keyIDForm = LocalizedText(
        en: "must be the key's id, letters and digits like 2X9R4HXF34", zh: "应为密钥的 id，由字母和数字组成，如 2X9R4HXF34")

    private mutating func matching(_ setting: Setting, _ form: LocalizedText, _ isGood: (String) -> Bool) -> String? {
        guard let text = reader.text(setting) else { return nil }
        if isGood(text) { return text }
        reader.complain(
            setting.place,
            LocalizedText(en: "\(form.en), found \"\(shown(text))\"", zh: "\(form.zh)，实际为“\(shown(text))”"))
        return nil
    }

    /// The text of one key, or the content of the file that the other key names, without its trailing line end.
    mutating func secret(_ key: ConfigurationKey, _ fileKey: ConfigurationKey) -> (
        text: String, place: SettingLocation
    )? {
        switch (setting(key), setting(fileKey)) {
        case (nil, nil): return nil
        case (_?, let file?):
            reader.complain(
                file.place,
                LocalizedText(en: "can't be combined with \(key.name); set only one", zh: "不能与 \(key.name) 同时设置；只能设置一个")
            )
            return nil
        case (let setting?, nil):
            reader.noteSecret(in: setting.place.origin)
            return reader.text(setting, most: 4_096).map { ($0, setting.place) }
        case (nil, let setting?):
            guard let path = reader.text(setting, most: 4_096) else { return nil }
            reader.noteSecret(in: resolve(path, from: setting.base))
            guard
                var content = reader.file(resolve(path, from: setting.base), place: setting.place, most: 4_096)
            else { return nil }
            while content.last == 0x0A || content.last == 0x0D { content.removeLast() }
            return (String(decoding: content, as: UTF8.self), setting.place)
        }
    }
}

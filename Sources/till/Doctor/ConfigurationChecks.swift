import TillAppStore
import TillBilling
import TillCrypto
import TillServer

/// The checks that read only the configuration: its settings, certificates and keys.
struct ConfigurationChecks: Sendable {
    let configuration: Configuration
    let now: Instant

    var all: [DoctorCheck] { settings + certificates + keys + receipts + offers }

    private static let correct = LocalizedText(
        en: "Correct it; docs/configuration.md lists every key with its bounds.",
        zh: "请更正；docs/configuration.zh-CN.md 列出每个键及其取值范围。")

    // MARK: A configuration that can't be used

    /// Every problem under the check it belongs to; nothing else can be checked.
    static func unreadable(_ error: ConfigurationError) -> [DoctorCheck] {
        let problems = error.problems.map { problem in
            DoctorCheck.error(name(of: problem.place), problem.sentence, do: correct)
        }
        let count = error.problems.count
        let summary = DoctorCheck.error(
            .configuration,
            LocalizedText(
                en: "The configuration has \(count == 1 ? "a problem" : "\(count) problems"), and no server can start.",
                zh: "配置有 \(count) 处问题，服务器无法启动。"),
            do: correct)
        let named = Set(problems.map(\.name)).union([.configuration])
        let rest = DoctorCheck.Name.allCases.filter { !named.contains($0) }.map { name in
            DoctorCheck.notChecked(
                name, because: LocalizedText(en: "the configuration can't be used", zh: "配置无法使用"), do: correct)
        }
        return DoctorCheck.sorted([summary] + problems + rest)
    }

    /// `apple.privateKey…` in a file, `TILL_APPLE_PRIVATE_KEY…` in the environment.
    private static func name(of place: SettingLocation) -> DoctorCheck.Name {
        let kinds: [(keys: [ConfigurationKey], name: DoctorCheck.Name)] = [
            ([.issuerID, .keyID, .privateKey, .privateKeyFile], .apiKey),
            ([.roots, .xcodeCertificate], .certificates), ([.sharedSecret, .sharedSecretFile], .sharedSecret),
            ([.secretKeys, .userTokens, .operators], .keys), ([.webhookEndpoints], .webhooks),
        ]
        let found = kinds.first { kind in
            kind.keys.contains { key in
                place.path == key.rawValue || place.path.hasPrefix(key.rawValue + "[") || place.origin == key.variable
                    || place.origin == key.variable + "_FILE"
            }
        }
        return found?.name ?? .configuration
    }

    // MARK: Settings

    private var settings: [DoctorCheck] {
        let warnings = (configuration.testServerWarnings + configuration.plainWarnings + configuration.priceWarnings)
            .map { DoctorCheck.warning(.configuration, $0, do: Self.correct) }
        guard warnings.isEmpty else { return warnings }
        let environments = configuration.apple.environments.map(\.rawValue).sorted().joined(separator: ", ")
        let count = configuration.catalog.products.count
        return [
            .ok(
                .configuration,
                en: "Complete: \(configuration.apple.bundleID), \(environments), \(count) products.",
                zh: "完整：\(configuration.apple.bundleID)，\(environments)，\(count) 种商品。")
        ]
    }

    private var receipts: [DoctorCheck] {
        if let warning = configuration.receiptWarnings.first {
            return [
                .warning(
                    .receipts, warning,
                    do: LocalizedText(
                        en: "Set apple.issuerId, apple.keyId and apple.privateKeyFile; or apple.sharedSecretFile.",
                        zh: "请设置 apple.issuerId、apple.keyId 与 apple.privateKeyFile；或设置 apple.sharedSecretFile。"))
            ]
        }
        return configuration.appleService.key != nil
            ? [
                .ok(
                    .receipts, en: "Signed copies are fetched with the In-App Purchase Key.",
                    zh: "使用 App 内购买项目密钥获取签名交易。")
            ] : [.ok(.receipts, en: "Apple's verifyReceipt is asked.", zh: "向 Apple 的 verifyReceipt 查询。")]
    }

    private var offers: [DoctorCheck] {
        let warnings = configuration.offerWarnings.map { warning in
            DoctorCheck.warning(
                .offers, warning,
                do: LocalizedText(
                    en: "Set apple.issuerId, apple.keyId and apple.privateKeyFile.",
                    zh: "请设置 apple.issuerId、apple.keyId 与 apple.privateKeyFile。"))
        }
        guard warnings.isEmpty else { return warnings }
        return [.ok(.offers, en: "Every open offer can be signed.", zh: "对用户开放的优惠都可以签名。")]
    }

    // MARK: Certificates

    /// Days before the end of a certificate at which a warning begins.
    static let certificateDays: Int64 = 30

    private var certificates: [DoctorCheck] {
        let apples = configuration.apple.roots == nil
        let roots = (configuration.apple.roots ?? AppleRoots.all).compactMap(Certificate.init(der:))
        let test = configuration.apple.xcodeCertificate.flatMap(Certificate.init(der:))
        let dated =
            roots.compactMap { validity($0, key: "apple.roots") }
            + [test].compactMap { $0 }.compactMap { validity($0, key: "apple.xcodeCertificate") }
        let found =
            dated + configuration.rootWarnings.map { .warning(.certificates, $0, do: Self.correct) }
        guard found.isEmpty else { return found }
        let end = (roots + [test].compactMap { $0 }).map(\.notAfter).min() ?? 0
        let date = Instant(seconds: end).rfc3339.prefix(10)
        return [
            apples
                ? .ok(
                    .certificates, en: "Apple's roots are trusted; the first ends on \(date).",
                    zh: "信任 Apple 的根证书；最早的有效期至 \(date)。")
                : .ok(
                    .certificates, en: "The configured certificates are valid; the first ends on \(date).",
                    zh: "所配置的证书有效；最早的有效期至 \(date)。")
        ]
    }

    private func validity(_ certificate: Certificate, key: String) -> DoctorCheck? {
        let (name, left) = ("\(key): \(shown(certificate.subject))", certificate.notAfter - now.seconds)
        let action = LocalizedText(
            en: "Configure its successor beside it, before it ends.", zh: "请在到期之前同时配置其后继证书。")
        if certificate.notBefore > now.seconds {
            let date = Instant(seconds: certificate.notBefore).rfc3339
            return .error(
                .certificates,
                LocalizedText(en: "\(name) is valid only from \(date) on.", zh: "\(name) 自 \(date) 起才有效。"),
                do: LocalizedText(en: "Check this machine's clock.", zh: "请检查本机的时钟。"))
        }
        if left < 0 {
            let date = Instant(seconds: certificate.notAfter).rfc3339
            return .error(
                .certificates, LocalizedText(en: "\(name) ended on \(date).", zh: "\(name) 已于 \(date) 到期。"),
                do: action)
        }
        guard left < Self.certificateDays * 86_400 else { return nil }
        return .warning(
            .certificates,
            LocalizedText(en: "\(name) ends in \(left / 86_400) days.", zh: "\(name) 将在 \(left / 86_400) 天后到期。"),
            do: action)
    }
}

// MARK: Keys

extension ConfigurationChecks {
    private var keys: [DoctorCheck] {
        let found = callers + weak + repeated
        guard found.isEmpty else { return found }
        let (backends, apps) = (configuration.secretKeys.count, configuration.userTokens.count)
        let operators = configuration.operators.count
        return [
            .ok(
                .keys, en: "\(backends) for backends, \(apps) for user tokens, \(operators) for operators.",
                zh: "后端密钥 \(backends) 个，用户令牌密钥 \(apps) 个，运营密钥 \(operators) 个。")
        ]
    }

    /// Kinds of callers that no key lets in.
    private var callers: [DoctorCheck] {
        func missing(_ key: String, _ english: String, _ chinese: String) -> DoctorCheck {
            .warning(
                .keys, LocalizedText(en: "\(key) is empty: \(english).", zh: "\(key) 为空：\(chinese)。"),
                do: LocalizedText(en: "Add a key, as `till init` writes it.", zh: "请按“till init”写出的形式添加密钥。"))
        }
        var found: [DoctorCheck] = []
        if configuration.secretKeys.isEmpty {
            found.append(missing("secretKeys", "no backend can call the server", "任何后端都无法调用服务器"))
        }
        if configuration.userTokens.isEmpty {
            found.append(missing("userTokens", "no app can call the server", "任何 App 都无法调用服务器"))
        }
        if configuration.operators.isEmpty {
            found.append(missing("operators", "no operator can open the dashboard", "任何运营人员都无法打开控制台"))
        }
        return found
    }

    private var weak: [DoctorCheck] {
        let weak = configuration.userTokens.compactMap(Configuration.warning(of:)).map { warning in
            DoctorCheck.warning(
                .keys, warning,
                do: LocalizedText(
                    en: "Add the new key beside the old one, sign new tokens with it, then remove the old one.",
                    zh: "请在旧密钥旁添加新密钥，改用新密钥签发令牌，然后移除旧密钥。"))
        }
        let ending = configuration.keyWarnings(at: now).map {
            DoctorCheck.warning(
                .keys, $0,
                do: LocalizedText(
                    en: "Rotate the key: till keys add, till reload, and till keys retire once it is unused.",
                    zh: "请更换密钥：till keys add、till reload，不再使用后执行 till keys retire。"))
        }
        return weak + ending
            + configuration.lifetimeWarnings.map {
                .warning(
                    .keys, $0, do: LocalizedText(en: "Set maximumLifetime.", zh: "请设置 maximumLifetime。"))
            }
    }

    /// One secret under two names: a leak of one is a leak of both.
    private var repeated: [DoctorCheck] {
        var secrets: [(name: String, digest: [UInt8])] = []
        secrets += configuration.secretKeys.map { ("secretKeys \"\(shown($0.id))\"", $0.sha256) }
        secrets += configuration.operators.map { ("operators \"\(shown($0.id))\"", $0.sha256) }
        for key in configuration.userTokens {
            guard case .hs256(let secret) = key.algorithm else { continue }
            secrets.append(("userTokens \"\(shown(key.id))\"", Digest.sha256.hash(secret)))
        }
        let groups = Dictionary(grouping: secrets, by: \.digest).values.filter { $0.count > 1 }
        return groups.map { $0.map(\.name).joined(separator: ", ") }.sorted().map { names in
            .error(
                .keys, LocalizedText(en: "These share one secret: \(names).", zh: "以下各项使用同一个密钥：\(names)。"),
                do: LocalizedText(
                    en: "Give each its own: a leaked app key must not be a backend's.",
                    zh: "请分别使用各自的密钥：泄露的 App 密钥不得同时是后端密钥。"))
        }
    }
}

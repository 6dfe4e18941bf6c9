import TillBilling
import TillCrypto
import TillJSON
import TillServer

/// What differs between the configuration of a running server and a new one, setting by setting. No text contains a
/// secret, a user's id or a URL, which may contain a secret too.
struct ConfigurationChanges: Sendable {
    /// What a reload changes.
    private(set) var applied: [LocalizedText] = []
    /// What only a restart changes.
    private(set) var needRestart: [ConfigurationKey] = []

    var isEmpty: Bool { applied.isEmpty && needRestart.isEmpty }

    /// The most lines about one list.
    private static let longestList = 20

    init(from old: Configuration, to new: Configuration) {
        needRestart = ConfigurationKey.allCases.filter {
            Self.isFixed($0) && Self.value(of: $0, old) != Self.value(of: $0, new)
        }
        compareProducts(old.catalog, new.catalog)
        compareKeys(.secretKeys, old.secretKeys.map(KeyFacts.init), new.secretKeys.map(KeyFacts.init))
        compareKeys(.userTokens, old.userTokens.map(KeyFacts.init), new.userTokens.map(KeyFacts.init))
        compareKeys(.operators, old.operators.map(KeyFacts.init), new.operators.map(KeyFacts.init))
        compareEndpoints(old.webhooks.endpoints, new.webhooks.endpoints)
        for key in ConfigurationKey.allCases where Self.compares(key) && !Self.isFixed(key) {
            let (before, after) = (old.written[key], new.written[key])
            if before != after { applied.append(Self.change(of: key, before, after)) }
        }
    }

    // MARK: Settings that need a restart

    /// What binds a socket, a file, or what the ledger was opened and its proofs are verified with.
    static func isFixed(_ key: ConfigurationKey) -> Bool {
        switch key {
        case .listen, .unsafeHTTP, .database, .trustedProxies, .webhooksAllowPrivate: true
        default: ["apple", "erasure", "seals"].contains(key.section)
        }
    }

    /// The value as far as two of them can be compared; of a file, its content.
    private static func value(of key: ConfigurationKey, _ configuration: Configuration) -> AnyHashable {
        let (apple, service) = (configuration.apple, configuration.appleService)
        switch key {
        case .listen: return configuration.listen
        case .unsafeHTTP: return configuration.unsafeHTTP
        case .database: return configuration.database
        case .trustedProxies: return configuration.trustedProxies
        case .webhooksAllowPrivate: return configuration.webhooks.allowsPrivate
        case .bundleID: return apple.bundleID
        case .appAppleID: return apple.appAppleID
        case .environments: return apple.environments
        case .roots: return apple.roots
        case .xcodeCertificate: return apple.xcodeCertificate
        case .issuerID: return service.key?.issuerID
        case .keyID: return service.key?.keyID
        case .privateKey: return service.key.flatMap { try? $0.privateKey.publicKeyInfo() }
        case .sharedSecret: return service.sharedSecret
        case .revocation: return service.revocation
        case .emulator: return service.hosts
        case .erasureKey: return configuration.erasure?.key
        case .erasureList: return configuration.erasure?.list
        case .sealKey: return configuration.sealKey
        // The file of a secret counts as the secret itself.
        default: return 0
        }
    }

    // MARK: Settings without secrets

    /// Whether the written values of this setting are compared: it is no list of keys or products.
    static func compares(_ key: ConfigurationKey) -> Bool {
        switch key {
        case .catalog, .secretKeys, .userTokens, .operators, .webhookEndpoints: false
        default: !["apple", "erasure", "seals"].contains(key.section)
        }
    }

    private static func change(of key: ConfigurationKey, _ before: JSONValue?, _ after: JSONValue?) -> LocalizedText {
        guard key != .reviewUsers else {
            return LocalizedText(en: "\(key.rawValue): changed", zh: "\(key.rawValue)：已更改")
        }
        func text(_ value: JSONValue?) -> LocalizedText {
            value.map { LocalizedText(shown($0.encoded())) } ?? LocalizedText(en: "the default", zh: "默认值")
        }
        let (old, new) = (text(before), text(after))
        return LocalizedText(
            en: "\(key.rawValue): \(old.en) → \(new.en)", zh: "\(key.rawValue)：\(old.zh) → \(new.zh)")
    }

    // MARK: Lists

    private mutating func compareProducts(_ old: Catalog, _ new: Catalog) {
        var lines: [LocalizedText] = []
        for product in new.products {
            let id = product.id.text
            guard let before = old[product.id] else {
                lines.append(LocalizedText(en: "catalog: \(id) added", zh: "catalog：新增 \(id)"))
                continue
            }
            guard before != product else { continue }
            let (was, now) = (Self.text(before.price), Self.text(product.price))
            lines.append(
                was == now
                    ? LocalizedText(en: "catalog: \(id) changed", zh: "catalog：\(id) 已更改")
                    : LocalizedText(en: "catalog: \(id): price \(was) → \(now)", zh: "catalog：\(id)：价格 \(was) → \(now)")
            )
        }
        for product in old.products where new[product.id] == nil {
            lines.append(
                LocalizedText(en: "catalog: \(product.id.text) removed", zh: "catalog：删除 \(product.id.text)"))
        }
        if lines.isEmpty, old.products != new.products {
            lines.append(LocalizedText(en: "catalog: another order of the products", zh: "catalog：商品顺序已更改"))
        }
        append(lines, about: "catalog")
    }

    private static func text(_ money: Money) -> String { "\(money.amount) \(money.currency.text)" }

    private struct KeyFacts {
        let id: String
        let validity: KeyValidity
        /// What identifies the key and its terms, without its validity.
        let rest: AnyHashable

        init(_ key: SecretKey) { (id, validity, rest) = (key.id, key.validity, key.sha256) }

        init(_ key: UserTokenKey) {
            var timeless = key
            timeless.validity = .always
            (id, validity, rest) = (key.id, key.validity, timeless)
        }
    }

    private mutating func compareKeys(_ list: ConfigurationKey, _ old: [KeyFacts], _ new: [KeyFacts]) {
        let name = list.rawValue
        var lines: [LocalizedText] = []
        for key in new {
            let id = shown(key.id)
            guard let before = old.first(where: { $0.id == key.id }) else {
                lines.append(LocalizedText(en: "\(name): \(id) added", zh: "\(name)：新增 \(id)"))
                continue
            }
            if before.rest != key.rest {
                lines.append(LocalizedText(en: "\(name): \(id) replaced", zh: "\(name)：\(id) 已替换"))
            }
            if before.validity != key.validity {
                let end = key.validity.expires.map { "\($0)" }
                lines.append(
                    LocalizedText(
                        en: "\(name): \(id) " + (end.map { "expires at \($0)" } ?? "does not expire"),
                        zh: "\(name)：\(id) " + (end.map { "将于 \($0) 到期" } ?? "不会到期")))
            }
        }
        for key in old where !new.contains(where: { $0.id == key.id }) {
            lines.append(LocalizedText(en: "\(name): \(shown(key.id)) removed", zh: "\(name)：删除 \(shown(key.id))"))
        }
        append(lines, about: name)
    }

    private mutating func compareEndpoints(_ old: [WebhookEndpoint], _ new: [WebhookEndpoint]) {
        let name = ConfigurationKey.webhookEndpoints.rawValue
        var lines: [LocalizedText] = []
        for endpoint in new {
            let id = shown(endpoint.id)
            guard let before = old.first(where: { $0.id == endpoint.id }) else {
                lines.append(LocalizedText(en: "\(name): \(id) added", zh: "\(name)：新增 \(id)"))
                continue
            }
            let members = [
                ("url", before.url != endpoint.url), ("secrets", before.secrets != endpoint.secrets),
                ("types", before.types != endpoint.types), ("disabled", before.isDisabled != endpoint.isDisabled),
                ("from", before.start != endpoint.start),
            ].filter(\.1).map(\.0).joined(separator: ", ")
            if !members.isEmpty {
                lines.append(
                    LocalizedText(en: "\(name): \(id): \(members) changed", zh: "\(name)：\(id)：\(members) 已更改"))
            }
        }
        for endpoint in old where !new.contains(where: { $0.id == endpoint.id }) {
            let id = shown(endpoint.id)
            lines.append(LocalizedText(en: "\(name): \(id) removed", zh: "\(name)：删除 \(id)"))
        }
        append(lines, about: name)
    }

    private mutating func append(_ lines: [LocalizedText], about list: String) {
        applied += lines.prefix(Self.longestList)
        let more = lines.count - Self.longestList
        if more > 0 {
            applied.append(LocalizedText(en: "\(list): \(more) more changes", zh: "\(list)：另有 \(more) 处更改"))
        }
    }
}

import TillBilling
import TillHTTP
import TillLedger
import TillServer

/// What `till serve` is told: read from one JSON file, the environment and flags by `Configuration.load`.
struct Configuration: Sendable {
    let listen: ListenAddress
    /// Whether to serve with a libmicrohttpd that the border was not made for.
    var unsafeHTTP = false
    let database: DatabaseLocation
    let catalog: Catalog
    let apple: AppleSettings
    let appleService: AppleServiceSettings
    /// Keys of backends, which may speak for any user.
    let secretKeys: [SecretKey]
    /// Keys that tokens of users are signed with.
    let userTokens: [UserTokenKey]
    /// Keys of people who may see the dashboard.
    let operators: [SecretKey]
    /// Names under which the dashboard may be asked for, beside the loopback's.
    let dashboardHosts: [String]
    /// Proxies that may name the client they ask for.
    var trustedProxies = TrustedProxies()
    /// Users who see the sandbox beside production (App Review buys there; DESIGN §4, invariant 7).
    let reviewUsers: Set<UserID>
    /// What becomes of points that were spent before Apple took their purchase back.
    var debt = DebtPolicy.owe
    /// How many refunds of one customer are forgiven in 365 days.
    var forgivenPerYear = 1
    /// What Apple is told before it decides about a refund.
    var consumption = ConsumptionSettings()
    /// What becomes of another customer's purchase when somebody restores it.
    var restore = RestoreTerms()
    /// Who is a guest, and how long becoming part of an account can be undone.
    var guests = GuestTerms()
    /// What becomes of receipts whose signed copies Apple can't be asked for.
    var receipts = ReceiptTerms()
    /// What Apple agreed on with the developer.
    var developerTerms = DeveloperTerms()
    /// When customers are reminded of what ends.
    var reminders = ReminderPolicy.standard
    /// In which order purchases are delivered.
    var orders = OrderSettings()
    var delivery = DeliveryTerms()
    /// When and how much is compared with Apple's books.
    var reconciliation = ReconciliationSettings()
    /// Where events are pushed to.
    var webhooks = WebhookSettings()
    /// Files that a secret was read from.
    var secretFiles: Set<String> = []
}

/// Where the server listens.
struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    let host: String
    /// 0 lets the system choose.
    let port: UInt16

    static let standard = ListenAddress(host: "127.0.0.1", port: 8_787)

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// From `host:port` or `[ipv6]:port`; nil for anything else.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        guard (1...255).contains(host.utf8.count) else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":"), host.utf8.allSatisfy({ isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }) else {
                return nil
            }
        } else {
            guard !host.isEmpty, host.utf8.allSatisfy(isHostCharacter) else { return nil }
        }
        self.init(host: String(host), port: port)
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Where the ledger lies.
enum DatabaseLocation: Sendable, Hashable {
    /// A file; its path is resolved already.
    case sqlite(path: String)
}

/// What we believe of Apple's signatures.
struct AppleSettings: Sendable, Hashable {
    let bundleID: String
    /// The app's number in the App Store; there whenever production is accepted.
    let appAppleID: Int64?
    let environments: Set<Environment>
    /// Trusted root certificates in DER; nil means Apple's own. Never anything else beside production.
    let roots: [[UInt8]]?
}

private func isHexDigit(_ unit: UInt8) -> Bool {
    (0x30...0x39).contains(unit) || (0x41...0x46).contains(unit & 0xDF)
}

private func isHostCharacter(_ unit: UInt8) -> Bool {
    (0x30...0x39).contains(unit) || (0x41...0x5A).contains(unit & 0xDF) || unit == 0x2D || unit == 0x2E
}

extension Configuration {
    /// What the server itself needs to know of it.
    var server: ServerConfiguration {
        var server = ServerConfiguration(
            catalog: catalog,
            apple: AppleTrust(
                roots: apple.roots ?? [], bundleID: apple.bundleID, appAppleID: apple.appAppleID,
                environments: apple.environments, revocation: appleService.revocation),
            secretKeys: secretKeys, userTokens: userTokens, operators: operators, dashboardHosts: dashboardHosts,
            reviewUsers: reviewUsers, inAppPurchaseKey: appleService.key)
        server.apple.sharedSecret = appleService.sharedSecret
        server.debt = debt
        server.forgivenPerYear = forgivenPerYear
        server.consumption = consumption
        server.restore = restore
        server.guests = guests
        server.receipts = receipts
        server.developerTerms = developerTerms
        server.reminders = reminders
        server.orders = orders
        server.delivery = delivery
        server.reconciliation = reconciliation
        server.webhooks = webhooks
        return server
    }
}

extension Flag {
    static let config = Flag(
        "config", .text("FILE"),
        summary: Text(en: "the configuration (`till init` writes one)", zh: "配置文件（“till init” 会写一份）"))
    static let listen = Flag(
        "listen", .text("ADDRESS:PORT"),
        summary: Text(en: "listen there instead of where the configuration says", zh: "监听这个地址，而不是配置里的"))
    static let database = Flag(
        "database", .text("sqlite:PATH"),
        summary: Text(en: "use this database instead of the configured one", zh: "用这个数据库，而不是配置里的"))
    static let unsafeHTTP = Flag(
        "unsafe-http",
        summary: Text(
            en: "serve with any libmicrohttpd, behind a proxy that refuses ambiguous requests",
            zh: "允许任意版本的 libmicrohttpd；前面须有拒绝歧义请求的代理"))
}

extension Configuration {
    /// The flags of every command that needs a configuration.
    static let flags: [Flag] = [.config, .listen, .database]

    /// Reads the configuration that a call names with these flags, or that its environment holds.
    ///
    /// - Throws: `UsageError` if there is neither a file nor any `TILL_…` variable; `CommandFailure` with everything
    ///   that is wrong.
    static func load(for call: Invocation) throws -> Configuration {
        let variables = ConfigurationKey.allCases.flatMap { [$0.variable, $0.variable + "_FILE"] }
        let file = call.text(.config)
        guard file != nil || variables.contains(where: { call.process.environment[$0] != nil }) else {
            throw UsageError(
                Text(
                    en: "--config is missing (`till init` writes a configuration)",
                    zh: "缺少 --config（“till init” 会写一份配置）"))
        }
        var flags: [ConfigurationKey: String] = [:]
        flags[.listen] = call.text(.listen)
        flags[.database] = call.text(.database)
        if call.isSet(.unsafeHTTP) { flags[.unsafeHTTP] = "true" }
        do throws(ConfigurationRefusal) {
            return try load(file: file, environment: call.process.environment, flags: flags)
        } catch {
            throw error.failure
        }
    }
}

import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// The configuration of `till serve`, read from one JSON file, the environment and flags by `Configuration.load`.
struct Configuration: Sendable {
    let listen: ListenAddress
    /// Whether to run with a version of libmicrohttpd for which the request smuggling checks were not made.
    var unsafeHTTP = false
    let database: LedgerLocation
    let catalog: Catalog
    let apple: AppleSettings
    let appleService: AppleServiceSettings
    /// Keys of backends, which may act for any user.
    let secretKeys: [SecretKey]
    /// Keys that verify users' tokens.
    let userTokens: [UserTokenKey]
    /// Keys of operators, who may see the dashboard.
    let operators: [SecretKey]
    /// Host names of the dashboard, in addition to the loopback names.
    let dashboardHosts: [String]
    /// Proxies that may name the client of a request.
    var trustedProxies = TrustedProxies()
    /// Users who see the sandbox beside production, because App Review buys there.
    let reviewUsers: Set<UserID>
    /// The policy for points that were spent before Apple refunded their purchase.
    var debt = DebtPolicy.owe
    /// The number of forgiven refunds per customer in 365 days.
    var forgivenPerYear = 1
    /// The consumption information that Apple receives before a refund decision.
    var consumption = ConsumptionSettings()
    /// The policy for restoring another customer's purchase.
    var restore = RestoreTerms()
    /// The ids of guests, and how long merging a guest into an account can be undone.
    var guests = GuestTerms()
    /// The policy for receipts whose signed transactions can't be requested from Apple.
    var receipts = ReceiptTerms()
    /// The developer's terms with Apple.
    var developerTerms = DeveloperTerms()
    /// When customers are reminded of an end of service.
    var reminders = ReminderPolicy.standard
    /// The settings of orders, and the order of granting and finishing.
    var orders = OrderSettings()
    /// How many requests are accepted from one caller.
    var limits = RequestLimits()
    var delivery = DeliveryTerms()
    /// The interval and extent of the comparison with Apple's records.
    var reconciliation = ReconciliationSettings()
    /// How long the server may take to stop.
    var drain = DrainSettings()
    /// The endpoints that receive events.
    var webhooks = WebhookSettings()
    /// How customers are erased; nil refuses to.
    var erasure: ErasureSettings?
    var sealKey: SealKey?
    /// The least level of the log's lines.
    var logLevel = Log.Level.info
    /// Files that contain a secret.
    var secretFiles: Set<String> = []
    /// The values as they are written, of settings that contain no secret and name no file.
    var written: [ConfigurationKey: JSONValue] = [:]
}

/// How long a server that stops goes on to serve.
struct DrainSettings: Sendable, Hashable {
    /// How long requests in progress may take to finish.
    var seconds = 30
    /// How long the server goes on to accept connections after `/readyz` has begun to say 503, so that balancers send
    /// new requests elsewhere.
    var lameDuckMilliseconds = 1_000
}

/// The address that the server listens on.
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

/// The settings for verifying Apple's signatures.
struct AppleSettings: Sendable, Hashable {
    let bundleID: String
    /// The app's number in the App Store; always set if production is accepted.
    let appAppleID: Int64?
    let environments: Set<StoreEnvironment>
    /// Trusted root certificates in DER; nil means Apple's own, which are mandatory beside production.
    let roots: [[UInt8]]?
    /// The certificate by which Xcode signs local tests, in DER; set exactly if `environments` is Xcode.
    var xcodeCertificate: [UInt8]?
}

private func isHexDigit(_ unit: UInt8) -> Bool {
    (0x30...0x39).contains(unit) || (0x41...0x46).contains(unit & 0xDF)
}

private func isHostCharacter(_ unit: UInt8) -> Bool {
    (0x30...0x39).contains(unit) || (0x41...0x5A).contains(unit & 0xDF) || unit == 0x2D || unit == 0x2E
}

extension Configuration {
    /// The server's part of the configuration.
    var server: ServerConfiguration {
        var server = ServerConfiguration(
            catalog: catalog,
            apple: AppleTrust(
                roots: apple.roots ?? [], bundleID: apple.bundleID, appAppleID: apple.appAppleID,
                environments: apple.environments, revocation: appleService.revocation),
            secretKeys: secretKeys, userTokens: userTokens, operators: operators, dashboardHosts: dashboardHosts,
            reviewUsers: reviewUsers, inAppPurchaseKey: appleService.key)
        server.apple.sharedSecret = appleService.sharedSecret
        server.apple.testCertificates = apple.xcodeCertificate.map { [$0] } ?? []
        server.debt = debt
        server.forgivenPerYear = forgivenPerYear
        server.consumption = consumption
        server.restore = restore
        server.guests = guests
        server.receipts = receipts
        server.developerTerms = developerTerms
        server.reminders = reminders
        server.orders = orders
        server.limits = limits
        server.delivery = delivery
        server.reconciliation = reconciliation
        server.webhooks = webhooks
        server.erasure = erasure?.terms
        server.sealKey = sealKey
        return server
    }
}

extension Flag {
    static let config = Flag(
        "config", .text("FILE"),
        summary: LocalizedText(en: "the configuration file (`till init` writes one)", zh: "配置文件（可用“till init”生成）"))
    static let listen = Flag(
        "listen", .text("ADDRESS:PORT"),
        summary: LocalizedText(en: "the address to listen on, instead of the configured one", zh: "监听的地址，代替配置中的地址"))
    static let database = Flag(
        "database", .text("sqlite:PATH|postgres://…"),
        summary: LocalizedText(en: "the database to use, instead of the configured one", zh: "使用的数据库，代替配置中的数据库"))
    static let unsafeHTTP = Flag(
        "unsafe-http",
        summary: LocalizedText(
            en: "serve with any libmicrohttpd, behind a proxy that refuses ambiguous requests",
            zh: "允许任意版本的 libmicrohttpd；前面须有拒绝歧义请求的代理"))
}

extension Configuration {
    /// The flags of every command that needs a configuration.
    static let flags: [Flag] = [.config, .listen, .database]

    /// Reads the configuration named by the flags of a call, or the one in its environment.
    ///
    /// - Throws: `UsageError` if there is neither a file nor a `TILL_…` variable; `CommandError` with all problems.
    static func load(for call: Invocation, keepsDuplicateProducts: Bool = false) throws -> Configuration {
        do {
            return try loadListingProblems(for: call, keepsDuplicateProducts: keepsDuplicateProducts)
        } catch let error as ConfigurationError {
            throw error.failure
        }
    }

    /// - Throws: `UsageError` as above; `ConfigurationError` with all problems.
    static func loadListingProblems(
        for call: Invocation, keepsDuplicateProducts: Bool = false
    ) throws -> Configuration {
        let variables = ConfigurationKey.allCases.flatMap { [$0.variable, $0.variable + "_FILE"] }
        let file = call.text(.config)
        guard file != nil || variables.contains(where: { call.process.environment[$0] != nil }) else {
            throw UsageError(
                LocalizedText(
                    en: "--config is missing (`till init` writes a configuration)",
                    zh: "缺少 --config（可用“till init”生成配置）"))
        }
        var flags: [ConfigurationKey: String] = [:]
        flags[.listen] = call.text(.listen)
        flags[.database] = call.text(.database)
        if call.isSet(.unsafeHTTP) { flags[.unsafeHTTP] = "true" }
        return try load(
            file: file, environment: call.process.environment, flags: flags,
            keepsDuplicateProducts: keepsDuplicateProducts)
    }
}

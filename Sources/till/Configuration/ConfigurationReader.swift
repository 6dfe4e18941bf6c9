import TillAppStore
import TillBilling
import TillHTTP
import TillLedger

/// The configuration is invalid; contains all problems at once.
struct ConfigurationError: Error, Hashable {
    let problems: [ConfigurationIssue]

    var failure: CommandError { CommandError(reasons: problems.map(\.sentence)) }
}

extension Configuration {
    /// Reads and validates the whole configuration.
    ///
    /// - Parameters:
    ///   - file: the JSON file, or nil if everything comes from the environment.
    ///   - environment: the process's variables; only `TILL_…` variables are read.
    ///   - flags: texts of `--listen` and `--database`; `true` for `--unsafe-http`.
    static func load(
        file: String?, environment: [String: String] = [:], flags: [ConfigurationKey: String] = [:],
        keepsDuplicateProducts: Bool = false
    ) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader(ConfigurationSources(file: file, environment: environment, flags: flags))
        reader.keepsDuplicateProducts = keepsDuplicateProducts
        let configuration = reader.read()
        guard let configuration, reader.problems.isEmpty else {
            throw ConfigurationError(problems: reader.problems)
        }
        return configuration
    }
}

/// Turns settings into a `Configuration`, one kind after another, and continues after each problem.
struct ConfigurationReader {
    private let sources: ConfigurationSources
    var reader: SettingReader
    /// Whether a product id that the catalogue lists twice is no problem, for the command that reports it.
    var keepsDuplicateProducts = false

    init(_ sources: ConfigurationSources) {
        self.sources = sources
        reader = sources.reader
    }

    var problems: [ConfigurationIssue] { reader.problems }

    /// Nil only after a problem was recorded.
    mutating func read() -> Configuration? {
        let listen = readListen()
        let database = readDatabase()
        let catalog = readCatalog()
        let apple = readApple()
        let appleService = readAppleService()
        let secretKeys = readSecretKeys(.secretKeys)
        let operators = readSecretKeys(.operators)
        let userTokens = readUserTokens()
        let dashboardHosts = readDashboardHosts()
        let trustedProxies = readTrustedProxies()
        let reviewUsers = readReviewUsers()
        let debt = readDebtPolicy()
        let forgivenPerYear = readForgivenPerYear()
        let consumption = readConsumption()
        let restore = readRestore()
        let guests = readGuests()
        let receipts = readReceipts()
        let developerTerms = readDeveloperTerms()
        let reminders = readReminders()
        let orders = readOrders()
        let delivery = readDelivery()
        let reconciliation = readReconciliation(hasKey: appleService?.key != nil)
        let drain = readDrain()
        let webhooks = readWebhooks()
        let limits = readLimits()
        let erasure = readErasure()
        let sealKey = readSealKey()
        guard let listen, let database, let catalog, let apple, let appleService else { return nil }
        var configuration = Configuration(
            listen: listen, database: database, catalog: catalog, apple: apple, appleService: appleService,
            secretKeys: secretKeys, userTokens: userTokens, operators: operators, dashboardHosts: dashboardHosts,
            reviewUsers: reviewUsers)
        configuration.unsafeHTTP = setting(.unsafeHTTP).flatMap { reader.boolean($0) } ?? false
        configuration.trustedProxies = trustedProxies
        configuration.debt = debt
        if let forgivenPerYear { configuration.forgivenPerYear = forgivenPerYear }
        configuration.consumption = consumption
        configuration.restore = restore
        configuration.guests = guests
        configuration.receipts = receipts
        configuration.developerTerms = developerTerms
        configuration.reminders = reminders
        configuration.orders = orders
        configuration.delivery = delivery
        configuration.reconciliation = reconciliation
        configuration.drain = drain
        configuration.webhooks = webhooks
        if let level = setting(.logLevel).flatMap({ reader.choice($0, of: Log.Level.self) }) {
            configuration.logLevel = level
        }
        configuration.limits = limits
        configuration.erasure = erasure
        configuration.sealKey = sealKey
        configuration.secretFiles = reader.secretFiles
        configuration.written = sources.settings.mapValues(\.value).filter { ConfigurationChanges.compares($0.key) }
        return configuration
    }

    func setting(_ key: ConfigurationKey) -> Setting? { sources.settings[key] }

    mutating func requiredSetting(_ key: ConfigurationKey) -> Setting? {
        if let setting = setting(key) { return setting }
        // An unreadable file has its own problem, and its missing keys are not reported.
        if sources.fileIsReadable {
            reader.complain(sources.place(ofMissing: key), LocalizedText(en: "is missing", zh: "缺少这一项"))
        }
        return nil
    }

    private mutating func readListen() -> ListenAddress? {
        guard let setting = setting(.listen) else { return .standard }
        guard let text = reader.text(setting) else { return nil }
        if let address = ListenAddress(text) { return address }
        reader.complain(
            setting.place,
            LocalizedText(
                en: "must be ADDRESS:PORT such as 127.0.0.1:8787 or [::1]:8787, found \"\(shown(text))\"",
                zh: "应为“地址:端口”，如 127.0.0.1:8787 或 [::1]:8787，实际为“\(shown(text))”"))
        return nil
    }

    private mutating func readDashboardHosts() -> [String] {
        guard let setting = setting(.dashboardHosts), let list = reader.list(setting) else { return [] }
        return list.compactMap { reader.text($0, most: 255) }
    }

    private mutating func readTrustedProxies() -> TrustedProxies {
        guard let setting = setting(.trustedProxies), let list = reader.list(setting, most: 100) else {
            return TrustedProxies()
        }
        var blocks: [AddressBlock] = []
        for entry in list {
            guard let text = reader.text(entry, most: 64) else { continue }
            if let block = AddressBlock(text) {
                blocks.append(block)
                continue
            }
            reader.complain(
                entry.place,
                LocalizedText(
                    en: "must be an address or a network such as 10.0.0.7 or 10.0.0.0/8, found \"\(shown(text))\"",
                    zh: "应为地址或网段，如 10.0.0.7 或 10.0.0.0/8，实际为“\(shown(text))”"))
        }
        return TrustedProxies(blocks)
    }

    private mutating func readReviewUsers() -> Set<UserID> {
        guard let setting = setting(.reviewUsers), let list = reader.list(setting) else { return [] }
        return Set(list.compactMap { reader.identifier($0, most: UserID.maximumLength) }.map { UserID($0) })
    }
}

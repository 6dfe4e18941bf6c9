/// Every setting of the file and the environment; three of them are flags too. The published JSON Schema
/// (docs/till.schema.json) has the same keys, which a test verifies.
enum ConfigurationKey: String, CaseIterable, Sendable {
    case listen
    case unsafeHTTP = "unsafeHttp"
    case database
    case catalog
    case bundleID = "apple.bundleId"
    case appAppleID = "apple.appAppleId"
    case environments = "apple.environments"
    case roots = "apple.roots"
    case xcodeCertificate = "apple.xcodeCertificate"
    case issuerID = "apple.issuerId"
    case keyID = "apple.keyId"
    case privateKey = "apple.privateKey"
    case privateKeyFile = "apple.privateKeyFile"
    case sharedSecret = "apple.sharedSecret"
    case sharedSecretFile = "apple.sharedSecretFile"
    case revocation = "apple.revocation"
    case emulator = "apple.emulator"
    case secretKeys
    case userTokens
    case operators
    case dashboardHosts
    case trustedProxies
    case reviewUsers
    case walletDebt = "wallet.debt"
    case forgivenPerYear = "wallet.forgivenPerYear"
    case sampleContentProvided = "consumption.sampleContentProvided"
    case refundPreference = "consumption.refundPreference"
    case restorePolicy = "restore.policy"
    case restoreMovesPerYear = "restore.movesPerYear"
    case guestsPrefix = "guests.prefix"
    case guestsUndoDays = "guests.undoDays"
    case receiptPolicy = "receipts.policy"
    case holdHours = "receipts.holdHours"
    case smallBusiness = "finance.smallBusiness"
    case remindersBefore = "reminders.before"
    case acceptUnprovenIDsUntil = "orders.acceptUnprovenIdsUntil"
    case maximumOpenOrders = "orders.maximumOpen"
    case ordersPerHour = "orders.perHour"
    case deliveryOrder = "delivery.order"
    case finishAfterMinutes = "delivery.finishAfterMinutes"
    case lateAfterDays = "delivery.lateAfterDays"
    case reconciliationInterval = "reconciliation.interval"
    case reconciliationCustomers = "reconciliation.customersPerRun"
    case drainSeconds = "drain.seconds"
    case lameDuckMilliseconds = "drain.lameDuckMilliseconds"
    case webhookEndpoints = "webhooks.endpoints"
    case webhooksAllowPrivate = "webhooks.allowPrivate"
    case logLevel
    case erasureKey = "erasure.key"
    case erasureKeyFile = "erasure.keyFile"
    case erasureList = "erasure.list"
    case sealKey = "seals.key"
    case sealKeyFile = "seals.keyFile"
    case userRate = "limits.userPerSecond"
    case userBurst = "limits.userBurst"
    case keyRate = "limits.keyPerSecond"
    case keyBurst = "limits.keyBurst"
    case addressRate = "limits.addressPerSecond"
    case addressBurst = "limits.addressBurst"

    /// How the text of an environment variable is parsed.
    enum VariableForm: Sendable {
        case text
        case number
        /// Parts separated by commas.
        case list
        /// `true` or `false`.
        case truth
        case json
    }

    var form: VariableForm {
        switch self {
        case .listen, .database, .catalog, .bundleID, .xcodeCertificate, .issuerID, .keyID, .privateKey,
            .privateKeyFile, .sharedSecret, .sharedSecretFile, .revocation, .emulator, .walletDebt,
            .refundPreference, .restorePolicy, .guestsPrefix, .receiptPolicy, .smallBusiness, .deliveryOrder,
            .reconciliationInterval, .acceptUnprovenIDsUntil, .logLevel, .erasureKey, .erasureKeyFile, .erasureList,
            .sealKey, .sealKeyFile:
            .text
        case .sampleContentProvided, .webhooksAllowPrivate, .unsafeHTTP: .truth
        case .appAppleID, .maximumOpenOrders, .ordersPerHour, .restoreMovesPerYear, .guestsUndoDays, .holdHours,
            .finishAfterMinutes, .lateAfterDays, .reconciliationCustomers, .forgivenPerYear, .drainSeconds,
            .lameDuckMilliseconds, .userRate, .userBurst, .keyRate, .keyBurst, .addressRate, .addressBurst:
            .number
        case .environments, .roots, .dashboardHosts, .trustedProxies, .reviewUsers, .remindersBefore: .list
        case .secretKeys, .userTokens, .operators, .webhookEndpoints: .json
        }
    }

    /// Whether the variable may also be given as `…_FILE`, the path of a file that contains its text, as secret stores
    /// mount it. (`privateKeyFile`, `sharedSecretFile`, `erasure.keyFile` and `seals.keyFile` are keys of their own,
    /// and their variables have this ending anyway.)
    var isSecret: Bool {
        switch self {
        case .secretKeys, .userTokens, .operators, .webhookEndpoints: true
        case .unsafeHTTP,
            .listen, .database, .catalog, .bundleID, .appAppleID, .environments, .roots, .xcodeCertificate, .issuerID,
            .keyID,
            .privateKey, .privateKeyFile, .sharedSecret, .sharedSecretFile, .revocation, .emulator, .dashboardHosts,
            .trustedProxies, .reviewUsers, .walletDebt, .sampleContentProvided, .refundPreference, .restorePolicy,
            .restoreMovesPerYear, .guestsPrefix, .guestsUndoDays, .receiptPolicy, .holdHours, .smallBusiness,
            .remindersBefore, .deliveryOrder,
            .acceptUnprovenIDsUntil, .maximumOpenOrders, .ordersPerHour,
            .finishAfterMinutes, .lateAfterDays, .forgivenPerYear,
            .reconciliationInterval, .reconciliationCustomers, .drainSeconds, .lameDuckMilliseconds,
            .webhooksAllowPrivate, .logLevel, .erasureKey, .erasureKeyFile, .erasureList, .sealKey, .sealKeyFile,
            .userRate, .userBurst, .keyRate, .keyBurst, .addressRate, .addressBurst:
            false
        }
    }

    /// `apple.bundleId` is `TILL_APPLE_BUNDLE_ID`. The level of the log has a short one, because it is set by hand.
    var variable: String {
        if self == .logLevel { return "TILL_LOG" }
        var name = "TILL_"
        for character in rawValue {
            if character == "." {
                name += "_"
            } else {
                if character.isUppercase { name += "_" }
                name += character.uppercased()
            }
        }
        return name
    }

    /// The flag of `till serve` that overrides it.
    var flagName: String? {
        switch self {
        case .listen: "listen"
        case .unsafeHTTP: "unsafe-http"
        case .database: "database"
        default: nil
        }
    }

    /// The object that contains it; nil for the outermost.
    var section: String? {
        let parts = rawValue.split(separator: ".")
        return parts.count > 1 ? parts.first.map(String.init) : nil
    }

    /// The last part of the path: the key within its object.
    var name: String { String(rawValue.split(separator: ".").last ?? "") }

    /// Keys of the file's outermost object, including `$schema` for editors.
    static let topLevelNames: [String] =
        ["$schema"] + sections + allCases.filter { $0.section == nil }.map(\.rawValue)
    /// The nested objects.
    static let sections = [
        "apple", "wallet", "consumption", "restore", "guests", "receipts", "finance", "reminders", "orders", "delivery",
        "reconciliation", "drain", "webhooks", "limits", "erasure", "seals",
    ]
    /// The keys of one nested object.
    static func names(in section: String) -> [String] { allCases.filter { $0.section == section }.map(\.name) }
    /// The keys of an entry of `secretKeys` or `operators`.
    static let hashedKeyNames = ["id", "sha256", "notBefore", "expires"]
    /// The keys of an entry of `userTokens`.
    static let userTokenNames = [
        "id", "algorithm", "secret", "secretFile", "publicKey", "publicKeyFile", "issuer", "audience",
        "maximumLifetime", "notBefore", "expires",
    ]
    /// The keys of an entry of `webhooks.endpoints`.
    static let webhookEndpointNames = [
        "id", "url", "secret", "secretFile", "previousSecrets", "previousSecretFiles", "types", "disabled", "from",
    ]
}

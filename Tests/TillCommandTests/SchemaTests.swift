import Foundation
import Testing
import TillBilling
import TillJSON
import TillLedger
import TillServer

@testable import till

/// docs/till.schema.json.
func publishedSchema() throws -> JSONValue {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    return try JSONValue(decoding: Array(Data(contentsOf: root.appendingPathComponent("docs/till.schema.json"))))
}

@Suite("The published schema of the configuration")
struct SchemaTests {
    private let schema: JSONValue

    init() throws {
        schema = try publishedSchema()
    }

    private func names(_ value: JSONValue?) -> Set<String> { Set(value?["properties"]?.object?.keys.map { $0 } ?? []) }

    @Test("it has exactly the parser's keys, and allows no others")
    func sameKeys() {
        let sections = ConfigurationKey.sections.map { schema["properties"]?[$0] }
        let hashedKey = schema["$defs"]?["hashedKeys"]?["items"]
        let userToken = schema["$defs"]?["userToken"]
        let endpoint = schema["$defs"]?["webhookEndpoint"]
        let database = schema["properties"]?["database"]?["oneOf"]?.array?.last
        #expect(names(schema) == Set(ConfigurationKey.topLevelNames))
        #expect(sections.map(names) == ConfigurationKey.sections.map { Set(ConfigurationKey.names(in: $0)) })
        #expect(names(hashedKey) == Set(ConfigurationKey.hashedKeyNames))
        #expect(names(userToken) == Set(ConfigurationKey.userTokenNames))
        #expect(names(endpoint) == Set(ConfigurationKey.webhookEndpointNames))
        #expect(names(database) == Set(ConfigurationKey.databaseNames))
        let types = endpoint?["properties"]?["types"]?["items"]?["enum"]
        #expect(types == .array(EventType.allCases.map { .string($0.rawValue) }))
        for object in sections + [schema, hashedKey, userToken, endpoint, database] {
            #expect(object?["additionalProperties"] == false)
        }
        #expect(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema")
    }

    @Test("each key's description names its variable, its file variable if it is a secret, and its flag")
    func variables() throws {
        for key in ConfigurationKey.allCases {
            let object = key.section.map { schema["properties"]?[$0] } ?? schema
            let description = try #require(object?["properties"]?[key.name]?["description"]?.string, "\(key)")
            let words = description.split { !($0.isUppercase || $0 == "_" || $0.isLowercase || $0 == "-") }.map(
                String.init)
            #expect(words.contains(key.variable), "\(key)")
            #expect(words.contains(key.variable + "_FILE") == key.isSecret, "\(key)")
            #expect(words.filter { $0.hasPrefix("--") } == (key.flagName.map { ["--" + $0] } ?? []), "\(key)")
        }
    }

    @Test("the environment's names are those of the contract")
    func contractNames() {
        #expect(
            ConfigurationKey.allCases.map(\.variable) == [
                "TILL_LISTEN", "TILL_UNSAFE_HTTP", "TILL_DATABASE", "TILL_CATALOG", "TILL_APPLE_BUNDLE_ID",
                "TILL_APPLE_APP_APPLE_ID",
                "TILL_APPLE_ENVIRONMENTS", "TILL_APPLE_ROOTS", "TILL_APPLE_XCODE_CERTIFICATE", "TILL_APPLE_ISSUER_ID",
                "TILL_APPLE_KEY_ID",
                "TILL_APPLE_PRIVATE_KEY", "TILL_APPLE_PRIVATE_KEY_FILE", "TILL_APPLE_SHARED_SECRET",
                "TILL_APPLE_SHARED_SECRET_FILE", "TILL_APPLE_REVOCATION", "TILL_APPLE_EMULATOR", "TILL_SECRET_KEYS",
                "TILL_USER_TOKENS", "TILL_OPERATORS", "TILL_DASHBOARD_HOSTS", "TILL_TRUSTED_PROXIES",
                "TILL_REVIEW_USERS",
                "TILL_WALLET_DEBT", "TILL_WALLET_FORGIVEN_PER_YEAR", "TILL_CONSUMPTION_SAMPLE_CONTENT_PROVIDED",
                "TILL_CONSUMPTION_REFUND_PREFERENCE",
                "TILL_RESTORE_POLICY", "TILL_RESTORE_MOVES_PER_YEAR",
                "TILL_GUESTS_PREFIX", "TILL_GUESTS_UNDO_DAYS", "TILL_RECEIPTS_POLICY", "TILL_RECEIPTS_HOLD_HOURS",
                "TILL_FINANCE_SMALL_BUSINESS", "TILL_REMINDERS_BEFORE",
                "TILL_ORDERS_ACCEPT_UNPROVEN_IDS_UNTIL",
                "TILL_ORDERS_MAXIMUM_OPEN", "TILL_ORDERS_PER_HOUR", "TILL_DELIVERY_ORDER",
                "TILL_DELIVERY_FINISH_AFTER_MINUTES", "TILL_DELIVERY_LATE_AFTER_DAYS", "TILL_RECONCILIATION_INTERVAL",
                "TILL_RECONCILIATION_CUSTOMERS_PER_RUN", "TILL_DRAIN_SECONDS",
                "TILL_DRAIN_LAME_DUCK_MILLISECONDS",
                "TILL_WEBHOOKS_ENDPOINTS", "TILL_WEBHOOKS_ALLOW_PRIVATE", "TILL_LOG",
                "TILL_ERASURE_KEY", "TILL_ERASURE_KEY_FILE", "TILL_ERASURE_LIST",
                "TILL_SEALS_KEY", "TILL_SEALS_KEY_FILE",
                "TILL_LIMITS_USER_PER_SECOND", "TILL_LIMITS_USER_BURST", "TILL_LIMITS_KEY_PER_SECOND",
                "TILL_LIMITS_KEY_BURST", "TILL_LIMITS_ADDRESS_PER_SECOND", "TILL_LIMITS_ADDRESS_BURST",
            ])
    }

    @Test("its required keys are those that the parser requires, and its examples of choices are the parser's")
    func requirements() {
        #expect(schema["required"] == ["database", "catalog", "apple"])
        #expect(schema["properties"]?["apple"]?["required"] == ["bundleId", "environments"])
        #expect(
            schema["properties"]?["apple"]?["properties"]?["environments"]?["items"]?["enum"] == [
                "Production", "Sandbox", "Xcode",
            ])
        #expect(schema["properties"]?["apple"]?["properties"]?["revocation"]?["enum"] == ["off", "soft", "hard"])
        #expect(
            schema["properties"]?["wallet"]?["properties"]?["debt"]?["enum"]
                == .array(DebtPolicy.allCases.map { .string($0.rawValue) }))
        let restore = schema["properties"]?["restore"]?["properties"]
        #expect(restore?["policy"]?["enum"] == .array(RestorePolicy.allCases.map { .string($0.rawValue) }))
        #expect(restore?["policy"]?["default"]?.string == RestoreTerms().policy.rawValue)
        #expect(restore?["movesPerYear"]?["default"]?.int == Int64(RestoreTerms().movesPerYear))
        #expect(schema["properties"]?["listen"]?["default"]?.string == ListenAddress.standard.description)
    }
}

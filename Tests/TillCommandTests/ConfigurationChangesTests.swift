import Foundation
import Testing
import TillBilling
import TillServer

@testable import till

@Suite("What a reload changes")
struct ConfigurationChangesTests {
    private static let (hash, otherHash) = (String(repeating: "ab", count: 32), String(repeating: "cd", count: 32))
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let tokenSecret = "0123456789abcdefghijklmnopqrstuv"

    private static let text = """
        {"listen": "127.0.0.1:0", "database": "sqlite:a.db", "catalog": \(sampleCatalog),
         "trustedProxies": ["10.0.0.7"],
         "apple": {"bundleId": "com.example", "environments": ["Sandbox"], "sharedSecret": "0123456789abcdef"},
         "secretKeys": [{"id": "a", "sha256": "\(hash)"}],
         "userTokens": [{"id": "app", "algorithm": "HS256", "secret": "\(tokenSecret)"}],
         "webhooks": {"endpoints": [{"id": "w", "url": "https://a.example/hook?token=t", "secret": "\(secret)"}]},
         "wallet": {"debt": "owe"}, "reviewUsers": ["reviewer"]}
        """

    private func load(_ text: String) throws -> Configuration {
        let directory = try TemporaryDirectory()
        return try Configuration.load(file: try directory.write("till.json", text))
    }

    /// The database's path begins with the directory, which differs.
    private func changes(_ old: String, _ new: String) throws -> ConfigurationChanges {
        let directory = try TemporaryDirectory()
        let before = try Configuration.load(file: try directory.write("till.json", old))
        let after = try Configuration.load(file: try directory.write("till.json", new))
        return ConfigurationChanges(from: before, to: after)
    }

    private static let applied: [(old: String, new: String, line: String)] = [
        (
            #"{"id": "a", "sha256": "\#(hash)"}"#, #"{"id": "b", "sha256": "\#(hash)"}"#,
            "secretKeys: b added|secretKeys: a removed"
        ),
        (hash, otherHash, "secretKeys: a replaced"),
        (
            "\"\(hash)\"}", "\"\(hash)\", \"expires\": \"2030-01-01T00:00:00Z\"}",
            "secretKeys: a expires at 2030-01-01T00:00:00.000Z"
        ),
        (tokenSecret, String(tokenSecret.reversed()), "userTokens: app replaced"),
        ("\"HS256\"", "\"HS256\", \"audience\": \"x\"", "userTokens: app replaced"),
        ("hook?token=t", "hook?token=u", "webhooks.endpoints: w: url changed"),
        (secret, "whsec_" + String(secret.dropFirst(6).reversed()), "webhooks.endpoints: w: secrets changed"),
        ("{\"id\": \"w\"", "{\"disabled\": true, \"id\": \"w\"", "webhooks.endpoints: w: disabled changed"),
        (#""debt": "owe""#, #""debt": "freeze""#, #"wallet.debt: "owe" → "freeze""#),
        (#", "reviewUsers": ["reviewer"]"#, "", "reviewUsers: changed"),
        (
            #""wallet": {"debt": "owe"}"#, #""wallet": {"debt": "owe", "forgivenPerYear": 2}"#,
            "wallet.forgivenPerYear: the default → 2"
        ),
        (
            #""wallet": {"debt": "owe"}"#, #""drain": {"seconds": 5}, "wallet": {"debt": "owe"}"#,
            "drain.seconds: the default → 5"
        ),
    ]

    @Test("Each change has its line, without a secret, a URL or a user", arguments: applied)
    func lines(_ row: (old: String, new: String, line: String)) throws {
        try #require(Self.text.contains(row.old))
        let changes = try changes(Self.text, Self.text.replacing(row.old, with: row.new))
        #expect(changes.applied.map(\.en).joined(separator: "|") == row.line)
        #expect(changes.needRestart.isEmpty)
        for text in changes.applied.flatMap({ [$0.en, $0.zh] }) {
            for hidden in ["whsec_", "token=", "reviewer\"", Self.tokenSecret, Self.hash, Self.otherHash] {
                #expect(!text.contains(hidden), "\(text)")
            }
        }
    }

    private static let fixed: [(old: String, new: String, key: ConfigurationKey)] = [
        ("127.0.0.1:0", "127.0.0.1:1", .listen), ("a.db", "b.db", .database),
        ("\"com.example\"", "\"com.example.b\"", .bundleID),
        ("[\"Sandbox\"]", "[\"Production\"], \"appAppleId\": 1", .environments),
        ("0123456789abcdef\"}", "fedcba9876543210\"}", .sharedSecret), ("10.0.0.7", "10.0.0.8", .trustedProxies),
        ("{\"endpoints\"", "{\"allowPrivate\": true, \"endpoints\"", .webhooksAllowPrivate),
        ("\"sharedSecret\"", "\"revocation\": \"soft\", \"sharedSecret\"", .revocation),
        ("\"sharedSecret\"", "\"emulator\": \"http://127.0.0.1:1\", \"sharedSecret\"", .emulator),
        ("\"database\"", "\"unsafeHttp\": true, \"database\"", .unsafeHTTP),
    ]

    @Test("What binds a socket, a file or Apple's proofs needs a restart", arguments: fixed)
    func needsRestart(_ row: (old: String, new: String, key: ConfigurationKey)) throws {
        try #require(Self.text.contains(row.old))
        let changes = try changes(Self.text, Self.text.replacing(row.old, with: row.new))
        #expect(changes.needRestart.contains(row.key))
        #expect(changes.applied.isEmpty)
    }

    @Test("Another order of members, another layout and the default's own value are no changes of products and keys")
    func same() throws {
        #expect(try changes(Self.text, Self.text.replacing(",", with: " ,\n")).isEmpty)
    }

    @Test("Every setting is either compared by its own rule, as written, or needs a restart")
    func complete() {
        let byRule: Set<ConfigurationKey> = [.catalog, .secretKeys, .userTokens, .operators, .webhookEndpoints]
        for key in ConfigurationKey.allCases {
            let ways = [
                byRule.contains(key), ConfigurationChanges.compares(key) && !ConfigurationChanges.isFixed(key),
                ConfigurationChanges.isFixed(key),
            ]
            #expect(ways.count { $0 } == 1, "\(key)")
        }
    }

    @Test("A long list of changed products is cut, with the number of the others")
    func longList() throws {
        func catalog(_ price: Int) -> String {
            let products = (0..<30).map { number in
                #"{"id": "p\#(number)", "type": "Consumable", "names": {"en": "p", "zh": "p"}, "points": {"p": 1}, "#
                    + #""price": {"amount": \#(price), "currency": "CNY"}}"#
            }
            return Self.text.replacing(sampleCatalog, with: #"{"products": [\#(products.joined(separator: ","))]}"#)
        }
        let lines = try changes(catalog(600), catalog(1_200)).applied
        #expect(lines.count == 21)
        #expect(lines.first?.en == "catalog: p0: price 600 CNY → 1200 CNY")
        #expect(lines.last?.en == "catalog: 10 more changes")
        #expect(lines.last?.zh == "catalog：另有 10 处更改")
    }

    @Test("A key that ends within fourteen days is warned about, and one that has ended")
    func warnings() throws {
        let configuration = try load(
            Self.text.replacing("\"\(Self.hash)\"}", with: "\"\(Self.hash)\", \"expires\": \"2030-01-15T00:00:00Z\"}"))
        func warnings(_ time: String) -> [String] {
            configuration.keyWarnings(at: Instant(rfc3339: time) ?? Instant(seconds: 0)).map(\.en)
        }
        #expect(warnings("2029-12-31T23:59:59Z").isEmpty)
        #expect(warnings("2030-01-01T00:00:00Z").first?.contains("secretKeys \"a\": expires at 2030-01-15") == true)
        #expect(warnings("2030-01-15T00:00:00Z").first?.contains("expired at 2030-01-15") == true)
    }

    @Test("A key that ends before it begins is refused")
    func order() {
        let dates = #", "notBefore": "2030-01-01T00:00:00Z", "expires": "2030-01-01T00:00:00Z"}"#
        #expect(throws: ConfigurationError.self) {
            try load(Self.text.replacing("\"\(Self.hash)\"}", with: "\"\(Self.hash)\"" + dates))
        }
    }
}

import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillServer

@testable import till

@Suite("The configuration")
struct ConfigurationTests {
    private static let hash = String(repeating: "aB", count: 32)
    private static let secret = "0123456789abcdef0123456789abcdef"

    /// The sentences of all problems; empty if it loads.
    private func problems(
        _ file: String?, environment: [String: String] = [:], flags: [ConfigurationKey: String] = [:],
        language: Language = .english
    ) -> [String] {
        do throws(ConfigurationError) {
            _ = try Configuration.load(file: file, environment: environment, flags: flags)
            return []
        } catch {
            return error.failure.reasons.map { $0(language) }
        }
    }

    /// A file with all required members; `members` are added, and `apple` replaces the object.
    private func text(
        apple: String = "{\"bundleId\": \"com.example\", \"environments\": [\"Sandbox\"]}", _ members: String = ""
    ) -> String {
        let usual = [("database", "\"sqlite:a.db\""), ("catalog", sampleCatalog), ("apple", apple)]
        // A key must not occur twice: a given one replaces the usual one.
        let stored = usual.filter { !members.hasPrefix("\"\($0.0)\"") }.map { "\"\($0.0)\": \($0.1)" }
        return "{" + (stored + [members]).filter { !$0.isEmpty }.joined(separator: ", ") + "}"
    }

    @Test("a full file is read into typed values; paths are relative to the file's directory")
    func full() throws {
        let directory = try TemporaryDirectory()
        try directory.write("products.json", sampleCatalog)
        try directory.write("token.secret", Self.secret + "\r\n")
        try directory.write("token.pem", PEM.encode(generatorPublicKey(), label: "PUBLIC KEY"))
        try directory.write("root.cer", foreignCertificate())
        try directory.write(
            "roots.pem",
            PEM.encode(foreignCertificate(), label: "CERTIFICATE")
                + PEM.encode(foreignCertificate(), label: "CERTIFICATE"))
        let file = try directory.write(
            "till.json",
            """
            {"$schema": "x", "listen": "[::1]:0", "database": "sqlite:data/till.db", "catalog": "products.json",
             "apple": {"bundleId": "com.example.learn", "appAppleId": 1234567890123, "environments": ["Sandbox"],
                       "roots": ["root.cer", "roots.pem"]},
             "secretKeys": [{"id": "backend", "sha256": "\(Self.hash)"}],
             "userTokens": [
               {"id": "a", "algorithm": "HS256", "secret": "\(Self.secret)", "issuer": "me", "audience": "you"},
               {"id": "b", "algorithm": "HS256", "secretFile": "token.secret"},
               {"id": "c", "algorithm": "ES256", "publicKeyFile": "token.pem"}],
             "operators": [{"id": "anna", "sha256": "\(Self.hash)"}],
             "dashboardHosts": ["till.example.com"], "reviewUsers": ["reviewer", "审核员"]}
            """)
        let configuration = try Configuration.load(file: file)
        #expect(configuration.listen == ListenAddress(host: "::1", port: 0))
        #expect(configuration.database == .sqlite(path: directory.path + "/data/till.db"))
        #expect(configuration.catalog.products.map(\.id) == [ProductID("p")])
        #expect(configuration.apple.bundleID == "com.example.learn")
        #expect(configuration.apple.appAppleID == 1_234_567_890_123)
        #expect(configuration.apple.environments == [.sandbox])
        #expect(configuration.apple.roots == Array(repeating: foreignCertificate(), count: 3))
        #expect(
            configuration.secretKeys
                == [SecretKey(id: "backend", sha256: [UInt8](repeating: 0xAB, count: 32))])
        #expect(configuration.operators.map(\.id) == ["anna"])
        #expect(configuration.reviewUsers == [UserID("reviewer"), UserID("审核员")])
        #expect(configuration.dashboardHosts == ["till.example.com"])
        #expect(configuration.userTokens.map(\.id) == ["a", "b", "c"])
        #expect(configuration.userTokens[0].issuer == "me" && configuration.userTokens[0].audience == "you")
        guard case .hs256(let inline) = configuration.userTokens[0].algorithm,
            case .hs256(let fromFile) = configuration.userTokens[1].algorithm,
            case .es256(let key) = configuration.userTokens[2].algorithm
        else {
            Issue.record("the user token keys are of other kinds")
            return
        }
        #expect(inline == Array(Self.secret.utf8) && fromFile == inline && key.der == generatorPublicKey())
    }

    @Test("every optional setting has its default")
    func defaults() throws {
        let directory = try TemporaryDirectory()
        let configuration = try Configuration.load(file: try directory.write("till.json", text()))
        #expect(configuration.listen == ListenAddress(host: "127.0.0.1", port: 8_787))
        #expect(configuration.apple.roots == nil && configuration.apple.appAppleID == nil)
        #expect(configuration.secretKeys.isEmpty && configuration.userTokens.isEmpty && configuration.operators.isEmpty)
        #expect(configuration.reviewUsers.isEmpty)
    }

    @Test("flags override the environment, and the environment overrides the file")
    func precedence() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("till.json", text("\"listen\": \"127.0.0.1:1\""))
        let environment = ["TILL_LISTEN": "127.0.0.1:2", "TILL_DATABASE": "sqlite:/e.db", "TILL_REVIEW_USERS": "a, b"]
        let one = try Configuration.load(file: file, environment: environment)
        #expect(one.listen.port == 2 && one.database == .sqlite(path: "/e.db"))
        #expect(one.reviewUsers == [UserID("a"), UserID("b")])
        let two = try Configuration.load(
            file: file, environment: environment, flags: [.listen: "127.0.0.1:3", .database: "sqlite:f.db"])
        #expect(two.listen.port == 3 && two.database == .sqlite(path: "f.db"))
    }

    @Test("everything can come from the environment, with secrets in files that it names")
    func environmentOnly() throws {
        let directory = try TemporaryDirectory()
        let catalog = try directory.write("products.json", sampleCatalog)
        let tokens = try directory.write(
            "tokens.json", "[{\"id\": \"app\", \"algorithm\": \"HS256\", \"secret\": \"\(Self.secret)\"}]\n")
        let root = try directory.write("root.cer", foreignCertificate())
        let keys = "[{\"id\": \"k\", \"sha256\": \"\(Self.hash)\"}]"
        let configuration = try Configuration.load(
            file: nil,
            environment: [
                "TILL_LISTEN": "0.0.0.0:80", "TILL_DATABASE": "sqlite:/x.db", "TILL_CATALOG": catalog,
                "TILL_APPLE_BUNDLE_ID": "com.example", "TILL_APPLE_APP_APPLE_ID": "7",
                "TILL_APPLE_ENVIRONMENTS": "Sandbox", "TILL_APPLE_ROOTS": "\(root),\(root)", "TILL_SECRET_KEYS": keys,
                "TILL_OPERATORS": keys, "TILL_USER_TOKENS_FILE": tokens, "TILL_REVIEW_USERS": "r", "HOME": "/",
                // Set by an orchestrator for a service called till.
                "TILL_PORT_8787_TCP_ADDR": "10.0.0.1", "TILL_SERVICE_HOST": "10.0.0.1", "TILL_PORT": "tcp://10.0.0.1",
            ])
        #expect(configuration.listen == ListenAddress(host: "0.0.0.0", port: 80))
        #expect(configuration.apple.roots?.count == 2 && configuration.apple.appAppleID == 7)
        #expect(configuration.secretKeys.count == 1 && configuration.operators.count == 1)
        #expect(configuration.userTokens.map(\.id) == ["app"])
    }

    @Test(
        "each wrong value is reported with its path, what was found and what is expected",
        arguments: [
            ("\"listn\": \"127.0.0.1:1\"", "listn: there is no such key. Did you mean listen?"),
            ("\"zzz\": 1", "zzz: there is no such key; known: apple, "),
            ("\"listen\": 8787", "listen: must be text, found a number"),
            (
                "\"listen\": \"8787\"",
                "listen: must be ADDRESS:PORT such as 127.0.0.1:8787 or [::1]:8787, found \"8787\""
            ),
            ("\"listen\": \"127.0.0.1:65536\"", "listen: must be ADDRESS:PORT"),
            ("\"listen\": \"::1:80\"", "listen: must be ADDRESS:PORT"),
            (
                "\"database\": \"postgres://u:hunter2@h/d\"",
                "database: must not contain a password: write it into a file that only this user can read"
            ),
            ("\"database\": \"till.db\"", "database: must be sqlite:PATH or postgres://USER@HOST/NAME"),
            ("\"database\": \"sqlite:\"", "database: must be sqlite:PATH or postgres://USER@HOST/NAME"),
            ("\"database\": \"sqlite::memory:\"", "database: the ledger must be a file, not in memory"),
            ("\"catalog\": [1]", "catalog: must be a path or an object, found a list"),
            ("\"catalog\": {}", "catalog.products: is missing"),
            ("\"catalog\": {\"product\": []}", "catalog.product: there is no such key. Did you mean products?"),
            (
                "\"catalog\": {\"products\": [{\"pionts\": {}}]}",
                "catalog.products[0].pionts: there is no such key. Did you mean points?"
            ),
            ("\"catalog\": {\"products\": [{\"id\": 7}]}", "catalog.products[0].id: has the wrong type"),
            ("\"catalog\": \"none.json\"", "none.json: there is no such file"),
            ("\"apple\": 7", "apple: must be an object, found a number"),
            ("\"secretKeys\": {}", "secretKeys: must be a list, found an object"),
            ("\"secretKeys\": [1.5]", "secretKeys[0]: must be an object, found a number with a fraction"),
            ("\"secretKeys\": [{\"id\": \"a\"}]", "secretKeys[0].sha256: is missing"),
            (
                "\"secretKeys\": [{\"id\": \"a\", \"sha256\": \"sk_x\"}]",
                "secretKeys[0].sha256: must be 64 hexadecimal digits"
            ),
            ("\"operators\": [{\"id\": \"a b\", \"sha256\": \"\(hash)\"}]", "operators[0].id: must be printable ASCII"),
            (
                "\"operators\": [{\"id\": \"a\", \"sha256\": \"\(hash)\"}, {\"id\": \"a\", \"sha256\": \"\(hash)\"}]",
                "operators[1].id: \"a\" is the id of an earlier entry"
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"HS256\"}]",
                "userTokens[0]: needs secret or secretFile"
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"HS256\", \"secret\": \"short\"}]",
                "userTokens[0].secret: must be at least 32 bytes, is 5"
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"HS265\", \"secret\": \"\(secret)\"}]",
                "userTokens[0].algorithm: must be HS256 or ES256, found \"HS265\". Did you mean HS256?"
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"none\"}]",
                "algorithm: must be HS256 or ES256, found \"none\""
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"ES256\", \"secret\": \"\(secret)\"}]",
                "userTokens[0].secret: can't be used with ES256"
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"ES256\", \"publicKey\": \"x\"}]",
                "userTokens[0].publicKey: is not a P-256 public key in PEM"
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"HS256\", \"secret\": \"\(secret)\", "
                    + "\"secretFile\": \"f\"}]",
                "userTokens[0].secretFile: can't be combined with secret; set only one"
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algorithm\": \"HS256\", \"secretFile\": \"gone\"}]",
                "userTokens[0].secretFile: "
            ),
            (
                "\"userTokens\": [{\"id\": \"a\", \"algoritm\": \"HS256\"}]",
                "userTokens[0].algoritm: there is no such key. Did you mean algorithm?"
            ),
            ("\"reviewUsers\": [\"\"]", "reviewUsers[0]: must be 1 to 128 bytes long, is 0"),
            ("\"reviewUsers\": \"a\"", "reviewUsers: must be a list, found text"),
        ])
    func wrongMembers(member: String, expected: String) throws {
        let directory = try TemporaryDirectory()
        let found = problems(try directory.write("till.json", text(member)))
        #expect(found.contains { $0.contains(expected) }, "\(found)")
        #expect(!found.contains { $0.contains("hunter2") || $0.contains(Self.secret) })
        #expect(found.allSatisfy { $0.hasPrefix(directory.path + "/till.json: ") })
    }

    @Test(
        "the apple settings are validated",
        arguments: [
            (
                "{\"bundleId\": \"a\", \"bundleID\": \"a\", \"environments\": [\"Sandbox\"]}",
                "apple.bundleID: there is no such key. Did you mean bundleId?"
            ),
            ("{\"environments\": [\"Sandbox\"]}", "apple.bundleId: is missing"),
            (
                "{\"bundleId\": \"a_b\", \"environments\": [\"Sandbox\"]}",
                "apple.bundleId: must be letters, digits, - and . only"
            ),
            ("{\"bundleId\": \"a\"}", "apple.environments: is missing"),
            ("{\"bundleId\": \"a\", \"environments\": []}", "apple.environments: is empty"),
            (
                "{\"bundleId\": \"a\", \"environments\": [\"production\"]}",
                "apple.environments[0]: must be Production or Sandbox, found \"production\". Did you mean Production?"
            ),
            (
                "{\"bundleId\": \"a\", \"environments\": [\"LocalTesting\"]}",
                "apple.environments[0]: a server never accepts LocalTesting"
            ),
            ("{\"bundleId\": \"a\", \"environments\": [\"Production\"]}", "apple.appAppleId: is missing"),
            (
                "{\"bundleId\": \"a\", \"environments\": [\"Sandbox\"], \"appAppleId\": 0}",
                "apple.appAppleId: must be above zero"
            ),
            (
                "{\"bundleId\": \"a\", \"environments\": [\"Sandbox\"], \"appAppleId\": \"1\"}",
                "apple.appAppleId: must be a whole number, found text"
            ),
            (
                "{\"bundleId\": \"a\", \"environments\": [\"Sandbox\"], \"roots\": []}",
                "apple.roots: is empty; leave it out to trust Apple's roots"
            ),
            (
                "{\"bundleId\": \"a\", \"environments\": [\"Sandbox\"], \"roots\": [\"no\"]}",
                "/no: there is no such file"
            ),
            (
                "{\"bundleId\": \"a\", \"environments\": [\"Sandbox\"], \"roots\": [\"till.json\"]}",
                "apple.roots[0]: is not a certificate in DER or PEM"
            ),
        ])
    func wrongApple(apple: String, expected: String) throws {
        let directory = try TemporaryDirectory()
        let found = problems(try directory.write("till.json", text(apple: apple)))
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    @Test("all problems are reported at once, in the requested language")
    func allAtOnce() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "till.json",
            """
            {"listn": 1, "database": 3, "apple": {"bundleId": "a", "environments": ["sandbox"]}, "reviewUsers": [4]}
            """)
        let english = problems(
            file, environment: ["TILL_LISTEM": "x", "TILL_SECRET_KEYS": "[", "TILL_APPLE_APP_APPLE_ID": "x"])
        #expect(english.count == 8)
        for expected in [
            "listn: there is no such key. Did you mean listen?", "database: must be text, found a number",
            "catalog: is missing",
            "apple.environments[0]: must be Production or Sandbox, found \"sandbox\". Did you mean Sandbox?",
            "reviewUsers[0]: must be text", "TILL_LISTEM: there is no such variable. Did you mean TILL_LISTEN?",
            "TILL_SECRET_KEYS: is not valid JSON", "TILL_APPLE_APP_APPLE_ID: must be a whole number, found \"x\"",
        ] {
            #expect(english.contains { $0.contains(expected) }, "\(expected) in \(english)")
        }
        let chinese = problems(file, language: .chinese)
        #expect(chinese.contains { $0.hasSuffix("listn：没有这个键。是否想写 listen？") }, "\(chinese)")
        #expect(chinese.contains { $0.hasSuffix("database：应为文字，实际为一个数") }, "\(chinese)")
    }

    @Test(
        "an unreadable file is one problem, not one per key",
        arguments: [
            ("", "is not valid JSON"), ("{\"listen\": }", "is not valid JSON"), ("{} {}", "has content after"),
            ("[]", "must be an object, found a list"), (String(repeating: "[", count: 100_000), "is nested too deeply"),
            ("\u{FEFF}{}", "is not valid JSON"),
        ])
    func unreadable(content: String, expected: String) throws {
        let directory = try TemporaryDirectory()
        let found = problems(try directory.write("till.json", content))
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    @Test("a JSON mistake names its file, line and column: in the configuration, and in the catalogue beside it")
    func mistakes() throws {
        let directory = try TemporaryDirectory()
        let broken = try directory.write("till.json", "{\n  \"listen\": \"127.0.0.1:1\"\n  \"database\": 1\n}\n")
        #expect(problems(broken) == ["\(shown(broken)): is not valid JSON (line 3, column 3)"])
        #expect(problems(broken, language: .chinese) == ["\(shown(broken))：不是合法的 JSON（第 3 行第 3 列）"])
        try directory.write("catalog.json", "{\"products\": [\n  {\"id\": 1, \"id\": 2}\n]}")
        let good = try directory.write(
            "good.json",
            """
            {"database": "sqlite:a.db", "catalog": "catalog.json",
             "apple": {"bundleId": "a", "environments": ["Sandbox"]}}
            """)
        let catalog = shown(directory.path + "/catalog.json")
        #expect(problems(good) == ["\(catalog): repeats a key in one object (line 2, column 13)"])
    }

    @Test("a missing file, a directory, bytes that are no text and an endless file are refused")
    func strangeFiles() throws {
        let directory = try TemporaryDirectory()
        #expect(problems(directory.path + "/none.json") == [directory.path + "/none.json: there is no such file"])
        #expect(problems(directory.path) == [directory.path + ": is a directory"])
        #expect(problems("/dev/zero") == ["/dev/zero: is longer than \(ConfigurationSources.maximumFileBytes) bytes"])
        #expect(
            try problems(directory.write("a", [0x7B, 0xFF, 0x7D])).first?.hasSuffix(
                "is not UTF-8 text (line 1, column 2)") == true)
    }

    @Test("a secret both in the environment and in a file is refused")
    func doubleSecret() throws {
        let directory = try TemporaryDirectory()
        let keys = try directory.write("keys.json", "[]")
        let found = problems(
            try directory.write("till.json", text()),
            environment: ["TILL_OPERATORS": "[]", "TILL_OPERATORS_FILE": keys])
        #expect(found == ["TILL_OPERATORS: can't be combined with TILL_OPERATORS_FILE; set only one"])
    }

    @Test("without a file, a missing setting is named by its variable")
    func missingVariables() {
        #expect(
            problems(nil) == [
                "TILL_DATABASE: is missing", "TILL_CATALOG: is missing", "TILL_APPLE_BUNDLE_ID: is missing",
                "TILL_APPLE_ENVIRONMENTS: is missing",
            ])
    }

    private static let applesRoots = AppleRoots.all.map { PEM.encode($0, label: "CERTIFICATE") }.joined()

    @Test("any root except Apple's is refused beside production, and accepted without it")
    func emulatorRootBesideProduction() throws {
        let directory = try TemporaryDirectory()
        try directory.write("emulator.cer", foreignCertificate())
        try directory.write("g3.pem", Self.applesRoots)
        func apple(_ environments: String, _ roots: String) -> String {
            "{\"bundleId\": \"a\", \"appAppleId\": 1, \"environments\": [\(environments)], \"roots\": [\(roots)]}"
        }
        func found(_ environments: String, _ roots: String) throws -> [String] {
            problems(try directory.write("till.json", text(apple: apple(environments, roots))))
        }
        #expect(try found("\"Sandbox\"", "\"emulator.cer\"").isEmpty)
        #expect(try found("\"Production\", \"Sandbox\"", "\"g3.pem\"").isEmpty)
        let refused = try found("\"Sandbox\", \"Production\"", "\"g3.pem\", \"emulator.cer\"")
        let fingerprint = hexadecimal(Digest.sha256.hash(foreignCertificate()))
        #expect(refused.count == 1)
        #expect(refused[0].contains("apple.roots[1]: is not one of Apple's root certificates (SHA-256 \(fingerprint))"))
        // It is also found after Apple's own root in one PEM file.
        try directory.write("both.pem", Self.applesRoots + PEM.encode(foreignCertificate(), label: "CERTIFICATE"))
        #expect(try found("\"Production\"", "\"both.pem\"").count == 1)
    }
}

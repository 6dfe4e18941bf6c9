import Foundation
import Testing
import TillAppStore
import TillCrypto

@testable import till

@Suite("The configuration of calls to Apple")
struct AppleServiceTests {
    private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    private static let key: String = (try? PrivateKey.generate(.p256).pem()) ?? ""

    private func load(
        _ apple: String, environments: String = "\"Sandbox\"", environment: [String: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        let text = """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog),
             "apple": {"bundleId": "com.example", "appAppleId": 1, "environments": [\(environments)]\(apple)}}
            """
        guard let directory = try? TemporaryDirectory(), let file = try? directory.write("till.json", text) else {
            throw ConfigurationError(problems: [])
        }
        _ = try? directory.write("key.p8", Self.key + "\n")
        _ = try? directory.write("rsa.p8", (try? PrivateKey.generate(.rsa2048).pem()) ?? "")
        _ = try? directory.write("secret", "0123456789abcdef\r\n")
        return try Configuration.load(file: file, environment: environment)
    }

    private func problems(
        _ apple: String, environments: String = "\"Sandbox\"", environment: [String: String] = [:]
    ) -> [String] {
        do throws(ConfigurationError) {
            _ = try load(apple, environments: environments, environment: environment)
            return []
        } catch {
            return error.failure.reasons.map { String($0.en.drop { $0 != ":" }.dropFirst(2)) }
        }
    }

    @Test("by default Apple is not called and revocation checking is off")
    func silence() throws {
        let service = try load("").appleService
        #expect(service.key == nil && service.sharedSecret == nil && service.revocation == .off)
        #expect(service.hosts == .apple && !service.asksEmulator)
    }

    @Test("key, secret, revocation and emulator come from the file, with paths relative to it")
    func file() throws {
        let service = try load(
            """
            , "issuerId": "\(Self.issuer)", "keyId": "2X9R4HXF34", "privateKeyFile": "key.p8",
            "sharedSecretFile": "secret", "revocation": "soft", "emulator": "http://127.0.0.1:8788/"
            """
        ).appleService
        #expect(service.key?.issuerID == Self.issuer && service.key?.keyID == "2X9R4HXF34")
        #expect(service.sharedSecret == "0123456789abcdef")
        #expect(service.revocation == .soft)
        #expect(service.hosts == .emulator(at: "http://127.0.0.1:8788") && service.asksEmulator)
    }

    @Test("all of it also comes from the environment, secrets as text or as files")
    func environment() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("key.p8", Self.key)
        let service = try load(
            "",
            environment: [
                "TILL_APPLE_ISSUER_ID": Self.issuer, "TILL_APPLE_KEY_ID": "AB", "TILL_APPLE_PRIVATE_KEY_FILE": file,
                "TILL_APPLE_SHARED_SECRET": "s3cret", "TILL_APPLE_REVOCATION": "hard",
                "TILL_APPLE_EMULATOR": "https://store.test",
            ]
        ).appleService
        #expect(service.key?.keyID == "AB" && service.sharedSecret == "s3cret" && service.revocation == .hard)
        #expect(service.hosts == .emulator(at: "https://store.test"))
        let inline = try load("", environment: ["TILL_APPLE_SHARED_SECRET": "x"]).appleService
        #expect(inline.sharedSecret == "x" && inline.key == nil)
    }

    @Test("an incomplete key, a key of another kind, and two forms of a secret are refused by name")
    func halves() {
        #expect(problems(", \"keyId\": \"AB\"") == ["apple.issuerId: is missing", "apple.privateKey: is missing"])
        #expect(
            problems(", \"privateKeyFile\": \"key.p8\"") == ["apple.issuerId: is missing", "apple.keyId: is missing"])
        let parts = ", \"issuerId\": \"\(Self.issuer)\", \"keyId\": \"AB\""
        let wrongKind = problems(parts + ", \"privateKeyFile\": \"rsa.p8\"")
        #expect(wrongKind.count == 1 && wrongKind[0].hasPrefix("apple.privateKeyFile: is not a P-256 private key"))
        #expect(problems(parts + ", \"privateKey\": \"no key\"").count == 1)
        #expect(
            problems(", \"sharedSecret\": \"a\", \"sharedSecretFile\": \"secret\"") == [
                "apple.sharedSecretFile: can't be combined with sharedSecret; set only one"
            ])
        #expect(problems(", \"issuerId\": \"me\", \"keyId\": \"2X-9\"").count == 3)
    }

    @Test("no message contains a secret")
    func secrecy() {
        let stated =
            problems(", \"sharedSecret\": \"top secret\"")
            + problems(", \"issuerId\": \"\(Self.issuer)\", \"keyId\": \"AB\", \"privateKey\": \"top secret\"")
        #expect(stated.count == 2)
        #expect(!stated.joined().contains("top secret"))
    }

    @Test("an emulator is never used beside Production, and its address is only an origin")
    func emulator() {
        let beside = problems(", \"emulator\": \"http://127.0.0.1:1\"", environments: "\"Production\", \"Sandbox\"")
        #expect(beside.count == 1 && beside[0].hasPrefix("apple.emulator: can't be combined with Production"))
        for wrong in ["127.0.0.1:1", "ftp://a", "http://", "http://a/b", "http://a?b", "http://u@a", "http://a:b"] {
            #expect(problems(", \"emulator\": \"\(wrong)\"").count == 1, "\(wrong)")
        }
        for good in ["http://a", "http://a:1", "https://[::1]:2"] {
            #expect(problems(", \"emulator\": \"\(good)\"").isEmpty, "\(good)")
        }
        #expect(
            problems(", \"revocation\": \"sotf\"") == [
                "apple.revocation: must be off, soft or hard, found \"sotf\". Did you mean soft?"
            ])
    }
}

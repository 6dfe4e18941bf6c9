import Foundation
import Testing
import TillBilling
import TillCrypto

@testable import till

@Suite("The warnings of till serve at its start")
struct StartWarningTests {
    private static let random = "q7Zk2TmXv9RbL4WnJ8sYd3HcP6uFe1Ga"

    private func warnings(
        _ members: String, mode: Int = 0o600, files: [String: String] = [:], hasApple: Bool = false
    ) throws -> [String] {
        let apple = hasApple ? "" : #", "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}"#
        let directory = try TemporaryDirectory()
        for (name, content) in files { try directory.write(name, content) }
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog)\(apple)\(members)}
            """)
        for name in ["till.json"] + files.keys {
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: directory.path + "/" + name)
        }
        return try Configuration.load(file: file).startWarnings.map { warning in
            #expect(!warning.zh.isEmpty)
            return warning.en.replacingOccurrences(of: directory.path + "/", with: "")
        }
    }

    private func token(_ secret: String) -> String {
        ", \"userTokens\": [{\"id\": \"app\", \"algorithm\": \"HS256\", \"secret\": \"\(secret)\"}]"
    }

    @Test("a good configuration has no warnings")
    func nothing() throws {
        #expect(try warnings("", mode: 0o644).isEmpty, "a configuration without a secret may be read")
        #expect(try warnings(token(Self.random)).isEmpty)
        #expect(try warnings(", \"listen\": \"[::1]:80\"").isEmpty)
    }

    @Test("a secret readable by other users is reported: in the configuration, or in a file that it names")
    func readable() throws {
        let inline = try warnings(token(Self.random), mode: 0o640)
        #expect(inline.map { $0.prefix(9) } == ["till.json"])
        let members = ", \"userTokens\": [{\"id\": \"app\", \"algorithm\": \"HS256\", \"secretFile\": \"app.secret\"}]"
        let named = try warnings(members, mode: 0o604, files: ["app.secret": Self.random])
        #expect(named.map { $0.prefix(10) } == ["app.secret"])
        #expect(try warnings(members, files: ["app.secret": Self.random]).isEmpty)
    }

    @Test("Apple's key or shared secret readable by others is reported: in the configuration, or in a file")
    func readableAppleSecrets() throws {
        func warnings(_ members: String, mode: Int, files: [String: String] = [:]) throws -> [String] {
            let apple = #", "apple": {"bundleId": "com.example", "environments": ["Sandbox"], \#(members)}"#
            return try self.warnings(apple, mode: mode, files: files, hasApple: true)
        }
        let ids = #""issuerId": "00000000-0000-4000-8000-000000000001", "keyId": "2X9R4HXF34", "#
        let key = try PrivateKey.generate(.p256).pem()
        let inline = key.replacingOccurrences(of: "\n", with: "\\n")
        let cases: [(members: String, files: [String: String], name: String)] = [
            (ids + #""privateKey": "\#(inline)""#, [:], "till.json "),
            (ids + #""privateKeyFile": "key.p8""#, ["key.p8": key], "key.p8 "),
            (#""sharedSecret": "0123456789abcdef""#, [:], "till.json "),
            (#""sharedSecretFile": "shared.txt""#, ["shared.txt": "0123456789abcdef"], "shared.txt "),
        ]
        for (members, files, name) in cases {
            let found = try warnings(members, mode: 0o640, files: files)
            #expect(found.count == 1 && found.first?.hasPrefix(name) == true, "\(name): \(found)")
            #expect(try warnings(members, mode: 0o600, files: files).isEmpty)
        }
    }

    @Test("missing keys are reported with what does not work without them, in both languages (issue 20)")
    func keys() throws {
        func warnings(_ environments: String, _ members: String = "", apple: String = "") throws -> [LocalizedText] {
            let directory = try TemporaryDirectory()
            try directory.write("key.p8", try PrivateKey.generate(.p256).pem())
            let file = try directory.write(
                "till.json",
                """
                {"database": "sqlite:a.db", "catalog": \(sampleCatalog)\(members),
                 "apple": {"bundleId": "a", "appAppleId": 1, "environments": [\(environments)]\(apple)}}
                """)
            let found = try Configuration.load(file: file).missingKeyWarnings
            for warning in found { #expect(!warning.zh.isEmpty && warning.zh != warning.en) }
            return found
        }
        let hash = String(repeating: "ab", count: 32)
        let secret = #", "secretKeys": [{"id": "backend", "sha256": "\#(hash)"}]"#
        let key =
            #", "issuerId": "00000000-0000-4000-8000-000000000001", "keyId": "2X9R4HXF34", "privateKeyFile": "key.p8""#
        let both = secret + token(Self.random)
        #expect(try warnings(#""Production""#, both, apple: key).isEmpty)
        #expect(try warnings(#""Sandbox""#, both).isEmpty)
        let keyless = try warnings(#""Production", "Sandbox""#, both)
        #expect(keyless.count == 1 && keyless[0].en.contains("no reconciliation"))
        #expect(try warnings(#""Sandbox""#).map(\.en).first?.hasPrefix("neither secretKeys nor userTokens") == true)
        #expect(try warnings(#""Sandbox""#, token(Self.random)).first?.en.hasPrefix("secretKeys is empty") == true)
        #expect(try warnings(#""Sandbox""#, secret).first?.en.hasPrefix("userTokens is empty") == true)
    }

    @Test("offers that the catalogue opens to users and no key can sign are reported, in both languages")
    func offers() throws {
        func warnings(_ offers: String, _ apple: String = "") throws -> [(en: String, zh: String)] {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "till.json",
                """
                {"database": "sqlite:a.db", "apple": {"bundleId": "com.example", "environments": ["Sandbox"]\(apple)},
                 "catalog": {"products": [{"id": "member", "type": "Auto-Renewable Subscription",
                   "names": {"en": "Member", "zh": "会员"}, "price": {"amount": 600, "currency": "CNY"},
                   "entitlement": "member"\(offers)}]}}
                """)
            return try Configuration.load(file: file).offerWarnings.map { ($0.en, $0.zh) }
        }
        #expect(try warnings("").isEmpty)
        let missing = try warnings(#", "promotionalOffers": ["loyal"]"#)
        #expect(missing.count == 1 && missing.first?.en.contains("member opens promotional offers") == true)
        #expect(missing.first?.zh.contains("无法签署优惠") == true)
        let key = try PrivateKey.generate(.p256).pem().replacingOccurrences(of: "\n", with: "\\n")
        let ids = #", "issuerId": "00000000-0000-4000-8000-000000000001", "keyId": "2X9R4HXF34""#
        #expect(try warnings(#", "promotionalOffers": ["loyal"]"#, ids + #", "privateKey": "\#(key)""#).isEmpty)
        #expect(throws: (any Error).self) { try warnings(#", "promotionalOffers": ["two words"]"#) }
        #expect(throws: (any Error).self) { try warnings(#", "promotionalOffer": ["loyal"]"#) }
    }

    @Test("a server that can't ask Apple about receipts says so, in both languages, with what happens to them (P2, P8)")
    func receipts() throws {
        func warnings(_ apple: String, _ more: String = "") throws -> [(en: String, zh: String)] {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "till.json",
                """
                {"database": "sqlite:a.db", "catalog": \(sampleCatalog),
                 "apple": {"bundleId": "com.example", "environments": ["Sandbox"]\(apple)}\(more)}
                """)
            return try Configuration.load(file: file).receiptWarnings.map { ($0.en, $0.zh) }
        }
        let neither = try warnings("")
        #expect(neither.count == 1)
        #expect(neither.first?.en.contains("neither an In-App Purchase Key nor apple.sharedSecret") == true)
        #expect(neither.first?.en.contains("wait in quarantine") == true)
        #expect(neither.first?.zh.contains("无法向 Apple 查询收据属于谁") == true)
        let opted = try warnings("", #", "receipts": {"policy": "provisional", "holdHours": 48}"#)
        #expect(opted.first?.en.contains("for 48 hours") == true && opted.first?.zh.contains("48 小时") == true)
        #expect(try warnings(#", "sharedSecret": "0123456789abcdef""#).isEmpty)
        let key = try PrivateKey.generate(.p256).pem().replacingOccurrences(of: "\n", with: "\\n")
        let ids = #""issuerId": "00000000-0000-4000-8000-000000000001", "keyId": "2X9R4HXF34""#
        #expect(try warnings(#", \#(ids), "privateKey": "\#(key)""#).isEmpty)
    }

    @Test(
        "a secret of user tokens made of words or a pattern is reported",
        arguments: [
            "correct horse battery staple please", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "0123456789012345678901234567890123456789", "ChangeMeChangeMeChangeMeChangeMeChange",
            "this-is-the-secret-of-our-little-shop-1",
        ])
    func weak(secret: String) throws {
        let found = try warnings(token(secret))
        #expect(found.count == 1 && found.first?.contains("\"app\"") == true)
        #expect(found.first?.contains(secret) == false, "a warning repeats no secret")
    }

    @Test(
        "no random secret is reported, in any form",
        arguments: [
            "c0ffee4d9b1e27a8f35d6c0b9e81742fa5d3c6b8e9f01724", "Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A=",
            "x8K-2mQ_v7LpR4tW9zYbN3cHjD6sFgAe", "XK4QZ7M2WVN5R3TBH6JD8YF9CPL1SGEA",
        ])
    func random(secret: String) { #expect(!WeakSecret.isWeak(Array(secret.utf8))) }

    @Test("random bytes are hardly ever called weak (1,000 secrets in base64 and hexadecimal)")
    func many() {
        for _ in 0..<1_000 {
            let bytes = RandomBytes.make(32)
            #expect(!WeakSecret.isWeak(Array(Base64.encode(bytes, .url).utf8)))
            #expect(!WeakSecret.isWeak(Array(hexadecimal(bytes).utf8)))
            #expect(!WeakSecret.isWeak(bytes))
        }
    }

    @Test("a signer's own certificate in place of a root is reported")
    func leaf() throws {
        let now = Int64(Date().timeIntervalSince1970)
        func template(_ name: String, _ serial: UInt8, _ role: CertificateTemplate.Role) -> CertificateTemplate {
            CertificateTemplate(
                subject: [("CN", name)], serial: [0x7E, serial], validity: now - 60...now + 86_400, role: role)
        }
        let root = try SigningIdentity.root(
            template("A root", 1, .authority(pathLength: nil)), key: .generate(.p256))
        let signer = try root.issue(template("A signer", 2, .signer), key: .generate(.p256))
        func warnings(_ der: [UInt8]) throws -> [String] {
            let directory = try TemporaryDirectory()
            try directory.write("apple.cer", der)
            let file = try directory.write(
                "till.json",
                """
                {"database": "sqlite:a.db", "catalog": \(sampleCatalog),
                 "apple": {"bundleId": "com.example", "environments": ["Sandbox"], "roots": ["apple.cer"]}}
                """)
            return try Configuration.load(file: file).startWarnings.map(\.en)
        }
        let found = try warnings(signer.chain[0])
        #expect(
            found.count == 1 && found.first?.contains("A signer is not a certificate authority") == true, "\(found)")
        #expect(try warnings(root.chain[0]).isEmpty)
    }

    @Test("plain HTTP on a public address is reported")
    func plain() throws {
        for address in ["0.0.0.0:8787", "192.168.1.5:80", "[::]:8787"] {
            let found = try warnings(", \"listen\": \"\(address)\"")
            #expect(found.count == 1 && found.first?.hasPrefix("plain HTTP on \(address)") == true)
        }
    }
}

import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// Generated proofs of the same kinds as the shared ones, for the oracle to verify too.
enum OracleCases {
    static let authority = TestAuthority()
    static let rsa = TestAuthority(keys: .rsa)
    private static let strangers = TestAuthority()
    private static let foreignRSA = TestAuthority(keys: .rsa)

    /// The policy as `till verify` would get it.
    static func policy(of question: Oracle.Question) -> InspectionPolicy {
        var policy = InspectionPolicy { testNow }
        policy.roots = question.roots
        policy.bundleID = question.policy["bundleId"]?.string
        policy.appAppleID = question.policy["appAppleId"]?.int
        policy.environment = question.policy["environment"]?.string
        policy.at = question.policy["at"]?.int
        policy.device = question.policy["deviceGuidHex"]?.string.map(bytesOfHexadecimal)
        policy.requiresIntermediateMarker = question.policy["intermediateOid"]?.bool ?? true
        return policy
    }

    // MARK: - Tokens

    private static func token(
        _ id: String, _ text: String, _ changes: [String: JSONValue?] = [:], root: TestAuthority = authority
    ) -> Oracle.Question {
        let policy: JSONValue = [
            "bundleId": "com.example.learn", "environment": "Production", "appAppleId": 1_234_567_890,
        ]
        return Oracle.Question(
            id: id, bytes: Array(text.utf8), kind: .transaction, format: "jws",
            policy: TestPayloads.changed(policy, changes).object ?? [:], roots: [root.root.der])
    }

    private static func transaction(_ id: String, _ changes: [String: JSONValue?]) -> Oracle.Question {
        token("transaction: \(id)", authority.sign(TestPayloads.transaction(changes)))
    }

    private static func notification(
        _ id: String, data: [String: JSONValue?] = [:], _ changes: [String: JSONValue?] = [:],
        policy: [String: JSONValue?] = [:]
    ) -> Oracle.Question {
        token("notification: \(id)", authority.sign(TestPayloads.notification(data: data, changes)), policy)
    }

    static var tokens: [Oracle.Question] {
        let nested: [String: JSONValue?] = [
            "signedTransactionInfo": .string(authority.sign(TestPayloads.transaction())),
            "signedRenewalInfo": .string(authority.sign(TestPayloads.renewal())),
        ]
        let summary: JSONValue = [
            "environment": "Production", "appAppleId": 1_234_567_890, "bundleId": "com.example.learn",
            "productId": "p", "requestIdentifier": "r", "storefrontCountryCodes": ["CHN"], "succeededCount": 5,
            "failedCount": 0,
        ]
        let appData: JSONValue = [
            "environment": "Production", "appAppleId": 1_234_567_890, "bundleId": "com.example.learn",
            "signedAppTransactionInfo": .string(authority.sign(TestPayloads.appTransaction())),
        ]
        return payloads + chains + [
            notification("plain"), notification("with nested tokens", data: nested),
            notification("a summary", ["data": nil, "summary": summary, "notificationType": "RENEWAL_EXTENSION"]),
            notification("app data", ["data": nil, "appData": appData, "notificationType": "RESCIND_CONSENT"]),
            notification("nothing it is about", ["data": nil]),
            notification("nothing, and no app asked for", ["data": nil], policy: ["bundleId": nil, "appAppleId": nil]),
            notification("an unknown type", ["notificationType": "BIRTHDAY", "subtype": "CAKE"]),
            notification("no date", ["signedDate": nil]), notification("an empty date", ["signedDate": .null]),
            notification(
                "no number, sandbox", data: ["appAppleId": nil, "environment": "Sandbox"],
                policy: ["environment": "Sandbox"]),
            notification("another number", data: ["appAppleId": 5]),
            notification("the number as text", data: ["appAppleId": "1234567890"]),
            notification("another app", data: ["bundleId": "com.example.other"]),
            notification("a nested token cut off", data: ["signedTransactionInfo": "a.b"]),
            token("renewal", authority.sign(TestPayloads.renewal())),
            token("app transaction", authority.sign(TestPayloads.appTransaction())),
            token(
                "app transaction of the sandbox",
                authority.sign(TestPayloads.appTransaction(["receiptType": "Sandbox", "appAppleId": nil])),
                ["environment": "Sandbox"]),
            token(
                "app transaction of before the certificate",
                authority.sign(TestPayloads.appTransaction(["receiptCreationDate": 1_600_000_000_000]))),
            token("blanks around it", " \r\n" + authority.sign(TestPayloads.transaction()) + "\n\t"),
        ]
    }

    private static var payloads: [Oracle.Question] {
        [
            transaction("plain", [:]), transaction("a fraction of a date", ["signedDate": 1_748_735_999_999.75]),
            transaction("a date as text", ["signedDate": .string(String(TestPayloads.signedDate))]),
            transaction("no date, verified now", ["signedDate": nil]),
            transaction("a date before the certificate", ["signedDate": 1_700_000_000_000]),
            transaction("a date after the certificate", ["signedDate": 1_800_000_000_000]),
            transaction("prices and quantities as text", ["price": "6000", "quantity": "1"]),
            transaction("no ids at all", ["transactionId": nil, "originalTransactionId": nil]),
            transaction("an unknown environment", ["environment": "Moon"]),
            transaction("no environment", ["environment": nil]), transaction("an empty one", ["environment": ""]),
            transaction("another app", ["bundleId": "com.example.other"]),
            transaction("an app that is no text", ["bundleId": 7]),
            transaction(
                "unknown members",
                [
                    "new": ["a": [1, .null, 2.5], "b": ["c": "é😀\u{2028}"]], "big": 9_007_199_254_740_993,
                ]),
            token(
                "transaction: verified at another time", authority.sign(TestPayloads.transaction()),
                ["at": 1_800_000_000]),
            token(
                "transaction: asked of the sandbox", authority.sign(TestPayloads.transaction()),
                ["environment": "Sandbox"]),
            token("transaction: no app asked for", authority.sign(TestPayloads.transaction()), ["bundleId": nil]),
            token(
                "transaction: decoded for Xcode",
                authority.sign(TestPayloads.transaction(["environment": "Xcode"]), x5c: [authority.leaf.der]),
                ["environment": "Xcode"]),
            token(
                "transaction: of Xcode, of another app",
                authority.sign(TestPayloads.transaction(["environment": "Xcode", "bundleId": "x.y"])),
                ["environment": "Xcode"]),
            token("transaction: not of Xcode", authority.sign(TestPayloads.transaction()), ["environment": "Xcode"]),
        ]
    }

    private static var chains: [Oracle.Question] {
        let payload = TestPayloads.transaction()
        let certificates = authority.certificates
        var flaws = TestAuthority.Flaws()
        flaws.leafMarker = nil
        let unmarkedLeaf = TestAuthority(flaws)
        flaws = TestAuthority.Flaws()
        flaws.intermediateMarker = "1.2.840.113635.100.6.2.2"
        let unmarked = TestAuthority(flaws)
        flaws = TestAuthority.Flaws()
        flaws.intermediateIsCA = false
        let barren = TestAuthority(flaws)
        flaws = TestAuthority.Flaws()
        flaws.leafKey = .p384
        let large = TestAuthority(flaws)
        let sound = authority.sign(payload)
        let start = sound.lastIndex(of: ".").map { sound.index(after: $0) } ?? sound.startIndex
        let short = sound[..<start] + Base64.encode([UInt8](repeating: 1, count: 63), .url)
        return [
            token(
                "chain: another third certificate",
                authority.sign(
                    payload, x5c: [certificates[0], certificates[1], strangers.root.der])),
            token("chain: one", authority.sign(payload, x5c: [certificates[0]])),
            token("chain: two", authority.sign(payload, x5c: Array(certificates.prefix(2)))),
            token("chain: four", authority.sign(payload, x5c: certificates + [certificates[2]])),
            token("chain: none", authority.sign(payload, header: ["alg": "ES256"])),
            token("chain: an empty list", authority.sign(payload, x5c: [])),
            token("chain: none, and another algorithm", authority.sign(payload, header: ["alg": "none"])),
            token("chain: another algorithm", authority.sign(payload, alg: "HS256")),
            token("chain: not base64", authority.sign(payload, header: ["alg": "ES256", "x5c": ["!", "!", "!"]])),
            token("chain: not certificates", authority.sign(payload, x5c: [[1, 2], [3], [4]])),
            token("chain: in another order", authority.sign(payload, x5c: Array(certificates.reversed()))),
            token("chain: another root", sound, root: strangers),
            token("chain: no leaf marker", unmarkedLeaf.sign(payload), root: unmarkedLeaf),
            token("chain: no intermediate marker", unmarked.sign(payload), root: unmarked),
            token("chain: an intermediate that may not sign", barren.sign(payload), root: barren),
            token("chain: a leaf of another curve", large.sign(payload), root: large),
            token("signature: of another key", strangers.sign(payload, x5c: certificates)),
            token("signature: too short", String(short)),
            token("form: two parts", "e30.e30"), token("form: no JSON", "e30.AAAA.AAAA"),
            token("form: four parts", sound + ".AAAA"),
            token(
                "header: more than it needs",
                authority.sign(
                    payload,
                    header: [
                        "alg": "ES256", "kid": "k", "typ": "JWT",
                        "x5c": .array(certificates.map { .string(Base64.encode($0)) }),
                    ])),
        ]
    }

    // MARK: - Receipts

    static func receipt(
        _ id: String, _ bytes: [UInt8], _ changes: [String: JSONValue?] = [:], format: String = "p7-der",
        root: TestAuthority = rsa
    ) -> Oracle.Question {
        Oracle.Question(
            id: "receipt: \(id)", bytes: bytes, kind: .receipt, format: format,
            policy: TestPayloads.changed(["bundleId": "com.example.learn"], changes).object ?? [:],
            roots: [root.root.der])
    }

    private static func content(_ id: String, _ content: [UInt8], _ changes: [String: JSONValue?] = [:])
        -> Oracle.Question
    {
        receipt(id, rsa.receipt(content), changes)
    }

    static var receipts: [Oracle.Question] {
        let plain = rsa.receipt(TestReceipts.content())
        let wrapped = TestASN1.element(0x04, TestReceipts.content())
        let text = Base64.encode(plain)
        let lines = stride(from: 0, to: text.utf8.count, by: 64).map {
            String(decoding: Array(text.utf8)[$0..<min($0 + 64, text.utf8.count)], as: UTF8.self)
        }
        let url = text.replacing("+", with: "-").replacing("/", with: "_")
        let device: [String: JSONValue?] = ["deviceGuidHex": "000102030405060708090a0b0c0d0e0f"]
        let alone = rsa.leaf.signCMS(
            TestReceipts.content(), others: [rsa.intermediate], hasSignedAttributes: false, sha1: false)
        let orphan = rsa.leaf.signCMS(TestReceipts.content(), others: [], hasSignedAttributes: false, sha1: false)
        let more = rsa.leaf.signCMS(
            TestReceipts.content(), others: [foreignRSA.intermediate, rsa.intermediate, rsa.root, foreignRSA.root],
            hasSignedAttributes: true, sha1: false)
        return contents + [
            receipt("plain", plain), receipt("of this device", plain, device),
            receipt("SHA-1", rsa.receipt(TestReceipts.content(), sha1: true)),
            receipt("signed attributes", rsa.receipt(TestReceipts.content(), hasSignedAttributes: true)),
            receipt("both", rsa.receipt(TestReceipts.content(), hasSignedAttributes: true, sha1: true)),
            receipt("base64", Array(text.utf8), format: "p7-b64"),
            receipt("base64 in lines", Array(lines.joined(separator: "\r\n").utf8), format: "p7-b64"),
            receipt("base64 of the other alphabet", Array(url.utf8), format: "p7-b64"),
            receipt("base64 cut off", Array(text.utf8.dropLast(1)), format: "p7-b64"),
            receipt("no base64", Array("MII*".utf8), format: "p7-b64"),
            receipt("indefinite lengths", TestBER.container(plain, pieceSize: nil)),
            receipt("indefinite lengths, in pieces", TestBER.container(plain, pieceSize: 100)),
            receipt("content wrapped twice", rsa.receipt(wrapped)),
            receipt(
                "wrapped twice, indefinite, in pieces",
                TestBER.container(rsa.receipt(wrapped, hasSignedAttributes: true), pieceSize: 64)),
            receipt("without its root", alone), receipt("without its intermediate", orphan),
            receipt("with more certificates than it needs", more),
            receipt("another root", plain, root: foreignRSA),
            receipt("cut off", Array(plain.prefix(plain.count / 2))), receipt("empty", []),
            receipt("no receipt", TestASN1.set([])),
        ]
    }

    private static var contents: [Oracle.Question] {
        let utf8 = TestASN1.utf8
        let extra: [[UInt8]] = [
            TestASN1.attribute(8, TestASN1.ia5("")), TestASN1.attribute(10, TestASN1.ia5("17+")),
            TestASN1.attribute(15, TestASN1.integer(1 << 60)), TestASN1.attribute(19, utf8("1.0")),
            TestASN1.attribute(21, TestASN1.ia5("4001-01-01T00:00:00Z")), TestASN1.attribute(9_999, [1, 2, 3]),
        ]
        let bare = TestASN1.attribute(17, TestASN1.set([]))
        let rich = TestASN1.attribute(
            17,
            TestASN1.set([
                TestASN1.attribute(1701, TestASN1.integer(-3)), TestASN1.attribute(1702, utf8("é.商品")),
                TestASN1.attribute(1703, utf8("1")),
                TestASN1.attribute(1711, TestASN1.integer(2_000_000_021_470_597)), TestASN1.attribute(1712, []),
                TestASN1.attribute(1719, TestASN1.integer(1)), TestASN1.attribute(1721, utf8("offer")),
                TestASN1.attribute(1722, TestASN1.integer(0)), TestASN1.attribute(1708, TestASN1.ia5("")),
            ]))
        return [
            content("many kinds of attributes", TestReceipts.content(purchases: [bare, rich], extra: extra)),
            content("no purchases", TestReceipts.content(purchases: [])),
            content(
                "fifty purchases", TestReceipts.content(purchases: (1...50).map { TestReceipts.purchase("\($0)") })),
            content("no type", TestReceipts.content(type: nil)),
            content("an empty type", TestReceipts.content(type: "")),
            content("volume purchase, sandbox", TestReceipts.content(type: "ProductionVPPSandbox")),
            content("of Xcode", TestReceipts.content(type: "Xcode")),
            content("a date with an offset", TestReceipts.content(created: "2025-06-01T03:00:00+0300")),
            content("a date with another offset", TestReceipts.content(created: "2025-05-31T16:00:00-08:00")),
            content("a date with a fraction", TestReceipts.content(created: "2025-06-01T00:00:00.250Z")),
            content("made after its certificate", TestReceipts.content(created: "2026-06-01T00:00:00Z")),
            content("another app", TestReceipts.content(bundleID: "com.example.other")),
            content("not a set", TestASN1.integer(5)), content("text", Array("hello".utf8)),
            content("nothing", []),
        ]
    }
}

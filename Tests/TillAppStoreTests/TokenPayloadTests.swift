import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

@Suite("A token's payload is read strictly and checked against the configuration")
struct TokenPayloadTests {
    private static let authority = TestAuthority()
    private var authority: TestAuthority { Self.authority }

    private func verdict(_ changes: [String: JSONValue?]) throws -> Verdict? {
        let verifier = try authority.verifier()
        return refusal { try verifier.transaction(authority.sign(TestPayloads.transaction(changes))) }
    }

    @Test(
        "The fields that processing needs must be present",
        arguments: ["transactionId", "productId", "purchaseDate", "signedDate"])
    func essentials(name: String) throws {
        #expect(try verdict([name: nil]) == .malformed)
        #expect(try verdict([name: .null]) == .malformed)
    }

    @Test(
        "Known fields of a wrong type or size are malformed",
        arguments: [
            ("transactionId", 2_000_000_900_000_001), ("transactionId", ""), ("transactionId", "12 3"),
            ("transactionId", .string(String(repeating: "1", count: 129))), ("productId", "\u{7}"),
            ("quantity", "1"), ("quantity", 0), ("quantity", -1), ("quantity", 1.5), ("quantity", 3_000_000_000),
            ("price", "6000"), ("price", 1e300), ("purchaseDate", "2025-06-01"), ("purchaseDate", 1e300),
            ("revocationDate", "now"), ("isUpgraded", 1), ("currency", 5), ("commitmentInfo", []),
        ] as [(String, JSONValue)])
    func wrongTypes(name: String, value: JSONValue) throws {
        #expect(try verdict([name: value]) == .malformed)
    }

    @Test("Unknown keys and unknown values survive")
    func unknown() throws {
        let jws = authority.sign(
            TestPayloads.transaction([
                "type": "Lifetime Pass", "newInAnyYear": ["x": [1, nil]], "revocationReason": 77,
            ]))
        let transaction = try authority.verifier().transaction(jws)
        #expect(transaction.payload.typeText == "Lifetime Pass" && transaction.type == nil)
        #expect(transaction.revocationReason?.rawValue == 77)
    }

    @Test("An account token that is no UUID is distinct from a missing one")
    func accountTokens() throws {
        let verifier = try authority.verifier()
        let odd = try verifier.transaction(authority.sign(TestPayloads.transaction(["appAccountToken": "order-17"])))
        #expect(odd.appAccountToken == nil)
        #expect(odd.appAccountTokenText == "order-17")
        let none = try verifier.transaction(authority.sign(TestPayloads.transaction(["appAccountToken": nil])))
        #expect(none.appAccountToken == nil && none.appAccountTokenText == nil)
    }

    @Test("Fractions of milliseconds are rounded down; a revocation is read")
    func dates() throws {
        let jws = authority.sign(
            TestPayloads.transaction(["purchaseDate": 1_748_735_995_000.729, "revocationDate": 1_748_735_999_000]))
        let transaction = try authority.verifier().transaction(jws)
        #expect(transaction.purchaseDate.milliseconds == 1_748_735_995_000)
        #expect(transaction.isRevoked)
    }

    @Test("A repeated key is refused, also when one is escaped; an escaped key counts as itself")
    func duplicateKeys() throws {
        let payload = Array(TestPayloads.transaction().encoded().utf8.dropLast())
        let header: JSONValue = [
            "alg": "ES256", "x5c": .array(authority.certificates.map { .string(Base64.encode($0)) }),
        ]
        let headerBytes = Array(header.encoded().utf8)
        let twice = payload + Array(#","bundleId":"com.example.other"}"#.utf8)
        let escaped = payload + Array(#","bundle\u0049d":"com.example.other"}"#.utf8)
        for bytes in [twice, escaped] {
            let jws = authority.sign(payload: bytes, header: headerBytes)
            #expect(refusal { try authority.verifier().transaction(jws) } == .malformed)
        }
        let other = TestPayloads.transaction(["bundleId": "com.example.other"]).encoded()
        let alone = Array(other.replacingOccurrences(of: "bundleId", with: #"bundle\u0049d"#).utf8)
        let jws = authority.sign(payload: alone, header: headerBytes)
        #expect(refusal { try authority.verifier().transaction(jws) } == .wrongApp)
    }

    @Test("The app is checked before the environment, and both against the configuration")
    func appAndEnvironment() throws {
        #expect(try verdict(["bundleId": "com.example.other"]) == .wrongApp)
        #expect(try verdict(["bundleId": "com.example.other", "environment": "Sandbox"]) == .wrongApp)
        for environment in ["Sandbox", "Xcode", "LocalTesting", "production", ""] {
            #expect(try verdict(["environment": .string(environment)]) == .wrongEnvironment)
        }
        #expect(try verdict(["environment": nil]) == .wrongEnvironment)
        let both = try authority.verifier(environments: [.production, .sandbox])
        let sandbox = authority.sign(TestPayloads.transaction(["environment": "Sandbox"]))
        #expect(try both.transaction(sandbox).environment == .sandbox)
        #expect(
            refusal { try both.transaction(authority.sign(TestPayloads.transaction(["environment": "Xcode"]))) }
                == .wrongEnvironment)
    }

    @Test("A proof of one kind is refused as another kind")
    func kinds() throws {
        let verifier = try authority.verifier()
        let renewal = authority.sign(TestPayloads.renewal())
        let transaction = authority.sign(TestPayloads.transaction())
        let app = authority.sign(TestPayloads.appTransaction())
        let notification = authority.sign(TestPayloads.notification())
        #expect(try verifier.renewalInfo(renewal).payload.autoRenewStatus == .on)
        #expect(try verifier.appTransaction(app).payload.appTransactionID == "71134")
        for other in [renewal, app, notification] {
            #expect(refusal { try verifier.transaction(other) } == .malformed)
        }
        for other in [transaction, app, notification] {
            #expect(refusal { try verifier.renewalInfo(other) } == .malformed)
        }
        for other in [transaction, renewal, notification] {
            #expect(refusal { try verifier.appTransaction(other) } == .malformed)
        }
    }

    @Test("The app's number is required in production, and not in an accepted sandbox")
    func appAppleID() throws {
        var policy = authority.policy(environments: [.production, .sandbox])
        policy.appAppleID = 1_234_567_890
        let verifier = try SignedDataVerifier(policy: policy)
        #expect(refusal { try verifier.appTransaction(authority.sign(TestPayloads.appTransaction())) } == nil)
        let other = TestPayloads.appTransaction(["appAppleId": 7])
        #expect(refusal { try verifier.appTransaction(authority.sign(other)) } == .wrongApp)
        let sandbox = TestPayloads.appTransaction(["appAppleId": nil, "receiptType": "Sandbox"])
        #expect(refusal { try verifier.appTransaction(authority.sign(sandbox)) } == nil)
        policy.environments = [.production]
        let production = try SignedDataVerifier(policy: policy)
        #expect(refusal { try production.appTransaction(authority.sign(sandbox)) } == .wrongApp)
    }

}

import Testing
import TillAppStore
import TillBilling
import TillJSON

@Suite("Notifications are verified together with all tokens inside")
struct NotificationTests {
    private static let authority = TestAuthority()
    private var authority: TestAuthority { Self.authority }

    private func notification(
        transaction: JSONValue = TestPayloads.transaction(), renewal: JSONValue = TestPayloads.renewal(),
        signer: TestAuthority? = nil, changes: [String: JSONValue?] = [:]
    ) -> String {
        let inner = signer ?? authority
        return authority.sign(
            TestPayloads.notification(
                data: [
                    "signedTransactionInfo": .string(inner.sign(transaction)),
                    "signedRenewalInfo": .string(inner.sign(renewal)),
                ], changes))
    }

    @Test("A sound notification carries verified parts")
    func sound() throws {
        let verified = try authority.verifier().notification(notification())
        #expect(verified.id == "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        #expect(verified.type == .oneTimeCharge)
        #expect(verified.transaction?.id == TransactionID("2000000900000001"))
        #expect(verified.renewalInfo?.payload.autoRenewProductID == "com.example.learn.monthly")
        #expect(verified.environment == .production)
    }

    @Test("A nested token of another signer, app or environment has a verdict of its own, by name")
    func nested() throws {
        let verifier = try authority.verifier(environments: [.production, .sandbox])
        let cases: [(String, Verdict)] = [
            (notification(signer: TestAuthority()), .chainUntrusted),
            (notification(transaction: TestPayloads.transaction(["bundleId": "com.example.other"])), .wrongApp),
            (notification(transaction: TestPayloads.transaction(["environment": "Sandbox"])), .wrongEnvironment),
            (notification(transaction: TestPayloads.transaction(["transactionId": nil])), .malformed),
            (notification(transaction: TestPayloads.renewal()), .malformed),
        ]
        for (jws, verdict) in cases {
            #expect {
                try verifier.notification(jws)
            } throws: { error in
                guard let failure = error as? VerificationError else { return false }
                return failure.verdict == verdict && failure.detail.hasPrefix("signedTransactionInfo")
            }
        }
        let renewal = notification(renewal: TestPayloads.renewal(["environment": "Sandbox"]))
        #expect(refusal { try verifier.notification(renewal) } == .wrongEnvironment)
    }

    @Test("An inspection names the nested token too, and does not require the fields that processing needs")
    func inspected() {
        var policy = InspectionPolicy { TestAuthority.today }
        policy.roots = [authority.root.der]
        let foreign = ProofInspection.inspect(Array(notification(signer: TestAuthority()).utf8), policy: policy)
        #expect(foreign.kind == .notification)
        #expect(foreign.verdict == "chain_untrusted")
        #expect(foreign.detail.hasPrefix("signedTransactionInfo"))
        let bare = notification(transaction: TestPayloads.transaction(["transactionId": nil]))
        #expect(ProofInspection.inspect(Array(bare.utf8), policy: policy).isOK)
        policy.bundleID = "com.example.other"
        #expect(ProofInspection.inspect(Array(notification().utf8), policy: policy).verdict == "wrong_app")
    }

    @Test("A notification without a date is verified at the current time")
    func withoutDate() throws {
        let jws = notification(changes: ["signedDate": nil])
        #expect(refusal { try authority.verifier().notification(jws) } == nil)
        let later = Instant(seconds: TestAuthority.validity.upperBound + 86_400)
        let verifier = try SignedDataVerifier(policy: authority.policy(now: later))
        #expect(refusal { try verifier.notification(jws) } == .chainExpired)
        #expect(refusal { try verifier.notification(notification()) } == nil)
    }

    @Test("The app's number is checked if the notification states it")
    func appAppleID() throws {
        var policy = authority.policy()
        policy.appAppleID = 42
        let verifier = try SignedDataVerifier(policy: policy)
        #expect(refusal { try verifier.notification(notification()) } == .wrongApp)
    }

    @Test("A notification without an id, or about no app, is refused")
    func withoutID() throws {
        let verifier = try authority.verifier()
        #expect(refusal { try verifier.notification(notification(changes: ["notificationUUID": nil])) } == .malformed)
        #expect(refusal { try verifier.notification(notification(changes: ["data": nil])) } == .wrongApp)
    }

    @Test(
        "The id of an external purchase token states its environment",
        arguments: [
            ("SANDBOX_b2158121", StoreEnvironment.sandbox), ("b2158121-7af9-49d4-9561-1f588205523e", .production),
        ])
    func externalPurchase(id: String, environment: StoreEnvironment) throws {
        let jws = notification(changes: [
            "data": nil, "notificationType": "EXTERNAL_PURCHASE_TOKEN",
            "externalPurchaseToken": ["externalPurchaseId": .string(id), "bundleId": "com.example.learn"],
        ])
        let verifier = try authority.verifier(environments: [.production, .sandbox])
        #expect(try verifier.notification(jws).environment == environment)
    }
}

import Testing
import TillAppStore
import TillBilling
import TillJSON

@Suite("Notifications of every type, subtype and object are accepted")
struct NotificationKindTests {
    private static let authority = TestAuthority()
    private var authority: TestAuthority { Self.authority }

    private func verified(_ payload: JSONValue) throws -> VerifiedNotification {
        try authority.verifier(environments: [.production, .sandbox]).notification(authority.sign(payload))
    }

    @Test("Every type with every subtype, known ones and ones that Apple may add")
    func types() throws {
        let types = NotificationType.known + [NotificationType(rawValue: "BIRTHDAY")]
        let subtypes = NotificationSubtype.known + [NotificationSubtype(rawValue: "CAKE")]
        #expect(Set(types).count == 24 && Set(subtypes).count == 20)
        let verifier = try authority.verifier()
        for type in types {
            for subtype in subtypes.map(Optional.some) + [nil] {
                let payload = TestPayloads.notification([
                    "notificationType": .string(type.rawValue), "subtype": subtype.map { .string($0.rawValue) },
                ])
                let notification = try verifier.notification(authority.sign(payload))
                #expect(notification.type == type && notification.subtype == subtype)
                #expect(notification.payload.json == payload)
            }
        }
    }

    @Test("A mass extension's summary, with its counts")
    func summary() throws {
        let summary: JSONValue = [
            "environment": "Sandbox", "bundleId": "com.example.learn", "productId": "com.example.learn.monthly",
            "requestIdentifier": "7d9a", "storefrontCountryCodes": ["CHN", "USA"], "succeededCount": 5_000_000_000,
            "failedCount": 2,
        ]
        let notification = try verified(
            TestPayloads.notification([
                "data": nil, "summary": summary, "notificationType": "RENEWAL_EXTENSION", "subtype": "SUMMARY",
            ]))
        #expect(notification.type == .renewalExtension && notification.subtype == .summary)
        #expect(notification.environment == .sandbox && notification.bundleID == "com.example.learn")
        #expect(notification.payload.summary?.succeededCount == 5_000_000_000)
        #expect(notification.payload.summary?.storefrontCountryCodes == ["CHN", "USA"])
        #expect(notification.transaction == nil)
    }

    @Test("A withdrawn consent, with its app transaction verified too")
    func appData() throws {
        func payload(_ app: JSONValue) -> JSONValue {
            TestPayloads.notification([
                "data": nil, "notificationType": "RESCIND_CONSENT",
                "appData": [
                    "environment": "Production", "appAppleId": 1_234_567_890, "bundleId": "com.example.learn",
                    "signedAppTransactionInfo": .string(authority.sign(app)),
                ],
            ])
        }
        let notification = try verified(payload(TestPayloads.appTransaction()))
        #expect(notification.type == .rescindConsent)
        #expect(notification.appTransaction?.payload.appTransactionID == "71134")
        let other = payload(TestPayloads.appTransaction(["bundleId": "com.example.other"]))
        #expect(refusal { try verified(other) } == .wrongApp)
        let sandbox = payload(TestPayloads.appTransaction(["receiptType": "Sandbox"]))
        #expect(refusal { try verified(sandbox) } == .wrongEnvironment)
        #expect(refusal { try verified(payload(TestPayloads.transaction())) } == .malformed)
    }

    @Test("An external purchase token with its kind and both dates")
    func externalPurchase() throws {
        let notification = try verified(
            TestPayloads.notification([
                "data": nil, "notificationType": "EXTERNAL_PURCHASE_TOKEN", "subtype": "ACTIVE_TOKEN_REMINDER",
                "externalPurchaseToken": [
                    "externalPurchaseId": "SANDBOX_b2158121", "bundleId": "com.example.learn", "tokenType": "SERVICES",
                    "tokenCreationDate": 1_748_736_000_000, "tokenExpirationDate": 1_780_272_000_000, "new": 1.5,
                ],
            ]))
        let token = try #require(notification.payload.externalPurchaseToken)
        #expect(notification.subtype == .activeTokenReminder && notification.environment == .sandbox)
        #expect(token.tokenType == "SERVICES" && token.tokenExpirationDate?.milliseconds == 1_780_272_000_000)
        #expect(try NotificationPayload.ExternalPurchaseToken(decoding: token.encoded()) == token)
        #expect(token.json["new"] == 1.5)
    }

    @Test("A consumption request, with a known reason and one that Apple may add")
    func consumption() throws {
        for reason in ["UNINTENDED_PURCHASE", "LEGAL", "BORED"] {
            let payload = TestPayloads.notification(
                data: ["consumptionRequestReason": .string(reason), "status": 9],
                ["notificationType": "CONSUMPTION_REQUEST"])
            let notification = try verified(payload)
            #expect(notification.payload.data?.consumptionRequestReason?.rawValue == reason)
            #expect(notification.status?.rawValue == 9)
        }
    }
}

import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillAppStore

/// Every endpoint against a stand-in that reads requests as Apple does and answers in Apple's signed formats.
@Suite("App Store Server API: answers")
struct ServerAPIAnswerTests {
    private static let id = TransactionID("2000000900000001")
    private static let request = UniqueID(high: 0x4F18_9D3A_0B1C_4D2E, low: 0x9F00_0000_0000_0001)
    private static let authority = TestAuthority()
    private static let transaction = JSONValue.string(authority.sign(TestPayloads.transaction()))
    private static let renewal = JSONValue.string(authority.sign(TestPayloads.renewal()))

    /// Method and path of Apple's endpoints, with their answers; any other is 404 without a body.
    private static let answers: [String: AppleResponse] = [
        "GET /inApps/v1/transactions/\(id)": .json(["signedTransactionInfo": transaction]),
        "GET /inApps/v1/transactions/appTransactions/\(id)": .json([
            "signedAppTransactionInfo": .string(authority.sign(TestPayloads.appTransaction()))
        ]),
        "POST /inApps/v1/transactions/\(id)/finish": .empty,
        "PUT /inApps/v1/transactions/\(id)/appAccountToken": .empty,
        "GET /inApps/v1/lookup/MQ4W9X": .json(["status": 0, "signedTransactions": [transaction]]),
        "GET /inApps/v1/lookup/MNOBODY": .json(["status": 1]),
        "GET /inApps/v1/lookup/MNEW": .json(["status": 7, "signedTransactions": []]),
        "GET /inApps/v1/refund/lookup/\(id)": .json(["signedTransactions": [transaction]]),
        "GET /inApps/v1/history/\(id)": .json([
            "signedTransactions": [transaction], "revision": "r1", "hasMore": false, "environment": "Moon",
        ]),
        "GET /inApps/v1/subscriptions/\(id)": .json([
            "environment": "Production", "bundleId": "com.example.learn", "appAppleId": 1_234_567_890,
            "data": [
                [
                    "subscriptionGroupIdentifier": "55555",
                    "lastTransactions": [
                        [
                            "originalTransactionId": .string(id.text), "status": 4,
                            "signedTransactionInfo": transaction, "signedRenewalInfo": renewal,
                        ],
                        ["originalTransactionId": "7", "status": 99],
                    ],
                ]
            ],
        ]),
        "PUT /inApps/v1/subscriptions/extend/\(id)": .json([
            "originalTransactionId": .string(id.text), "webOrderLineItemId": "20000001", "success": true,
            "effectiveDate": 1_748_736_000_123,
        ]),
        "POST /inApps/v1/subscriptions/extend/mass": .json(["requestIdentifier": .string(request.description)]),
        "GET /inApps/v1/subscriptions/extend/mass/com.example.monthly/\(request)": .json([
            "requestIdentifier": .string(request.description), "complete": true, "completeDate": 1_748_736_000_123,
            "succeededCount": 30, "failedCount": 2,
        ]),
        "GET /inApps/v1/subscriptions/extend/mass/com.example.yearly/\(request)": .json([
            "requestIdentifier": .string(request.description), "complete": false,
        ]),
        "POST /inApps/v1/notifications/test": .json(["testNotificationToken": "a1-b2"]),
        "GET /inApps/v1/notifications/test/a1-b2": .json([
            "signedPayload": .string(authority.sign(TestPayloads.notification(["notificationType": "TEST"]))),
            "sendAttempts": [["attemptDate": 1_748_736_000_123, "sendAttemptResult": "SUCCESS"]],
        ]),
        "PUT /inApps/v1/transactions/consumption/\(id)": AppleResponse(status: 202),
        "PUT /inApps/v2/transactions/consumption/\(id)": AppleResponse(status: 202),
    ]

    /// Checks requests as Apple does: the caller, the endpoint, and whether a body is allowed.
    private static func apple() throws -> CannedApple {
        let publicHalf = try #require(CannedApple.key).privateKey.publicKeyInfo()
        let key = try #require(PublicKey(der: publicHalf))
        return CannedApple { request in
            guard let bearer = request.headers.first(where: { $0.name == "Authorization" })?.value,
                bearer.hasPrefix("Bearer "), let token = CompactToken(String(bearer.dropFirst(7))),
                token.isSigned(by: key)
            else { return AppleResponse(status: 401) }
            let hasBody = !request.body.isEmpty
            let isJSON = (try? JSONValue(decoding: request.body))?.object != nil
            let declares = request.headers.contains { $0.name == "Content-Type" && $0.value == "application/json" }
            guard hasBody == declares, !hasBody || isJSON else { return .error(4_000_000) }
            let path = request.url.dropFirst("https://api.storekit.apple.com".utf8.count).prefix { $0 != "?" }
            return answers["\(request.method.rawValue) \(path)"] ?? AppleResponse(status: 404)
        }
    }

    @Test("Transactions and downloads are signed, and a verifier reads them")
    func transactions() async throws {
        let api = try Self.apple().api()
        let verifier = try Self.authority.verifier()
        let info = try await api.transactionInfo(Self.id)
        #expect(try info.value.verified(by: verifier).id == Self.id)
        #expect(info.environment == .production)
        let forger = try TestAuthority().verifier()
        #expect(throws: VerificationError.self) { try info.value.verified(by: forger) }
        let download = try await api.appTransactionInfo(of: Self.id)
        #expect(try download.value.verified(by: verifier).payload.appTransactionID == "71134")
        #expect(try await api.finish(Self.id) == .production)
        try await api.setAppAccountToken(Self.request, on: Self.id, in: .production)
        let refunds = try await api.refundHistoryV1(of: Self.id)
        #expect(try refunds.value.map { try $0.verified(by: verifier).id } == [Self.id])
        let history = try await api.historyV1(of: Self.id).value
        #expect(history.transactions.count == 1 && history.revision == "r1" && !history.hasMore)
        #expect(history.environment == "Moon" && history.bundleID == nil)
    }

    @Test("An order is looked up, an unknown one is invalid, and an unknown status survives")
    func orders() async throws {
        let api = try Self.apple().api()
        let order = try await api.lookUpOrder("MQ4W9X")
        #expect(order.status == .valid && order.transactions.count == 1)
        #expect(try await api.lookUpOrder("MNOBODY") == OrderLookup(status: .invalid, transactions: []))
        #expect(try await api.lookUpOrder("MNEW").status.rawValue == 7)
    }

    @Test("Statuses are listed by group, with both signed parts, and an unknown status survives")
    func statuses() async throws {
        let statuses = try await Self.apple().api().subscriptionStatuses(of: Self.id).value
        #expect(statuses.bundleID == "com.example.learn" && statuses.appAppleID == 1_234_567_890)
        let group = try #require(statuses.groups.first)
        #expect(group.id == "55555" && group.subscriptions.count == 2)
        let current = group.subscriptions[0]
        let verifier = try Self.authority.verifier()
        #expect(current.status == .billingGracePeriod && current.originalTransactionID == Self.id)
        #expect(try current.transaction?.verified(by: verifier).id == Self.id)
        #expect(try current.renewalInfo?.verified(by: verifier).originalTransactionID == Self.id)
        #expect(group.subscriptions[1].status?.rawValue == 99 && group.subscriptions[1].transaction == nil)
    }

    @Test("Extensions return their result, in milliseconds")
    func extensions() async throws {
        let api = try Self.apple().api()
        let one = RenewalExtension(days: 7, reason: .outage, requestIdentifier: "outage")
        let result = try await api.extendRenewal(of: Self.id, by: one, in: .production)
        #expect(result.isSuccess && result.originalTransactionID == Self.id && result.webOrderLineItemID == "20000001")
        #expect(result.effectiveDate == Instant(milliseconds: 1_748_736_000_123))
        let monthly = ProductID("com.example.monthly")
        let all = MassRenewalExtension(days: 7, reason: .outage, product: monthly, requestIdentifier: Self.request)
        #expect(try await api.extendAllRenewals(by: all, in: .production) == Self.request)
        let done = try await api.massExtensionStatus(of: Self.request, product: monthly, in: .production)
        #expect(done.isComplete && done.succeededCount == 30 && done.failedCount == 2)
        #expect(done.completeDate == Instant(milliseconds: 1_748_736_000_123))
        let yearly = ProductID("com.example.yearly")
        let running = try await api.massExtensionStatus(of: Self.request, product: yearly, in: .production)
        #expect(!running.isComplete && running.completeDate == nil && running.succeededCount == nil)
    }

    @Test("A test notification can be requested, and its delivery status read")
    func testNotification() async throws {
        let api = try Self.apple().api()
        let token = try await api.requestTestNotification(in: .production)
        let sent = try await api.testNotificationStatus(of: token, in: .production)
        #expect(sent.attempts.map(\.result) == [.success])
        #expect(try sent.notification.verified(by: try Self.authority.verifier()).type == .test)
    }

    @Test("Consumption information is accepted with 202")
    func consumption() async throws {
        let api = try Self.apple().api()
        let information = ConsumptionInformation(hasConsent: true, delivery: .delivered, hadSample: false)
        #expect(try await api.sendConsumption(information, of: Self.id) == .production)
        let old = ConsumptionInformationV1(hasConsent: true, hadSample: false)
        #expect(try await api.sendConsumptionV1(old, of: Self.id) == .production)
    }
}

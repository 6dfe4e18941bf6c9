import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillAppStore

@Suite("App Store Server API: requests")
struct ServerAPIRequestTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let call: @Sendable (ServerAPI) async throws -> Void
        let testDescription: String

        init(_ name: String, _ call: @escaping @Sendable (ServerAPI) async throws -> Void) {
            self.name = name
            self.call = call
            testDescription = name
        }
    }

    private static let id = TransactionID("2000000900000001")
    private static let request = UniqueID(high: 0x4F18_9D3A_0B1C_4D2E, low: 0x9F00_0000_0000_0001)

    private static var filter: HistoryFilter {
        var filter = HistoryFilter()
        filter.start = Instant(milliseconds: 1_700_000_000_001)
        filter.end = Instant(milliseconds: 1_700_000_000_002)
        filter.products = [ProductID("com.example.a"), ProductID("com.example.b c")]
        filter.kinds = [.consumable, .autoRenewable]
        filter.ownership = .familyShared
        filter.order = .descending
        filter.isRevoked = false
        filter.subscriptionGroups = ["55555", "6&7"]
        return filter
    }

    private static var notifications: NotificationQuery {
        NotificationQuery(
            from: TestAuthority.today.adding(seconds: -10), to: TestAuthority.today,
            filter: .type(.didChangeRenewalStatus, NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")),
            onlyFailures: true)
    }

    /// Every kind of request, in the order of `requests`.
    private static let rows: [Row] = [
        Row("transaction info") { _ = try await $0.transactionInfo(id) },
        Row("transaction info, sandbox") { _ = try await $0.transactionInfo(id, in: .sandbox) },
        Row("history") { _ = try await $0.history(of: id) },
        Row("history, filtered") { _ = try await $0.history(of: id, filter: filter, revision: "r/1=", in: .sandbox) },
        Row("history v1") { _ = try await $0.historyV1(of: id, revision: "r") },
        Row("statuses") { _ = try await $0.subscriptionStatuses(of: id) },
        Row("statuses, some") { _ = try await $0.subscriptionStatuses(of: id, only: [.active, .billingGracePeriod]) },
        Row("order") { _ = try await $0.lookUpOrder("MQ4W9X/7") },
        Row("refunds") { _ = try await $0.refundHistory(of: id, revision: "a b") },
        Row("refunds v1") { _ = try await $0.refundHistoryV1(of: id) },
        Row("consumption") {
            try await $0.sendConsumption(
                ConsumptionInformation(
                    hasConsent: true, delivery: .delivered, hadSample: false, percentage: 50_000,
                    preference: .grantProrated, productType: .consumable), of: id)
        },
        Row("consumption, least") {
            try await $0.sendConsumption(
                ConsumptionInformation(hasConsent: true, delivery: .serverOutage, hadSample: true), of: id)
        },
        Row("consumption v1") {
            var reported = ConsumptionInformationV1(hasConsent: true, hadSample: false)
            reported.delivery = .wrongItem
            reported.consumption = .partial
            reported.platform = .apple
            reported.appAccountToken = request
            reported.tenure = .init(days: 31)
            reported.playTime = .init(minutes: 61)
            reported.purchased = .init(cents: 49_99)
            reported.refunded = .init(cents: 0)
            reported.account = .active
            reported.preference = .decline
            try await $0.sendConsumptionV1(reported, of: id)
        },
        Row("consumption v1, least") {
            try await $0.sendConsumptionV1(ConsumptionInformationV1(hasConsent: true, hadSample: true), of: id)
        },
        Row("extend one") {
            let extra = RenewalExtension(days: 90, reason: .outage, requestIdentifier: "outage-7")
            _ = try await $0.extendRenewal(of: id, by: extra, in: .production)
        },
        Row("extend all") {
            let extra = MassRenewalExtension(
                days: 1, reason: .undeclared, product: ProductID("com.example.monthly"), requestIdentifier: request,
                storefronts: ["CHN", "USA"])
            try await $0.extendAllRenewals(by: extra, in: .sandbox)
        },
        Row("extension status") {
            _ = try await $0.massExtensionStatus(
                of: request, product: ProductID("com.example.monthly"), in: .production)
        },
        Row("test notification") { _ = try await $0.requestTestNotification(in: .production) },
        Row("test status") { _ = try await $0.testNotificationStatus(of: "a1_b?c", in: .production) },
        Row("notifications") {
            _ = try await $0.notificationHistory(notifications, paginationToken: "p+1", in: .production)
        },
        Row("notifications of one") {
            var query = notifications
            query.filter = .transaction(id)
            query.onlyFailures = false
            _ = try await $0.notificationHistory(query, in: .production)
        },
        Row("account token") { try await $0.setAppAccountToken(request, on: id, in: .production) },
        Row("app transaction") { _ = try await $0.appTransactionInfo(of: TransactionID("71134")) },
        Row("finish") { try await $0.finish(id) },
    ]

    /// Method, URL and body, one request per line.
    private static let requests = """
        GET P/inApps/v1/transactions/2000000900000001
        GET S/inApps/v1/transactions/2000000900000001
        GET P/inApps/v2/history/2000000900000001
        GET S/inApps/v2/history/2000000900000001?revision=r%2F1%3D&startDate=1700000000001&endDate=1700000000002\
        &productId=com.example.a&productId=com.example.b%20c&productType=CONSUMABLE&productType=AUTO_RENEWABLE\
        &inAppOwnershipType=FAMILY_SHARED&sort=DESCENDING&revoked=false&subscriptionGroupIdentifier=55555\
        &subscriptionGroupIdentifier=6%267
        GET P/inApps/v1/history/2000000900000001?revision=r
        GET P/inApps/v1/subscriptions/2000000900000001
        GET P/inApps/v1/subscriptions/2000000900000001?status=1&status=4
        GET P/inApps/v1/lookup/MQ4W9X%2F7
        GET P/inApps/v2/refund/lookup/2000000900000001?revision=a%20b
        GET P/inApps/v1/refund/lookup/2000000900000001
        PUT P/inApps/v2/transactions/consumption/2000000900000001 {"consumptionPercentage":50000,\
        "customerConsented":true,"deliveryStatus":"DELIVERED","refundPreference":"GRANT_PRORATED",\
        "sampleContentProvided":false}
        PUT P/inApps/v2/transactions/consumption/2000000900000001 {"customerConsented":true,\
        "deliveryStatus":"UNDELIVERED_SERVER_OUTAGE","sampleContentProvided":true}
        PUT P/inApps/v1/transactions/consumption/2000000900000001 {"accountTenure":4,\
        "appAccountToken":"4f189d3a-0b1c-4d2e-9f00-000000000001","consumptionStatus":2,"customerConsented":true,\
        "deliveryStatus":2,"lifetimeDollarsPurchased":2,"lifetimeDollarsRefunded":1,"platform":1,"playTime":3,\
        "refundPreference":2,"sampleContentProvided":false,"userStatus":1}
        PUT P/inApps/v1/transactions/consumption/2000000900000001 {"accountTenure":0,"appAccountToken":"",\
        "consumptionStatus":0,"customerConsented":true,"deliveryStatus":0,"lifetimeDollarsPurchased":0,\
        "lifetimeDollarsRefunded":0,"platform":0,"playTime":0,"sampleContentProvided":true,"userStatus":0}
        PUT P/inApps/v1/subscriptions/extend/2000000900000001 {"extendByDays":90,"extendReasonCode":3,\
        "requestIdentifier":"outage-7"}
        POST S/inApps/v1/subscriptions/extend/mass {"extendByDays":1,"extendReasonCode":0,\
        "productId":"com.example.monthly","requestIdentifier":"4f189d3a-0b1c-4d2e-9f00-000000000001",\
        "storefrontCountryCodes":["CHN","USA"]}
        GET P/inApps/v1/subscriptions/extend/mass/com.example.monthly/4f189d3a-0b1c-4d2e-9f00-000000000001
        POST P/inApps/v1/notifications/test
        GET P/inApps/v1/notifications/test/a1_b%3Fc
        POST P/inApps/v1/notifications/history?paginationToken=p%2B1 {"endDate":1748736000000,\
        "notificationSubtype":"AUTO_RENEW_DISABLED","notificationType":"DID_CHANGE_RENEWAL_STATUS",\
        "onlyFailures":true,"startDate":1748735990000}
        POST P/inApps/v1/notifications/history {"endDate":1748736000000,"startDate":1748735990000,\
        "transactionId":"2000000900000001"}
        PUT P/inApps/v1/transactions/2000000900000001/appAccountToken \
        {"appAccountToken":"4f189d3a-0b1c-4d2e-9f00-000000000001"}
        GET P/inApps/v1/transactions/appTransactions/71134
        POST P/inApps/v1/transactions/2000000900000001/finish
        """

    @Test("Every endpoint is called with exactly its method, URL, body and headers")
    func requests() async throws {
        let expected = Self.requests.split(separator: "\n").map(String.init)
        try #require(expected.count == Self.rows.count)
        for (row, line) in zip(Self.rows, expected) {
            // The answer has no meaning: only the request counts.
            let apple = CannedApple(.text("", status: 500))
            let api = try apple.api()
            await #expect(throws: ServerAPIError.self, "\(row.name)") { try await row.call(api) }
            let request = try #require(apple.asked.first)
            #expect(apple.asked.count == 1, "\(row.name)")
            let url = request.url.replacing("https://api.storekit-sandbox.apple.com", with: "S")
                .replacing("https://api.storekit.apple.com", with: "P")
            let body = String(decoding: request.body, as: UTF8.self)
            #expect("\(request.method.rawValue) \(url)\(body.isEmpty ? "" : " " + body)" == line, "\(row.name)")
            var names = ["Authorization", "Accept", "User-Agent"]
            if !body.isEmpty { names.append("Content-Type") }
            #expect(request.headers.map(\.name) == names, "\(row.name)")
            let headers = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
            #expect(headers["Accept"] == "application/json" && headers["Authorization"]?.hasPrefix("Bearer ") == true)
            #expect(body.isEmpty || headers["Content-Type"] == "application/json")
            #expect((1 << 20...4 << 20).contains(request.responseLimit))
        }
    }

    @Test("Every endpoint is in the table")
    func coverage() async throws {
        var endpoints: Set<ServerAPI.Endpoint> = []
        for endpoint in ServerAPI.Endpoint.allCases {
            for row in Self.rows where !endpoints.contains(endpoint) {
                let apple = CannedApple(.text("", status: 429))
                let budget = RequestBudget(effects: apple.effects)
                let api = ServerAPI(
                    key: try #require(CannedApple.key), bundleID: "b", effects: apple.effects, budget: budget)
                try? await row.call(api)
                // A 429 closes the endpoint that was called.
                let isClosed = StoreEnvironment.allCases.contains {
                    budget.nextAvailable(of: endpoint, in: $0) > apple.now
                }
                if isClosed { endpoints.insert(endpoint) }
            }
        }
        #expect(endpoints == Set(ServerAPI.Endpoint.allCases))
    }

    @Test(
        "An id from outside fills its place in the URL and no other",
        arguments: [
            ("1/../../x", "1%2F..%2F..%2Fx"), ("1?a=b", "1%3Fa%3Db"), ("1#x", "1%23x"), ("a b", "a%20b"),
            ("%2e%2e", "%252e%252e"), ("交易", "%E4%BA%A4%E6%98%93"), ("a@b:80\\c", "a%40b%3A80%5Cc"), ("...", "..."),
        ])
    func hostileIDs(_ id: String, _ segment: String) async throws {
        let apple = CannedApple(.error(4_000_006))
        let api = try apple.api(environments: [.production])
        _ = await thrownError { () throws(ServerAPIError) in try await api.finish(TransactionID(id)) }
        #expect(
            apple.asked.map(\.url) == ["https://api.storekit.apple.com/inApps/v1/transactions/\(segment)/finish"])
    }

    @Test(
        "An id that no escaping makes safe is not sent",
        arguments: [
            ("", InvalidRequestError.Rule.missing), (".", .badText), ("..", .badText), ("1\r\nHost: x", .badText),
            ("1\u{0}", .badText), (String(repeating: "1", count: 129), .tooLong),
        ])
    func impossibleIDs(_ id: String, _ rule: InvalidRequestError.Rule) async throws {
        let apple = CannedApple(.empty)
        let api = try apple.api()
        let found = await thrownError { () throws(ServerAPIError) in try await api.transactionInfo(TransactionID(id)) }
        #expect(found == .invalid(InvalidRequestError("transactionId", rule)))
        #expect(found?.isRetryable == false)
        #expect(apple.asked.isEmpty)
    }

    @Test("A request that is not sent says why in sentences, not in names of the code")
    func sentences() {
        for rule in [InvalidRequestError.Rule.environmentNotAsked, .productionOnly, .noConsent, .contradiction] {
            let text = ServerAPIError.invalid(InvalidRequestError("environment", rule)).sentence
            #expect(!text.en.contains("\(rule)") && !text.zh.contains("\(rule)"))
            #expect(text.en.hasPrefix("The request wasn't sent: environment "))
            #expect(text.zh.hasPrefix("请求未发送：environment "))
        }
    }

    @Test("An environment that the configuration excludes is never called")
    func environments() async throws {
        let apple = CannedApple(.error(4_040_010))
        let api = try apple.api(environments: [.sandbox])
        let refused = ServerAPIError.invalid(InvalidRequestError("environment", .environmentNotAsked))
        #expect(
            await thrownError { () throws(ServerAPIError) in
                try await api.transactionInfo(Self.id, in: .production)
            } == refused)
        #expect(
            await thrownError { () throws(ServerAPIError) in try await api.lookUpOrder("M1") }
                == .invalid(InvalidRequestError("orderId", .productionOnly)))
        #expect(apple.asked.isEmpty)
        let found = await thrownError { () throws(ServerAPIError) in try await api.transactionInfo(Self.id) }
        #expect(found?.code == .transactionIDNotFound)
        #expect(apple.asked.count == 1)
        #expect(apple.asked.allSatisfy { $0.url.hasPrefix("https://api.storekit-sandbox.apple.com/") })
    }

    @Test("A bearer token has the claims that Apple requires, is signed by the key, and is used for four minutes")
    func bearerTokens() async throws {
        let apple = CannedApple(.error(4_040_001))
        let api = try apple.api(environments: [.production])
        for seconds in [0, 239, 1, 100] {
            apple.advance(milliseconds: Int64(seconds) * 1_000)
            _ = await thrownError { () throws(ServerAPIError) in try await api.transactionInfo(Self.id) }
        }
        let tokens = apple.asked.compactMap { $0.headers.first?.value.dropFirst(7) }.map(String.init)
        try #require(tokens.count == 4)
        #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2] && tokens[2] == tokens[3])
        let token = try #require(CompactToken(tokens[0]))
        let start = TestAuthority.today.seconds
        let header = try #require(token.header)
        #expect(try JSONValue(decoding: header) == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
        #expect(
            try JSONValue(decoding: token.payload) == [
                "iss": "57246542-96fe-1a63-e053-0824d011072a", "iat": .int(start), "exp": .int(start + 300),
                "aud": "appstoreconnect-v1", "bid": "com.example.learn",
            ])
        let publicHalf = try #require(CannedApple.key).privateKey.publicKeyInfo()
        let publicKey = try #require(PublicKey(der: publicHalf))
        #expect(token.isSigned(by: publicKey))
        let before = TestAuthority.today.adding(seconds: -1)
        #expect(try api.bearerToken(at: before) != tokens[3], "A clock set back gets a token that is not of the future")
    }
}

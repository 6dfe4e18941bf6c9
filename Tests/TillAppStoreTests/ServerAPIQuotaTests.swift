import Testing
import TillBilling

@testable import TillAppStore

@Suite("App Store Server API: Apple's quotas")
struct ServerAPIQuotaTests {
    @Test("A 429 closes only its endpoint in its environment, until the time it names")
    func closing() async throws {
        let until = TestAuthority.today.adding(milliseconds: 90_000)
        let apple = CannedApple(
            AppleResponse(status: 429, headers: [.init("Retry-After", String(until.milliseconds))]),
            .error(4_040_001))
        let api = try apple.api()
        let id = TransactionID("1")
        func ask(_ environment: StoreEnvironment) async -> ServerAPIError? {
            await thrownError { () throws(ServerAPIError) in try await api.history(of: id, in: environment) }
        }
        #expect(await ask(.production) == .rateLimited(until: until))
        #expect(await ask(.production) == .overBudget(until: until), "Nothing is sent while Apple said no")
        #expect(apple.asked.count == 1)
        #expect(await ask(.sandbox)?.code == .accountNotFound)
        let status = await thrownError { () throws(ServerAPIError) in
            try await api.subscriptionStatuses(of: id, in: .production)
        }
        #expect(status?.code == .accountNotFound)
        let persistent = api.calling(as: .bulk("reconciliation"))
        let later = await thrownError { () throws(ServerAPIError) in
            try await persistent.history(of: id, in: .production)
        }
        #expect(later?.code == .accountNotFound)
        #expect(apple.now == until)
    }

    @Test("Apple's quotas have these values, a tenth of them in the sandbox, and can be configured")
    func published() {
        let quotas = RequestQuotas()
        let table: [(count: Int, endpoints: [ServerAPI.Endpoint], tenth: RequestQuota)] = [
            (
                50,
                [
                    .transactionInfo, .history, .subscriptionStatuses, .consumption, .notificationHistory, .finish,
                    .appTransactionInfo,
                ], RequestQuota(5)
            ),
            (20, [.extendRenewal, .appAccountToken], RequestQuota(2)),
            (10, [.orderLookup, .refundHistory], RequestQuota(1)),
            (
                1, [.massExtension, .massExtensionStatus, .testNotification, .testNotificationStatus],
                RequestQuota(1, per: 10_000)
            ),
        ]
        #expect(table.reduce(0) { $0 + $1.endpoints.count } == ServerAPI.Endpoint.allCases.count)
        for row in table {
            for endpoint in row.endpoints {
                #expect(quotas[endpoint, .production] == RequestQuota(row.count), "\(endpoint)")
                #expect(quotas[endpoint, .sandbox] == row.tenth, "\(endpoint)")
            }
        }
        #expect(RequestQuota(50, hourly: 180_000).hourly == nil, "The pace keeps the hour by itself")
        #expect(RequestQuota(50, hourly: 179_999).hourly == 179_999)
        #expect(RequestQuota(0, per: -1) == RequestQuota(1, per: 1))
    }
}

import Testing
import TillBilling

@testable import TillAppStore

@Suite("App Store Server API: invalid requests are not sent")
struct ServerAPIBodyTests {
    private static let id = TransactionID("2000000900000001")

    private static func rule(_ call: (ServerAPI) async throws(ServerAPIError) -> Void) async throws -> String {
        let apple = CannedApple(.text("", status: 500))
        let api = try apple.api()
        let found = await thrownError { () throws(ServerAPIError) in try await call(api) }
        guard case .invalid(let request) = found else {
            #expect(apple.asked.count == 1)
            return "sent"
        }
        #expect(apple.asked.isEmpty)
        #expect(found?.isRetryable == false)
        return "\(request.field) \(request.rule.rawValue)"
    }

    private typealias V2 = ConsumptionInformation

    @Test("Consumption information is checked against Apple's rules before it is sent (facts/server-api §5)")
    func consumption() async throws {
        let field = "consumptionPercentage"
        let rows: [(V2, String)] = [
            (V2(hasConsent: true, delivery: .delivered, hadSample: false), "sent"),
            (V2(hasConsent: false, delivery: .delivered, hadSample: false), "customerConsented noConsent"),
            (V2(hasConsent: true, delivery: .delivered, hadSample: false, percentage: 0), "sent"),
            (V2(hasConsent: true, delivery: .delivered, hadSample: false, percentage: 100_000), "sent"),
            (V2(hasConsent: true, delivery: .delivered, hadSample: false, percentage: -1), "\(field) outOfRange"),
            (V2(hasConsent: true, delivery: .delivered, hadSample: false, percentage: 100_001), "\(field) outOfRange"),
            (V2(hasConsent: true, delivery: .wrongItem, hadSample: false, percentage: 0), "sent"),
            (V2(hasConsent: true, delivery: .wrongItem, hadSample: false, percentage: 1), "\(field) contradiction"),
            (prorated(nil, .consumable), "\(field) missing"), (prorated(0, .consumable), "\(field) contradiction"),
            (prorated(1, .consumable), "sent"), (prorated(nil, .nonRenewing), "\(field) missing"),
            (prorated(nil, .autoRenewable), "sent"), (prorated(1, .autoRenewable), "\(field) contradiction"),
            (prorated(0, .autoRenewable), "\(field) contradiction"), (prorated(0, nil), "\(field) contradiction"),
            (prorated(nil, nil), "sent"), (prorated(5, nil), "sent"),
        ]
        for (index, row) in rows.enumerated() {
            let found = try await Self.rule { (api) throws(ServerAPIError) in
                try await api.sendConsumption(row.0, of: Self.id)
            }
            #expect(found == row.1, "row \(index)")
        }
        for preference in V2.RefundPreference.allCases where preference != .grantProrated {
            let reported = V2(hasConsent: true, delivery: .delivered, hadSample: true, preference: preference)
            let found = try await Self.rule { (api) throws(ServerAPIError) in
                try await api.sendConsumption(reported, of: Self.id)
            }
            #expect(found == "sent")
        }
        let silent = ConsumptionInformationV1(hasConsent: false, hadSample: false)
        let found = try await Self.rule { (api) throws(ServerAPIError) in
            try await api.sendConsumptionV1(silent, of: Self.id)
        }
        #expect(found == "customerConsented noConsent")
    }

    private func prorated(_ percentage: Int?, _ type: ProductType?) -> V2 {
        V2(
            hasConsent: true, delivery: .delivered, hadSample: false, percentage: percentage,
            preference: .grantProrated, productType: type)
    }

    @Test("Tenures, times and sums map to Apple's ranges")
    func classes() {
        typealias V1 = ConsumptionInformationV1
        let tenures = [0: 1, 3: 1, 4: 2, 10: 2, 30: 3, 90: 4, 180: 5, 181: 6, 365: 6, 366: 7, Int.max: 7]
        for (days, expected) in tenures { #expect(V1.Tenure(days: days).rawValue == expected) }
        let times = [0: 1, 5: 1, 6: 2, 60: 2, 360: 3, 1_440: 4, 5_760: 5, 23_040: 6, 23_041: 7]
        for (minutes, expected) in times { #expect(V1.PlayTime(minutes: minutes).rawValue == expected) }
        let sums: [Int64: Int64] = [
            0: 1, 1: 2, 4_999: 2, 5_000: 3, 9_999: 3, 10_000: 4, 49_999: 4, 50_000: 5, 99_999: 5, 100_000: 6,
            199_999: 6, 200_000: 7,
        ]
        for (cents, expected) in sums { #expect(V1.Dollars(cents: cents).rawValue == expected) }
    }

    @Test("Extensions are checked against Apple's limits")
    func extensions() async throws {
        let rows: [(days: Int, identifier: String, String)] = [
            (1, "a", "sent"), (90, String(repeating: "a", count: 128), "sent"), (0, "a", "extendByDays outOfRange"),
            (91, "a", "extendByDays outOfRange"), (1, "", "requestIdentifier missing"),
            (1, String(repeating: "a", count: 129), "requestIdentifier tooLong"),
        ]
        for row in rows {
            let found = try await Self.rule { (api) throws(ServerAPIError) in
                let extra = RenewalExtension(days: row.days, reason: .other, requestIdentifier: row.identifier)
                _ = try await api.extendRenewal(of: Self.id, by: extra, in: .production)
            }
            #expect(found == row.2)
        }
        let field = "storefrontCountryCodes"
        let mass: [(product: String, storefronts: [String]?, String)] = [
            ("com.example.monthly", nil, "sent"), ("com.example.monthly", ["CHN"], "sent"),
            ("com.example.monthly", [], "\(field) missing"), ("com.example.monthly", ["chn"], "\(field) badText"),
            ("com.example.monthly", ["CN"], "\(field) badText"), ("", nil, "productId badText"),
            ("a/b", nil, "productId badText"),
            ("com.example.monthly", [String](repeating: "CHN", count: 301), "\(field) tooLong"),
        ]
        for row in mass {
            let found = try await Self.rule { (api) throws(ServerAPIError) in
                let extra = MassRenewalExtension(
                    days: 7, reason: .outage, product: ProductID(row.product),
                    requestIdentifier: UniqueID(high: 1, low: 2), storefronts: row.storefronts)
                try await api.extendAllRenewals(by: extra, in: .production)
            }
            #expect(found == row.2)
        }
    }

    @Test("Notifications are requested within 180 days, from an earlier time to a later one")
    func notificationSpans() async throws {
        let now = TestAuthority.today
        let day: Int64 = 86_400
        let rows: [(start: Int64, end: Int64, String)] = [
            (-180 * day, 0, "sent"), (-180 * day - 1, 0, "startDate outOfRange"), (0, 0, "endDate contradiction"),
            (0, -1, "endDate contradiction"), (-1, 0, "sent"),
        ]
        for row in rows {
            let found = try await Self.rule { (api) throws(ServerAPIError) in
                let query = NotificationQuery(from: now.adding(seconds: row.start), to: now.adding(seconds: row.end))
                _ = try await api.notificationHistory(query, in: .production)
            }
            #expect(found == row.2)
        }
    }

    @Test("An empty or contradictory filter is not sent")
    func filters() async throws {
        var backwards = HistoryFilter()
        backwards.start = Instant(milliseconds: 2)
        backwards.end = Instant(milliseconds: 2)
        var many = HistoryFilter()
        many.products = [ProductID](repeating: ProductID("a"), count: 51)
        var long = HistoryFilter()
        long.products = [ProductID](repeating: ProductID(String(repeating: "交", count: 42)), count: 50)
        var empty = HistoryFilter()
        empty.subscriptionGroups = [""]
        let rows = [
            (backwards, "endDate contradiction"), (many, "productId tooLong"), (long, "productId tooLong"),
            (empty, "subscriptionGroupIdentifier missing"),
        ]
        for (filter, expected) in rows {
            let found = try await Self.rule { (api) throws(ServerAPIError) in
                _ = try await api.history(of: Self.id, filter: filter)
            }
            #expect(found == expected)
        }
        let revision = try await Self.rule { (api) throws(ServerAPIError) in
            _ = try await api.history(of: Self.id, revision: "")
        }
        #expect(revision == "revision missing")
    }
}

import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Entitlements and subscriptions read by the app")
struct SubscriptionReadsTests {
    /// Reads from a server that answers every request with one text.
    private static func reads(_ text: String, asked: Guarded<[String]> = Guarded([])) -> ServerReads {
        ServerReads(
            server: ServerAccess(
                url: "https://till.test",
                transport: Transport { (request) async throws(TransportError) -> TransportResponse in
                    asked.withLock { $0.append(request.url) }
                    return TransportResponse(status: 200, contentType: "application/json", body: Array(text.utf8))
                }, language: .english
            ) { UserSession(userID: UserID("ann"), token: "t") })
    }

    @Test("An entitlement has its state, end and reason; an unknown reason of a later server keeps its name")
    func entitlements() async throws {
        let rights = try await Self.reads(
            """
            {"data":[{"entitlement":"premium","productId":"p","kind":"subscription","state":"grace",
            "why":"grace_period","sentence":{"en":"Until then.","zh":"到那时。"},"since":"2026-01-01T00:00:00Z",
            "expiresAt":"2026-02-01T00:00:00Z","willRenew":true,"transactionId":"2","originalTransactionId":"1"},
            {"entitlement":"moon","productId":"m","kind":"leased","state":"waning","why":"tide",
            "since":"2026-01-01T00:00:00Z","transactionId":"3"}]}
            """
        ).entitlements()
        #expect(rights.map(\.state) == [.grace, SubscriptionState(rawValue: "waning")])
        #expect(rights.map(\.reason) == [.gracePeriod, EntitlementReason(rawValue: "tide")])
        #expect(rights[0].sentence(in: "zh-Hans") == "到那时。" && rights[1].sentence(in: "en").isEmpty)
        #expect(rights[0].willRenew == true && rights[0].originalTransactionID == "1")
        #expect(rights[1].willRenew == nil && rights[1].expires == nil)
    }

    @Test("Access to a feature is checked with one call, for any name")
    func access() async throws {
        let asked = Guarded<[String]>([])
        let access = try await Self.reads(
            """
            {"entitlement":"a/b 学","allowed":false,"until":"2026-02-01T00:00:00Z","why":"refunded",
            "sentence":{"en":"Refunded.","zh":"已退款。"},"sources":[]}
            """, asked: asked
        ).entitlement("a/b 学")
        #expect(asked.now == ["https://till.test/v1/users/ann/entitlements/a%2Fb%20%E5%AD%A6"])
        #expect(!access.isAllowed && access.reason == .refunded && access.name == "a/b 学")
        #expect(access.expires == Date(timeIntervalSince1970: 1_769_904_000) && access.sources.isEmpty)
        #expect(access.sentence(in: "en") == "Refunded.")
    }

    @Test("A subscription shows its next event; one with only the required members is read too")
    func subscriptions() async throws {
        let asked = Guarded<[String]>([])
        let found = try await Self.reads(
            """
            {"data":[{"originalTransactionId":"1","transactionId":"2","productId":"p","state":"active",
            "stateName":{"en":"Active","zh":"生效中"},"title":{"en":"Premium","zh":"高级版"},"entitlement":"premium",
            "plan":"monthly","group":"9","since":"2026-01-01T00:00:00Z","expiresAt":"2026-02-01T00:00:00Z",
            "willRenew":true,"renewsAt":"2026-02-01T00:00:00Z","renewalProductId":"b",
            "renewalPrice":{"amount":1234,"currency":"USD"},"priceIncrease":"pending","isFamilyShared":false},
            {"originalTransactionId":"5","transactionId":"5","productId":"q","state":"asleep",
            "title":{"en":"q","zh":"q"},"since":"2026-01-01T00:00:00Z","expiresAt":"2026-02-01T00:00:00Z",
            "isFamilyShared":true,"reason":"other"}]}
            """, asked: asked
        ).subscriptions()
        #expect(asked.now == ["https://till.test/v1/users/ann/subscriptions"])
        #expect(found.map(\.id) == ["1", "5"] && found.map(\.isFamilyShared) == [false, true])
        #expect(found[0].renewalPrice == Decimal(string: "12.34") && found[0].renewalCurrency == "USD")
        #expect(found[0].renewalProductID == "b" && found[0].isPriceIncreasePending)
        #expect(found[0].title(in: "zh") == "高级版" && found[0].stateName(in: "en") == "Active")
        #expect(found[1].stateName(in: "en") == "asleep" && found[1].willRenew == nil)
        #expect(found[1].expirationReason == "other" && found[1].renewalPrice == nil)
    }
}

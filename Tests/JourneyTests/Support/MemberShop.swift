import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillServer

/// A shop that sells a membership by the month and by the year, with offers, and signs offers with the store's key.
enum MemberShop {
    static let monthly = "com.example.learn.member.monthly"
    static let yearly = "com.example.learn.member.yearly"
    /// The monthly membership's promotional offers: users may request the first, backends both.
    static let (open, restricted) = ("open", "restricted")
    /// In fen: the list price, and the price with either offer.
    static let (listPrice, offerPrice): (Int64, Int64) = (1_800, 900)

    static let catalog = Catalog(
        products: Shop.catalog.products + [
            CatalogProduct(
                id: ProductID(monthly), type: .autoRenewable, names: LocalizedText(en: "Membership", zh: "会员（月）"),
                price: Money(amount: listPrice, currency: Currency("CNY")), entitlement: "member",
                promotionalOffers: [open]),
            CatalogProduct(
                id: ProductID(yearly), type: .autoRenewable, names: LocalizedText(en: "Membership", zh: "会员（年）"),
                price: Money(amount: 12_000, currency: Currency("CNY")), entitlement: "member"),
        ])

    private static func price(_ fen: Int64) -> JSONValue { ["CHN": ["amount": .int(fen), "currency": "CNY"]] }

    private static func promotional(_ id: String) -> JSONValue {
        [
            "kind": "promotional", "identifier": .string(id), "discount": "PAY_AS_YOU_GO", "period": "P1M",
            "prices": price(offerPrice),
        ]
    }

    private static let products: JSONValue = [
        [
            "id": .string(monthly), "type": "Auto-Renewable Subscription", "prices": price(listPrice),
            "subscriptionGroup": "members", "level": 2, "period": "P1M",
            "offers": [
                ["kind": "introductory", "discount": "FREE_TRIAL", "period": "P1W"], promotional(open),
                promotional(restricted),
            ],
        ],
        [
            "id": .string(yearly), "type": "Auto-Renewable Subscription", "prices": price(12_000),
            "subscriptionGroup": "members", "level": 1, "period": "P1Y", "monthlyBilling": true,
        ],
    ]

    /// Puts the memberships on sale, and gives the server the store's key.
    static func stock(_ shop: Shop) async throws {
        let loaded = try await shop.ask(.put, "/emulator/products", ["products": products])
        try #require(loaded.status == 200, "\(loaded.body)")
        let key = try await shop.ask(.get, "/emulator/api-key")
        let offerKey = try InAppPurchaseKey(
            issuerID: key["issuerId"].text, keyID: key["keyId"].text,
            privateKey: PrivateKey(pem: key["privateKey"].text))
        try shop.restart { $0.inAppPurchaseKey = offerKey }
    }
}

extension Shop {
    /// What an account paid, oldest first, in minor units.
    func amounts(of account: String) async throws -> [Int64] {
        let reply = try await ask(.get, "/emulator/transactions?account=\(account)&limit=100")
        try #require(reply.status == 200, "\(reply.body)")
        return reply["data"].list.compactMap { $0.at("price").at("amount").int }
    }

    /// Ends an account's subscription.
    func expireMembership(of account: String) async throws {
        let original = try #require(try await transactions(of: account, "state=purchased").first)
        let reply = try await ask(.post, "/emulator/subscriptions/\(original)/cancel")
        try #require(reply.status == 200, "\(reply.body)")
        time.advance(seconds: 40 * 86_400)
        _ = try await ask(.get, "/emulator/subscriptions")
    }
}

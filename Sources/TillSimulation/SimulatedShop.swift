import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// The products of a simulated world, for both the store and the server, and the secrets of its app.
enum SimulatedShop {
    static let bundleID = "com.example.simulated"
    static let secretKey = "sk_simulation_0123456789abcdef"
    static let tokenSecret = Array("the token secret of a simulation".utf8)
    static let webhookSecret = Array("the webhook secret of a world".utf8)

    /// The key of a world's seals: known to no other world.
    static func sealKey(of seed: UInt64) -> SealKey {
        guard let key = SealKey("the key of the seals of the world \(seed)") else {
            preconditionFailure("the key of a world's seals is too short")
        }
        return key
    }

    static let points60 = "\(bundleID).points60"
    static let points300 = "\(bundleID).points300"
    static let pro = "\(bundleID).pro"
    static let silver = "\(bundleID).silver"
    static let gold = "\(bundleID).gold"
    static let goldYear = "\(bundleID).gold.year"
    /// The highest level: an upgrade to it ends any running plan.
    static let platinum = "\(bundleID).platinum"
    static let basic = "\(bundleID).basic_monthly"
    /// Sold by the store only: the server's catalogue does not contain it.
    static let unlisted = "\(bundleID).unlisted"

    private static let group = "21000001"

    static let catalog = Catalog(products: [
        CatalogProduct(
            id: ProductID(points60), type: .consumable, names: LocalizedText(en: "60 points", zh: "60 学点"),
            price: price(600), points: ["points": 60]),
        CatalogProduct(
            id: ProductID(points300), type: .consumable, names: LocalizedText(en: "300 points", zh: "300 学点"),
            price: price(3_000), points: ["points": 300]),
        CatalogProduct(
            id: ProductID(pro), type: .nonConsumable, names: LocalizedText(en: "Pro", zh: "专业版"), price: price(9_800),
            entitlement: "pro"),
        member(silver, "Silver", 2_800), member(gold, "Gold", 6_800), member(goldYear, "Gold for a year", 68_800),
        member(platinum, "Platinum", 9_800),
        CatalogProduct(
            id: ProductID(basic), type: .consumable, names: LocalizedText(en: "Basic", zh: "基础版"), price: price(1_800),
            plan: PlanLength("P1M").map { PlanTerms(id: PlanID("basic_monthly"), length: $0, rank: "basic") }),
    ])

    static let sold: [StoreProduct] = [
        once(points60, .consumable, 600), once(points300, .consumable, 3_000), once(pro, .nonConsumable, 9_800),
        renewing(silver, 3, .week, 2_800), renewing(gold, 2, .week, 6_800), renewing(goldYear, 2, .year, 68_800),
        renewing(platinum, 1, .week, 9_800),
        once(basic, .consumable, 1_800), once(unlisted, .consumable, 600),
    ]

    /// The level of a subscription in its group; 1 is the highest.
    static func level(of product: String) -> Int64? {
        sold.first { $0.id == ProductID(product) }?.subscription?.level
    }

    private static func price(_ amount: Int64) -> Money { Money(amount: amount, currency: Currency("CNY")) }

    private static func member(_ id: String, _ name: String, _ amount: Int64) -> CatalogProduct {
        CatalogProduct(
            id: ProductID(id), type: .autoRenewable, names: LocalizedText(en: name, zh: name), price: price(amount),
            entitlement: "member")
    }

    private static func once(_ id: String, _ kind: ProductType, _ amount: Int64) -> StoreProduct {
        StoreProduct(id: ProductID(id), kind: kind, name: id, prices: ["CHN": price(amount)])
    }

    private static func renewing(
        _ id: String, _ level: Int64, _ period: SubscriptionPeriod, _ amount: Int64
    ) -> StoreProduct {
        StoreProduct(
            id: ProductID(id), kind: .autoRenewable, name: id, prices: ["CHN": price(amount)],
            subscription: SubscriptionTerms(groupID: group, level: level, period: period))
    }

    /// The points of a purchase; 0 for products without points.
    static func points(of product: String, quantity: Int64) -> Int64 {
        (catalog[ProductID(product)]?.points["points"] ?? 0) * quantity
    }

    /// The token that the app's backend gives a user, valid for an hour.
    ///
    /// - Parameters:
    ///   - seconds: how long the token is valid.
    ///   - isGuest: the user has no account.
    static func token(of user: String, at now: Instant, for seconds: Int64 = 3_600, isGuest: Bool = false) -> String {
        let header = Base64.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8), .url)
        let second = now.milliseconds / 1_000
        var members: [String: JSONValue] = [
            "sub": .string(user), "iat": .int(second), "exp": .int(second + seconds),
        ]
        if isGuest { members["guest"] = true }
        let claims = Base64.encode(JSONValue.object(members).encodedBytes(), .url)
        let code = HMACSHA256.code(for: "\(header).\(claims)".utf8, key: tokenSecret)
        return "\(header).\(claims).\(Base64.encode(code, .url))"
    }

    /// The user of a request's token.
    static func user(of request: HTTPRequest) -> String? {
        guard let parts = request.headers["Authorization"]?.utf8.split(separator: UInt8(ascii: ".")), parts.count == 3,
            let claims = Base64.decode(parts[1], .url), case .object(let members)? = try? JSONValue(decoding: claims),
            case .string(let user)? = members["sub"]
        else { return nil }
        return user
    }
}

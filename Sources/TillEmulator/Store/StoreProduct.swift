import TillBilling

/// What a product is, in the words of Apple's signed payloads (facts/jws §4, `type`).
public enum ProductKind: String, Sendable, Hashable, CaseIterable {
    case consumable = "Consumable"
    case nonConsumable = "Non-Consumable"
    case autoRenewable = "Auto-Renewable Subscription"
    case nonRenewing = "Non-Renewing Subscription"

    /// Only these two may be bought several at a time (facts/business-rules §1).
    var allowsQuantity: Bool { self == .consumable || self == .nonRenewing }

    /// Attribute 1707 of a receipt (facts/pkcs7-receipt §3.2).
    var receiptNumber: Int64 {
        switch self {
        case .nonConsumable: 0
        case .consumable: 1
        case .nonRenewing: 2
        case .autoRenewable: 3
        }
    }
}

/// How long one period of a subscription is (facts/business-rules §8.1), as ISO 8601 writes it.
public enum SubscriptionPeriod: String, Sendable, Hashable, CaseIterable {
    case week = "P1W"
    case month = "P1M"
    case twoMonths = "P2M"
    case threeMonths = "P3M"
    case sixMonths = "P6M"
    case year = "P1Y"

    private var months: Int {
        switch self {
        case .week: 0
        case .month: 1
        case .twoMonths: 2
        case .threeMonths: 3
        case .sixMonths: 6
        case .year: 12
        }
    }

    /// The end of the period that begins at `start`. Calendar months keep the day of the month; a month that lacks
    /// the day uses its last one.
    public func end(from start: Instant) -> Instant {
        if self == .week { return start.adding(seconds: 7 * 86_400) }
        let dayNumber = Int((start.seconds - ((start.seconds % 86_400) + 86_400) % 86_400) / 86_400)
        let date = CivilDate(daysSinceEpoch: dayNumber)
        let monthIndex = date.year * 12 + date.month - 1 + months
        let year = monthIndex / 12
        let month = monthIndex % 12 + 1
        let day = min(date.day, CivilDate.length(ofMonth: month, year: year))
        guard let end = CivilDate(year: year, month: month, day: day) else { return start }
        return start.adding(seconds: Int64(end.daysSinceEpoch - dayNumber) * 86_400)
    }
}

/// One product on sale in the emulated store.
public struct StoreProduct: Sendable, Hashable {
    public var id: ProductID
    public var kind: ProductKind
    /// The reference name of App Store Connect.
    public var name: String
    /// The price of one, by storefront (ISO 3166-1 alpha-3). Where there is no price it is not for sale.
    public var prices: [String: Money]
    /// Both only for auto-renewables.
    public var groupID: String?
    public var period: SubscriptionPeriod?

    public init(
        id: ProductID, kind: ProductKind, name: String, prices: [String: Money], groupID: String? = nil,
        period: SubscriptionPeriod? = nil
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.prices = prices
        self.groupID = groupID
        self.period = period
    }

    /// What the store sells until it is told otherwise: LearnPoints' packs of points (SCENARIOS L), at the classic
    /// tiers' prices, and one product of each other kind.
    public static func sampleCatalogue(bundleID: String) -> [StoreProduct] {
        func priced(_ fen: Int64, _ cents: Int64) -> [String: Money] {
            [
                "CHN": Money(amount: fen, currency: Currency("CNY")),
                "USA": Money(amount: cents, currency: Currency("USD")),
            ]
        }
        func product(_ suffix: String) -> ProductID { ProductID("\(bundleID).\(suffix)") }
        return [
            StoreProduct(id: product("points60"), kind: .consumable, name: "60 points", prices: priced(600, 99)),
            StoreProduct(id: product("points300"), kind: .consumable, name: "300 points", prices: priced(3_000, 499)),
            StoreProduct(id: product("points680"), kind: .consumable, name: "680 points", prices: priced(6_800, 999)),
            StoreProduct(id: product("library"), kind: .nonConsumable, name: "Library", prices: priced(1_800, 299)),
            StoreProduct(id: product("course"), kind: .nonRenewing, name: "90-day course", prices: priced(6_000, 899)),
            StoreProduct(
                id: product("member.monthly"), kind: .autoRenewable, name: "Membership, monthly",
                prices: priced(1_800, 299), groupID: "21000001", period: .month),
        ]
    }
}

/// Apple's storefronts that have a number we know; others are sold in as well, their `storefrontId` stays out.
enum Storefront {
    /// USA as measured; the others are the numbers in common use (facts/limits §1).
    static let numbers: [String: String] = [
        "USA": "143441", "FRA": "143442", "DEU": "143443", "GBR": "143444", "CAN": "143455", "AUS": "143460",
        "JPN": "143462", "HKG": "143463", "SGP": "143464", "CHN": "143465", "KOR": "143466", "IND": "143467",
        "TWN": "143470",
    ]

    static func isWellFormed(_ code: String) -> Bool {
        code.utf8.count == 3 && code.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }
}

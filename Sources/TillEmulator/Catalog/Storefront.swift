import TillBilling

/// Where a customer's account is at home, and what is paid with there.
enum Storefront {
    /// Every code, in alphabetical order.
    static let codes = StorefrontTable.rows.map(\.code)

    /// Apple's numbers, of those that are known; the `storefrontId` of others stays out.
    static let numbers = Dictionary(
        StorefrontTable.rows.compactMap { row in row.number.map { (row.code, $0) } },
        uniquingKeysWith: { first, _ in first })

    private static let currencies = Dictionary(
        StorefrontTable.rows.map { ($0.code, Currency($0.currency)) }, uniquingKeysWith: { first, _ in first })

    static func exists(_ code: String) -> Bool { currencies[code] != nil }

    /// What its customers pay in; nil if there is no such storefront.
    static func currency(of code: String) -> Currency? { currencies[code] }

    static func isWellFormed(_ code: String) -> Bool {
        code.utf8.count == 3 && code.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    /// The code that was probably meant: the right one in small letters, two letters of it, or its neighbour.
    static func nearest(to code: String) -> String? {
        guard code.utf8.count <= 40 else { return nil }
        let capitals = code.uppercased()
        if exists(capitals) { return capitals }
        return twoLetters[capitals] ?? nearestName(to: capitals, among: codes)
    }

    /// ISO 3166-1 alpha-2 of the storefronts that are asked for most; where the third letter is just added, the
    /// nearest name finds it.
    private static let twoLetters = [
        "CN": "CHN", "US": "USA", "GB": "GBR", "UK": "GBR", "DE": "DEU", "FR": "FRA", "JP": "JPN", "KR": "KOR",
        "HK": "HKG", "TW": "TWN", "SG": "SGP", "CA": "CAN", "AU": "AUS", "IN": "IND", "MO": "MAC",
    ]
}

extension EmulatorConfiguration {
    /// The storefronts there are, by their codes (ISO 3166-1 alpha-3), in alphabetical order.
    public static var storefronts: [String] { Storefront.codes }

    /// The code that was probably meant by a text that is none; nil if nothing is near.
    public static func nearestStorefront(to text: String) -> String? { Storefront.nearest(to: text) }
}

import TillBilling

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

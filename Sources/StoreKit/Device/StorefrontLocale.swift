import Foundation

extension Locale {
    /// How prices are written in a storefront: `zh-Hans_CN@currency=CNY`.
    ///
    /// - Parameters:
    ///   - storefront: ISO 3166-1 alpha-3, as the App Store names its storefronts.
    ///   - language: BCP 47, of the texts shown there; English if there is none.
    ///   - currency: ISO 4217.
    static func storefront(_ storefront: String, language: String?, currency: String) -> Locale {
        // The region of the texts' language is not the storefront's.
        let parts = (language ?? "en").split { $0 == "-" || $0 == "_" }
        let spoken = parts.enumerated().filter { $0.offset == 0 || $0.element.count == 4 }.map { String($0.element) }
        // Foundation reads three letters of a country and writes two.
        let region = Locale(identifier: "und_\(storefront)").region?.identifier ?? storefront
        return Locale(identifier: "\(spoken.joined(separator: "-"))_\(region)@currency=\(currency)")
    }
}

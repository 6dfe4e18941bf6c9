import TillBilling

/// What language a storefront speaks. Titles and descriptions follow it, not the device's language
/// (facts/storekit-client A2).
enum StorefrontLanguage {
    /// BCP 47. Apple's list of the languages of each storefront is long; this is each one's first, of those that
    /// products are localized into, and English elsewhere (ours).
    static func locale(of storefront: String) -> String { locales[storefront] ?? "en-US" }

    private static let text = """
        zh-Hans CHN, zh-Hant HKG MAC TWN, ja JPN, ko KOR, de-DE AUT CHE DEU, fr-FR BEL FRA LUX, it ITA, es-ES ESP,
        es-MX ARG BOL CHL COL CRI DOM ECU GTM HND MEX NIC PAN PER PRY SLV URY VEN, pt-BR BRA, pt-PT PRT, nl-NL NLD,
        sv SWE, da DNK, fi FIN, no NOR, ru RUS, tr TUR, th THA, vi VNM, id IDN, pl POL, cs CZE, sk SVK, hu HUN, ro ROU,
        el GRC, hr HRV, en-GB GBR IRL, en-AU AUS NZL, en-CA CAN
        """

    static let locales: [String: String] = {
        var locales: [String: String] = [:]
        for line in text.split(separator: ",") {
            let words = line.split { $0 == " " || $0 == "\n" }.map(String.init)
            for storefront in words.dropFirst() { locales[storefront] = words[0] }
        }
        return locales
    }()

    /// The localization that comes nearest to a locale: the same one, another of its language, English, the first.
    static func nearest(
        to locale: String, among texts: [StoreProduct.Localization]
    ) -> StoreProduct.Localization? {
        let wanted = language(locale)
        return texts.first { $0.locale.lowercased() == locale.lowercased() }
            ?? texts.first { language($0.locale) == wanted }
            ?? texts.first { $0.locale == "en-US" }
            ?? texts.first { language($0.locale) == "en" }
            ?? texts.first
    }

    /// The language without its region; the two ways to write Chinese are two.
    private static func language(_ locale: String) -> String {
        let parts = locale.lowercased().split { $0 == "-" || $0 == "_" }
        guard let first = parts.first else { return "" }
        guard first == "zh" else { return String(first) }
        let isTraditional = parts.contains { $0 == "hant" || $0 == "tw" || $0 == "hk" || $0 == "mo" }
        return isTraditional ? "zh-hant" : "zh-hans"
    }
}

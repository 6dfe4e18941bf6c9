import TillBilling

/// The storefronts of customers' accounts and their currencies.
enum Storefront {
    /// Every code, in alphabetical order.
    static let codes = StorefrontTable.rows.map(\.code)

    /// Apple's numbers, where they are known. Without a number the `storefrontId` is omitted.
    static let numbers = Dictionary(
        StorefrontTable.rows.compactMap { row in row.number.map { (row.code, $0) } },
        uniquingKeysWith: { first, _ in first })

    private static let currencies = Dictionary(
        StorefrontTable.rows.map { ($0.code, Currency($0.currency)) }, uniquingKeysWith: { first, _ in first })

    static func exists(_ code: String) -> Bool { currencies[code] != nil }

    /// The currency of its customers; nil if there is no such storefront.
    static func currency(of code: String) -> Currency? { currencies[code] }

    static func isWellFormed(_ code: String) -> Bool {
        code.utf8.count == 3 && code.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    /// The code that was probably meant: the same letters in upper case, the code of two letters, or a similar code.
    static func nearest(to code: String) -> String? {
        guard code.utf8.count <= 40 else { return nil }
        let capitals = code.uppercased()
        if exists(capitals) { return capitals }
        return twoLetters[capitals] ?? nearestName(to: capitals, among: codes)
    }

    /// ISO 3166-1 alpha-2 codes of common storefronts. A code that only lacks its third letter is found as a similar
    /// name.
    private static let twoLetters = [
        "CN": "CHN", "US": "USA", "GB": "GBR", "UK": "GBR", "DE": "DEU", "FR": "FRA", "JP": "JPN", "KR": "KOR",
        "HK": "HKG", "TW": "TWN", "SG": "SGP", "CA": "CAN", "AU": "AUS", "IN": "IND", "MO": "MAC",
    ]
}

extension EmulatorConfiguration {
    /// The storefronts' codes (ISO 3166-1 alpha-3), in alphabetical order.
    public static var storefronts: [String] { Storefront.codes }

    /// The code that an unknown text probably means; nil if no code is similar.
    public static func nearestStorefront(to text: String) -> String? { Storefront.nearest(to: text) }
}

/// The language of a storefront. Titles and descriptions use it, not the device's language (facts/storekit-client).
enum StorefrontLanguage {
    /// BCP 47. Apple lists several languages for each storefront. This is the first one among those that products are
    /// localized into, or English (our choice).
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

    /// The localization nearest to a locale: the same locale, its language, English, the first.
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

    /// The language without its region. Simplified and traditional Chinese count as two languages.
    private static func language(_ locale: String) -> String {
        let parts = locale.lowercased().split { $0 == "-" || $0 == "_" }
        guard let first = parts.first else { return "" }
        guard first == "zh" else { return String(first) }
        let isTraditional = parts.contains { $0 == "hant" || $0 == "tw" || $0 == "hk" || $0 == "mo" }
        return isTraditional ? "zh-hant" : "zh-hans"
    }
}

/// The App Store's storefronts with their currencies and Apple's numbers.
///
/// Codes and currencies are those of App Store Connect's list of territories (2026: Croatia and Bulgaria use euros).
/// The numbers are those in common use; USA is measured (facts/limits §1). A dash stands for an uncertain number, and
/// `storefrontId` is then omitted from signed payloads.
enum StorefrontTable {
    /// Code, currency and number, sorted by code. Kosovo has Apple's own code, XKS.
    static let text = """
        AFG USD -, AGO USD 143564, AIA USD 143538, ALB USD -, ARE AED 143481,
        ARG USD 143505, ARM USD 143524, ATG USD 143540, AUS AUD 143460, AUT EUR 143445,
        AZE USD 143568, BEL EUR 143446, BEN USD -, BFA USD -, BGR EUR 143526,
        BHR USD 143559, BHS USD 143539, BIH EUR -, BLR USD 143565, BLZ USD 143555,
        BMU USD 143542, BOL USD 143556, BRA BRL 143503, BRB USD 143541, BRN USD 143560,
        BTN USD -, BWA USD 143525, CAN CAD 143455, CHE CHF 143459, CHL CLP 143483,
        CHN CNY 143465, CIV USD 143527, CMR USD -, COD USD -, COG USD -,
        COL COP 143501, CPV USD -, CRI USD 143495, CYM USD 143544, CYP EUR 143557,
        CZE CZK 143489, DEU EUR 143443, DMA USD 143545, DNK DKK 143458, DOM USD 143508,
        DZA USD 143563, ECU USD 143509, EGY EGP 143516, ESP EUR 143454, EST EUR 143518,
        FIN EUR 143447, FJI USD -, FRA EUR 143442, FSM USD -, GAB USD -,
        GBR GBP 143444, GEO USD -, GHA USD 143573, GMB USD -, GNB USD -,
        GRC EUR 143448, GRD USD 143546, GTM USD 143504, GUY USD 143553, HKG HKD 143463,
        HND USD 143510, HRV EUR 143494, HUN HUF 143482, IDN IDR 143476, IND INR 143467,
        IRL EUR 143449, IRQ USD -, ISL USD 143558, ISR ILS 143491, ITA EUR 143450,
        JAM USD 143511, JOR USD 143528, JPN JPY 143462, KAZ KZT 143517, KEN USD 143529,
        KGZ USD -, KHM USD -, KNA USD 143548, KOR KRW 143466, KWT USD 143493,
        LAO USD -, LBN USD 143497, LBR USD -, LBY USD -, LCA USD 143549,
        LKA USD 143486, LTU EUR 143520, LUX EUR 143451, LVA EUR 143519, MAC USD 143515,
        MAR USD -, MDA USD 143523, MDG USD 143531, MDV USD 143488, MEX MXN 143468,
        MKD USD 143530, MLI USD 143532, MLT EUR 143521, MMR USD -, MNE EUR -,
        MNG USD -, MOZ USD -, MRT USD -, MSR USD 143547, MUS USD 143533,
        MWI USD -, MYS MYR 143473, NAM USD -, NER USD 143534, NGA NGN 143561,
        NIC USD 143512, NLD EUR 143452, NOR NOK 143457, NPL USD 143484, NRU USD -,
        NZL NZD 143461, OMN USD 143562, PAK PKR 143477, PAN USD 143485, PER PEN 143507,
        PHL PHP 143474, PLW USD -, PNG USD -, POL PLN 143478, PRT EUR 143453,
        PRY USD 143513, QAT QAR 143498, ROU RON 143487, RUS RUB 143469, RWA USD -,
        SAU SAR 143479, SEN USD 143535, SGP SGD 143464, SLB USD -, SLE USD -,
        SLV USD 143506, SRB EUR 143500, STP USD -, SUR USD 143554, SVK EUR 143496,
        SVN EUR 143499, SWE SEK 143456, SWZ USD -, SYC USD -, TCA USD 143552,
        TCD USD -, THA THB 143475, TJK USD -, TKM USD -, TON USD -,
        TTO USD 143551, TUN USD 143536, TUR TRY 143480, TWN TWD 143470, TZA TZS 143572,
        UGA USD 143537, UKR USD 143492, URY USD 143514, USA USD 143441, UZB USD 143566,
        VCT USD 143550, VEN USD 143502, VGB USD 143543, VNM VND 143471, VUT USD -,
        XKS EUR -, YEM USD 143571, ZAF ZAR 143472, ZMB USD -, ZWE USD -
        """

    static let rows: [(code: String, currency: String, number: String?)] = text.split(separator: ",").compactMap {
        row in
        let cells = row.split { $0 == " " || $0 == "\n" }.map(String.init)
        guard cells.count == 3 else { return nil }
        return (cells[0], cells[1], cells[2] == "-" ? nil : cells[2])
    }
}

/// The class of a sale that determines the developer's rate (facts/business-rules §5).
public enum RateClass: String, Hashable, Sendable, Codable, CaseIterable {
    case standard
    /// Auto-renewable subscriptions after a year of paid service in the group (`PaidService`).
    case afterOneYear
    /// The Small Business Program.
    case smallBusiness

    public var name: LocalizedText {
        switch self {
        case .standard: LocalizedText(en: "standard", zh: "标准")
        case .afterOneYear: LocalizedText(en: "after one year of paid service", zh: "付费订阅满一年之后")
        case .smallBusiness: LocalizedText(en: "Small Business Program", zh: "小型企业计划")
        }
    }
}

/// The taxes and rates of a storefront on a day. Both are tables with first days, because governments and Apple change
/// them.
///
/// The tables do not contain the European Union's terms of 2025 (an acquisition fee, a store services fee and a
/// technology commission, whose final form is not confirmed), nor purchases through links in the United States, which
/// are outside the App Store.
public struct StorefrontTerms: Hashable, Sendable {
    /// The divisor that removes the tax from a price: 1.0203 for 2.03 %. 1 if the tax is unknown.
    public let taxDivisor: Fraction
    /// Whether the tax of this storefront on this day is unknown and counted as zero.
    public let isTaxUnknown: Bool
    public let rateClass: RateClass
    /// The developer's part of the price without tax: 7/10.
    public let rate: Fraction

    /// - Parameters:
    ///   - storefront: alpha-3; nil if unknown.
    ///   - day: the day of the sale.
    ///   - best: the best class of the sale; on days before that class existed, the standard class applies.
    public init(storefront: String?, on day: CivilDate, best: RateClass) {
        let divisor = storefront.flatMap { Self.value(in: Self.taxDivisors, $0, on: day) }
        taxDivisor = divisor ?? Fraction(1)
        isTaxUnknown = divisor == nil
        let terms = [best, .standard].lazy.compactMap { rateClass in
            Self.rate(of: rateClass, storefront: storefront, on: day).map { (rateClass, $0) }
        }.first
        (rateClass, rate) = terms ?? (.standard, Fraction(70, over: 100))
    }

    private static func rate(of rateClass: RateClass, storefront: String?, on day: CivilDate) -> Fraction? {
        let rows = rates[rateClass] ?? []
        return storefront.flatMap { value(in: rows, $0, on: day) } ?? value(in: rows, everywhere, on: day)
    }

    /// The newest row of a storefront that is in force on the day.
    private static func value(in rows: [Row], _ storefront: String, on day: CivilDate) -> Fraction? {
        rows.last { $0.storefront == storefront && ($0.from.map { $0 <= day } ?? true) }?.value
    }

    struct Row: Sendable {
        let storefront: String
        /// Nil: no start.
        let from: CivilDate?
        let value: Fraction
    }

    static let everywhere = "*"

    /// The developer's part in percent, by class, storefront (or all of them) and first day. Oldest first.
    static let rates: [RateClass: [Row]] = [
        .standard: rows(
            """
            *    -           70
            CHN  2026-03-15  75
            """, over: 100),
        .afterOneYear: rows(
            """
            *    2016-06-13  85
            CHN  2026-03-15  88
            """, over: 100),
        .smallBusiness: rows(
            """
            *    2021-01-01  85
            CHN  2026-03-15  88
            """, over: 100),
    ]

    /// Divisors in ten-thousandths, by storefront and first day, oldest first (facts/business-rules §5.1).
    ///
    /// China's divisor reproduces the table of 2019-10-03 exactly, although no document states it; before the tax there
    /// was none. The others were derived from that table, so they are known from its day on. For earlier sales, and
    /// where a government has changed the tax since, Apple's financial report is the source. The EUR prices are
    /// Germany's; for other countries that use the euro no tax is known. In Japan and Hong Kong the developer pays the
    /// tax.
    static let taxDivisors = rows(
        """
        USA  -           10000
        CHN  -           10000
        CHN  2015-10-01  10203
        DEU  2019-10-03  11900
        HKG  2019-10-03  10000
        IND  2019-10-03  11800
        JPN  2019-10-03  10000
        KOR  2019-10-03  11000
        TWN  2019-10-03  10825
        """, over: 10_000)

    private static func rows(_ text: String, over denominator: UInt64) -> [Row] {
        text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: " ")
            guard cells.count == 3, let value = UInt64(cells[2]) else { return nil }
            return Row(
                storefront: String(cells[0]), from: CivilDate(iso8601: cells[1]),
                value: Fraction(value, over: denominator))
        }
    }
}

/// A country or region with an App Store.
public struct Territory: Hashable, Sendable {
    /// ISO 3166-1 alpha-3, as in signed storefronts; for Kosovo, Apple's own code XKS.
    public let alpha3: String
    /// ISO 3166-1 alpha-2, as in Apple's financial reports.
    public let alpha2: String
    /// The time zone that its reporting days use.
    public let region: ReportingRegion

    /// All 175, ordered by alpha-3 code.
    public static let all: [Territory] = text.split(separator: ",").compactMap { row in
        let cells = row.split { $0 == " " || $0 == "\n" }.map(String.init)
        guard cells.count == 3, let region = regions[cells[2]] else { return nil }
        return Territory(alpha3: cells[0], alpha2: cells[1], region: region)
    }

    private static let byAlpha3 = Dictionary(all.map { ($0.alpha3, $0) }, uniquingKeysWith: { first, _ in first })
    private static let byAlpha2 = Dictionary(all.map { ($0.alpha2, $0) }, uniquingKeysWith: { first, _ in first })

    /// By three letters (`CHN`) or two (`CN`); nil if there is no such territory.
    public init?(code: String) {
        guard let known = Self.byAlpha3[code] ?? Self.byAlpha2[code] else { return nil }
        self = known
    }

    private init(alpha3: String, alpha2: String, region: ReportingRegion) {
        self.alpha3 = alpha3
        self.alpha2 = alpha2
        self.region = region
    }

    private static let regions: [String: ReportingRegion] = [
        "p": .pacific, "e": .centralEurope, "j": .japan, "a": .westernAustralia,
    ]

    /// The regions are Apple's (iTunes partner pages, "Sales and Trends": what time zone is used for reports; the
    /// notice of 2016-04-08 names the territories that moved from Central European to Japan's and Western Australia's
    /// time).
    ///
    /// No list contains Fiji, the Maldives, Micronesia, Myanmar, Nauru, Tonga and Vanuatu; as parts of Asia and the
    /// Pacific they are assigned to Japan's time. Nor do the lists contain the rest of Central Asia, Afghanistan and
    /// Pakistan, which stay on Central European time.
    private static let text = """
        AFG AF e, AGO AO e, AIA AI p, ALB AL e, ARE AE e, ARG AR p, ARM AM e, ATG AG p, AUS AU a,
        AUT AT e, AZE AZ e, BEL BE e, BEN BJ e, BFA BF e, BGR BG e, BHR BH e, BHS BS p, BIH BA e,
        BLR BY e, BLZ BZ p, BMU BM p, BOL BO p, BRA BR p, BRB BB p, BRN BN j, BTN BT j, BWA BW e,
        CAN CA p, CHE CH e, CHL CL p, CHN CN j, CIV CI e, CMR CM e, COD CD e, COG CG e, COL CO p,
        CPV CV e, CRI CR p, CYM KY p, CYP CY e, CZE CZ e, DEU DE e, DMA DM p, DNK DK e, DOM DO p,
        DZA DZ e, ECU EC p, EGY EG e, ESP ES e, EST EE e, FIN FI e, FJI FJ j, FRA FR e, FSM FM j,
        GAB GA e, GBR GB e, GEO GE e, GHA GH e, GMB GM e, GNB GW e, GRC GR e, GRD GD p, GTM GT p,
        GUY GY p, HKG HK j, HND HN p, HRV HR e, HUN HU e, IDN ID j, IND IN j, IRL IE e, IRQ IQ e,
        ISL IS e, ISR IL e, ITA IT e, JAM JM p, JOR JO e, JPN JP j, KAZ KZ j, KEN KE e, KGZ KG j,
        KHM KH j, KNA KN p, KOR KR j, KWT KW e, LAO LA j, LBN LB e, LBR LR e, LBY LY e, LCA LC p,
        LKA LK j, LTU LT e, LUX LU e, LVA LV e, MAC MO j, MAR MA e, MDA MD e, MDG MG e, MDV MV j,
        MEX MX p, MKD MK e, MLI ML e, MLT MT e, MMR MM j, MNE ME e, MNG MN j, MOZ MZ e, MRT MR e,
        MSR MS p, MUS MU e, MWI MW e, MYS MY j, NAM NA e, NER NE e, NGA NG e, NIC NI p, NLD NL e,
        NOR NO e, NPL NP j, NRU NR j, NZL NZ a, OMN OM e, PAK PK e, PAN PA p, PER PE p, PHL PH j,
        PLW PW j, PNG PG a, POL PL e, PRT PT e, PRY PY p, QAT QA e, ROU RO e, RUS RU e, RWA RW e,
        SAU SA e, SEN SN e, SGP SG j, SLB SB a, SLE SL e, SLV SV p, SRB RS e, STP ST e, SUR SR p,
        SVK SK e, SVN SI e, SWE SE e, SWZ SZ e, SYC SC e, TCA TC p, TCD TD e, THA TH j, TJK TJ e,
        TKM TM e, TON TO j, TTO TT p, TUN TN e, TUR TR e, TWN TW j, TZA TZ e, UGA UG e, UKR UA e,
        URY UY p, USA US p, UZB UZ e, VCT VC p, VEN VE p, VGB VG p, VNM VN j, VUT VU j, XKS XK e,
        YEM YE e, ZAF ZA e, ZMB ZM e, ZWE ZW e
        """
}

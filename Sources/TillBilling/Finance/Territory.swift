/// One of the countries and regions that the App Store sells in.
public struct Territory: Hashable, Sendable {
    /// ISO 3166-1 alpha-3, as Apple signs storefronts; Kosovo has Apple's own code, XKS.
    public let alpha3: String
    /// ISO 3166-1 alpha-2, as Apple's financial reports have countries.
    public let alpha2: String
    /// Whose clock its days go by.
    public let region: ReportingRegion

    /// All 175, in the order of their three letters.
    public static let all: [Territory] = text.split(separator: ",").compactMap { row in
        let cells = row.split { $0 == " " || $0 == "\n" }.map(String.init)
        guard cells.count == 3, let region = regions[cells[2]] else { return nil }
        return Territory(alpha3: cells[0], alpha2: cells[1], region: region)
    }

    private static let byAlpha3 = Dictionary(all.map { ($0.alpha3, $0) }, uniquingKeysWith: { first, _ in first })
    private static let byAlpha2 = Dictionary(all.map { ($0.alpha2, $0) }, uniquingKeysWith: { first, _ in first })

    /// By three letters (`CHN`) or by two (`CN`); nil if there is no such territory.
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
    /// notice of 2016-04-08 names the territories that moved from Central European to Japan's and Western
    /// Australia's time).
    /// In no list stand Fiji, the Maldives, Micronesia, Myanmar, Nauru, Tonga and Vanuatu: as Asia and the Pacific
    /// they are counted by Japan's clock; nor the rest of Central Asia, Afghanistan and Pakistan, which did not move.
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

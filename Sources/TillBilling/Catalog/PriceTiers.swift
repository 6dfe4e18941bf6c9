/// One tier of Apple's classic price table: a product's price in every currency.
public struct PriceTier: Sendable, Hashable, Identifiable {
    /// `0` (free), `1` to `87`, `A`, `B`, `alt1` to `alt5`.
    public let id: String
    public let prices: [Currency: Money]
    /// The developer's proceeds at 70 %, which the table states for USD and CNY. Valid as long as the table's taxes
    /// (facts/business-rules §5.1).
    public let proceeds: [Currency: Money]

    /// App Store Connect's name: `Tier 1`, `Alternate Tier A`.
    public var name: LocalizedText {
        if id == "0" { return LocalizedText(en: "Free", zh: "免费") }
        if Int(id) != nil { return LocalizedText(en: "Tier \(id)", zh: "第 \(id) 档") }
        let short = id.hasPrefix("alt") ? String(id.dropFirst(3)) : id
        return LocalizedText(en: "Alternate Tier \(short)", zh: "备用第 \(short) 档")
    }
}

/// Apple's classic price tiers, valid from a day on. Apple changes the table now and then, so each version states its
/// first day. Products on sale today have one of these prices, or one of today's price points.
public struct PriceTierTable: Sendable {
    /// The day on which the table was read. Of earlier tables, only the prices in CNY are known exactly.
    public let validFrom: CivilDate
    /// Free, then 1 to 87, then A, B, and the alternates 1 to 5.
    public let tiers: [PriceTier]
    /// The currencies of the table.
    public let currencies: [Currency]
    private let byID: [String: PriceTier]
    private let byPrice: [Money: [PriceTier]]

    /// The known tables, oldest first.
    public static let all: [PriceTierTable] = [.october2019].compactMap { $0 }

    /// The table in force on a day; nil before the first.
    public static func inForce(on day: CivilDate) -> PriceTierTable? {
        all.last { $0.validFrom.daysSinceEpoch <= day.daysSinceEpoch }
    }

    /// The newest table.
    public static var latest: PriceTierTable? { all.last }

    public subscript(id: String) -> PriceTier? { byID[id] }

    /// The tiers with this price, numbered ones first: USD 0.99 is tier 1, and also A, B and alternate 1. Empty for a
    /// price that is not in the table, such as CNY 9.9.
    public func tiers(at price: Money) -> [PriceTier] { byPrice[price] ?? [] }

    /// The tiers next to a price that is on no tier: the highest price below it and the lowest above it; of several
    /// tiers with one price, the first. Nil beyond the ends, and for a currency that is not in the table.
    public func neighbours(of price: Money) -> (below: PriceTier?, above: PriceTier?) {
        var below: (amount: Int64, tier: PriceTier)?
        var above: (amount: Int64, tier: PriceTier)?
        for tier in tiers {
            guard let amount = tier.prices[price.currency]?.amount else { continue }
            if amount < price.amount, amount > below?.amount ?? .min { below = (amount, tier) }
            if amount > price.amount, amount < above?.amount ?? .max { above = (amount, tier) }
        }
        return (below?.tier, above?.tier)
    }

    public func price(ofTier id: String, in currency: Currency) -> Money? { byID[id]?.prices[currency] }

    static let october2019 = CivilDate(year: 2019, month: 10, day: 3).map {
        PriceTierTable(
            validFrom: $0, text: october2019Text,
            columns: [
                (.price, "USD"), (.proceeds, "USD"), (.price, "CNY"), (.proceeds, "CNY"), (.price, "HKD"),
                (.price, "TWD"), (.price, "JPY"), (.price, "KRW"), (.price, "SGD"), (.price, "EUR"), (.price, "GBP"),
                (.price, "CAD"), (.price, "AUD"),
            ])
    }

    private enum Column { case price, proceeds }

    private init(validFrom: CivilDate, text: String, columns: [(column: Column, currency: String)]) {
        var tiers: [PriceTier] = []
        for line in text.split(separator: "\n") {
            let cells = line.split(separator: " ")
            guard let id = cells.first, cells.count == columns.count + 1 else { continue }
            var prices: [Currency: Money] = [:]
            var proceeds: [Currency: Money] = [:]
            for (cell, column) in zip(cells.dropFirst(), columns) {
                let currency = Currency(column.currency)
                guard let money = Money(decimal: cell, currency: currency) else { continue }
                switch column.column {
                case .price: prices[currency] = money
                case .proceeds: proceeds[currency] = money
                }
            }
            tiers.append(PriceTier(id: String(id), prices: prices, proceeds: proceeds))
        }
        self.validFrom = validFrom
        self.tiers = tiers
        currencies = columns.filter { $0.column == .price }.map { Currency($0.currency) }
        byID = Dictionary(tiers.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var byPrice: [Money: [PriceTier]] = [:]
        for tier in tiers {
            for price in tier.prices.values { byPrice[price, default: []].append(tier) }
        }
        self.byPrice = byPrice
    }
}

extension PriceTierTable {
    /// The classic table as App Store Connect exported it on 2019-10-03 (facts/business-rules §4.1). The prices in CNY
    /// were the same on 2015-02-05. Columns: the tier; USD and its proceeds at 70 %, CNY and its proceeds at 70 %; then
    /// HKD, TWD, JPY, KRW, SGD, EUR (Germany), GBP, CAD, AUD. Prices are in units, with fractions, as on a price tag.
    static let october2019Text = """
        0      0.00   0.00    0.00    0.00    0.00     0      0       0    0.00    0.00   0.00    0.00    0.00
        1      0.99   0.70    6.00    4.12    8.00    33    120    1200    1.48    1.09   0.99    1.39    1.49
        2      1.99   1.40   12.00    8.23   15.00    70    250    2500    2.98    2.29   1.99    2.79    2.99
        3      2.99   2.10   18.00   12.35   23.00   100    370    3900    4.48    3.49   2.99    3.99    4.49
        4      3.99   2.80   25.00   17.15   28.00   130    490    4900    5.98    4.49   3.99    5.49    5.99
        5      4.99   3.50   30.00   20.58   38.00   170    610    5900    6.98    5.49   4.99    6.99    7.99
        6      5.99   4.20   40.00   27.44   48.00   190    730    7500    8.98    6.99   5.99    8.49    9.99
        7      6.99   4.90   45.00   30.87   53.00   230    860    8900    9.98    7.99   6.99    9.99   10.99
        8      7.99   5.60   50.00   34.30   58.00   270    980    9900   10.98    8.99   7.99   10.99   12.99
        9      8.99   6.30   60.00   41.16   68.00   290   1100   11000   12.98    9.99   8.99   11.99   13.99
        10     9.99   7.00   68.00   46.65   78.00   330   1220   12000   14.98   10.99   9.99   13.99   14.99
        11    10.99   7.70   73.00   50.08   83.00   370   1340   14000   15.98   11.99  10.99   14.99   16.99
        12    11.99   8.40   78.00   53.51   88.00   390   1480   15000   16.98   12.99  11.99   16.99   17.99
        13    12.99   9.10   88.00   60.37   98.00   430   1600   16000   17.98   13.99  12.99   17.99   19.99
        14    13.99   9.80   93.00   63.80  108.00   470   1720   17000   19.98   14.99  13.99   19.99   21.99
        15    14.99  10.50   98.00   67.24  118.00   490   1840   19000   21.98   16.99  14.99   20.99   22.99
        16    15.99  11.20  108.00   74.10  123.00   530   1960   20000   22.98   17.99  15.99   21.99   24.99
        17    16.99  11.90  113.00   77.53  128.00   570   2080   21000   23.98   18.99  16.99   23.99   26.99
        18    17.99  12.60  118.00   80.96  138.00   590   2200   22000   25.98   19.99  17.99   24.99   27.99
        19    18.99  13.30  123.00   84.39  148.00   630   2320   23000   26.98   20.99  18.99   25.99   29.99
        20    19.99  14.00  128.00   87.82  158.00   670   2440   25000   28.98   21.99  19.99   27.99   30.99
        21    20.99  14.70  138.00   94.68  163.00   690   2580   26000   29.98   22.99  20.49   28.99   32.99
        22    21.99  15.40  148.00  101.54  168.00   730   2700   27000   31.98   23.99  20.99   29.99   34.99
        23    22.99  16.10  153.00  104.97  178.00   770   2820   29000   32.98   24.99  21.99   31.99   35.99
        24    23.99  16.80  158.00  108.40  188.00   790   2940   30000   33.98   26.99  22.99   32.99   37.99
        25    24.99  17.50  163.00  111.83  198.00   830   3060   31000   34.98   27.99  23.99   34.99   38.99
        26    25.99  18.20  168.00  115.26  203.00   870   3180   32000   36.98   28.99  24.99   35.99   39.99
        27    26.99  18.90  178.00  122.12  208.00   890   3300   33000   38.98   29.99  25.99   36.99   41.99
        28    27.99  19.60  188.00  128.98  218.00   930   3420   35000   40.98   30.99  26.99   37.99   42.99
        29    28.99  20.30  193.00  132.41  228.00   970   3540   36000   42.98   31.99  27.99   38.99   44.99
        30    29.99  21.00  198.00  135.84  238.00   990   3680   37000   44.98   32.99  28.99   39.99   46.99
        31    30.99  21.70  208.00  142.70  243.00  1020   3800   39000   45.98   33.99  29.99   41.99   47.99
        32    31.99  22.40  218.00  149.56  248.00  1050   3920   40000   46.98   34.99  30.99   43.99   49.99
        33    32.99  23.10  223.00  152.99  258.00  1090   4040   41000   47.98   36.99  31.99   44.99   51.99
        34    33.99  23.80  228.00  156.42  268.00  1120   4160   42000   48.98   37.99  32.99   46.99   52.99
        35    34.99  24.50  233.00  159.85  278.00  1170   4280   43000   49.98   38.99  33.99   47.99   54.99
        36    35.99  25.20  238.00  163.29  283.00  1190   4400   44000   51.98   39.99  34.99   49.99   55.99
        37    36.99  25.90  243.00  166.72  288.00  1230   4520   45000   53.98   40.99  35.99   51.99   57.99
        38    37.99  26.60  248.00  170.15  298.00  1260   4640   47000   55.98   41.99  36.99   52.99   59.99
        39    38.99  27.30  253.00  173.58  308.00  1290   4780   48000   57.98   42.99  37.99   53.99   60.99
        40    39.99  28.00  258.00  177.01  318.00  1320   4900   49000   58.98   43.99  38.99   54.99   62.99
        41    40.99  28.70  263.00  180.44  323.00  1350   5020   50000   59.98   44.99  39.99   56.99   64.99
        42    41.99  29.40  268.00  183.87  328.00  1390   5140   52000   60.98   46.99  40.99   57.99   65.99
        43    42.99  30.10  273.00  187.30  338.00  1420   5260   53000   61.98   47.99  41.99   59.99   67.99
        44    43.99  30.80  278.00  190.73  348.00  1470   5380   54000   62.98   48.99  42.99   61.99   68.99
        45    44.99  31.50  283.00  194.16  358.00  1490   5500   55000   63.98   49.99  43.99   62.99   69.99
        46    45.99  32.20  288.00  197.59  363.00  1530   5620   57000   64.98   50.99  44.99   63.99   71.99
        47    46.99  32.90  298.00  204.45  368.00  1560   5740   58000   65.98   51.99  45.99   64.99   72.99
        48    47.99  33.60  308.00  211.31  378.00  1590   5860   59000   66.98   52.99  46.99   66.99   74.99
        49    48.99  34.30  318.00  218.17  388.00  1630   5980   60000   67.98   53.99  47.99   67.99   77.99
        50    49.99  35.00  328.00  225.03  398.00  1690   6100   65000   68.98   54.99  48.99   69.99   79.99
        51    54.99  38.50  348.00  238.75  418.00  1790   7000   69000   78.98   59.99  49.99   74.99   84.99
        52    59.99  42.00  388.00  266.20  448.00  1990   7500   75000   88.98   64.99  54.99   84.99   89.99
        53    64.99  45.50  418.00  286.78  488.00  2190   8000   79000   94.98   69.99  59.99   89.99   99.99
        54    69.99  49.00  448.00  307.36  548.00  2290   8500   89000   98.98   74.99  64.99   99.99  109.99
        55    74.99  52.50  488.00  334.80  588.00  2490   9000   95000  104.98   79.99  69.99  104.99  119.99
        56    79.99  56.00  518.00  355.39  618.00  2690  10000   99000  108.98   89.99  74.99  109.99  124.99
        57    84.99  59.50  548.00  375.97  648.00  2790  10500  105000  118.98   94.99  79.99  114.99  129.99
        58    89.99  63.00  588.00  403.41  688.00  2990  11000  109000  128.98   99.99  84.99  119.99  139.99
        59    94.99  66.50  618.00  423.99  748.00  3190  11500  115000  138.98  104.99  89.99  129.99  149.99
        60    99.99  70.00  648.00  444.58  788.00  3290  12000  119000  148.98  109.99  99.99  139.99  159.99
        61   109.99  77.00  698.00  478.88  848.00  3690  13000  129000  158.98  119.99 109.99  149.99  169.99
        62   119.99  84.00  798.00  547.49  888.00  3990  14000  139000  168.98  129.99 119.99  159.99  179.99
        63   124.99  87.50  818.00  561.21  988.00  4190  15000  149000  178.98  139.99 124.99  169.99  189.99
        64   129.99  91.00  848.00  581.79 1048.00  4290  16000  159000  188.98  149.99 129.99  179.99  199.99
        65   139.99  98.00  898.00  616.09 1088.00  4790  17000  169000  198.98  159.99 139.99  199.99  219.99
        66   149.99 105.00  998.00  684.70 1188.00  4990  18000  179000  218.98  169.99 149.99  209.99  229.99
        67   159.99 112.00 1048.00  719.00 1248.00  5390  19000  199000  228.98  179.99 159.99  219.99  249.99
        68   169.99 119.00 1098.00  753.31 1288.00  5490  20000  209000  238.98  189.99 169.99  229.99  259.99
        69   174.99 122.50 1148.00  787.61 1388.00  5690  21000  219000  248.98  199.99 174.99  239.99  269.99
        70   179.99 126.00 1198.00  821.92 1448.00  5990  22000  229000  258.98  209.99 179.99  249.99  279.99
        71   189.99 133.00 1248.00  856.22 1488.00  6290  23000  239000  268.98  219.99 189.99  259.99  299.99
        72   199.99 140.00 1298.00  890.52 1588.00  6590  24000  249000  288.98  229.99 199.99  279.99  319.99
        73   209.99 147.00 1398.00  959.13 1648.00  6890  25400  259000  298.98  239.99 209.99  289.99  329.99
        74   219.99 154.00 1448.00  993.43 1688.00  7190  27400  269000  318.98  249.99 219.99  299.99  349.99
        75   229.99 161.00 1498.00 1027.74 1788.00  7490  28400  279000  328.98  259.99 229.99  319.99  359.99
        76   239.99 168.00 1598.00 1096.34 1848.00  7790  29400  299000  338.98  269.99 239.99  329.99  379.99
        77   249.99 175.00 1648.00 1130.65 1888.00  8390  30400  309000  348.98  279.99 249.99  349.99  399.99
        78   299.99 210.00 1998.00 1370.77 2288.00  9990  36800  369000  448.98  329.99 299.99  399.99  499.99
        79   349.99 245.00 2298.00 1576.60 2688.00 11900  43800  450000  488.98  399.99 349.99  499.99  549.99
        80   399.99 280.00 2598.00 1782.42 3088.00 12900  49800  490000  588.98  449.99 399.99  549.99  599.99
        81   449.99 315.00 2998.00 2056.85 3488.00 14900  55800  550000  648.98  499.99 449.99  599.99  699.99
        82   499.99 350.00 3298.00 2262.67 3888.00 16900  59800  590000  688.98  599.99 499.99  699.99  799.99
        83   599.99 420.00 3998.00 2742.92 4488.00 19900  74800  750000  888.98  699.99 599.99  849.99  899.99
        84   699.99 490.00 4498.00 3085.96 4988.00 22900  89800  890000  988.98  799.99 699.99  999.99 1099.99
        85   799.99 560.00 4998.00 3428.99 5988.00 26900  99800  990000 1088.98  899.99 799.99 1099.99 1249.99
        86   899.99 630.00 5898.00 4046.46 6988.00 29900 109800 1090000 1288.98  999.99 899.99 1199.99 1399.99
        87   999.99 700.00 6498.00 4458.10 7888.00 32900 119800 1190000 1488.98 1099.99 999.99 1399.99 1599.99
        A      0.99   0.70    1.00    0.69    8.00    33    120     500    1.48    0.49   0.49    0.99    0.99
        B      0.99   0.70    3.00    2.06    8.00    33    120     900    1.48    0.99   0.79    0.99    0.99
        alt1   0.99   0.70    8.00    5.49    8.00    33    150    1200    1.48    1.99   0.99    1.49    1.99
        alt2   1.99   1.40   12.00    8.23   18.00    70    250    2500    2.98    2.99   1.99    2.99    3.99
        alt3   2.99   2.10   18.00   12.35   23.00   100    400    3900    4.48    3.99   2.99    3.99    4.99
        alt4   3.99   2.80   28.00   19.21   28.00   130    500    4900    5.98    4.99   3.99    5.49    6.99
        alt5   4.99   3.50   30.00   20.58   38.00   170    600    5900    6.98    5.99   4.99    6.99    8.99
        """
}

/// Apple's current price points, since 2022-12-06 for auto-renewable subscriptions and since spring 2023 for other
/// products (facts/business-rules §4.2): from USD 0.29 in steps of 0.10 up to 10, 0.50 up to 50, 1 up to 200, 5 up to
/// 500, 10 up to 1,000 and 100 up to 10,000, each a cent below the step; and the whole dollars among the steps.
///
/// That gives 928 points, and Apple speaks of about 900; it has not published which of them App Store Connect leaves
/// out. In other currencies, only the classic tiers are known.
public enum PricePoints {
    /// Up to this limit (inclusive), prices rise by this step. In cents.
    private static let steps: [(limit: Int64, step: Int64)] = [
        (1_000, 10), (5_000, 50), (20_000, 100), (50_000, 500), (100_000, 1_000), (1_000_000, 10_000),
    ]

    /// Whether a price in US dollars is a price point; nil for other currencies, whose points are unknown.
    public static func contains(_ price: Money) -> Bool? {
        guard price.currency == Currency("USD") else { return nil }
        let cents = price.amount
        if cents == 0 { return true }
        let isWhole = cents > 0 && cents % 100 == 0
        // Check the range before adding: the amount may come from outside.
        guard cents >= 29, cents <= 1_000_000 else { return false }
        let step = isWhole ? cents : cents + 1
        return steps.first { step <= $0.limit }.map { step % $0.step == 0 } ?? false
    }

    /// All price points in US dollars, lowest first.
    public static var dollars: [Money] {
        var cents: [Int64] = []
        var last: Int64 = 20
        for (limit, step) in steps {
            for grid in stride(from: last + step, through: limit, by: Int64.Stride(step)) {
                cents.append(grid - 1)
                if grid % 100 == 0 { cents.append(grid) }
            }
            last = limit
        }
        return cents.map { Money(amount: $0, currency: Currency("USD")) }
    }
}

/// The origin of a price, as far as it is known.
public enum PriceAvailability: Sendable, Hashable {
    /// In the classic table; the ids of its tiers.
    case onTiers([String])
    /// One of today's price points, and not a classic tier.
    case pricePoint
    /// Neither a tier nor a price point: App Store Connect does not offer it.
    case notOffered
    /// Not a classic tier, and the price points of its currency are unknown.
    case onNoTier
    /// Neither tiers nor price points are known for its currency.
    case unknownCurrency

    public init(of price: Money) {
        let table = PriceTierTable.latest
        let tiers = table?.tiers(at: price) ?? []
        if !tiers.isEmpty {
            self = .onTiers(tiers.map(\.id))
        } else if let isPoint = PricePoints.contains(price) {
            self = isPoint ? .pricePoint : .notOffered
        } else {
            self = table?.currencies.contains(price.currency) == true ? .onNoTier : .unknownCurrency
        }
    }
}

import Testing
import TillBilling

@Suite("Proceeds (C2)") struct ProceedsTests {
    private let october2019 = civilDay("2019-10-03")

    private func proceeds(
        _ price: Money, _ storefront: String?, _ at: CivilDate, type: ProductType? = .consumable, paidDays: Int = 0,
        small: Bool = false
    ) throws -> Proceeds {
        try #require(
            Proceeds(
                price: price, storefront: storefront, at: at, type: type, paidDays: paidDays, isSmallBusiness: small))
    }

    @Test(
        "All 95 rows of App Store Connect's matrix match, CNY to the fen and USD to the cent",
        .enabled(if: FactSheets.exists("price-tiers.csv"), "../shared/facts is not beside the repository"))
    func matrix() throws {
        let rows = try FactSheets.rows("price-tiers.csv")
        var differences: [String] = []
        for row in rows {
            for (price, known, storefront, currency) in [
                (row[2], row[3], "USA", "USD"), (row[4], row[5], "CHN", "CNY"),
            ] {
                let here = try proceeds(tag("\(price) \(currency)"), storefront, october2019)
                if here.proceeds != tag("\(known) \(currency)") {
                    differences.append("\(row[1]): \(here.proceeds), not \(known)")
                }
            }
        }
        #expect(rows.count == 95 && differences.isEmpty, "\(differences)")
    }

    @Test("All 95 tiers of the built-in table match, and gross = tax + commission + proceeds in each of its currencies")
    func table() throws {
        let table = try #require(PriceTierTable.latest)
        var compared = 0
        for tier in table.tiers {
            for (currency, storefront) in [("USD", "USA"), ("CNY", "CHN")] {
                let price = try #require(tier.prices[Currency(currency)])
                let here = try proceeds(price, storefront, october2019)
                #expect(here.proceeds == tier.proceeds[Currency(currency)], "\(tier.id) \(currency)")
                compared += 1
            }
            for price in tier.prices.values {
                for storefront in ["CHN", "TWN"] {
                    for days in [0, 365] {
                        let split = try proceeds(
                            price, storefront, civilDay("2026-04-01"), type: .autoRenewable, paidDays: days)
                        let parts = [split.tax, split.commission, split.proceeds].map(\.amount)
                        #expect(parts.allSatisfy { $0 >= 0 } && parts.reduce(0, +) == price.amount)
                        #expect(split.net.amount == price.amount - split.tax.amount)
                    }
                }
            }
        }
        #expect(compared == 190)
    }

    @Test("For given prices, storefronts and days, each part of the price is correct")
    func cases() throws {
        let table = """
            # price      front day        type          days small | tax    commission proceeds class
            6 CNY        CHN   2015-02-05 consumable       0 no    | 0      1.80       4.20     standard
            6498 CNY     CHN   2015-09-30 consumable       0 no    | 0      1949.40    4548.60  standard
            6498 CNY     CHN   2015-10-01 consumable       0 no    | 129.28 1910.62    4458.10  standard
            6 CNY        CHN   2019-10-03 consumable       0 no    | 0.12   1.76       4.12     standard
            6 CNY        CHN   2020-12-31 consumable       0 yes   | 0.12   1.76       4.12     standard
            6 CNY        CHN   2021-01-01 consumable       0 yes   | 0.12   0.88       5.00     smallBusiness
            6 CNY        CHN   2026-03-14 consumable       0 no    | 0.12   1.76       4.12     standard
            6 CNY        CHN   2026-03-15 consumable       0 no    | 0.12   1.47       4.41     standard
            6 CNY        CHN   2026-03-15 consumable       0 yes   | 0.12   0.71       5.17     smallBusiness
            6 CNY        CHN   2026-03-14 auto           365 no    | 0.12   0.88       5.00     afterOneYear
            6 CNY        CHN   2026-03-15 auto           365 yes   | 0.12   0.71       5.17     afterOneYear
            6 CNY        CHN   2026-03-15 auto           364 no    | 0.12   1.47       4.41     standard
            6 CNY        CHN   2026-03-15 nonRenewing    999 no    | 0.12   1.47       4.41     standard
            648 CNY      CHN   2019-10-03 consumable       0 no    | 12.89  190.53     444.58   standard
            0.99 USD     USA   2019-10-03 consumable       0 no    | 0      0.29       0.70     standard
            0.99 USD     USA   2016-06-12 auto           400 no    | 0      0.29       0.70     standard
            9.99 USD     USA   2016-06-13 auto           400 no    | 0      1.49       8.50     afterOneYear
            999.99 USD   USA   2026-04-01 consumable       0 no    | 0      299.99     700.00   standard
            1.29 USD     USA   2026-04-01 consumable       0 no    | 0      0.39       0.90     standard
            50.99 USD    USA   2026-04-01 consumable       0 no    | 0      15.30      35.69    standard
            1.09 EUR     DEU   2019-10-03 consumable       0 no    | 0.17   0.28       0.64     standard
            1200 KRW     KOR   2019-10-03 consumable       0 no    | 109    327        764      standard
            33 TWD       TWN   2019-10-03 consumable       0 no    | 2.52   9.14       21.34    standard
            118 INR      IND   2020-01-01 consumable       0 no    | 18.00  30.00      70.00    standard
            120 JPY      JPN   2019-10-03 consumable       0 no    | 0      36         84       standard
            0.00 CNY     CHN   2019-10-03 consumable       0 no    | 0      0          0.00     standard
            """
        var rows = 0
        for line in table.split(separator: "\n").dropFirst() {
            let sides = line.split(separator: "|").map { $0.split(separator: " ").map(String.init) }
            let (asked, reported) = (sides[0], sides[1])
            let currency = asked[1]
            let type: ProductType =
                asked[4] == "auto" ? .autoRenewable : asked[4] == "nonRenewing" ? .nonRenewing : .consumable
            let here = try proceeds(
                tag("\(asked[0]) \(currency)"), asked[2], civilDay(asked[3]), type: type,
                paidDays: try #require(Int(asked[5])), small: asked[6] == "yes")
            #expect(
                [here.tax, here.commission, here.proceeds] == reported.prefix(3).map { tag("\($0) \(currency)") },
                "\(line): \(here.tax), \(here.commission), \(here.proceeds)")
            #expect(here.terms.rateClass.rawValue == reported[3] && !here.isTaxUnknown, "\(line)")
            rows += 1
        }
        #expect(rows == 26)
    }

    @Test(
        "An unknown tax is reported as unknown and counted as zero",
        arguments: [
            ("FRA", "2026-04-01"), ("DEU", "2019-10-02"), ("KOR", "2015-01-01"), ("AFG", "2026-04-01"),
            ("???", "2026-04-01"),
        ])
    func unknownTax(_ storefront: String, _ at: String) throws {
        let here = try proceeds(tag("10 EUR"), storefront, civilDay(at))
        #expect(here.isTaxUnknown && here.tax.amount == 0 && here.proceeds == tag("7 EUR"))
        #expect(try proceeds(tag("10 EUR"), nil, civilDay(at)).isTaxUnknown)
        #expect(here.explanation.contains { $0.en.contains("not known") && $0.zh.contains("未知") })
    }

    @Test("A price below zero has no proceeds, and the largest price does not overflow")
    func extremes() throws {
        #expect(
            Proceeds(price: Money(amount: -1, currency: Currency("CNY")), storefront: "CHN", at: october2019, type: nil)
                == nil)
        let most = try proceeds(Money(amount: .max, currency: Currency("CNY")), "CHN", october2019)
        #expect(most.tax.amount + most.commission.amount + most.proceeds.amount == .max)
    }

    @Test("The explanation shows the numbers of the calculation, in both languages")
    func explanation() throws {
        let yuan = try proceeds(tag("6 CNY"), "CHN", october2019)
        #expect(yuan.explanation.map(\.en)[0] == "Tax: 6.00 CNY − 6.00 ÷ 1.0203 = 0.12 CNY, 5.88 CNY without tax")
        #expect(yuan.explanation.map(\.zh).contains("开发者收入：6.00 ÷ 1.0203 × 70% = 4.12 CNY（四舍五入）"))
        let dollars = try proceeds(tag("0.99 USD"), "USA", october2019)
        #expect(dollars.roundedUpPrice == tag("1 USD"))
        #expect(dollars.explanation.map(\.en)[0].contains("0.99 USD counts as 1.00 USD"))
    }
}

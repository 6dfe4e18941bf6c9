import Testing
import TillBilling
import TillJSON

@Suite("Apple's price table over HTTP (C1)") struct PriceTableJourneys {
    @Test("Each cell of the table is Apple's, in eleven currencies, and each price asked back names its tier (C1)")
    func wholeTable() async throws {
        try await Shop.open { shop in
            let reply = try await shop.send(.get, "/v1/finance/tiers")
            let tiers = reply["tiers"].list
            #expect(tiers.map { $0.at("tier").text } == TierColumns.tiers && tiers.count == 95)
            #expect(TierColumns.prices.count == 11 && TierColumns.proceeds.map(\.currency) == ["USD", "CNY"])
            for (columns, member) in [(TierColumns.prices, "prices"), (TierColumns.proceeds, "proceeds")] {
                for (currency, cells) in columns {
                    let stated = tiers.map { $0.at(member).at(currency).at("amount").int }
                    let expected = cells.map { Money(decimal: $0, currency: Currency(currency))?.amount }
                    #expect(stated == expected && stated.count == 95, "\(member) \(currency)")
                }
                let others = tiers.flatMap { Array(($0.at(member).object ?? [:]).keys) }
                #expect(Set(others) == Set(columns.map(\.currency)))
            }
            for (currency, cells) in TierColumns.prices {
                for price in Set(cells) {
                    let asked = try await shop.send(.get, "/v1/finance/tiers?price=\(price)&currency=\(currency)")
                    let named = asked["tiers"].list.map { $0.at("tier").text }
                    let expected = zip(TierColumns.tiers, cells).filter { $1 == price }.map(\.0)
                    #expect(named == expected && asked["standing"].text == "onTiers", "\(price) \(currency)")
                }
            }
        }
    }

    /// A price in US dollars, and whether Apple's some nine hundred price points contain it: steps of 0.10 up to 10,
    /// 0.50 up to 50, 1 up to 200, 5 up to 500, 10 up to 1,000 and 100 up to 10,000, a cent below, and whole dollars.
    @Test(
        "A price between the tiers is a price point, or Apple does not offer it (C1)",
        arguments: [
            ("0.29", "pricePoint"), ("0.19", "notOffered"), ("0.39", "pricePoint"), ("4.89", "pricePoint"),
            ("4.85", "notOffered"), ("10.09", "notOffered"), ("10.49", "pricePoint"), ("50.49", "notOffered"),
            ("51.99", "pricePoint"), ("204.99", "pricePoint"), ("203.99", "notOffered"), ("509.99", "pricePoint"),
            ("504.99", "notOffered"), ("1099.99", "pricePoint"), ("1009.99", "notOffered"), ("10000", "pricePoint"),
            ("9999.99", "pricePoint"), ("10099.99", "notOffered"), ("10000.01", "notOffered"), ("7", "pricePoint"),
            ("4.99", "onTiers"),
        ])
    func pricePoints(_ price: String, _ standing: String) async throws {
        try await Shop.open { shop in
            let reply = try await shop.send(.get, "/v1/finance/tiers?price=\(price)&currency=USD")
            #expect(reply["standing"].text == standing, "\(reply.body)")
            #expect(reply["isOffered"] == .bool(standing != "notOffered"))
        }
    }
}

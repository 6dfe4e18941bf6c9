import Foundation
import Testing
import TillBilling

/// App Store Connect's own export, in a folder beside the repository that may be absent.
private let sheetOfTiers = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("shared/facts/price-tiers.csv")

@Suite("Price tiers and price points (C1)") struct PriceTierTests {
    private func money(_ decimal: String, _ currency: String) throws -> Money {
        try #require(Money(decimal: decimal, currency: Currency(currency)))
    }

    @Test(
        "The table equals App Store Connect's export, cell by cell",
        .enabled(
            if: FileManager.default.fileExists(atPath: sheetOfTiers.path),
            "../shared/facts is not beside the repository"))
    func sheet() throws {
        let table = try #require(PriceTierTable.latest)
        let lines = try String(contentsOf: sheetOfTiers, encoding: .utf8).split(separator: "\n").map {
            $0.split(separator: ",").map(String.init)
        }
        let heads = try #require(lines.first)
        #expect(lines.count == 96 && table.tiers.map(\.id) == lines.dropFirst().map { $0[0] })
        var cells = 0
        for line in lines.dropFirst() {
            let tier = try #require(table[line[0]])
            #expect(tier.name.en == line[1])
            for (head, cell) in zip(heads, line).dropFirst(2) {
                let currency = Currency(String(head.prefix(3)).uppercased())
                let known = head.hasSuffix("_proceeds_70") ? tier.proceeds[currency] : tier.prices[currency]
                #expect(known == Money(decimal: cell, currency: currency), "\(line[0]) \(head)")
                cells += 1
            }
        }
        #expect(cells == 95 * 13)
        #expect(table.currencies.count == 11)
    }

    @Test("A price gives its tiers, and a tier its price") func lookups() throws {
        let table = try #require(PriceTierTable.latest)
        #expect(table.tiers.count == 95)
        #expect(table.price(ofTier: "1", in: Currency("CNY")) == Money(amount: 600, currency: Currency("CNY")))
        #expect(table.price(ofTier: "87", in: Currency("USD"))?.amount == 99_999)
        #expect(table.price(ofTier: "87", in: Currency("CNY"))?.amount == 649_800)
        #expect(table.price(ofTier: "A", in: Currency("CNY"))?.amount == 100)
        #expect(table.price(ofTier: "B", in: Currency("CNY"))?.amount == 300)
        #expect(table.price(ofTier: "1", in: Currency("JPY"))?.amount == 120)
        #expect(table.price(ofTier: "88", in: Currency("USD")) == nil)
        #expect(table.price(ofTier: "1", in: Currency("INR")) == nil)
        #expect(table.tiers(at: try money("0.99", "USD")).map(\.id) == ["1", "A", "B", "alt1"])
        #expect(table.tiers(at: try money("648", "CNY")).map(\.id) == ["60"])
        // The four prices of the cloud service (C4).
        for (price, tier) in [("2.99", "3"), ("29.99", "30"), ("6.99", "7"), ("69.99", "54")] {
            #expect(table.tiers(at: try money(price, "USD")).first?.id == tier)
        }
        // No tier costs CNY 9.9.
        #expect(table.tiers(at: try money("9.9", "CNY")).isEmpty)
        for tier in table.tiers {
            for (currency, price) in tier.prices {
                #expect(table.tiers(at: price).contains(tier), "\(tier.id) \(currency)")
            }
        }
    }

    @Test("A table is valid from its own day on") func validity() throws {
        let before = try #require(CivilDate(year: 2019, month: 10, day: 2))
        let since = try #require(CivilDate(year: 2019, month: 10, day: 3))
        let today = try #require(CivilDate(year: 2026, month: 3, day: 1))
        #expect(PriceTierTable.inForce(on: before) == nil)
        #expect(PriceTierTable.inForce(on: since)?.validFrom == since)
        #expect(PriceTierTable.inForce(on: today)?.tiers.count == 95)
    }

    @Test(
        "US dollars: the steps between the current price points",
        arguments: [
            ("0.29", true), ("0.28", false), ("0.30", false), ("0.39", true), ("0.99", true), ("1.00", true),
            ("9.99", true), ("10.09", false), ("10.49", true), ("49.99", true), ("50.49", false), ("50.99", true),
            ("199.99", true), ("200.99", false), ("204.99", true), ("499.99", true), ("505", false), ("509.99", true),
            ("999.99", true), ("1050", false), ("1099.99", true), ("9999.99", true), ("10000", true),
            ("10000.01", false), ("0", true),
        ])
    func points(_ price: String, _ isPoint: Bool) throws {
        #expect(PricePoints.contains(try money(price, "USD")) == isPoint)
    }

    @Test("About 900 points exist, each accepted, and every classic tier in dollars among them") func allPoints() {
        let points = PricePoints.dollars
        #expect(points.count == 928 && Set(points).count == 928)
        #expect(points.allSatisfy { PricePoints.contains($0) == true })
        #expect(points.map(\.amount) == points.map(\.amount).sorted())
        let accepted = (1...1_000_100).count {
            PricePoints.contains(Money(amount: $0, currency: Currency("USD"))) == true
        }
        #expect(accepted == 928)
        let tiers = PriceTierTable.latest?.tiers ?? []
        #expect(
            tiers.count {
                PricePoints.contains($0.prices[Currency("USD")] ?? Money(amount: 1, currency: Currency("USD"))) == true
            } == 95)
        #expect(PricePoints.contains(Money(amount: 600, currency: Currency("CNY"))) == nil)
        for amount in [Int64.min, -1, .max] {
            #expect(PricePoints.contains(Money(amount: amount, currency: Currency("USD"))) == false)
        }
    }

    @Test("Each standing of a price is recognized") func standing() throws {
        #expect(PriceAvailability(of: try money("4.99", "USD")) == .onTiers(["5", "alt5"]))
        #expect(PriceAvailability(of: try money("4.89", "USD")) == .pricePoint)
        #expect(PriceAvailability(of: try money("4.85", "USD")) == .notOffered)
        #expect(PriceAvailability(of: try money("9.9", "CNY")) == .onNoTier)
        #expect(PriceAvailability(of: try money("9.9", "BRL")) == .unknownCurrency)
    }

    @Test("Only the decimals of a price become minor units") func decimals() {
        func amount(_ text: String, _ currency: String) -> Int64? {
            Money(decimal: text, currency: Currency(currency))?.amount
        }
        #expect(amount("0.99", "USD") == 99 && amount("6", "CNY") == 600 && amount("9.9", "CNY") == 990)
        #expect(amount("120", "JPY") == 120 && amount("120.00", "JPY") == 120 && amount("1.500", "KWD") == 1_500)
        #expect(amount("999999999.99", "USD") == 99_999_999_999)
        for text in ["", ".", ".99", "1.", "1,5", "-1", "+1", "1e3", "0.999", " 1", "1.0.0", "1234567890", "１"] {
            #expect(amount(text, "USD") == nil, "\(text)")
        }
        #expect(amount("120.5", "KRW") == nil)
    }
}

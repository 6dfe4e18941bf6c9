import Testing
import TillBilling

@testable import TillEmulator

@Suite("Storefronts")
struct StorefrontTests {
    @Test("there are 175, each once, with a currency, and with unique numbers")
    func table() {
        let rows = StorefrontTable.rows
        #expect(rows.count == 175 && Set(rows.map(\.code)).count == 175)
        #expect(rows.map(\.code) == rows.map(\.code).sorted())
        #expect(rows.allSatisfy { Storefront.isWellFormed($0.code) && Currency($0.currency).isWellFormed })
        let numbers = rows.compactMap(\.number)
        #expect(numbers.count == 128 && Set(numbers).count == 128)
        #expect(numbers.allSatisfy { $0.utf8.count == 6 && $0.hasPrefix("1434") || $0.hasPrefix("1435") })
        // Apple states 44 or 45 currencies (facts/business-rules §4.2); two have become euros since.
        #expect(Set(rows.map(\.currency)).count == 43)
    }

    @Test("the certain numbers and currencies are right")
    func certain() {
        #expect(Storefront.numbers["USA"] == "143441" && Storefront.numbers["CHN"] == "143465")
        #expect(Storefront.numbers["XKS"] == nil)
        #expect(Storefront.currency(of: "JPN") == Currency("JPY") && Storefront.currency(of: "KOR") == Currency("KRW"))
        #expect(Storefront.currency(of: "HRV") == Currency("EUR") && Storefront.currency(of: "UKR") == Currency("USD"))
        #expect(Storefront.currency(of: "ZZZ") == nil)
    }

    @Test("yen and won have no minor digits, most currencies have two")
    func digits() {
        for (currency, digits) in [("JPY", 0), ("KRW", 0), ("VND", 0), ("CLP", 0), ("CNY", 2), ("TWD", 2), ("IDR", 2)] {
            #expect(Currency(currency).minorDigits == digits, "\(currency)")
        }
    }

    @Test(
        "the probably intended code is suggested",
        arguments: [("chn", "CHN"), ("CN", "CHN"), ("uk", "GBR"), ("US", "USA"), ("FRAN", "FRA"), ("DEUU", "DEU")])
    func nearest(_ written: String, _ meant: String) {
        #expect(Storefront.nearest(to: written) == meant)
        #expect(EmulatorConfiguration.nearestStorefront(to: written) == meant)
    }

    @Test("a price needs an existing storefront, and the refusal names the nearest one")
    func prices() async throws {
        let world = try await EmulatedWorld()
        let answer = await world.ask(
            .put, "/emulator/products",
            ["products": [["id": "a", "prices": ["UK": ["amount": 99, "currency": "GBP"]]]]])
        #expect(answer.status == 400 && answer.json["code"] == "wrong_value")
        #expect(
            answer.json["title"]?.string
                == "\"products[0].prices.UK\": there is no storefront \"UK\"; did you mean \"GBR\"?")
        await world.remove()
    }
}

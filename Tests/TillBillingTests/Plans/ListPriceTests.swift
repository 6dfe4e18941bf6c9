import Testing
import TillBilling

@Suite("The list price of a product, and the worth of a payment") struct ListPriceTests {
    private static func product(_ price: String, others: String, id: String = "p") throws -> CatalogProduct {
        let parts = price.split(separator: " ")
        return CatalogProduct(
            id: ProductID(id), type: .consumable, names: LocalizedText(en: "P", zh: "P"),
            price: Money(amount: try #require(Int64(parts[0])), currency: Currency(String(parts[1]))),
            plan: PlanLength("P1M").map { PlanTerms(id: PlanID("p"), length: $0) },
            prices: try Dictionary(
                uniqueKeysWithValues: others.split(separator: ",").map { price in
                    let parts = price.split(separator: " ")
                    return (String(parts[1]), try #require(Int64(parts[0])))
                }))
    }

    /// price of that day; others | price today | paid, × quantity, offer | worth
    static let table = """
        699 USD               | 699 USD  | 699 USD         | 699 USD
        699 USD               | 699 USD  | 1 USD           | 1 USD
        699 USD               | 699 USD  | 999 USD         | 999 USD
        699 USD               | 1398 USD | none            | 699 USD
        699 USD               | 699 USD  | none ×3         | 2097 USD
        699 USD               | 699 USD  | 0 USD           | 0 USD
        699 USD               | 699 USD  | 0 CNY offer     | 0 USD
        699 USD               | 699 USD  | -5 CNY          | 0 USD
        699 USD               | 699 USD  | 4800 CNY        | 699 USD
        699 USD               | 699 USD  | 1 CNY           | 699 USD
        1 USD                 | 699 USD  | 4800 CNY        | 1 USD
        699 USD               | 699 USD  | 4800 CNY offer  | 0 USD
        699 USD; 4800 CNY     | 699 USD  | 4800 CNY        | 699 USD
        699 USD; 4800 CNY     | 699 USD  | 2400 CNY offer  | 349 USD
        699 USD; 4800 CNY     | 699 USD  | 1 CNY           | 0 USD
        699 USD; 4800 CNY     | 699 USD  | 9600 CNY        | 699 USD
        699 USD; 4800 CNY     | 699 USD  | 9600 CNY ×2     | 1398 USD
        699 USD; 4800 CNY     | 699 USD  | 4800 CNY ×2     | 699 USD
        4800 CNY; 699 USD     | 1398 USD | 4800 CNY        | 699 USD
        4800 CNY              | 1398 USD | 2400 CNY        | 699 USD
        """

    @Test("Each row: the payment, or its part of the list price, no more", arguments: table.split(separator: "\n"))
    func row(_ row: Substring) throws {
        let cells = row.split(separator: "|").map { $0.trimmed }
        let then = cells[0].split(separator: ";").map { $0.trimmed }
        let day = try Self.product(then[0], others: then.dropFirst().joined(separator: ","))
        let today = try Self.product(cells[1], others: "")
        let words = cells[2].split(separator: " ").map(String.init)
        let quantity = try words.first { $0.hasPrefix("×") }.map { try #require(Int($0.dropFirst())) } ?? 1
        let paid = words[0] == "none" ? nil : Money(amount: try #require(Int64(words[0])), currency: Currency(words[1]))
        let worth = ListPrice(of: day, orElse: today.price).worth(
            of: paid, quantity: quantity, isOffer: words.contains("offer"))
        #expect("\(worth.amount) \(worth.currency)" == cells[3])
    }

    @Test("The catalogue in force on a day is the newest that began by then; the first one covers all days before")
    func versions() throws {
        func catalog(_ price: Int64?, _ other: String = "q") throws -> Catalog {
            let product = try price.map { try Self.product("\($0) USD", others: "") }
            return Catalog(products: [product, try Self.product("5 USD", others: "", id: other)].compactMap { $0 })
        }
        let versions = CatalogVersions([
            CatalogVersions.Version(number: 3, since: Instant(seconds: 30), catalog: try catalog(nil)),
            CatalogVersions.Version(number: 1, since: Instant(seconds: 10), catalog: try catalog(100)),
            CatalogVersions.Version(number: 2, since: Instant(seconds: 20), catalog: try catalog(200)),
            CatalogVersions.Version(number: 4, since: Instant(seconds: 40), catalog: try catalog(400, "new")),
        ])
        let prices = [0, 10, 19, 20, 30, 40, 50].map { versions.product(ProductID("p"), at: Instant(seconds: $0)) }
        #expect(prices.map { $0?.price.amount } == [100, 100, 100, 200, 200, 400, 400])
        #expect(versions.product(ProductID("new"), at: Instant(seconds: 0))?.price.amount == 5)
        #expect(versions.product(ProductID("none"), at: Instant(seconds: 0)) == nil)
        #expect(versions.product(ProductID("p"), inVersion: 2)?.price.amount == 200)
        #expect(versions.product(ProductID("p"), inVersion: 9) == nil)
        #expect(CatalogVersions([]).product(ProductID("p"), at: Instant(seconds: 0)) == nil)
    }

    @Test("Other prices must be in other currencies and above zero, or the server does not start")
    func findings() throws {
        for (others, isUsable) in [("4800 CNY,799 EUR", true), ("699 USD", false), ("0 CNY", false), ("5 cny", false)] {
            let catalog = Catalog(products: [try Self.product("699 USD", others: others)])
            #expect(catalog.findings.map(\.code) == (isUsable ? [] : [.badPrice]), "\(others)")
        }
    }

    @Test("A paid purchase of a product listed as free is no trial: its price is the payment")
    func paidTrial() throws {
        let trial = try #require(CloudPlans.plan("T"))
        let paid = PlanPurchase(
            plan: trial, quantity: 2, paid: Money(amount: 699, currency: CloudPlans.dollar), at: CloudPlans.start)
        #expect(!paid.plan.isFree && paid.plan.price.amount == 350 && paid.worth.amount == 699)
        #expect(PlanPurchase(plan: trial, paid: nil, at: CloudPlans.start).plan.isFree)
    }
}

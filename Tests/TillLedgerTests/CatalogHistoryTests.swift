import Testing
import TillBilling
import TillTestDatabases

@testable import TillLedger

@Suite("The catalogues that a ledger has had") struct CatalogHistoryTests {
    private static func catalog(_ price: Int64) -> Catalog {
        Catalog(products: [
            CatalogProduct(
                id: ProductID("p"), type: .consumable, names: LocalizedText(en: "P", zh: "点"),
                price: Money(amount: price, currency: Currency("CNY")), points: ["points": 60])
        ])
    }

    @Test("A catalogue that a reload replaced is a past one, also for the requests that began with it (issue 20)")
    func replaced() async throws {
        try await withLedger { ledger in
            let start = Instant(seconds: 1_790_000_000)
            let old = CatalogHistory(Self.catalog(600), since: start)
            #expect(try await old.record(in: ledger) == 1)
            let new = CatalogHistory(Self.catalog(1_200), since: start.adding(seconds: 10))
            #expect(try await new.record(in: ledger) == 2)
            for history in [old, new] {
                let versions = try await ledger.read { try history.versions($0) }
                #expect(versions.all.map(\.number) == [1, 2])
                let prices = [5, 10, 15].map { second in
                    versions.product(ProductID("p"), at: start.adding(seconds: second))?.price.amount
                }
                #expect(prices == [600, 1_200, 1_200])
            }
            // The job of the replaced server repeats its pass, and changes nothing.
            #expect(try await old.record(in: ledger) == 1)
            #expect(try await ledger.read { try CatalogVersionTable($0).newest()?.version } == 2)
        }
    }
}

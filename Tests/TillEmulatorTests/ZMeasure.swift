import Testing
import TillBilling
import TillStorage

@testable import TillEmulator

@Suite("ZMeasure") struct ZMeasure {
    @Test("reading") func reading() async throws {
        let world = try await EmulatedWorld()
        var file = StoreProduct(id: ProductID("big"), kind: .consumable, name: "big", prices: [:])
        file.prices = ProductText.tierPrices(PriceTierTable.latest!["1"]!)
        try await world.emulator.store.replaceProducts(StoreProduct.sampleCatalogue(bundleID: "x") + [file])
        let text = try await world.emulator.store.ask { session in
            var text = ""
            let clock = ContinuousClock()
            for id in ["big", "x.points60", "x.member.yearly"] {
                let whole = try clock.measure { for _ in 0..<1000 { _ = try ProductTable.find(ProductID(id), session) } }
                let one = try clock.measure { for _ in 0..<1000 { _ = try ProductTable.priced(ProductID(id), storefront: "CHN", session) } }
                text += "\(id) find \(whole / 1000) priced \(one / 1000)\n"
            }
            return text
        }
        print("MEASURED\n" + text)
        await world.remove()
    }
}

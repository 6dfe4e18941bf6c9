import Testing
import TillBilling
import TillEmulator

@Suite("Territories") struct TerritoryTests {
    @Test("Finance knows the storefronts that the emulated store sells in, and no others")
    func sameStorefronts() {
        #expect(Territory.all.map(\.alpha3) == EmulatorConfiguration.storefronts)
    }
}

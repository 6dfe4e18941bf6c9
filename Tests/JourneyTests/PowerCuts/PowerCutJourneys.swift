import Testing
import TillServer
import TillSimulation
import TillTestDatabases

/// The whole server, on the real driver, over a disk that loses and tears unsynced writes.
@Suite("Power cuts under the whole server", .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
struct PowerCutJourneys {
    @Test(
        "The power fails at any point: answers stand, complete and once, and retries end in one grant each (O6)")
    func powerCuts() async throws {
        let (answered, cuts) = try await cutPower(0..<12)
        #expect(answered > 12 * 50)
        #expect(cuts.contains(CrashableDisk.PowerCut(operation: .write, file: "till.db-wal")))
    }

    @Test("The same in a hundred worlds, with cuts at critical places", .slow, arguments: [UInt64(0)..<52, 52..<104])
    func manyPowerCuts(_ seeds: Range<UInt64>) async throws {
        let (answered, cuts) = try await cutPower(seeds)
        // The cuts must have come at the critical places.
        #expect(answered > seeds.count * 50)
        for cut in [
            CrashableDisk.PowerCut(operation: .write, file: "till.db-wal"),
            .init(operation: .sync, file: "till.db-wal"),
            .init(operation: .write, file: "till.db"),
        ] {
            #expect(cuts.contains(cut), "no cut in \(cut)")
        }
    }

    private func cutPower(
        _ seeds: Range<UInt64>
    ) async throws -> (answered: Int, cuts: Set<CrashableDisk.PowerCut>) {
        var (answered, cuts) = (0, Set<CrashableDisk.PowerCut>())
        try await Shop.open { shop in
            let sales = try await Sale.make(8, refunded: 3, in: shop)
            for seed in seeds {
                let world = Self.world(seed, sales, shop)
                for _ in 0..<2 { await world.live(operations: 700) }
                await world.completeAll()
                #expect(world.violations.isEmpty, "seed \(seed): \(world.violations)")
                answered += world.answered
                cuts.formUnion(world.cuts)
            }
        }
        return (answered, cuts)
    }

    enum Plant: String, CaseIterable, Sendable { case synchronousOff, lyingSyncs }

    @Test("The same checks find a planted synchronous=OFF, and a disk that ignores syncs", arguments: Plant.allCases)
    func planted(_ plant: Plant) async throws {
        try await Shop.open { shop in
            let sales = try await Sale.make(8, refunded: 3, in: shop)
            var lost: [String] = []
            for seed in UInt64(0)..<20 where lost.isEmpty {
                let world = ServerUnderPowerCuts(
                    seed: seed, sales, Self.configuration(shop), clock: { shop.time.now },
                    synchronous: plant == .synchronousOff ? "OFF" : "FULL", syncsLie: plant == .lyingSyncs)
                await world.live(operations: 700)
                lost = world.violations.filter { $0.hasPrefix("answered and lost") || $0.hasPrefix("cannot be") }
            }
            #expect(!lost.isEmpty)
        }
    }

    private static func world(_ seed: UInt64, _ sales: [Sale], _ shop: Shop) -> ServerUnderPowerCuts {
        ServerUnderPowerCuts(seed: seed, sales, configuration(shop), clock: { shop.time.now })
    }

    private static func configuration(_ shop: Shop) -> ServerConfiguration { shop.server.configuration }
}

import Testing
import TillBilling

@testable import TillClient

@Suite("A killed app, tested through `TillStore`")
struct StoreKillTests {
    private func buy(_ world: PretendWorld, killedAt step: Int = .max) async throws {
        world.state.withLock { $0.killAt = step }
        let store = try await world.launch()
        _ = await store.buy("points.60")
        await world.end(store)
        world.state.withLock { $0.killAt = .max }
    }

    private func steps() async throws -> Int {
        let world = PretendWorld()
        try await buy(world)
        return world.state.now.steps
    }

    /// A launch that completes all remaining work.
    private func recover(_ world: PretendWorld) async throws -> [StoreOrder] {
        let store = try await world.launch()
        await store.checkOrderStatus()
        #expect(await world.isIdle(store))
        await world.end(store)
        return await store.orders(all: true)
    }

    @Test("O6, L5: killed at every step, the next launch completes paid orders, invents none and leaves none open")
    func everyStep() async throws {
        let all = try await steps()
        #expect(all == 12, "products, journal, 2 × order, opened, 2 × sheet, ongoing, 2 × proof, finish, completed")
        var paid = 0
        for step in 1...all {
            let world = PretendWorld()
            try await buy(world, killedAt: step)
            let wasPaid = world.state.now.paid.count
            let orders = try await recover(world)
            #expect(orders.count <= 1 && world.state.now.orders.count <= 1)
            #expect(world.state.now.queue.isEmpty && world.state.now.finishedBeforeWord.isEmpty)
            #expect(world.state.now.grants.count == wasPaid, "killed at \(step)")
            if wasPaid == 1 {
                #expect(orders.map(\.status) == [.completed], "killed at \(step)")
            } else {
                #expect(orders.allSatisfy { $0.status == .prepared || $0.status == .failed })
            }
            paid += wasPaid
        }
        #expect(paid == 6)
    }

    @Test("O7: killed at every step and reinstalled with an empty disk, a paid purchase arrives once, at its owner")
    func reinstalled() async throws {
        var paid = 0
        for step in 1...(try await steps()) {
            let world = PretendWorld()
            try await buy(world, killedAt: step)
            let wasPaid = world.state.now.paid.count
            world.file.state.withLock { $0.bytes = [] }
            world.identity.state.withLock { $0.bytes = [] }
            _ = try await recover(world)
            #expect(world.state.now.grants.values.map(\.text) == Array(repeating: "ann", count: wasPaid))
            #expect(world.state.now.queue.isEmpty && world.state.now.finishedBeforeWord.isEmpty)
            paid += wasPaid
        }
        #expect(paid == 6)
    }

    @Test("O6: killed in the purchase and again in the recovery, at every pair of steps, it still arrives once")
    func everyPair() async throws {
        var pairs = 0
        for first in 1...(try await steps()) {
            for second in 1...6 {
                let world = PretendWorld()
                try await buy(world, killedAt: first)
                world.state.withLock { $0.killAt = $0.steps + second }
                let store = try await world.launch()
                await store.checkOrderStatus()
                await world.end(store)
                world.state.withLock { $0.killAt = .max }
                let wasPaid = world.state.now.paid.count
                let orders = try await recover(world)
                #expect(world.state.now.grants.count == wasPaid)
                #expect(world.state.now.queue.isEmpty && world.state.now.finishedBeforeWord.isEmpty)
                #expect(orders.allSatisfy { $0.status != .ongoing }, "killed at \(first), then at \(second)")
                pairs += wasPaid
            }
        }
        #expect(pairs == 36)
    }
}

import Testing
import TillBilling

@testable import TillClient

@Suite("A device that loses power")
struct KillTests {
    private func buy(_ world: PretendWorld) async throws {
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points, price: PretendApp.price))
        if world.state.now.isDead { return }
        _ = await app.submitter.submit(world.pay(entry))
    }

    private func relaunch(_ world: PretendWorld) async throws -> PretendApp {
        world.state.withLock { $0.killAt = .max }
        let app = try PretendApp(world)
        _ = await app.retry.resubmit(on: .launch)
        return app
    }

    /// The number of a purchase's effects, from the first write to the last.
    private func steps() async throws -> Int {
        let world = PretendWorld()
        try await buy(world)
        return world.state.now.steps
    }

    @Test("O6, L5: killed at every step of a purchase, the relaunch completes paid orders and invents none")
    func everyStep() async throws {
        let all = try await steps()
        #expect(all == 9, "journal, 2 × order, opened, ongoing, 2 × proof, finish, completed")
        var paid = 0
        for step in 1...all {
            let world = PretendWorld()
            world.state.withLock { $0.killAt = step }
            try? await buy(world)
            let app = try await relaunch(world)
            let after = world.state.now
            let entries = await app.journal.entries()
            #expect(entries.count <= 1 && after.orders.count <= 1)
            #expect(after.finishedBeforeWord.isEmpty, "finished before the server's word at step \(step)")
            #expect(after.queue.isEmpty, "still unfinished after step \(step)")
            if after.grants.isEmpty {
                #expect(entries.allSatisfy { $0.status == .prepared || $0.status == .failed })
            } else {
                paid += 1
                #expect(after.grants.count == 1)
                #expect(entries.map(\.status) == [.completed], "step \(step)")
                #expect(await app.journal.proof(of: entries[0].id) == nil)
            }
        }
        #expect(paid == 5)
    }

    @Test("O7: killed at every step and reinstalled with an empty disk, a paid purchase still arrives once")
    func everyStepAndReinstalled() async throws {
        var paid = 0
        for step in 1...(try await steps()) {
            let world = PretendWorld()
            world.state.withLock { $0.killAt = step }
            try? await buy(world)
            let wasPaid = world.state.now.paid.count
            world.file.state.withLock { $0.bytes = [] }
            _ = try await relaunch(world)
            #expect(world.state.now.grants.count == wasPaid)
            #expect(world.state.now.queue.isEmpty && world.state.now.finishedBeforeWord.isEmpty)
            paid += wasPaid
        }
        #expect(paid == 5)
    }

    @Test("Killed twice, at every step of the purchase and of the recovery, it still arrives once")
    func everyPair() async throws {
        var pairs = 0
        for first in 1...(try await steps()) {
            for second in 1...9 {
                let world = PretendWorld()
                world.state.withLock { $0.killAt = first }
                try? await buy(world)
                world.state.withLock { $0.killAt = $0.steps + second }
                _ = await (try PretendApp(world)).retry.resubmit(on: .launch)
                let wasPaid = world.state.now.paid.count
                let app = try await relaunch(world)
                #expect(world.state.now.grants.count == wasPaid)
                #expect(world.state.now.queue.isEmpty && world.state.now.finishedBeforeWord.isEmpty)
                let open = await app.journal.entries().filter { $0.status == .ongoing }
                #expect(open.isEmpty, "killed at \(first), then at \(second)")
                pairs += wasPaid
            }
        }
        #expect(pairs > 30)
    }
}

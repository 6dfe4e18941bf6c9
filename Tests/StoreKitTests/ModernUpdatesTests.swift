import Foundation
import StoreKit
import Testing
import TillAppStore
import TillHTTP

@Suite("StoreKit 2: updates")
struct ModernUpdatesTests {
    @Test("A purchase made here comes in its result; on the account's other phones it comes in the updates")
    func hereAndThere() async throws {
        try await ModernWorld.with { world in
            let (here, there) = (try world.phone(1), try world.phone(2))
            let (mine, theirs) = (here.listen(), there.listen())
            let id = "\(try await here.bought("points60").unsafePayloadValue.id)"
            #expect(await theirs.receives(1) == [id])
            #expect(await mine.receives(0).isEmpty)
            #expect(await there.ids { Transaction.unfinished } == [id])
            await mine.end()
            await theirs.end()
        }
    }

    @Test("A launch delivers everything unfinished once, to the first listener; a relaunch delivers it again")
    func launches() async throws {
        try await ModernWorld.with { world in
            let first = try await world.buy("points60")
            let second = try await world.buy("points300")
            let phone = try world.phone()
            let listening = phone.listen()
            #expect(await listening.receives(2) == [first, second])
            let later = phone.listen()
            let third = try await world.buy("points680")
            #expect(await later.receives(1) == [third])
            #expect(await listening.receives(3) == [first, second, third])
            await phone.run { await listening.results[0].unsafePayloadValue.finish() }
            await listening.end()
            await later.end()

            let relaunched = try world.phone().listen()
            #expect(await relaunched.receives(2) == [second, third])
            await relaunched.end()
        }
    }

    @Test("A transaction finished on another phone is not delivered at the next launch")
    func finishedElsewhere() async throws {
        try await ModernWorld.with { world in
            let id = try await world.buy("points60")
            try await world.act(id, "finish")
            let stored = try await world.buy("points300")
            let listening = try world.phone().listen()
            #expect(await listening.receives(1) == [stored])
            await listening.end()
        }
    }

    @Test("Refunds, reversals and renewals come once for each listener, also those of purchases made here")
    func changes() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let (one, other) = (phone.listen(), phone.listen())
            let library = "\(try await phone.bought("library").unsafePayloadValue.id)"
            #expect(await one.receives(0).isEmpty)
            try await world.act(library, "refund")
            #expect(await one.receives(1) == [library])
            #expect(one.results[0].unsafePayloadValue.revocationDate != nil)
            try await world.act(library, "refundReversal")
            #expect(await one.receives(2) == [library, library])
            #expect(one.results[1].unsafePayloadValue.revocationDate == nil)
            let monthly = try await phone.bought("member.monthly").unsafePayloadValue
            try await world.ask(.post, "/emulator/clock", ["advance": "31d"])
            #expect(await one.receives(3).count == 3)
            let renewal = one.results[2].unsafePayloadValue
            #expect(renewal.originalID == monthly.id)
            #expect(renewal.id != monthly.id)
            #expect(renewal.reason == .renewal)
            #expect(renewal.expirationDate ?? .distantPast > monthly.expirationDate ?? .distantFuture)
            #expect(await other.receives(3) == one.ids)
            await one.end()
            await other.end()
        }
    }

    @Test("An interrupted purchase is shown as cancelled, and comes once it is completed")
    func interrupted() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let listening = phone.listen()
            try await world.set("ann", ["paymentSheet": "interrupted"])
            #expect(await name { try await phone.buy("points60") } == "userCancelled")
            let id = try await world.newest()
            try await world.act(id, "approve")
            #expect(await listening.receives(1) == [id])
            await listening.end()
        }
    }

    @Test("An answer lost after the charge is an error now, and the purchase comes in the updates exactly once")
    func lostAnswer() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let points = try await phone.product("points60")
            let listening = phone.listen()
            await until { client.count("/news") > 3 }
            client.cut("/emulator/purchases", .answerLost)
            #expect(await name { try await phone.run { try await points.purchase() } } == "networkError -1005")
            #expect(await listening.receives(1).count == 1)
            client.mend()
            #expect(await listening.receives(1).count == 1)
            #expect(await phone.ids { Transaction.unfinished } == listening.ids)
            await listening.end()
        }
    }

    @Test("The same holds without a listener at that time")
    func lostAnswerBeforeListening() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let points = try await phone.product("points60")
            client.cut("/emulator/purchases", .answerLost)
            #expect(await name { try await phone.run { try await points.purchase() } } == "networkError -1005")
            client.mend()
            let stored = try await phone.bought("points300").unsafePayloadValue.id
            let listening = phone.listen()
            #expect(await listening.receives(1).count == 1)
            #expect(listening.ids.first != "\(stored)")
            await listening.end()
        }
    }

    @Test("Nothing is lost without the network, at the launch or later")
    func networkAway() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            client.cut()
            let first = try await world.buy("points60")
            let phone = try world.phone(client: client)
            let listening = phone.listen()
            #expect(await listening.receives(0).isEmpty)
            client.mend()
            #expect(await listening.receives(1) == [first])
            client.cut()
            let second = try await world.buy("points300")
            try await world.act(second, "refund")
            let third = try await world.buy("points680")
            #expect(await listening.receives(1) == [first])
            client.mend()
            #expect(await listening.receives(3) == [first, second, third])
            await listening.end()
        }
    }

    @Test("With many concurrent purchases on both phones nothing is lost, and own purchases are not repeated")
    func busy() async throws {
        try await ModernWorld.with { world in
            let (here, there) = (try world.phone(1), try world.phone(2))
            let (mine, theirs) = (here.listen(), there.listen())
            let (points, others) = (try await here.product("points60"), try await there.product("points300"))
            async let bought = withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<12 { group.addTask { try await here.pay(for: points) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            async let boughtThere = withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<12 { group.addTask { try await there.pay(for: others) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let (own, foreign) = (try await bought, try await boughtThere)
            #expect(Set(await mine.receives(12)) == Set(foreign))
            #expect(Set(await theirs.receives(12)) == Set(own))
            #expect(mine.ids.count == 12)
            #expect(theirs.ids.count == 12)
            await mine.end()
            await theirs.end()
        }
    }

    @Test("A cancelled listener ends the stream and the phone's requests; a new one gets what came in the meantime")
    func cancelled() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let listening = phone.listen()
            await until { client.count("/news") > 3 }
            await listening.end()
            #expect(listening.isOver)
            try await Task.sleep(for: .milliseconds(60))
            let asked = client.count("/news")
            try await Task.sleep(for: .milliseconds(60))
            #expect(client.count("/news") == asked)
            let id = try await world.buy("points60")
            let again = phone.listen()
            #expect(await again.receives(1) == [id])
            await again.end()
        }
    }
}

extension EmulatedDevice {
    fileprivate func pay(for product: Product) async throws -> String {
        guard case .success(let result) = try await run({ try await product.purchase() }) else { return "" }
        return "\(result.unsafePayloadValue.id)"
    }
}

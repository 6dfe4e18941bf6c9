import Foundation
import StoreKit
import Testing
import TillAppStore
import TillHTTP

@Suite("StoreKit 2: purchase history")
struct ModernHistoryTests {
    @Test("The sequences contain what Apple's contain, after purchases, finishing and refunds")
    func sequences() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            var ids: [String: String] = [:]
            for product in ["points60", "points300", "points680", "library", "course", "member.monthly"] {
                ids[product] = try await world.buy(product)
            }
            func sets() async -> [[String]] {
                let names = Dictionary(uniqueKeysWithValues: ids.map { ($0.value, $0.key) })
                var sets: [[String]] = []
                for sequence in [
                    { Transaction.unfinished }, { Transaction.all }, { Transaction.currentEntitlements },
                ] { sets.append(await phone.ids(sequence).map { names[$0] ?? $0 }) }
                return sets
            }
            let everything = ["points60", "points300", "points680", "library", "course", "member.monthly"]
            #expect(await sets() == [everything, everything, ["library", "course", "member.monthly"]])
            for product in ["points60", "points300", "course", "library"] {
                try await world.act(try #require(ids[product]), "finish")
            }
            try await world.act(try #require(ids["points300"]), "refund")
            try await world.act(try #require(ids["library"]), "refund")
            #expect(
                await sets() == [
                    ["points680", "member.monthly"],
                    ["points300", "points680", "library", "course", "member.monthly"],
                    ["course", "member.monthly"],
                ])
            let keeping = try world.phone(2, consumables: true)
            #expect(await keeping.ids { Transaction.all }.count == 6)
        }
    }

    @Test("A product's queries return all its transactions, the newest, and the current entitlements")
    func ofOneProduct() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let first = try await world.buy("member.monthly")
            try await world.ask(.post, "/emulator/clock", ["advance": "31d"])
            let id = ModernWorld.id("member.monthly")
            let all = await phone.ids { Transaction.all(for: id) }
            #expect(all.count == 2)
            #expect(all.first == first)
            let product = try await phone.product("member.monthly")
            try await phone.run {
                let latest = try #require(await Transaction.latest(for: id))
                let newest = try latest.payloadValue.id
                #expect("\(newest)" == all.last)
                #expect(await product.latestTransaction?.unsafePayloadValue.id == latest.unsafePayloadValue.id)
                #expect(
                    await Transaction.currentEntitlement(for: id)?.unsafePayloadValue.id
                        == latest.unsafePayloadValue.id)
                #expect(await product.currentEntitlement != nil)
                #expect(await Transaction.latest(for: "none") == nil)
                #expect(await Transaction.currentEntitlement(for: ModernWorld.id("points60")) == nil)
            }
            #expect(await phone.ids { Transaction.currentEntitlements(for: id) } == [all.last])
        }
    }

    @Test("Finishing applies to all phones for good and may be repeated; a consumable leaves the receipt")
    func finishing() async throws {
        try await ModernWorld.with { world in
            let (here, there) = (try world.phone(1), try world.phone(2))
            let bought = try await here.bought("points60").payloadValue
            let with = try Data(contentsOf: here.receiptURL)
            await here.run {
                await bought.finish()
                await bought.finish()
            }
            let without = try Data(contentsOf: here.receiptURL)
            var policy = TrustPolicy(bundleID: ModernWorld.bundleID, environments: nil, now: { ModernWorld.start })
            policy.roots = [world.emulator.issuer.rootCertificate]
            let verifier = try SignedDataVerifier(policy: policy)
            let purchases = try [with, without].map { try verifier.receipt(Array($0)).payload.purchases.count }
            #expect(purchases == [1, 0])
            #expect(await there.ids { Transaction.unfinished }.isEmpty)
            #expect(await here.ids { Transaction.all }.isEmpty)
        }
    }

    @Test("Finishing survives a short network loss; after a long one the transaction comes again at the next launch")
    func finishingWithoutNetwork() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let first = try await phone.bought("points60").payloadValue
            client.cut("/finish")
            async let finished: Void = phone.run { await first.finish() }
            await until { client.count("/finish") > 1 }
            client.mend()
            await finished
            #expect(await phone.ids { Transaction.unfinished }.isEmpty)

            let second = try await phone.bought("points300").payloadValue
            client.cut("/finish")
            await phone.run { await second.finish() }
            client.mend()
            let listening = try world.phone().listen()
            #expect(await listening.receives(1) == ["\(second.id)"])
            await listening.end()
        }
    }

    @Test("Sequences read once are available without the network, without those finished since")
    func offline() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let points = try await phone.bought("points60").payloadValue
            let library = "\(try await phone.bought("library").payloadValue.id)"
            #expect(await phone.ids { Transaction.unfinished }.count == 2)
            #expect(await phone.ids { Transaction.currentEntitlements } == [library])
            await phone.run { await points.finish() }
            client.cut()
            #expect(await phone.ids { Transaction.unfinished } == [library])
            #expect(await phone.ids { Transaction.currentEntitlements } == [library])
            #expect(await phone.ids { Transaction.all }.isEmpty)
        }
    }

    @Test("Another account on the phone has its own purchases, and accounts never see each other's")
    func accounts() async throws {
        try await ModernWorld.with { world in
            let ann = try await world.buy("library", of: "ann")
            let ben = try await world.buy("library", of: "ben")
            let anns = try world.phone(1, of: "ann")
            #expect(await anns.ids { Transaction.currentEntitlements } == [ann])
            let bens = try world.phone(1, of: "ben")
            #expect(await bens.ids { Transaction.currentEntitlements } == [ben])
        }
    }
}

import Foundation
import Testing
import TillJSON

@testable import StoreKit

@Suite("Changes of subscriptions while an app runs (facts/storekit-client `Status.updates`)")
struct SubscriptionUpdateTests {
    typealias Status = Product.SubscriptionInfo.Status

    /// Starts listeners and waits until they have read the store's current state.
    private func listen(_ phone: EmulatedDevice, _ client: NetworkLink, listeners: Int = 1) async throws
        -> [EventRecorder<Status>]
    {
        let ears = (0..<listeners).map { _ in EventRecorder(on: phone) { Status.updates } }
        try #require(await until { client.count("subscription-statuses") >= listeners })
        try await Task.sleep(for: .milliseconds(20))
        return ears
    }

    private func act(_ world: ModernWorld, _ id: String, _ verb: String, _ body: JSONValue = [:]) async throws {
        try await world.ask(.post, "/emulator/subscriptions/\(id)/\(verb)", body)
    }

    @Test("Each change is delivered once to every listener: a preference, a price, a renewal, an end")
    func changes() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let id = try await world.buy("member.monthly")
            let ears = try await listen(phone, client, listeners: 2)
            func reported(_ count: Int, _ say: (Status) throws -> String) async throws -> [String] {
                var stated: [String] = []
                for recorder in ears {
                    let received = await recorder.receives(count)
                    try #require(received.count == count)
                    stated.append(try say(received[count - 1]))
                }
                return stated
            }
            try await act(world, id, "cancel")
            #expect(
                try await reported(1) { "\($0.state.rawValue) \(try $0.renewalInfo.payloadValue.willAutoRenew)" }
                    == ["1 false", "1 false"])
            try await act(world, id, "resume")
            #expect(try await reported(2) { "\(try $0.renewalInfo.payloadValue.willAutoRenew)" } == ["true", "true"])
            try await act(
                world, id, "priceIncrease", ["price": ["amount": 9_900, "currency": "CNY"], "needsConsent": true])
            #expect(
                try await reported(3) { "\(try $0.renewalInfo.payloadValue.priceIncreaseStatus)" }
                    == ["pending", "pending"])
            try await act(world, id, "consent", ["accept": true])
            #expect(
                try await reported(4) { "\(try $0.renewalInfo.payloadValue.priceIncreaseStatus)" } == [
                    "agreed", "agreed",
                ])
            world.advance(seconds: 31 * 86_400)
            #expect(
                try await reported(5) { "\(try $0.transaction.payloadValue.reason.rawValue)" } == [
                    "RENEWAL", "RENEWAL",
                ])
            try await act(world, id, "cancel")
            _ = try await reported(6) { _ in "" }
            world.advance(seconds: 31 * 86_400)
            #expect(try await reported(7) { "\($0.state.rawValue)" } == ["2", "2"])
            for recorder in ears { await recorder.end() }
        }
    }

    @Test("The account's own purchase is delivered; other customers', other apps' and one-time purchases are not")
    func whose() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let recorder = try #require(try await listen(phone, client).first)
            try await world.buy("member.monthly", of: "eve")
            try await world.buy("points60")
            let bought = try await phone.bought("member.monthly").payloadValue
            let received = await recorder.receives(1)
            #expect(received.map(\.state) == [.subscribed])
            #expect(try received.first?.transaction.payloadValue.id == bought.id)
            await recorder.end()
        }
    }

    @Test("A change during a network loss is delivered afterwards; a relaunch delivers nothing old")
    func away() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let id = try await world.buy("member.monthly")
            let recorder = try #require(try await listen(phone, client).first)
            client.cut()
            try await act(world, id, "cancel")
            try await Task.sleep(for: .milliseconds(40))
            #expect(recorder.received.isEmpty)
            client.mend()
            #expect(try await recorder.receives(1).map { try $0.renewalInfo.payloadValue.willAutoRenew } == [false])
            await recorder.end()
            let again = NetworkLink()
            let relaunched = try world.phone(client: again)
            let later = try #require(try await listen(relaunched, again).first)
            #expect(await later.receives(0).isEmpty)
            await later.end()
        }
    }

    @Test("A cancelled listener sends no more requests to the store")
    func cancelled() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let ears = try await listen(phone, client, listeners: 2)
            await ears[0].end()
            #expect(ears[0].isOver)
            let before = client.count("news")
            #expect(await until { client.count("news") > before + 2 }, "one still listens")
            await ears[1].end()
            // A request under way may still return.
            try await Task.sleep(for: .milliseconds(60))
            let after = client.count("")
            try await Task.sleep(for: .milliseconds(100))
            #expect(client.count("") == after)
        }
    }
}

import Foundation
import Testing
import TillJSON

@testable import StoreKit

@Suite("Changes of subscriptions while an app runs (facts/storekit-client `Status.updates`)")
struct SubscriptionUpdateTests {
    typealias Status = Product.SubscriptionInfo.Status

    /// Starts listeners and waits until they have read the store's current state.
    private func listen(_ phone: EmulatedDevice, _ line: Line, listeners: Int = 1) async throws -> [Ear<Status>] {
        let ears = (0..<listeners).map { _ in Ear(on: phone) { Status.updates } }
        try #require(await until { line.count("subscription-statuses") >= listeners })
        try await Task.sleep(for: .milliseconds(20))
        return ears
    }

    private func act(_ world: ModernWorld, _ id: String, _ verb: String, _ body: JSONValue = [:]) async throws {
        try await world.ask(.post, "/emulator/subscriptions/\(id)/\(verb)", body)
    }

    @Test("Each change is delivered once to every listener: a preference, a price, a renewal, an end")
    func changes() async throws {
        try await ModernWorld.with { world in
            let line = Line()
            let phone = try world.phone(line: line)
            let id = try await world.buy("member.monthly")
            let ears = try await listen(phone, line, listeners: 2)
            func told(_ count: Int, _ say: (Status) throws -> String) async throws -> [String] {
                var said: [String] = []
                for ear in ears {
                    let heard = await ear.hears(count)
                    try #require(heard.count == count)
                    said.append(try say(heard[count - 1]))
                }
                return said
            }
            try await act(world, id, "cancel")
            #expect(
                try await told(1) { "\($0.state.rawValue) \(try $0.renewalInfo.payloadValue.willAutoRenew)" }
                    == ["1 false", "1 false"])
            try await act(world, id, "resume")
            #expect(try await told(2) { "\(try $0.renewalInfo.payloadValue.willAutoRenew)" } == ["true", "true"])
            try await act(
                world, id, "priceIncrease", ["price": ["amount": 9_900, "currency": "CNY"], "needsConsent": true])
            #expect(
                try await told(3) { "\(try $0.renewalInfo.payloadValue.priceIncreaseStatus)" }
                    == ["pending", "pending"])
            try await act(world, id, "consent", ["accept": true])
            #expect(
                try await told(4) { "\(try $0.renewalInfo.payloadValue.priceIncreaseStatus)" } == ["agreed", "agreed"])
            world.advance(seconds: 31 * 86_400)
            #expect(
                try await told(5) { "\(try $0.transaction.payloadValue.reason.rawValue)" } == ["RENEWAL", "RENEWAL"])
            try await act(world, id, "cancel")
            _ = try await told(6) { _ in "" }
            world.advance(seconds: 31 * 86_400)
            #expect(try await told(7) { "\($0.state.rawValue)" } == ["2", "2"])
            for ear in ears { await ear.end() }
        }
    }

    @Test("The account's own purchase is delivered; other customers', other apps' and one-time purchases are not")
    func whose() async throws {
        try await ModernWorld.with { world in
            let line = Line()
            let phone = try world.phone(line: line)
            let ear = try #require(try await listen(phone, line).first)
            try await world.buy("member.monthly", of: "eve")
            try await world.buy("points60")
            let bought = try await phone.bought("member.monthly").payloadValue
            let heard = await ear.hears(1)
            #expect(heard.map(\.state) == [.subscribed])
            #expect(try heard.first?.transaction.payloadValue.id == bought.id)
            await ear.end()
        }
    }

    @Test("A change during a network loss is delivered afterwards; a relaunch delivers nothing old")
    func away() async throws {
        try await ModernWorld.with { world in
            let line = Line()
            let phone = try world.phone(line: line)
            let id = try await world.buy("member.monthly")
            let ear = try #require(try await listen(phone, line).first)
            line.cut()
            try await act(world, id, "cancel")
            try await Task.sleep(for: .milliseconds(40))
            #expect(ear.heard.isEmpty)
            line.mend()
            #expect(try await ear.hears(1).map { try $0.renewalInfo.payloadValue.willAutoRenew } == [false])
            await ear.end()
            let again = Line()
            let relaunched = try world.phone(line: again)
            let later = try #require(try await listen(relaunched, again).first)
            #expect(await later.hears(0).isEmpty)
            await later.end()
        }
    }

    @Test("A cancelled listener sends no more requests to the store")
    func cancelled() async throws {
        try await ModernWorld.with { world in
            let line = Line()
            let phone = try world.phone(line: line)
            let ears = try await listen(phone, line, listeners: 2)
            await ears[0].end()
            #expect(ears[0].isOver)
            let before = line.count("news")
            #expect(await until { line.count("news") > before + 2 }, "one still listens")
            await ears[1].end()
            // A request under way may still return.
            try await Task.sleep(for: .milliseconds(60))
            let after = line.count("")
            try await Task.sleep(for: .milliseconds(100))
            #expect(line.count("") == after)
        }
    }
}

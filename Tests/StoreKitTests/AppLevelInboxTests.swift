import Foundation
import StoreKit
import Testing
import TillJSON

@Suite("The App Store's messages and promoted purchases in an app (facts/storekit-client)")
struct AppLevelInboxTests {
    private func tap(
        _ world: ModernWorld, _ product: String, offer: String? = nil, of account: String = "ann"
    ) async throws {
        var body: [String: JSONValue] = [
            "account": .string(account), "bundleId": .string(ModernWorld.bundleID),
            "productId": .string(ModernWorld.id(product)),
        ]
        body["offerId"] = offer.map { .string($0) }
        try await world.ask(.post, "/emulator/purchase-intents", .object(body))
    }

    @Test("Each message is delivered once: to one listener, on one device, in one run of the app")
    func messages() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let message: JSONValue = ["account": "ann", "bundleId": .string(ModernWorld.bundleID)]
            try await world.ask(.post, "/emulator/messages", message)
            let ears = (0..<2).map { _ in EventRecorder(on: phone) { Message.messages } }
            #expect(await until { ears.flatMap(\.received).count == 1 })
            let id = String(try await phone.bought("member.monthly").payloadValue.id)
            try await world.ask(
                .post, "/emulator/subscriptions/\(id)/priceIncrease",
                ["price": ["amount": 9_900, "currency": "CNY"], "needsConsent": true])
            #expect(await until { ears.flatMap(\.received).count == 2 })
            try await world.ask(.post, "/emulator/subscriptions/\(id)/consent", ["accept": true])
            try await world.ask(.post, "/emulator/subscriptions/\(id)/billingFailure")
            world.advance(seconds: 31 * 86_400)
            #expect(await until { ears.flatMap(\.received).count == 3 })
            try await Task.sleep(for: .milliseconds(60))
            let reasons = ears.flatMap(\.received).map(\.reason)
            #expect(reasons.count == 3)
            #expect(Set(reasons) == [.generic, .priceIncreaseConsent, .billingIssue])
            for recorder in ears { await recorder.end() }
            let later = [
                EventRecorder(on: phone) { Message.messages },
                EventRecorder(on: try world.phone()) { Message.messages },
            ]
            for recorder in later {
                #expect(await recorder.receives(0).isEmpty)
                await recorder.end()
            }
        }
    }

    @Test("A promoted purchase is delivered once, and bought with the tapped offer")
    func intent() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let id = String(try await phone.bought("member.yearly").payloadValue.id)
            try await world.ask(.post, "/emulator/subscriptions/\(id)/cancel")
            world.advance(seconds: 500 * 86_400)
            let ears = (0..<2).map { _ in EventRecorder(on: phone) { PurchaseIntent.intents } }
            try await tap(world, "member.yearly", offer: "comeback")
            #expect(await until { ears.flatMap(\.received).count == 1 })
            try await Task.sleep(for: .milliseconds(60))
            let received = ears.flatMap(\.received)
            try #require(received.count == 1)
            let intent = received[0]
            #expect(intent.id == ModernWorld.id("member.yearly") && intent.product.id == intent.id)
            let offer = try #require(intent.offer)
            #expect(offer.id == "comeback" && offer.type == .winBack && offer.paymentMode == .payUpFront)
            guard
                case .success(let result) = try await phone.run({
                    try await intent.product.purchase(options: [.winBackOffer(offer)])
                })
            else {
                Issue.record("not bought")
                return
            }
            let bought = try result.payloadValue
            #expect(bought.offer?.id == "comeback" && bought.offer?.type == .winBack && bought.price == 128)
            for recorder in ears { await recorder.end() }
            let relaunched = EventRecorder(on: try world.phone()) { PurchaseIntent.intents }
            #expect(await relaunched.receives(0).isEmpty)
            await relaunched.end()
        }
    }

    @Test("A tap before the launch waits for the app; the first device to take it keeps it, within its account only")
    func waiting() async throws {
        try await ModernWorld.with { world in
            try await tap(world, "points60")
            try await tap(world, "library")
            let phones = try [world.phone(1), world.phone(2), world.phone(3, of: "eve")]
            let ears = phones.map { phone in EventRecorder(on: phone) { PurchaseIntent.intents } }
            #expect(await until { ears.flatMap(\.received).count == 2 })
            try await Task.sleep(for: .milliseconds(60))
            #expect(
                ears.flatMap(\.received).map(\.id).sorted() == [ModernWorld.id("library"), ModernWorld.id("points60")])
            #expect(ears.flatMap(\.received).allSatisfy { $0.offer == nil })
            #expect(ears[2].received.isEmpty)
            for recorder in ears { await recorder.end() }
        }
    }

    @Test("A promoted purchase whose taking gets no answer is delivered once the network is back")
    func cut() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let recorder = EventRecorder(on: phone) { PurchaseIntent.intents }
            client.cut("/take", .answerLost)
            try await tap(world, "points60")
            #expect(await until { client.count("/take") >= 2 })
            #expect(recorder.received.isEmpty)
            client.mend()
            #expect(await recorder.receives(1).map(\.id) == [ModernWorld.id("points60")])
            await recorder.end()
        }
    }
}

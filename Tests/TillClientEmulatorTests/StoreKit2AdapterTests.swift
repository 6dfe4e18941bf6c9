import Foundation
import StoreKit
import Testing
import TillBilling
import TillClient
import TillCrypto
import TillEmulator
import TillHTTP

@Suite("The kit's connection to StoreKit 2")
struct StoreKit2TransactionsTests {
    private static let points = ProductID("com.example.learnpoints.points60")

    @Test("It provides products, a purchase with its order's id, the queue, and updates until it is stopped")
    func life() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-access-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let database = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        let emulator = try await Emulator(
            database: database, clock: { Instant(milliseconds: 1_772_353_800_123) }, entropy: RandomBytes.make,
            send: { _, _ throws(HTTPError) in HTTPResponse(status: 200) })
        var effects = StoreEffects.process
        effects.pollInterval = 5
        func phone(_ id: String) throws -> EmulatedDevice {
            EmulatedDevice(
                id: try #require(UUID(uuidString: id)), account: "ann", bundleID: "com.example.learnpoints",
                connection: .inProcess { await emulator.respond(to: $0) },
                directory: directory.appendingPathComponent(id), effects: effects)
        }
        let here = try phone("3f2c1a00-1111-4222-8333-444455550001")
        let there = try phone("3f2c1a00-1111-4222-8333-444455550002")
        let access = EmulatedDevice.$current.withValue(here) {
            StoreAccess.storeKit2(spawn: { work in Task { await work() } })
        }
        #expect(await access.canMakePayments())
        let listing = try #require(try await access.products([Self.points, ProductID("none")]).first)
        #expect(listing.price == Money(amount: 600, currency: Currency("CNY")))
        #expect(listing.type == .consumable)

        let events = access.events()
        let order = OrderID(random: RandomBytes.make(16))
        let wish = PurchaseRequest(order: order, productID: Self.points, quantity: 2)
        guard case .paid(let paid) = await access.purchase(wish) else {
            Issue.record("not paid")
            return
        }
        #expect(paid.token == order)
        #expect(paid.quantity == 2)
        #expect(paid.purchasedAt == Instant(milliseconds: 1_772_353_800_123))
        #expect(try await access.unfinished().map(\.id) == [paid.id])
        #expect(
            await access.purchase(PurchaseRequest(order: order, productID: Self.points, quantity: 11))
                == .failed(.invalidQuantity))
        #expect(
            await access.purchase(PurchaseRequest(order: order, productID: ProductID("none"), quantity: 1))
                == .failed(.notAvailable))
        await access.finish(paid.id)
        #expect(try await access.unfinished().isEmpty)

        let other = EmulatedDevice.$current.withValue(there) {
            StoreAccess.storeKit2(spawn: { work in Task { await work() } })
        }
        guard case .paid(let foreign) = await other.purchase(wish) else {
            Issue.record("not paid")
            return
        }
        var received: [StoreEvent] = []
        for await event in events {
            received.append(event)
            await access.stop()
        }
        guard case .paid(let reported) = received.first else {
            Issue.record("\(received)")
            return
        }
        #expect(received.count == 1)
        #expect(reported.id == foreign.id)
        await database.close()
    }
}

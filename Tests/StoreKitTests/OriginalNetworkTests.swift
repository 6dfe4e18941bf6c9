import Foundation
import Testing
import TillBilling
import TillHTTP
import TillThreads

@testable import StoreKit

@Suite("StoreKit 1: the network")
struct OriginalNetworkTests {
    @Test("Without a network at launch, unfinished transactions are delivered when it returns")
    func launch() async throws {
        let world = try await StoreKitWorld()
        await world.buyElsewhere("points60", account: "ann")
        let cable = StoreKitCable()
        cable.cut()
        let device = try world.launch(cable: cable)
        let listener = device.observed()
        device.pay("points300")
        await eventually("failed") { listener.last(.failed) != nil }
        let error = try #require(listener.last(.failed)?.error)
        #expect((error as NSError).domain == NSURLErrorDomain && error is URLError)
        cable.mend()
        await listener.receives(["points300 purchasing", "points300 failed -1004", "points60 purchased"])
        await world.remove()
    }

    @Test("The queue is requested again if only that request was lost")
    func unfinished() async throws {
        let world = try await StoreKitWorld()
        await world.buyElsewhere("points60", account: "ann")
        let cable = StoreKitCable()
        cable.loseOneAnswer(of: "/emulator/devices/3f2c91ab-0000-4000-8000-000000000001/transactions")
        let device = try world.launch(cable: cable)
        let listener = device.observed()
        await listener.receives(["points60 purchased"])
        await world.remove()
    }

    @Test("A payment whose answer is lost fails in the app, and arrives soon after, exactly once")
    func lostAnswer() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        let token = UUID()
        let device = try world.launch(cable: cable)
        let listener = device.observed()
        await eventually("launched") { device.paymentQueue.storefront != nil }
        cable.loseOneAnswer(of: "/emulator/purchases")
        device.pay("points60") { $0.applicationUsername = token.uuidString }
        await listener.receives(["points60 purchasing", "points60 failed -1005", "points60 purchased"])
        #expect(await world.paidTransactions("ann") == 1)
        let paid = try #require(listener.transactions.last)
        #expect(paid !== listener.transactions.first)
        #expect(paid.payment.applicationUsername == token.uuidString.lowercased())
        let receipt = try Data(contentsOf: device.receiptURL)
        #expect(!receipt.isEmpty)
        await world.remove()
    }

    @Test("An answer lost before the first read of the store is delivered once as well")
    func lostAtLaunch() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        let device = try world.launch(cable: cable)
        try await device.session.signedIn()
        let isLost = Locked(false)
        cable.set { request in
            if request.path.hasSuffix("/news") { return isLost.withLock { $0 } ? .passes : .losesRequest }
            guard request.path == "/emulator/purchases" else { return .passes }
            isLost.withLock { $0 = true }
            return .losesAnswer
        }
        let listener = device.observed()
        device.pay("points60")
        await listener.receives(["points60 purchasing", "points60 failed -1005", "points60 purchased"])
        await world.remove()
    }

    @Test("A transaction finished without a network leaves the queue once the store has received it")
    func finishing() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        let device = try world.launch(cable: cable)
        let listener = device.observed()
        device.pay("points60")
        await eventually("purchased") { listener.last(.purchased) != nil }
        cable.cut()
        device.paymentQueue.finishTransaction(try #require(listener.last(.purchased)))
        await listener.receives(["points60 purchasing", "points60 purchased"])
        #expect(device.paymentQueue.transactions.count == 1)
        cable.mend()
        await listener.receives(["points60 purchasing", "points60 purchased", "removed points60 purchased"])
        #expect(await world.unfinished("ann").isEmpty)
        await world.remove()
    }

    @Test("Restoring without a network reports the failure")
    func restoring() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        let device = try world.launch(cable: cable)
        let listener = device.observed()
        cable.cut()
        device.paymentQueue.restoreCompletedTransactions()
        await listener.receives(["restore failed"])
        #expect((listener.restoreErrors.first as? URLError)?.code == .cannotConnectToHost)
        await world.remove()
    }

    @Test("A released queue stops its requests to the store")
    func gone() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        var device: EmulatedDevice? = try world.launch(cable: cable)
        let listener = device?.observed()
        await eventually("asked") { cable.paths.count > 3 }
        weak let queue = device?.paymentQueue
        device = nil
        await eventually("let go of") { queue == nil }
        try await Task.sleep(for: .milliseconds(50))
        let asked = cable.paths.count
        try await Task.sleep(for: .milliseconds(100))
        #expect(cable.paths.count == asked && listener?.lines.isEmpty == true)
        await world.remove()
    }
}

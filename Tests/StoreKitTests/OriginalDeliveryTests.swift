import Foundation
import Testing
import TillBilling
import TillHTTP
import TillThreads

@testable import StoreKit

@Suite("StoreKit 1: deliveries and their recipients")
struct OriginalDeliveryTests {
    @Test("Without an observer the store gets no request, and payments wait for an observer")
    func unobserved() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        let device = try world.launch(cable: cable)
        device.pay("points60")
        try await Task.sleep(for: .milliseconds(100))
        #expect(cable.paths.isEmpty)
        let listener = device.observed()
        await listener.receives(["points60 purchasing", "points60 purchased"])
        device.paymentQueue.remove(listener)
        try await Task.sleep(for: .milliseconds(50))
        let asked = cable.paths.count
        #expect(asked > 0)
        await world.buyElsewhere("points60", account: "ann")
        try await Task.sleep(for: .milliseconds(100))
        #expect(cable.paths.count <= asked + 1 && listener.lines.count == 2)
        await world.remove()
    }

    @Test(
        "Unfinished transactions come again after a relaunch, a reinstallation and elsewhere; finished ones never"
    )
    func relaunch() async throws {
        let world = try await StoreKitWorld()
        let token = UUID()
        let first = try world.launch()
        let listener = first.observed()
        first.pay("points60") {
            $0.applicationUsername = token.uuidString
            $0.quantity = 3
        }
        first.pay("points300") { $0.applicationUsername = "ann@example.com" }
        await eventually("both") { listener.lines.count == 4 }
        #expect(
            listener.transactions.last { $0.payment.quantity == 3 }?.payment.applicationUsername == token.uuidString)
        #expect(listener.last(.purchased)?.payment.applicationUsername == "ann@example.com")
        await world.buyElsewhere("points680", account: "ann", ["outcome": "deferred"])
        first.paymentQueue.remove(listener)
        for (number, place) in [(1, "app"), (1, "again"), (2, "app")] {
            let device = try world.launch(number, place: place)
            let next = device.observed()
            await next.receives(["points60 purchased, points300 purchased"])
            let stored = try #require(next.transactions.first?.payment)
            #expect(stored.quantity == 3 && stored.applicationUsername == token.uuidString.lowercased())
            #expect(next.transactions.last?.payment.applicationUsername == nil, "no UUID, so it was not kept")
            #expect(Set(device.paymentQueue.transactions.map(\.payment.productIdentifier)).count == 2)
            device.paymentQueue.remove(next)
        }
        let last = try world.launch()
        let finishing = last.observed()
        finishing.onUpdate.withLock { $0 = { queue, transactions in transactions.forEach(queue.finishTransaction) } }
        await eventually("finished") { await world.unfinished("ann").isEmpty }
        let after = try world.launch()
        let nothing = after.observed()
        await nothing.receives([])
        await world.remove()
    }

    @Test("Observers attached before the first answer get everything; later ones get changes only")
    func later() async throws {
        let world = try await StoreKitWorld()
        await world.buyElsewhere("points60", account: "ann")
        let device = try world.launch()
        let (one, two) = (device.observed(), device.observed())
        await one.receives(["points60 purchased"])
        #expect(two.lines == one.lines)
        let three = device.observed()
        device.pay("points300")
        await three.receives(["points300 purchasing", "points300 purchased"])
        #expect(one.lines == ["points60 purchased"] + three.lines && two.lines == one.lines)
        #expect(device.paymentQueue.transactionObservers.count == 3)
        await world.remove()
    }

    @Test(
        "An observer is not retained; one added after all others were gone gets the unfinished transactions"
    )
    func weakly() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        var listener: OriginalListener? = device.observed()
        device.pay("points60")
        await listener?.receives(["points60 purchasing", "points60 purchased"])
        let transaction = try #require(listener?.last(.purchased))
        listener = nil
        #expect(device.paymentQueue.transactionObservers.isEmpty)
        let next = device.observed()
        await next.receives(["points60 purchased"])
        #expect(next.transactions.first === transaction)
        await world.remove()
    }

    @Test("An approved request is paid, as the same transaction; a declined one fails")
    func approved() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch(sheet: .ask)
        let listener = device.observed()
        device.pay("points60")
        device.pay("points300")
        await eventually("both wait") { listener.lines.count == 4 }
        let waiting = listener.transactions
        await world.ask(.post, "/emulator/transactions/\(waiting.first?.number ?? "")/approve")
        await eventually("approved") { listener.lines.count == 5 }
        await world.ask(.post, "/emulator/transactions/\(waiting.last?.number ?? "")/decline")
        await eventually("declined") { listener.lines.count == 6 }
        #expect(listener.transactions.dropLast().last?.transactionState == .purchased)
        #expect(listener.transactions.last?.transactionState == .failed)
        #expect((listener.transactions.last?.error as? SKError)?.code == .paymentCancelled)
        #expect(device.paymentQueue.transactions.count == 2)
        await listener.receives(listener.lines)
        await world.remove()
    }

    @Test("T3: An approval after a relaunch is a purchase, with nothing before it; a declined request never comes")
    func approvedLater() async throws {
        let world = try await StoreKitWorld()
        let first = try world.launch(sheet: .ask)
        let listener = first.observed()
        first.pay("points60")
        first.pay("points300")
        await eventually("both wait") { listener.lines.count == 4 }
        first.paymentQueue.remove(listener)
        let next = try world.launch().kept()
        await next.listener.receives([])
        for (transaction, end) in zip(["points60", "points300"], ["approve", "decline"]) {
            let number = listener.transactions.last { $0.payment.productIdentifier == world.id(transaction) }?.number
            await world.ask(.post, "/emulator/transactions/\(number ?? "")/\(end)")
        }
        await next.listener.receives(["points60 purchased"])
        await world.remove()
    }

    @Test("A request that is declined before the app has first asked for changes fails its payment")
    func declinedAtOnce() async throws {
        let (world, cable) = (try await StoreKitWorld(), StoreKitCable())
        let device = try world.launch(cable: cable, sheet: .ask)
        try await device.session.signedIn()
        cable.set { $0.path.hasSuffix("/news") ? .losesRequest : .passes }
        let listener = device.observed()
        device.pay("points60")
        await eventually("it waits") { listener.last(.deferred) != nil }
        await world.ask(.post, "/emulator/transactions/\(listener.transactions.last?.number ?? "")/decline")
        cable.mend()
        await listener.receives(["points60 purchasing", "points60 deferred", "points60 failed 2"])
        await world.remove()
    }

    @Test("Two requests for the same product are one: after the approval one is paid and the other is removed")
    func merged() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch(sheet: .ask)
        let listener = device.observed()
        device.pay("points60")
        device.pay("points60")
        await eventually("both wait") { listener.lines.count == 4 }
        await world.ask(.post, "/emulator/transactions/\(listener.transactions.last?.number ?? "")/approve")
        await eventually("removed") { listener.lines.count == 6 }
        #expect(listener.lines.suffix(2) == ["points60 purchased", "removed points60 deferred"])
        #expect(device.paymentQueue.transactions.count == 1)
        await world.remove()
    }

    @Test(
        "T3: An interrupted payment fails, and the later payment is a new transaction of the same product"
    )
    func interrupted() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch(sheet: .interrupt)
        let listener = device.observed()
        device.pay("points60") { $0.quantity = 2 }
        await eventually("failed") { listener.last(.failed) != nil }
        device.paymentQueue.finishTransaction(try #require(listener.last(.failed)))
        let waiting = await world.ask(
            .get, "/emulator/transactions", query: [("account", "ann"), ("state", "interrupted")])
        let number = try #require(waiting["data"]?.array?.first?["transactionId"]?.string)
        await world.ask(.post, "/emulator/transactions/\(number)/approve")
        await listener.receives([
            "points60 purchasing", "points60 failed 2", "removed points60 failed 2", "points60 purchased",
        ])
        #expect(listener.transactions.last !== listener.transactions.first)
        #expect(listener.transactions.last?.payment.quantity == 2)
        #expect(listener.transactions.last?.transactionIdentifier == number)
        await world.remove()
    }

    @Test("A renewal is delivered at the next launch, not while the app runs")
    func renewed() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        await listener.isLaunched(on: device)
        device.pay("member.monthly")
        await eventually("subscribed") { listener.last(.purchased) != nil }
        device.paymentQueue.finishTransaction(try #require(listener.last(.purchased)))
        await eventually("finished") { device.paymentQueue.transactions.isEmpty }
        await world.advance("32d")
        let unfinished = await world.unfinished("ann")
        #expect(unfinished.count == 1)
        await listener.receives(["monthly purchasing", "monthly purchased", "removed monthly purchased"])
        device.paymentQueue.remove(listener)
        let next = try world.launch().kept()
        await next.listener.receives(["monthly purchased"])
        #expect(next.listener.transactions.first?.transactionIdentifier == unfinished.first)
        await world.remove()
    }

    @Test("A refund is delivered once, after the receipt was renewed")
    func refunded() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        await listener.isLaunched(on: device)
        device.pay("library")
        await eventually("bought") { listener.last(.purchased) != nil }
        let bought = try #require(listener.last(.purchased))
        let before = try Data(contentsOf: device.receiptURL)
        await world.ask(.post, "/emulator/transactions/\(bought.transactionIdentifier ?? "")/refund")
        await listener.receives(["library purchasing", "library purchased", "revoked library"])
        #expect(try Data(contentsOf: device.receiptURL) != before)
        await world.remove()
    }

    @Test("A changed storefront of the account is delivered, and the queue has it by then")
    func storefront() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        // Answered before any other request: if the store processes two requests in the other order, the later answer
        // has the older state.
        _ = try await device.session.status()
        #expect(device.paymentQueue.storefront?.countryCode == "CHN")
        let listener = device.observed()
        await listener.isLaunched(on: device)
        await world.ask(.put, "/emulator/accounts/ann", ["storefront": "USA"])
        await listener.receives(["storefront USA"])
        #expect(device.paymentQueue.storefront?.identifier == "143441")
        await world.remove()
    }

    @Test("A storefront changed between the app's read and the first observer is delivered (regression)")
    func storefrontBeforeListening() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        _ = try await device.session.status()
        #expect(device.paymentQueue.storefront?.countryCode == "CHN")
        await world.ask(.put, "/emulator/accounts/ann", ["storefront": "USA"])
        let listener = device.observed()
        await listener.receives(["storefront USA"])
        await world.remove()
    }
}

/// A device that lives as long as its listener.
struct ObservedDevice {
    let device: EmulatedDevice
    let listener: OriginalListener
}

extension OriginalListener {
    /// Waits for the launch's fetch: later deliveries are changes.
    func isLaunched(on device: EmulatedDevice) async {
        let isFetched = Locked(false)
        await eventually("the first look") { device.paymentQueue.storefront != nil }
        try? await Task.sleep(for: .milliseconds(60))
        device.paymentQueue.workQueue.add { isFetched.withLock { $0 = true } }
        await eventually("what was unfinished") { isFetched.withLock { $0 } }
    }
}

extension EmulatedDevice {
    func kept() -> ObservedDevice { ObservedDevice(device: self, listener: observed()) }
}

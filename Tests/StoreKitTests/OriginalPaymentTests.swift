import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillThreads

@testable import StoreKit

@Suite("StoreKit 1: payments")
struct OriginalPaymentTests {
    /// The ends of a payment sheet, and the callbacks of the app's observer.
    static let sheets: [(answer: PaymentSheet.Answer, received: [String])] = [
        (.pay, ["points60 purchasing", "points60 purchased"]),
        (.cancel, ["points60 purchasing", "points60 failed 2"]),
        (.fail, ["points60 purchasing", "points60 failed 0"]),
        (.ask, ["points60 purchasing", "points60 deferred"]),
        (.interrupt, ["points60 purchasing", "points60 failed 2"]),
    ]

    @Test("Each end of a payment sheet is one callback, after the callback for its start", arguments: sheets.indices)
    func sheet(_ index: Int) async throws {
        let (answer, received) = Self.sheets[index]
        let world = try await StoreKitWorld()
        let device = try world.launch(sheet: answer)
        let listener = device.observed()
        device.pay("points60")
        await listener.receives(received)
        #expect(device.paymentQueue.transactions.count == 1)
        #expect(listener.transactions.first === listener.transactions.last)
        let transaction = try #require(listener.transactions.last)
        #expect((transaction.transactionIdentifier != nil) == (answer == .pay))
        #expect((transaction.transactionDate != nil) == (answer == .pay))
        #expect((transaction.transactionReceipt != nil) == (answer == .pay))
        #expect((transaction.error is SKError) == received[1].contains("failed"))
        await world.remove()
    }

    @Test("A paid transaction that is finished leaves the store's queue, the receipt and the array, and is removed")
    func finishing() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        #expect(!FileManager.default.fileExists(atPath: device.receiptURL.path))
        device.pay("points60")
        await eventually("purchased") { listener.last(.purchased) != nil }
        let transaction = try #require(listener.last(.purchased))
        let before = try Data(contentsOf: device.receiptURL)
        #expect(await world.unfinished("ann") == [try #require(transaction.transactionIdentifier)])
        device.paymentQueue.finishTransaction(transaction)
        device.paymentQueue.finishTransaction(transaction)
        await listener.receives(["points60 purchasing", "points60 purchased", "removed points60 purchased"])
        #expect(device.paymentQueue.transactions.isEmpty)
        #expect(await world.unfinished("ann").isEmpty)
        #expect(try Data(contentsOf: device.receiptURL).count < before.count, "finished consumables leave the receipt")
        await world.remove()
    }

    @Test("A receipt that was under way during a change does not replace a later one")
    func overtaken() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        let device = try world.launch(cable: cable, receipts: .requested)
        try await device.session.signedIn()
        let id = await world.buyElsewhere("points60", account: "ann")
        let (isFirst, isReleased) = (Locked(true), Locked(false))
        cable.set { request in
            guard request.path == "/emulator/receipt",
                isFirst.withLock({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                })
            else { return .passes }
            return .delaysAnswer { await eventually("released") { isReleased.withLock { $0 } } }
        }
        let early = Task { try await device.session.renewReceipt() }
        await eventually("asked") { !isFirst.withLock { $0 } }
        await world.ask(.post, "/emulator/transactions/\(id)/finish")
        try await device.session.renewReceipt()
        let later = try Data(contentsOf: device.receiptURL)
        isReleased.withLock { $0 = true }
        try await early.value
        #expect(try Data(contentsOf: device.receiptURL) == later)
        await world.remove()
    }

    @Test(
        "A device fetches no receipts that its app does not read",
        arguments: [EmulatedDevice.Receipts.all, .app, .requested])
    func receipts(_ receipts: EmulatedDevice.Receipts) async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch(receipts: receipts)
        let listener = device.observed()
        device.pay("points60")
        await eventually("purchased") { listener.last(.purchased) != nil }
        let transaction = try #require(listener.last(.purchased))
        #expect((transaction.transactionReceipt != nil) == (receipts == .all))
        #expect(FileManager.default.fileExists(atPath: device.receiptURL.path) == (receipts != .requested))
        try await device.session.refreshOnRequest()
        #expect(FileManager.default.fileExists(atPath: device.receiptURL.path))
        await world.remove()
    }

    @Test("A failed transaction stays until it is finished; a purchasing or deferred one can't be finished")
    func failed() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch(sheet: .cancel)
        let listener = device.observed()
        device.pay("points60")
        await eventually("failed") { listener.last(.failed) != nil }
        #expect(device.paymentQueue.transactions.count == 1)
        device.paymentQueue.finishTransaction(try #require(listener.last(.failed)))
        await listener.receives(["points60 purchasing", "points60 failed 2", "removed points60 failed 2"])
        #expect(device.paymentQueue.transactions.isEmpty)
        let asking = try world.launch(2, sheet: .ask)
        let other = asking.observed()
        other.onUpdate.withLock { $0 = { queue, transactions in transactions.forEach(queue.finishTransaction) } }
        asking.pay("points60")
        await other.receives(["points60 purchasing", "points60 deferred"])
        #expect(asking.paymentQueue.transactions.count == 1)
        await world.remove()
    }

    @Test("A refusal of the store or of StoreKit is a failed transaction with Apple's code, and nothing is charged")
    func refused() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        let payments: [(String, Int, (SKMutablePayment) -> Void)] = [
            ("points60", 3, { $0.quantity = 0 }), ("points60", 3, { $0.quantity = 11 }),
            ("points60", 3, { $0.productIdentifier = "" }), ("nothing", 3, { _ in }),
            ("library", 3, { $0.quantity = 2 }), ("points60", 10, { $0.requestData = Data([1]) }),
            (
                "member.yearly", 11,
                {
                    $0.paymentDiscount = SKPaymentDiscount(
                        identifier: "none", keyIdentifier: "K", nonce: UUID(), signature: "AAAA", timestamp: 1)
                }
            ),
            (
                "member.yearly", 12,
                {
                    $0.paymentDiscount = SKPaymentDiscount(
                        identifier: "loyal", keyIdentifier: "K", nonce: UUID(), signature: "AAAA", timestamp: 1)
                }
            ),
        ]
        for (product, code, change) in payments {
            let count = listener.lines.count
            device.pay(product, change)
            await eventually("failed") { listener.lines.count == count + 2 }
            let error = listener.transactions.last?.error
            #expect((error as? SKError)?.code.rawValue == code, "\(product) \(code)")
            #expect((error as NSError?)?.domain == SKErrorDomain)
        }
        #expect(await world.paidTransactions("ann") == 0)
        // Purchases are forbidden on the device.
        await world.ask(.put, "/emulator/accounts/ann", ["mayPay": false])
        device.pay("points60")
        await eventually("failed") { (listener.transactions.last?.error as? SKError)?.code == .paymentNotAllowed }
        EmulatedDevice.$current.withValue(device) {
            #expect(SKPaymentQueue.default() === device.paymentQueue)
        }
        await eventually("known") {
            EmulatedDevice.$current.withValue(device) { !SKPaymentQueue.canMakePayments() }
        }
        #expect(await world.paidTransactions("ann") == 0)
        await world.remove()
    }

    @Test("A payment is copied when it is added, with its quantity of 1 to 10")
    func copied() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        let payment = SKMutablePayment()
        payment.productIdentifier = world.id("points60")
        payment.quantity = 10
        device.paymentQueue.add(payment)
        payment.quantity = 1
        await listener.receives(["points60 purchasing", "points60 purchased"])
        #expect(listener.last(.purchased)?.payment.quantity == 10)
        let copy = try #require(payment.copy() as? SKPayment)
        #expect(!(copy is SKMutablePayment) && copy == payment && copy.hash == payment.hash)
        let mutable = try #require(copy.mutableCopy() as? SKMutablePayment)
        mutable.quantity = 2
        #expect(mutable != copy)
        await world.remove()
    }

    @Test("Payments added concurrently by two tasks are all paid, each with its own sequence of callbacks")
    func atOnce() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        await withTaskGroup(of: Void.self) { group in
            for quantity in 1...8 { group.addTask { device.pay("points60") { $0.quantity = quantity } } }
        }
        await eventually("all of them") { listener.lines.count == 16 }
        #expect(await world.paidTransactions("ann") == 8)
        #expect(Set(listener.transactions.map(\.payment.quantity)) == Set(1...8))
        #expect(Set(listener.transactions.compactMap(\.transactionIdentifier)).count == 8)
        #expect(listener.lines.count { $0 == "points60 purchased" } == 8)
        await listener.receives(listener.lines)
        await world.remove()
    }

    @Test("A promotional offer is bought with the developer's signature")
    func offer() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        device.pay("member.monthly")
        await eventually("subscribed") { listener.last(.purchased) != nil }
        let key = await world.ask(.get, "/emulator/api-key")
        let signer = OfferSigner(
            key: try InAppPurchaseKey(
                issuerID: try #require(key["issuerId"]?.string), keyID: try #require(key["keyId"]?.string),
                privateKey: try PrivateKey(pem: try #require(key["privateKey"]?.string))),
            bundleID: StoreKitWorld.bundleID, clock: { world.now }, entropy: { RandomBytes.make($0) })
        let name = UUID().uuidString.lowercased()
        let signed = try signer.signature(
            for: try PromotionalOffer(
                productID: ProductID(world.id("member.yearly")), offerID: "loyal", account: name))
        let nonce = try #require(UUID(uuidString: signed.nonce.description))
        device.pay("member.yearly") { payment in
            payment.applicationUsername = name
            payment.paymentDiscount = SKPaymentDiscount(
                identifier: "loyal", keyIdentifier: signed.keyID, nonce: nonce, signature: signed.signature,
                timestamp: NSNumber(value: signed.timestamp.milliseconds))
        }
        await listener.receives([
            "monthly purchasing", "monthly purchased", "yearly purchasing", "yearly purchased",
        ])
        #expect(listener.last(.purchased)?.payment.applicationUsername == name)
        await world.remove()
    }
}

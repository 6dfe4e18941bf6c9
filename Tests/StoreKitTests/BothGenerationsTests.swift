import Foundation
import Testing

@testable import StoreKit

@Suite("Both generations of StoreKit on one device")
struct BothGenerationsTests {
    private func listed(_ device: EmulatedDevice) async -> [Transaction] {
        await EmulatedDevice.$current.withValue(device) {
            var found: [Transaction] = []
            for await payment in Transaction.unfinished {
                if case .verified(let transaction) = payment { found.append(transaction) }
            }
            return found
        }
    }

    @Test("A purchase by StoreKit 1's queue is in StoreKit 2's lists, signed, until the queue finishes it")
    func listed() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        let order = UUID()
        device.pay("points60") { $0.applicationUsername = order.uuidString }
        await eventually("purchased") { listener.last(.purchased) != nil }
        let sold = try #require(listener.last(.purchased))
        let copy = try #require(await listed(device).first)
        #expect(String(copy.id) == sold.transactionIdentifier)
        #expect(copy.productID == sold.payment.productIdentifier && copy.purchasedQuantity == 1)
        #expect(copy.appAccountToken == order)
        device.paymentQueue.finishTransaction(sold)
        await eventually("finished") { await listed(device).isEmpty }
        await world.remove()
    }
}

import Foundation
import Testing
import TillBilling
import TillHTTP
import TillThreads

@testable import StoreKit

/// A delegate of requests that records its callbacks.
private final class RequestListener: NSObject, SKProductsRequestDelegate, @unchecked Sendable {
    // Everything that changes is behind the locks of `Locked`.
    private let received = Locked<[String]>([])
    private let answer = Locked<SKProductsResponse?>(nil)
    private let fault = Locked<(any Error)?>(nil)
    var lines: [String] { received.withLock { $0 } }
    var response: SKProductsResponse? { answer.withLock { $0 } }
    var error: (any Error)? { fault.withLock { $0 } }

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        answer.withLock { $0 = response }
        received.withLock { $0.append("response") }
    }

    func requestDidFinish(_ request: SKRequest) { received.withLock { $0.append("finished") } }

    func request(_ request: SKRequest, didFailWithError error: any Error) {
        fault.withLock { $0 = error }
        received.withLock { $0.append("failed") }
    }
}

@Suite("StoreKit 1: requests, restoring, promoted payments")
struct OriginalRequestTests {
    private func products(
        _ ids: Set<String>, on device: EmulatedDevice
    ) async throws -> SKProductsResponse {
        let listener = RequestListener()
        let request = SKProductsRequest(productIdentifiers: ids)
        request.delegate = listener
        EmulatedDevice.$current.withValue(device) { request.start() }
        await eventually("an answer") { listener.lines == ["response", "finished"] }
        return try #require(listener.response)
    }

    @Test("Products have prices in the storefront's currency, and ids that are not on sale are listed separately")
    func found() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let response = try await products([world.id("points60"), world.id("member.yearly"), "nothing"], on: device)
        #expect(response.invalidProductIdentifiers == ["nothing"] && response.products.count == 2)
        let points = try #require(response.products.first { $0.productIdentifier == world.id("points60") })
        #expect(points.price == NSDecimalNumber(string: "6") && points.localizedTitle == "60 学点")
        #expect(points.priceLocale.identifier.hasPrefix("zh_CN") && points.priceLocale.currency?.identifier == "CNY")
        #expect(points.subscriptionPeriod == nil && points.discounts.isEmpty && points.introductoryPrice == nil)
        let format = NumberFormatter()
        format.numberStyle = .currency
        format.locale = points.priceLocale
        #expect(format.string(from: points.price) == "¥6.00")
        let yearly = try #require(response.products.first { $0.productIdentifier == world.id("member.yearly") })
        #expect(yearly.subscriptionPeriod?.unit == .year && yearly.subscriptionPeriod?.numberOfUnits == 1)
        #expect(yearly.subscriptionGroupIdentifier == "21000001" && yearly.isFamilyShareable)
        let trial = try #require(yearly.introductoryPrice)
        #expect(trial.paymentMode == .freeTrial && trial.type == .introductory && trial.price == 0)
        #expect(trial.subscriptionPeriod.unit == .week && trial.numberOfPeriods == 1 && trial.identifier == nil)
        let loyal = try #require(yearly.discounts.first)
        #expect(yearly.discounts.count == 1 && loyal.identifier == "loyal" && loyal.type == .subscription)
        #expect(loyal.paymentMode == .payAsYouGo && loyal.price == 98)
        await world.ask(.put, "/emulator/accounts/ann", ["storefront": "USA"])
        let dollars = try #require(try await products([world.id("points60")], on: device).products.first)
        format.locale = dollars.priceLocale
        #expect(format.string(from: dollars.price) == "$0.99" && dollars.localizedTitle == "60 points")
        await world.remove()
    }

    @Test("A request fails with the network's error and may be started again; a cancelled one is silent")
    func failing() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        cable.cut()
        let device = try world.launch(cable: cable)
        let listener = RequestListener()
        let request = SKReceiptRefreshRequest(receiptProperties: [SKReceiptPropertyIsExpired: true])
        request.delegate = listener
        EmulatedDevice.$current.withValue(device) { request.start() }
        await eventually("failed") { listener.lines == ["failed"] }
        #expect((listener.error as NSError?)?.code == NSURLErrorCannotConnectToHost && listener.error is URLError)
        cable.mend()
        EmulatedDevice.$current.withValue(device) { request.start() }
        await eventually("finished") { listener.lines == ["failed", "finished"] }
        #expect(try Data(contentsOf: device.receiptURL).count > 100)
        #expect(request.receiptProperties?.count == 1)
        EmulatedDevice.$current.withValue(device) { request.start() }
        request.cancel()
        try await Task.sleep(for: .milliseconds(100))
        #expect(listener.lines == ["failed", "finished"])
        await world.remove()
    }

    @Test(
        "P10: Restored are subscriptions and non-consumables, with ids of their own and their originals"
    )
    func restored() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        listener.onUpdate.withLock { $0 = { queue, transactions in transactions.forEach(queue.finishTransaction) } }
        for product in ["library", "points60", "course", "member.yearly"] { device.pay(product) }
        await eventually("finished") { device.paymentQueue.transactions.isEmpty && listener.lines.count == 12 }
        let bought = Dictionary(
            listener.transactions.filter { $0.transactionState == .purchased }.map {
                ($0.payment.productIdentifier, $0.transactionIdentifier)
            }, uniquingKeysWith: { $1 })
        listener.onUpdate.withLock { $0 = nil }
        let count = listener.lines.count
        device.paymentQueue.restoreCompletedTransactions(withApplicationUsername: "anybody")
        await eventually("restored") { listener.lines.count == count + 2 }
        #expect(listener.lines.suffix(2) == ["library restored, yearly restored", "restore finished"])
        let restored = listener.transactions.suffix(2)
        for transaction in restored {
            let original = try #require(transaction.original)
            #expect(original.transactionState == .purchased)
            #expect(original.transactionIdentifier == bought[transaction.payment.productIdentifier] ?? nil)
            #expect(transaction.transactionIdentifier != original.transactionIdentifier)
            device.paymentQueue.finishTransaction(transaction)
        }
        await eventually("finished") { device.paymentQueue.transactions.isEmpty }
        #expect(Set(restored.compactMap(\.transactionIdentifier)).count == 2)
        await world.remove()
    }

    @Test(
        "A promoted payment that an observer accepts is added; a declined one is left to the app",
        arguments: [true, false])
    func promoted(isWanted: Bool) async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let listener = device.observed()
        listener.promoted.withLock { $0 = isWanted }
        let tap = await world.ask(
            .post, "/emulator/purchase-intents", ["productId": .string(world.id("points60")), "account": "ann"])
        let bought = ["points60 purchasing", "points60 purchased"]
        await listener.receives(["offered points60"] + (isWanted ? bought : []))
        #expect(tap["id"]?.string != nil)
        if !isWanted {
            device.paymentQueue.add(try #require(listener.offers.first))
            await listener.receives(["offered points60"] + bought)
        }
        device.paymentQueue.remove(listener)
        let next = try world.launch()
        let again = next.observed()
        await again.receives(["points60 purchased"])
        await world.remove()
    }

    @Test("An observer without an answer leaves a promoted payment in the store")
    func unanswered() async throws {
        let world = try await StoreKitWorld()
        let cable = StoreKitCable()
        let device = try world.launch(cable: cable)
        let silent = SilentListener()
        device.paymentQueue.add(silent)
        await world.ask(
            .post, "/emulator/purchase-intents", ["productId": .string(world.id("points60")), "account": "ann"])
        await eventually("looked at") { cable.paths.contains { $0.hasSuffix("/products") } }
        try await Task.sleep(for: .milliseconds(50))
        #expect(!cable.paths.contains { $0.hasSuffix("/take") } && silent.lines.isEmpty)
        let intents = try await device.session.status().intents
        #expect(intents.map(\.productId) == [world.id("points60")])
        #expect(device.paymentQueue.transactions.isEmpty)
        await world.remove()
    }

    /// The delegate's answer, the time it takes, and the payment's result.
    static let answers: [(goesOn: Bool, delay: TimeInterval, received: String)] = [
        (true, 0, "points60 purchased"), (false, 0, "points60 failed 5"), (true, 1.3, "points60 failed 5"),
    ]

    @Test(
        "The delegate decides within a second whether to accept a storefront changed since the product was shown",
        arguments: answers.indices)
    func storefront(_ index: Int) async throws {
        let answer = Self.answers[index]
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let product = try #require(try await products([world.id("points60")], on: device).products.first)
        let delegate = OriginalDelegate()
        delegate.goesOn.withLock { $0 = answer.goesOn }
        delegate.delay.withLock { $0 = answer.delay }
        let listener = OriginalListener()
        device.paymentQueue.delegate = delegate
        device.paymentQueue.add(SKPayment(product: product))
        await world.ask(.put, "/emulator/accounts/ann", ["storefront": "USA"])
        device.paymentQueue.add(listener)
        // The queue delivers the storefront too, before the payment or after it.
        await eventually("an end") { listener.lines.count == 3 }
        #expect(listener.lines.contains("storefront USA"))
        #expect(listener.lines.filter { $0 != "storefront USA" } == ["points60 purchasing", answer.received])
        #expect(delegate.lines == ["1 in USA"])
        await world.remove()
    }

    @Test("Consent to a price increase is shown when the delegate allows it, or when the app requests it")
    func consent() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let delegate = OriginalDelegate()
        delegate.showsConsent.withLock { $0 = false }
        device.paymentQueue.delegate = delegate
        let listener = device.observed()
        await world.ask(
            .post, "/emulator/messages", ["reason": "priceIncreaseConsent", "account": "ann"])
        await eventually("asked") { delegate.lines == ["consent"] }
        try await Task.sleep(for: .milliseconds(50))
        let waiting = try await device.session.status().messages
        #expect(waiting.count == 1)
        device.paymentQueue.showPriceConsentIfNeeded()
        await eventually("shown") { (try? await device.session.status().messages.isEmpty) == true }
        delegate.showsConsent.withLock { $0 = true }
        await world.ask(
            .post, "/emulator/messages", ["reason": "priceIncreaseConsent", "account": "ann"])
        await eventually("shown") { delegate.lines.count == 2 }
        await eventually("gone") { (try? await device.session.status().messages.isEmpty) == true }
        #expect(listener.lines.isEmpty)
        await world.remove()
    }

    @Test("The app's promotions are kept on the device")
    func promotions() async throws {
        let world = try await StoreKitWorld()
        let device = try world.launch()
        let found = try await products([world.id("points60"), world.id("points300")], on: device).products
        let first = try #require(found.first)
        try await EmulatedDevice.$current.withValue(device) {
            let controller = SKProductStorePromotionController.default()
            let (order, visibility) = (
                try await controller.promotionOrder(), try await controller.promotionVisibility(for: first)
            )
            #expect(order.isEmpty && visibility == .default)
            try await controller.update(promotionOrder: found.reversed())
            try await controller.update(promotionVisibility: .hide, for: first)
        }
        try await EmulatedDevice.$current.withValue(try world.launch()) {
            let controller = SKProductStorePromotionController.default()
            let order = try await controller.promotionOrder().map(\.productIdentifier)
            #expect(order == found.reversed().map(\.productIdentifier))
            let visibility = try await controller.promotionVisibility(for: first)
            #expect(visibility == .hide)
        }
        try await EmulatedDevice.$current.withValue(try world.launch(2)) {
            let visibility = try await SKProductStorePromotionController.default().promotionVisibility(for: first)
            #expect(visibility == .default)
        }
        await world.remove()
    }
}

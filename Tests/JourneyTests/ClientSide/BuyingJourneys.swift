import Foundation
import Testing
import TillBilling
import TillClient
import TillCrypto

@Suite("Buying with the client kit") struct BuyingJourneys {
    @Test(
        "Paid, granted, finished: the points are in the wallet, and the order is complete everywhere (L8, O1, O5)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func plain(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let ann = try await phones.phone("ann")
            guard case .completed(let order) = await ann.buy(quantity: 2) else {
                Issue.record("not completed: \(await ann.orders())")
                return
            }
            #expect(order.productID == Shop.points60 && order.quantity == 2 && order.status == .completed)
            #expect(order.price == 12 && order.currency == "CNY")
            #expect(try await phones.shop.points(of: "ann") == 120)
            #expect(try await ann.use { try await $0.wallet() } == ["points": 120])
            #expect(try await phones.shop.grants(of: "ann") == 1)
            #expect(try await ann.hasFinishedAll())
            #expect(try await ann.paid() == [order.transactionID])
            #expect(try await phones.shop.ordersAtServer(of: "ann") == ["completed"])
            #expect(try await ann.ordersOnDisk().map(\.status) == [.completed])
            #expect(ann.wire.count(.server, "POST /v1/transactions") == 1)
        }
    }

    @Test(
        "The order is on disk before anything is requested, and at the server before the sheet is shown (L5, O1)",
        arguments: StoreKitGeneration.both)
    func order(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            await ann.buy()
            // StoreKit 1 finishes later.
            #expect(try await ann.hasFinishedAll())
            func place(_ name: String) throws -> Int {
                try #require(ann.run.steps.firstIndex { $0.name == name }, "\(name) is no step")
            }
            let written = try place("journal written")
            let opening = try place("server POST /v1/orders")
            let opened = try place("server answers POST /v1/orders")
            let asked = try place("store POST /emulator/purchases")
            let paid = try place("store answers POST /emulator/purchases")
            let sent = try place("server POST /v1/transactions")
            let word = try place("server answers POST /v1/transactions")
            let finished = try place("store POST /emulator/transactions/*/finish")
            #expect(written < opening && opened < asked && paid < sent)
            // The proof is on disk before it is sent (P5), and finish follows the server's answer (T1).
            let saved = ann.run.steps[paid..<sent].contains { $0.name == "journal written" }
            #expect(saved && word < finished)
        }
    }

    @Test(
        "Before the payment price, start, status, user and product are on disk; the server has the same (L5, L6, O1)",
        arguments: StoreKitGeneration.both)
    func beforePayment(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let gate = Gate()
            ann.wire.cut(.store, "/emulator/purchases", .slow(gate))
            async let outcome = ann.buy()
            #expect(await eventually { ann.wire.happened == 1 })
            let entry = try #require(try await ann.ordersOnDisk().first)
            #expect(entry.status == .prepared && entry.userID == UserID("ann") && entry.quantity == 1)
            #expect(entry.price == Money(amount: 600, currency: Currency("CNY")))
            #expect(entry.productID.text == Shop.points60 && entry.createdAt == phones.shop.time.now)
            let server = try await phones.shop.send(.get, "/v1/orders/\(entry.id)")
            #expect(server["status"].text == "prepared" && server["userId"].text == "ann")
            #expect(server["productId"].text == Shop.points60)
            #expect(server["price"] == ["amount": 600, "currency": "CNY"])
            #expect(server["productNames"] == ["en": "60 points", "zh": "60 学点"])
            #expect(server["createdAt"].text == phones.shop.time.now.rfc3339)
            let shown = try #require(await ann.orders().first)
            #expect(shown.title(in: "zh") == "待充值" && shown.title(in: "en") == "Waiting for payment")
            await gate.open()
            guard case .completed(let order) = await outcome else {
                Issue.record("not completed")
                return
            }
            #expect(order.uuid == entry.id)
            #expect(order.title(in: "zh") == "充值完成" && order.title(in: "en") == "Completed")
        }
    }

    @Test(
        "The answer to the order is lost: the repetition opens no second one (O1)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func orderRepeated(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.server, "POST /v1/orders", .answerLost)
            let outcome = await ann.buy()
            #expect(ann.wire.happened > 1, "it was not repeated")
            guard case .failed = outcome else {
                Issue.record("an order the server never spoke about was paid: \(outcome)")
                return
            }
            #expect(try await phones.shop.ordersAtServer(of: "ann").count == 1)
            #expect(try await ann.paid().isEmpty)
            ann.wire.mend()
            #expect(isCompleted(await ann.buy()))
            #expect(try await phones.shop.grants(of: "ann") == 1)
        }
    }

    @Test(
        "The payment carries the order's id, a UUID, and it comes back in what the store signs (O2, T5, T6)",
        arguments: StoreKitGeneration.both)
    func token(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let order = try #require(await ann.buy().order)
            #expect(UUID(uuidString: order.orderID) != nil)
            let paid = try #require(try await ann.paid().first)
            let transaction = try await phones.shop.ask(.get, "/emulator/transactions/\(paid)")
            #expect(transaction["appAccountToken"].text.lowercased() == order.orderID)
            let again = try #require(await ann.buy().order)
            #expect(again.id != order.id)
        }
    }

    @Test(
        "An order that the app's backend opened is the one that is paid; another user can't pay under it (O1, O2)",
        arguments: StoreKitGeneration.both, Reach.allCases)
    func backendsOrder(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let shop = phones.shop
            func opened(for user: String) async throws -> PurchaseOptions {
                let reply = try await shop.send(
                    .post, "/v1/orders", ["productId": .string(Shop.points60), "userId": .string(user)])
                try #require(reply.status == 201, "\(reply.body)")
                var options = PurchaseOptions()
                options.order = reply["id"].text
                return options
            }
            let options = try await opened(for: "ann")
            let ann = try await phones.phone("ann")
            let result = try await ann.use { try await $0.purchase(Shop.points60, options: options) }
            guard case .completed(let order) = result else {
                Issue.record("not completed: \(result)")
                return
            }
            #expect(order.orderID == options.order)
            let transaction = try await shop.ask(.get, "/emulator/transactions/\(try #require(order.transactionID))")
            #expect(transaction["appAccountToken"].text.lowercased() == options.order)
            #expect(try await shop.ordersAtServer(of: "ann") == ["completed"], "one order at the server")
            #expect(ann.wire.count(.server, "POST /v1/orders") == 0)
            #expect(try await shop.points(of: "ann") == 60)

            let hers = try await opened(for: "ann")
            let ben = try await phones.phone("ben")
            let refused = await #expect(throws: TillError.self) {
                try await ben.use { _ = try await $0.purchase(Shop.points60, options: hers) }
            }
            #expect(refused?.code == .unknownOrder)
            #expect(try await ben.paid().isEmpty && ben.wire.count(.store, "POST /emulator/purchases") == 0)
            #expect(try await shop.ordersAtServer(of: "ann") == ["prepared", "completed"])
        }
    }

    @Test(
        "Payments are not allowed: the buyer gets a message, no order is left, nothing is requested (L3)",
        arguments: StoreKitGeneration.both)
    func notAllowed(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann", isLaunched: false)
            try await ann.set(["mayPay": false])
            try await ann.open()
            #expect(await eventually { await ann.use { await $0.canMakePayments() } == false })
            guard case .failed(nil, .paymentsNotAllowed) = await ann.buy() else {
                Issue.record("it was bought")
                return
            }
            #expect(await ann.orders().isEmpty)
            #expect(try await phones.shop.ordersAtServer(of: "ann").isEmpty)
            #expect(ann.wire.count(.store, "POST /emulator/purchases") == 0)
            #expect(ann.wire.count(.server, "POST /v1/orders") == 0)
        }
    }

    @Test(
        "The product bought is the requested one; one the store does not have is refused clearly (L4)",
        arguments: StoreKitGeneration.both)
    func products(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            guard case .failed(nil, .productUnavailable) = await ann.buy("com.example.learn.none") else {
                Issue.record("it was bought")
                return
            }
            #expect(await ann.orders().isEmpty)
            guard case .completed(let order) = await ann.buy(Shop.points300) else {
                Issue.record("not completed")
                return
            }
            #expect(order.productID == Shop.points300)
            #expect(try await phones.shop.points(of: "ann") == 300)
            // The store sells it, and the server's catalogue does not list it.
            guard case .failed(let refused?, let error) = await ann.buy("com.example.learn.unlisted") else {
                Issue.record("it was bought")
                return
            }
            #expect(refused.status == .failed && error.code == "unknown_product")
            #expect(try await ann.paid().count == 1)
        }
    }

    @Test(
        "Cancelled is cancelled and any other error is failed, each with its reason in both languages (L6, L10)",
        arguments: StoreKitGeneration.both)
    func notPaid(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            try await ann.sheet("cancelled")
            guard case .cancelled(let cancelled) = await ann.buy() else {
                Issue.record("not cancelled")
                return
            }
            #expect(cancelled.status == .cancelled)
            #expect(cancelled.title(in: "zh") == "充值取消" && cancelled.title(in: "en") == "Cancelled")
            #expect(cancelled.sentence == AppStoreError.cancelled.sentence)
            try await ann.sheet("failed")
            guard case .failed(let failed?, .store(.unknown)) = await ann.buy() else {
                Issue.record("not failed")
                return
            }
            #expect(failed.status == .failed)
            #expect(failed.title(in: "zh") == "充值失败" && failed.title(in: "en") == "Failed")
            #expect(failed.sentence == AppStoreError.unknown.sentence)
            #expect(await eventually { (try? await phones.shop.ordersAtServer(of: "ann")) == ["failed", "cancelled"] })
            #expect(try await ann.paid().isEmpty)
            #expect(try await phones.shop.grants(of: "ann") == 0)
        }
    }

    @Test(
        "A second tap during a purchase starts no second payment, and the shop shows that one is running (G3)",
        arguments: StoreKitGeneration.both)
    func secondTap(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            let gate = Gate()
            ann.wire.cut(.store, "/emulator/purchases", .slow(gate))
            async let first = ann.buy()
            #expect(await eventually { ann.wire.happened == 1 })
            #expect(await ann.buy() == .inProgress)
            let products = try await ann.use { try await $0.products() }
            let points = try #require(products.first { $0.id == Shop.points60 })
            #expect(points.isPurchasing && !points.canBuy)
            #expect(products.first { $0.id == Shop.points300 }?.canBuy == true)
            ann.wire.mend()
            await gate.open()
            #expect(isCompleted(await first))
            // Another product can still be bought.
            #expect(isCompleted(await ann.buy(Shop.points300)))
            #expect(ann.wire.count(.store, "POST /emulator/purchases") == 2)
            #expect(try await ann.paid().count == 2)
            #expect(try await phones.shop.points(of: "ann") == 360)
            #expect(try await ann.use { try await $0.products() }.first { $0.id == Shop.points60 }?.canBuy == true)
        }
    }
}

func isCompleted(_ outcome: PurchaseOutcome) -> Bool {
    if case .completed = outcome { true } else { false }
}

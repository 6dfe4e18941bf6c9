import Testing
import TillBilling
import TillClient
import TillJSON
import TillLedger

@Suite("The store changes its answer") struct SecondThoughtJourneys {
    private func waiting(_ phone: Phone, _ state: String) async throws -> String {
        try #require(try await phone.shop.transactions(of: phone.account, "state=\(state)").first)
    }

    private func decide(_ phone: Phone, _ transaction: String, _ verb: String) async throws {
        let reply = try await phone.shop.ask(.post, "/emulator/transactions/\(transaction)/\(verb)")
        try #require(reply.status == 200, "\(reply.body)")
    }

    @Test(
        "Ask to Buy: no grant until it is approved, days later and in another launch (G7, L6, L7)",
        arguments: StoreKitGeneration.both)
    func approved(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            try await ann.sheet("deferred")
            guard case .deferred(let order) = await ann.buy() else {
                Issue.record("not deferred")
                return
            }
            #expect(order.status == .deferred)
            #expect(order.title(in: "zh") == "等待批准" && order.title(in: "en") == "Waiting for approval")
            #expect(try await phones.shop.grantCount() == 0)
            let transaction = try await waiting(ann, "deferred")
            await ann.kill()
            // A request to a parent is valid for a day.
            phones.shop.time.advance(seconds: 20 * 3_600)
            try await decide(ann, transaction, "approve")
            phones.shop.time.advance(seconds: 3 * 86_400)
            #expect(try await phones.shop.grantCount() == 0)
            try await ann.relaunch()
            #expect(try await ann.hasFinishedAll())
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(await ann.orders().first?.id == order.id)
            #expect(try await phones.shop.points(of: "ann") == 60)
            #expect(try await phones.shop.grants(of: "ann") == 1)
        }
    }

    @Test("Ask to Buy is approved while the app runs (G7)", arguments: StoreKitGeneration.both, Reach.allCases)
    func approvedWhileRunning(_ generation: StoreKitGeneration, _ reach: Reach) async throws {
        try await Phones.open(generation, reach) { phones in
            let ann = try await phones.phone("ann")
            try await ann.sheet("deferred")
            let order = try #require(await ann.buy().order)
            #expect(order.status == .deferred)
            try await decide(ann, try await waiting(ann, "deferred"), "approve")
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "Ask to Buy is declined: StoreKit 1 fails the payment as cancelled, and the order with it (G7, L7)")
    func declinedFails() async throws {
        try await Phones.open(.storeKit1) { phones in
            let ann = try await phones.phone("ann")
            try await ann.sheet("deferred")
            await ann.buy()
            try await decide(ann, try await waiting(ann, "deferred"), "decline")
            #expect(await eventually { await ann.orders().map(\.status) == [.cancelled] })
        }
    }

    @Test("Ask to Buy is declined: nothing is ever granted (G7)", arguments: StoreKitGeneration.both)
    func declined(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            try await ann.sheet("deferred")
            await ann.buy()
            try await decide(ann, try await waiting(ann, "deferred"), "decline")
            try await ann.relaunch()
            try await ann.sheet("purchased")
            #expect(isCompleted(await ann.buy(Shop.points300)))
            #expect(try await phones.shop.points(of: "ann") == 300)
            #expect(try await phones.shop.grants(of: "ann") == 1)
        }
    }

    @Test(
        "Interrupted: the payment fails, and succeeds once the card works: the same order completes (T3)",
        arguments: StoreKitGeneration.both)
    func interrupted(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            try await ann.sheet("interrupted")
            let first = await ann.buy()
            let order = try #require(first.order)
            #expect(order.status == .cancelled || order.status == .failed, "\(first)")
            #expect(await eventually { (try? await phones.shop.ordersAtServer(of: "ann")) == [order.status.rawValue] })
            #expect(try await phones.shop.grantCount() == 0)
            try await decide(ann, try await waiting(ann, "interrupted"), "approve")
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(await ann.orders().first?.id == order.id)
            #expect(try await ann.hasFinishedAll())
            #expect(try await phones.shop.points(of: "ann") == 60)
            let history = try await phones.shop.send(.get, "/v1/orders/\(order.id)")["history"].list
            #expect(history.map { $0.at("status").text }.suffix(2) == ["ongoing", "completed"])
        }
    }

    @Test(
        "An error although it was paid: the buyer sees that it is being checked, and it arrives without a launch (T12)",
        arguments: StoreKitGeneration.both)
    func errorButPaid(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.store, "/emulator/purchases", .answerLost)
            guard case .failed(let order?, let error) = await ann.buy() else {
                Issue.record("it did not fail")
                return
            }
            #expect(ann.wire.happened >= 1)
            #expect(error == .store(.network(.connectionLost)) && AppStoreError.network(.connectionLost).mayBePaid)
            ann.wire.mend()
            #expect(await eventually { await ann.orders().map(\.status) == [.completed] })
            #expect(await ann.orders().first?.id == order.id)
            #expect(try await ann.hasFinishedAll())
            #expect(try await ann.paid().count == 1)
            #expect(try await phones.shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "The store's network and the server's have different errors (P3)", arguments: StoreKitGeneration.both)
    func sentences(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let ann = try await phones.phone("ann")
            ann.wire.cut(.store, "/emulator/purchases")
            let store = await ann.buy()
            #expect(store.error == .store(.network(.cannotConnect)), "\(store)")
            ann.wire.mend()
            ann.wire.cut(.server, "POST /v1/orders")
            let server = await ann.buy()
            #expect(server.error?.code == "cannot_connect" && server.error?.isRetryable == true)
            let (one, other) = (try #require(store.error), try #require(server.error))
            #expect(one.sentence.en.contains("App Store") && !other.sentence.en.contains("App Store"))
            #expect(one.sentence.zh != one.sentence.en)
            ann.wire.mend()
            // The card: the store reports only that the payment failed.
            try await ann.set(["paymentMethodWorks": false])
            #expect(await ann.buy().error == .store(.unknown))
            #expect(try await ann.paid().isEmpty)
        }
    }

    @Test(
        "A refund: the app is notified, and right and points are gone (U5, C7)", arguments: StoreKitGeneration.both)
    func refund(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            try await phones.shop.tellServer()
            let ann = try await phones.phone("ann")
            let pro = "com.example.learn.pro"
            #expect(isCompleted(await ann.buy(pro)))
            #expect(try await ann.hasFinishedAll())
            #expect(try await ann.use { try await $0.refresh().entitlements.items }.map(\.name) == ["pro"])
            let paid = try #require(try await ann.paid().first)
            phones.shop.time.advance(seconds: 60)
            try await decide(ann, paid, "refund")
            await phones.shop.emulator.sendDueNotifications()
            #expect(try await phones.shop.ordersAtServer(of: "ann") == ["refunded"])
            #expect(try await ann.use { try await $0.refresh().entitlements.items }.isEmpty)
            let updates = await ann.use { $0.updates }
            let reported = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    for await update in updates where update == .revoked(productIDs: [pro]) { return true }
                    return false
                }
                group.addTask {
                    try? await Task.sleep(for: .seconds(10))
                    return false
                }
                let first = await group.next() ?? false
                group.cancelAll()
                return first
            }
            #expect(reported, "the app was not told")
        }
    }

    // MARK: Points that were spent

    /// Buys sixty points and spends fifty; returns the transaction's id.
    private func spend(_ phone: Phone) async throws -> String {
        #expect(isCompleted(await phone.buy()))
        #expect(try await phone.hasFinishedAll())
        #expect(try await debit(phone, 50).status == 201)
        phone.shop.time.advance(seconds: 60)
        return try #require(try await phone.paid().first)
    }

    private func debit(_ phone: Phone, _ amount: Int64) async throws -> Reply {
        try await phone.shop.send(
            .post, "/v1/users/\(phone.account)/wallet/debits",
            ["currency": "points", "amount": .int(amount), "reference": .string("\(phone.account) \(amount)")])
    }

    @Test(
        "A refund of spent points: the phone shows the debt, the next purchase pays it, a reversal ends it (U5)",
        arguments: StoreKitGeneration.both)
    func refundSpent(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            try await phones.shop.tellServer()
            let ann = try await phones.phone("ann")
            let paid = try await spend(ann)
            try await decide(ann, paid, "refund")
            await phones.shop.emulator.sendDueNotifications()
            #expect(try await ann.use { try await $0.wallet() } == ["points": -50])
            let postings = try await ann.use { try await $0.postings().postings }
            #expect(postings.map { "\($0.kind) \($0.amount)" } == ["refund -60", "debit -50", "purchase 60"])
            let refused = try await debit(ann, 1)
            #expect(refused.status == 409 && refused.code == "insufficient_funds")

            #expect(isCompleted(await ann.buy()))
            #expect(try await ann.hasFinishedAll())
            #expect(try await ann.use { try await $0.wallet() } == ["points": 10])
            phones.shop.time.advance(seconds: 60)
            try await decide(ann, paid, "refundReversal")
            await phones.shop.emulator.sendDueNotifications()
            #expect(try await ann.use { try await $0.refresh().wallet } == ["points": 70])
        }
    }

    @Test(
        "The customer agrees in the app, and Apple gets the used share; after a withdrawal it gets nothing (U5)",
        arguments: StoreKitGeneration.both)
    func consent(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation) { phones in
            let (shop, line) = (phones.shop, phones.appleLine)
            try await shop.tellServer()
            func sent(about id: String) -> Bool { line.asked.contains { $0.hasSuffix("consumption/\(id)") } }
            func request(_ phone: Phone) async throws -> String {
                let paid = try await spend(phone)
                try await decide(phone, paid, "consumptionRequest")
                await shop.emulator.sendDueNotifications()
                return paid
            }
            func newest() async throws -> JSONValue {
                try #require(try await shop.send(.get, "/v1/consumption-requests")["data"].list.first)
            }
            let ann = try await phones.phone("ann")
            try await ann.use { try await $0.setConsumptionConsent(true) }
            let hers = try await request(ann)
            #expect(try await ConsumptionAnswers(shop.server.ledger).answerAll() == 1)
            let answered = try await newest()
            #expect(answered.at("state").text == "answered" && answered.at("transactionId").text == hers)
            #expect(answered.at("answer").at("customerConsented") == true)
            #expect(answered.at("answer").at("consumptionPercentage").int == 83_333)
            #expect(sent(about: hers))

            let ben = try await phones.phone("ben")
            try await ben.use { try await $0.setConsumptionConsent(true) }
            let his = try await request(ben)
            try await ben.use { try await $0.setConsumptionConsent(false) }
            #expect(try await ConsumptionAnswers(shop.server.ledger).answerAll() == 0)
            let waiting = try await newest()
            #expect(waiting.at("state").text == "waiting" && waiting.at("detail").text.hasPrefix("no_consent"))
            shop.time.advance(seconds: 12 * 3_600)
            #expect(try await ConsumptionAnswers(shop.server.ledger).answerAll() == 0)
            let ended = try await newest()
            #expect(ended.at("state").text == "unanswered" && ended.at("detail").text.hasPrefix("no_consent"))
            #expect(!sent(about: his))
        }
    }
}

import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillServer

/// Till's client against the emulated App Store, over a socket and libcurl.
@Suite("Requests to Apple")
struct ServerAPIJourneys {
    /// A shop whose store listens, and the client that asks it.
    private static func open(
        _ journey: (Shop, ServerAPI, SignedDataVerifier) async throws -> Void
    ) async throws {
        try await Shop.open { shop in
            let listener = try Listener(
                configuration: ListenerConfiguration(),
                bodyLimit: shop.emulator.router.bodyLimit(method:path:), handler: shop.emulator.respond(to:))
            let fetch = try Fetch(configuration: FetchConfiguration())
            do {
                let effects = AppleEffects(
                    exchange: appleExchange(over: fetch.send), clock: { shop.time.now }, entropy: RandomBytes.make,
                    pause: { shop.time.advance(seconds: $0 / 1_000 + 1) })
                let api = ServerAPI(
                    key: try await key(of: shop), bundleID: Shop.bundleID,
                    hosts: .emulator(at: "http://127.0.0.1:\(listener.port)"), effects: effects,
                    budget: RequestBudget(effects: effects))
                var policy = TrustPolicy(bundleID: Shop.bundleID, environments: [.sandbox]) { shop.time.now }
                policy.roots = [shop.emulator.issuer.rootCertificate]
                try await journey(shop, api, try SignedDataVerifier(policy: policy))
            } catch {
                fetch.stop()
                await listener.stop(grace: 5)
                throw error
            }
            fetch.stop()
            await listener.stop(grace: 5)
        }
    }

    private static func key(of shop: Shop) async throws -> InAppPurchaseKey {
        let reply = try await shop.ask(.get, "/emulator/api-key")
        return try InAppPurchaseKey(
            issuerID: reply["issuerId"].text, keyID: reply["keyId"].text,
            privateKey: try PrivateKey(pem: reply["privateKey"].text))
    }

    @Test("A paid transaction is requested by its id, and the answer is verified")
    func transactionInfo() async throws {
        try await Self.open { shop, api, verifier in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            let answered = try await api.transactionInfo(TransactionID(payment.id), in: .sandbox)
            let transaction = try answered.value.verified(by: verifier)
            #expect(transaction.id.text == payment.id)
            #expect(transaction.appAccountToken == order)
            #expect(answered.environment == .sandbox)
        }
    }

    @Test("An unknown transaction is final in either environment; an invalid id is refused")
    func unknown() async throws {
        try await Self.open { _, api, _ in
            for (id, code) in [
                ("1", ServerAPIErrorCode.transactionIDNotFound), ("x", .invalidTransactionID),
                ("1?x=1", .invalidTransactionID), ("交易", .invalidTransactionID),
            ] {
                let found = await #expect(throws: ServerAPIError.self) {
                    _ = try await api.transactionInfo(TransactionID(id))
                }
                #expect(found?.code == code, "\(id): \(String(describing: found))")
                #expect(found?.isRetryable == false)
            }
        }
    }

    @Test("An id that imitates a path stays in its place: the store itself refuses it")
    func hostileID() async throws {
        try await Self.open { _, api, _ in
            let found = await #expect(throws: ServerAPIError.self) {
                _ = try await api.transactionInfo(TransactionID("../../../emulator/state"), in: .sandbox)
            }
            guard case .unreadable(let answer) = found else {
                Issue.record("\(String(describing: found))")
                return
            }
            #expect(answer.status == 400)
        }
    }

    @Test("U2: the server finishes at Apple what the phone never finished, and a repetition does no harm")
    func finish() async throws {
        try await Self.open { shop, api, _ in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["finished"] == false)
            try await api.finish(TransactionID(payment.id))
            try await api.finish(TransactionID(payment.id))
            #expect(try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["finished"] == true)
        }
    }

    @Test("A test notification arrives, and Apple reports its delivery")
    func testNotification() async throws {
        try await Self.open { shop, api, verifier in
            let without = await #expect(throws: ServerAPIError.self) {
                _ = try await api.requestTestNotification(in: .sandbox)
            }
            #expect(without?.code == .serverNotificationURLNotFound)
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            let token = try await api.requestTestNotification(in: .sandbox)
            let early = await #expect(throws: ServerAPIError.self) {
                _ = try await api.testNotificationStatus(of: token, in: .sandbox)
            }
            #expect(early?.code == .testNotificationNotFound)
            await shop.emulator.sendDueNotifications()
            let sent = try await api.testNotificationStatus(of: token, in: .sandbox)
            #expect(sent.attempts.map(\.result) == [.success])
            #expect(try sent.notification.verified(by: verifier).type == .test)
        }
    }

    @Test("A key that Apple does not know is a configuration fault, and so is a wrong clock")
    func unauthorized() async throws {
        try await Self.open { shop, api, _ in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            let id = TransactionID(payment.id)
            _ = try await api.transactionInfo(id, in: .sandbox)
            let listener = try Listener(
                configuration: ListenerConfiguration(),
                bodyLimit: shop.emulator.router.bodyLimit(method:path:), handler: shop.emulator.respond(to:))
            let fetch = try Fetch(configuration: FetchConfiguration())
            let good = try await Self.key(of: shop)
            let stranger = try InAppPurchaseKey(
                issuerID: good.issuerID, keyID: good.keyID, privateKey: .generate(.p256))
            for (key, ahead) in [(stranger, 0), (good, 7_200), (good, -7_200)] as [(InAppPurchaseKey, Int64)] {
                let effects = AppleEffects(
                    exchange: appleExchange(over: fetch.send), clock: { shop.time.now.adding(seconds: ahead) },
                    entropy: RandomBytes.make, pause: { _ in })
                let api = ServerAPI(
                    key: key, bundleID: Shop.bundleID, hosts: .emulator(at: "http://127.0.0.1:\(listener.port)"),
                    effects: effects, budget: RequestBudget(effects: effects))
                let found = await #expect(throws: ServerAPIError.self) {
                    _ = try await api.transactionInfo(id, in: .sandbox)
                }
                guard case .unauthorized(.sandbox, let reason) = found else {
                    Issue.record("\(String(describing: found))")
                    continue
                }
                #expect((reason != nil) == (ahead != 0), "the store says that the clocks differ")
                #expect(found?.isRetryable == false)
            }
            fetch.stop()
            await listener.stop(grace: 5)
        }
    }

    @Test("U7: an unreachable Apple is a transient outage, and says nothing about the purchase")
    func gone() async throws {
        try await Self.open { shop, _, _ in
            let listener = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: { _, _ in 0 },
                handler: { _ in HTTPResponse(status: 200) })
            let port = listener.port
            await listener.stop(grace: 1)
            let fetch = try Fetch(configuration: FetchConfiguration())
            let effects = AppleEffects(
                exchange: appleExchange(over: fetch.send), clock: { shop.time.now }, entropy: RandomBytes.make,
                pause: { _ in })
            let api = ServerAPI(
                key: try await Self.key(of: shop), bundleID: Shop.bundleID,
                hosts: .emulator(at: "http://127.0.0.1:\(port)"), effects: effects,
                budget: RequestBudget(effects: effects))
            let found = await #expect(throws: ServerAPIError.self) {
                _ = try await api.transactionInfo(TransactionID("1"))
            }
            guard case .outage(let outage) = found else {
                Issue.record("\(String(describing: found))")
                return
            }
            #expect(outage.reason == .unreachable && found?.isRetryable == true)
            fetch.stop()
        }
    }
}

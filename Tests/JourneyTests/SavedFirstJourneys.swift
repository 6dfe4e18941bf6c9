import Foundation
import Testing
import TillAppStore
import TillBilling
import TillClient
import TillCrypto
import TillLedger
import TillServer

/// Delivery order 2: save, finish, then grant (G4, G5).
@Suite("Saved first, then granted by the server") struct SavedFirstJourneys {
    private static func savesFirst(_ configuration: inout ServerConfiguration) {
        configuration.delivery.order = .saveThenFinish
    }

    @Test("The proof is durable, the device may finish, and the grant follows (G4)", arguments: Reach.allCases)
    func savedFirst(_ reach: Reach) async throws {
        try await Shop.open(reach, change: Self.savesFirst) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            for _ in 0..<2 {
                let reply = try await shop.submit(payment.signed, as: .user("ann"), orderID: order)
                #expect(reply.status == 202)
                #expect(
                    reply.body == [
                        "outcome": "accepted", "transactionId": .string(payment.id), "finish": true,
                        "reason": "granted_soon",
                    ])
            }
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "alreadyGranted")
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 0)
        }
    }

    @Test("The server died after its answer: the next one grants the saved proof, to its owner, once (G5, P8)")
    func serverDies() async throws {
        try await Shop.open(change: Self.savesFirst) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            #expect(try await shop.submit(payment.signed, as: .user("ben"))["finish"] == true)
            // A second server on the same ledger stands for a restart.
            let next = try Server(
                configuration: shop.server.configuration, database: shop.ledger, clock: { shop.time.now },
                entropy: RandomBytes.make)
            #expect(try await SavedProofs(next.ledger).processAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.points(of: "ben") == 0)
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test("A purchase without an owner goes into quarantine with its proof; a forged one is refused at once (G4, P9)")
    func nobodys() async throws {
        try await Shop.open(change: Self.savesFirst) { shop in
            let payment = try await shop.pay(token: nil)
            #expect(try await shop.submit(payment.signed + "A", as: .user("ann")).status == 422)
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "accepted")
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 1)
            #expect(try await shop.send(.get, "/v1/quarantine")["data"].list.count == 1)
            // From now on the ledger knows it, and answers accordingly.
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "quarantined")
            #expect(try await shop.submit(payment.signed, as: .backend, userID: "ann")["outcome"].text == "granted")
        }
    }

    @Test("A receipt is saved like any other proof, and waits for Apple's answer if there is a key (G4, U7)")
    func receipt() async throws {
        let line = AppleProxy()
        try await Shop.open(change: Self.savesFirst, line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            line.outage = AppleConnectionError(.unreachable)
            let reply = try await shop.send(
                .post, "/v1/transactions",
                [
                    "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                    "productId": .string(Shop.points60),
                ], as: .user("ann"))
            #expect(reply.status == 202 && reply["finish"] == true)
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 1)
            #expect(try await shop.grantCount() == 0)
            line.outage = nil
            shop.time.advance(seconds: 3_600)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    private func post(receiptOf payment: Payment, to shop: Shop, as user: String = "ann") async throws -> Reply {
        try await shop.send(
            .post, "/v1/transactions",
            [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(Shop.points60),
            ], as: .user(user))
    }

    @Test("A signed copy that follows its receipt is saved, and not treated as a repeated receipt (G4)")
    func copyAfterReceipt() async throws {
        let change = { (configuration: inout ServerConfiguration) in
            Self.savesFirst(&configuration)
            configuration.receipts = ReceiptTerms(policy: .quarantine)
        }
        try await Shop.open(change: change) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await post(receiptOf: payment, to: shop)["finish"] == true)
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["finish"] == true)
            #expect(try await post(receiptOf: payment, to: shop)["finish"] == true)
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 2)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.send(.get, "/v1/quarantine")["data"].list.isEmpty)
        }
    }

    @Test("A purchase that Apple does not know yet is checked again, because its device has finished (G4, G5, U7)")
    func notKnownYet() async throws {
        let line = AppleProxy()
        try await Shop.open(change: Self.savesFirst, line: line) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            line.answer = AppleProxy.notFound
            let reply = try await post(receiptOf: payment, to: shop)
            #expect(reply.status == 202 && reply["finish"] == true)
            _ = try await SavedProofs(shop.server.ledger).processAll()
            for _ in 0..<3 {
                #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 0)
                #expect(try await shop.points(of: "ann") == 0)
                shop.time.advance(seconds: 10)
            }
            let waiting = try await shop.send(.get, "/v1/quarantine")["data"].list
            #expect(waiting.first?.at("reasons").list.first?.at("count").int == 1, "it was brought once: \(waiting)")
            line.answer = nil
            shop.time.advance(seconds: 600)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("A purchase that Apple never knows is checked less and less often, for a day (U7)")
    func neverKnown() async throws {
        let line = AppleProxy()
        try await Shop.open(change: Self.savesFirst, line: line) { shop in
            let payment = try await shop.pay(token: nil)
            line.answer = AppleProxy.notFound
            for user in ["ann", "thief"] { _ = try await post(receiptOf: payment, to: shop, as: user) }
            _ = try await SavedProofs(shop.server.ledger).processAll()
            for _ in 0..<(24 * 60) {
                _ = try await WaitingReceipts(shop.server.ledger).askAll()
                shop.time.advance(seconds: 60)
            }
            #expect((20...45).contains(line.asked.count), "\(line.asked.count)")
            #expect(try await shop.ledger.read { try WaitingProofTable($0).count() } == 2)
            shop.time.advance(seconds: 3_600)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 2)
            #expect(try await shop.ledger.read { try WaitingProofTable($0).count() } == 0)
            #expect(try await shop.send(.get, "/v1/quarantine")["data"].list.count == 1)
        }
    }

    @Test("All callers of a purchase that Apple does not know are considered, and then wait together (U7)")
    func manyBearers() async throws {
        let line = AppleProxy()
        try await Shop.open(change: Self.savesFirst, line: line) { shop in
            let payment = try await shop.pay(token: nil)
            let receipt = Array(try #require(Data(base64Encoded: payment.receipt)))
            let now = shop.time.now
            try await shop.ledger.write { connection in
                for number in 0..<250 {
                    try WaitingProofTable(connection).insert(
                        TransactionID(payment.id), in: .sandbox,
                        by: WaitingProofTable.Submitter(name: "user:\(number)", namedUser: nil, claimedOrder: nil),
                        receipt: receipt, digest: Digest.sha256.hash(receipt), at: now, due: now, detail: "saved",
                        isBounded: false)
                }
            }
            line.answer = AppleProxy.notFound
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 0)
            let due = try await shop.ledger.read { connection in
                try WaitingProofTable(connection).due(in: .sandbox, at: now.adding(seconds: 9), limit: 1)
            }
            #expect(due.isEmpty && line.asked.count == 1)
            #expect(try await shop.ledger.read { try WaitingProofTable($0).count() } == 250)
        }
    }

    @Test("Released clients finish on 200 and get their grant first, under either order (G4, C8)")
    func shippedClients() async throws {
        try await Shop.open(change: Self.savesFirst) { shop in
            let order = try await shop.openOrder(as: "ann")
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: order)
            let reply = try await shop.send(
                .post, "/postPay/ios",
                [
                    "token": .string(UserToken.hs256(subject: "ann", expires: shop.time.now.seconds + 600)),
                    "receipt-data": .string(payment.receipt), "product_id": .string(Shop.points60),
                    "transaction_id": .string(payment.id), "order_id": .string(order.description),
                ], as: .anonymous)
            #expect(reply.status == 200, "\(reply.body)")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test(
        "A phone killed at every step loses nothing: the server grants, and the next launch shows it (G4, G5, O6)",
        arguments: StoreKitGeneration.both)
    func killedAtEveryStep(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation, change: Self.savesFirst) { phones in
            let names = [
                "journal written", "server POST /v1/orders", "store answers POST /emulator/purchases",
                "server POST /v1/transactions", "server answers POST /v1/transactions",
                "store POST /emulator/transactions/*/finish", "store answers POST /emulator/transactions/*/finish",
            ]
            for (number, name) in names.enumerated() {
                let phone = try await phones.phone("buyer\(number)", isLaunched: false)
                try await phone.open(killedAt: AppRun.Step(name: name, number: 1))
                async let outcome = phone.buy()
                #expect(await eventually { phone.run.isDead }, "not killed at \(name)")
                try await phone.relaunch()
                try await check(phone, name)
                _ = await outcome
            }
        }
    }

    @Test(
        "An app deleted after finishing loses nothing: the wallet is there at the next login (G5, O7)",
        arguments: StoreKitGeneration.both)
    func deletedAfterFinish(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation, change: Self.savesFirst) { phones in
            let phone = try await phones.phone("ann")
            let outcome = await phone.buy()
            guard case .deliveryPending = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(try await phone.hasFinishedAll(), "it was told to finish")
            #expect(try await phones.shop.grantCount() == 0)
            await phone.kill()
            #expect(try await SavedProofs(phones.shop.server.ledger).processAll() == 1)
            try await phone.reinstall()
            #expect(
                await eventually {
                    let wallet = try? await phone.use { try await $0.wallet() }
                    return wallet?["points"] == 60
                })
        }
    }

    private func check(_ phone: Phone, _ story: String) async throws {
        let user = try #require(phone.user)
        let jobs = SavedProofs(phone.shop.server.ledger)
        #expect(
            await eventually {
                _ = try? await jobs.processAll()
                await phone.use { await $0.checkOrderStatus() }
                let isShown = await phone.orders().allSatisfy { $0.status != .ongoing }
                let left = try? await phone.unfinished()
                return isShown && left?.isEmpty == true
            }, "\(story)")
        _ = try await jobs.processAll()
        let paid = try await phone.paid().count
        #expect(try await phone.shop.grants(of: user) == Int64(paid), "\(story)")
        #expect(try await phone.shop.points(of: user) == Int64(paid) * 60, "\(story)")
        #expect(
            await eventually { await phone.orders().allSatisfy { paid == 0 || $0.status == .completed } }, "\(story)")
    }
}

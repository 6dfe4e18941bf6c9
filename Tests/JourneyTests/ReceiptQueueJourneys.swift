import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillServer

/// Hundreds of posts by one user have no effect on the others.
@Suite("One user's proofs do not delay another user's") struct ReceiptQueueJourneys {
    private func post(
        _ payment: Payment, to shop: Shop, as user: String, order: OrderID? = nil, device: String? = nil
    ) async throws -> Reply {
        var body: [String: JSONValue] = [
            "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
            "productId": .string(Shop.points60),
        ]
        if let order { body["orderId"] = .string(order.description) }
        if let device { body["deviceId"] = .string(device) }
        return try await shop.send(.post, "/v1/transactions", .object(body), as: .user(user))
    }

    private func random(_ number: UInt64) -> OrderID {
        UniqueID(high: 0x0123_4567_89AB_4000 | number, low: 0x8000_0000_0000_0001)
    }

    // MARK: Requests to Apple

    @Test("A quarantined purchase causes one request to Apple in ten minutes, for any number of posts and any data")
    func repetitions() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let payment = try await shop.pay(token: random(1))
            for number in 0..<60 {
                let order = number % 2 == 0 ? random(UInt64(2 + number)) : nil
                let reply = try await post(payment, to: shop, as: "thief", order: order)
                #expect(reply["outcome"].text == "quarantined" && reply["reason"].text == "unknown_token")
            }
            #expect(line.asked.count == 1)
            shop.time.advance(seconds: 601)
            _ = try await post(payment, to: shop, as: "thief")
            _ = try await post(payment, to: shop, as: "another")
            #expect(line.asked.count == 2)
        }
    }

    @Test("The data of another caller decides about a purchase in quarantine without asking Apple again (U1, match 2)")
    func otherWords() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: nil)
            #expect(try await post(payment, to: shop, as: "thief")["reason"].text == "no_owner")
            #expect(try await post(payment, to: shop, as: "ann", order: order)["outcome"].text == "granted")
            #expect(line.asked.count == 1)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("About forty of a user's purchases are sent to Apple at once; the rest wait in the ledger, delaying none")
    func pace() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            var payments: [Payment] = []
            for number in 0..<60 { payments.append(try await shop.pay(token: random(UInt64(100 + number)))) }
            let order = try await shop.openOrder(as: "ann")
            let honest = try await shop.pay(token: order)
            var reasons: [String] = []
            for payment in payments {
                let reply = try await post(payment, to: shop, as: "thief")
                #expect(reply.status == 202 && reply["finish"] == false)
                reasons.append(reply["reason"].text)
            }
            #expect(reasons.prefix(40).allSatisfy { $0 == "unknown_token" })
            // Waiting for turns takes some seconds, in which a few more requests are sent.
            let waiting = reasons.filter { $0 == "waiting_for_apple" }.count
            #expect(waiting >= 10 && line.asked.count == payments.count - waiting)
            #expect(try await post(honest, to: shop, as: "ann")["outcome"].text == "granted")
            shop.time.advance(seconds: 60)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == waiting)
            #expect(line.asked.count == payments.count + 1)
        }
    }

    @Test("A purchase that Apple does not know causes one request a minute, however often and by whom it is posted")
    func unknownToApple() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let payment = try await shop.pay(token: random(1))
            line.answer = AppleResponse(
                status: 404, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode": 4040010, "errorMessage": "Transaction id not found."}"#.utf8))
            for number in 0..<30 {
                let reply = try await post(payment, to: shop, as: "thief \(number % 3)")
                #expect(reply["outcome"].text == "quarantined")
            }
            #expect(line.asked.count == 1)
            shop.time.advance(seconds: 61)
            _ = try await post(payment, to: shop, as: "thief")
            #expect(line.asked.count == 2)
        }
    }

    @Test("While Apple is down, many callers with one purchase cause one request in five seconds")
    func down() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let payment = try await shop.pay(token: random(1))
            line.outage = AppleConnectionError(.timedOut)
            for number in 0..<30 { _ = try await post(payment, to: shop, as: "thief \(number)") }
            #expect(line.asked.count == 1)
        }
    }

    @Test(
        "400 posts of one receipt ask Apple once, and the honest purchase is granted in the next turn",
        arguments: DeliveryTerms.Order.allCases, [true, false])
    func flood(order: DeliveryTerms.Order, isSigned: Bool) async throws {
        let line = AppleProxy()
        try await Shop.open(change: { $0.delivery.order = order }, line: line) { shop in
            let stolen = try await shop.pay(token: random(1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<400 {
                    group.addTask {
                        _ = try await post(stolen, to: shop, as: "thief \(number / 10)", device: "\(number)")
                    }
                }
                try await group.waitForAll()
            }
            let asked = line.asked.count
            #expect(asked <= 1)
            let paid = try await shop.openOrder(as: "ann")
            let honest = try await shop.pay(token: paid)
            if isSigned {
                _ = try await shop.submit(honest.signed, as: .user("ann"))
            } else {
                _ = try await post(honest, to: shop, as: "ann")
            }
            let now = shop.time.now
            let next = try await shop.ledger.read { connection in
                let kind: ProofTable.Kind = isSigned ? .signedTransaction : .receipt
                return try SavedProofTable(connection).due(kind, in: .sandbox, at: now, limit: 2)
            }
            if order == .saveThenFinish {
                #expect(next.contains { $0.submitter.name == "user:ann" })
                _ = try await SavedProofs(shop.server.ledger).processAll()
                let waiting = try await shop.ledger.read { connection in
                    try WaitingProofTable(connection).due(in: .sandbox, at: now, limit: 2)
                }
                #expect(isSigned || waiting.contains { $0.submitter.name == "user:ann" })
                _ = try await WaitingReceipts(shop.server.ledger).askAll()
            }
            #expect(try await shop.points(of: "ann") == 60)
            // One request about the stolen purchase, one about an honest receipt.
            #expect(line.asked.count <= (isSigned ? 1 : 2))
            #expect(try await shop.grantCount() == 1)
        }
    }

    // MARK: Data of several callers

    @Test("A caller with other data takes nothing from another: the buyer's order id is processed with the same answer")
    func otherBearers() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: nil)
            line.outage = AppleConnectionError(.timedOut)
            for (user, claimed) in [("thief", nil), ("thief", random(7)), ("ann", order)] {
                let reply = try await post(payment, to: shop, as: user, order: claimed)
                #expect(reply["reason"].text == "waiting_for_apple")
            }
            line.outage = nil
            let before = line.asked.count
            shop.time.advance(seconds: 60)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 3)
            #expect(line.asked.count == before + 1)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.status(of: order) == "completed")
        }
    }

    @Test("The same if Apple doesn't know the purchase, and each caller's receipt counts separately")
    func otherBearersUnknown() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: nil)
            line.outage = AppleConnectionError(.timedOut)
            _ = try await post(payment, to: shop, as: "thief")
            _ = try await post(payment, to: shop, as: "ann", order: order)
            line.outage = nil
            line.answer = AppleResponse(
                status: 404, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode": 4040010, "errorMessage": "Transaction id not found."}"#.utf8))
            shop.time.advance(seconds: 60)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 2)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("While Apple is down one request covers all callers of a purchase, and a caller has eight variants")
    func variants() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let payment = try await shop.pay(token: nil)
            line.outage = AppleConnectionError(.timedOut)
            for number in 0..<20 {
                let reply = try await post(payment, to: shop, as: "thief", order: random(UInt64(number)))
                #expect(reply["reason"].text == "waiting_for_apple" && reply["finish"] == false)
            }
            #expect(try await shop.ledger.read { try WaitingProofTable($0).count() } == 8)
            let before = line.asked.count
            shop.time.advance(seconds: 3_600)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 0)
            #expect(line.asked.count == before + 1)
        }
    }

    // MARK: Saved first

    @Test("A saved signed transaction is granted before Apple is asked about saved receipts, which are limited (G4)")
    func saved() async throws {
        let line = AppleProxy()
        try await Shop.open(change: { $0.delivery.order = .saveThenFinish }, line: line) { shop in
            let payment = try await shop.pay(token: random(1))
            for number in 0..<8 {
                let reply = try await post(payment, to: shop, as: "thief", device: "\(number)")
                #expect(reply.status == 202 && reply["finish"] == true)
            }
            // A repetition is saved already.
            #expect(try await post(payment, to: shop, as: "thief", device: "7")["finish"] == true)
            let order = try await shop.openOrder(as: "ann")
            let honest = try await shop.pay(token: order)
            #expect(try await shop.submit(honest.signed, as: .user("ann"))["finish"] == true)
            line.outage = AppleConnectionError(.timedOut)
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 9)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(line.asked.isEmpty)
            line.outage = nil
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 1)
            #expect(line.asked.count == 1)
            #expect(try await shop.send(.get, "/v1/quarantine")["data"].list.count == 1)
        }
    }

    @Test("All callers together have sixty-four variants of one purchase, saved or waiting")
    func allCallers() async throws {
        let line = AppleProxy()
        try await Shop.open(change: { $0.delivery.order = .saveThenFinish }, line: line) { shop in
            let payment = try await shop.pay(token: random(1))
            line.outage = AppleConnectionError(.timedOut)
            for round in 0..<3 {
                for number in 0..<40 { _ = try await post(payment, to: shop, as: "thief \(round) \(number)") }
                _ = try await SavedProofs(shop.server.ledger).processAll()
            }
            #expect(
                try await shop.ledger.read { try WaitingProofTable($0).count() } == WaitingProofTable.maximumPerCaller)
        }
    }

    @Test("A proof's variant over the limit is processed at once instead of saved, and finished only if granted (G4)")
    func tooManySaved() async throws {
        try await Shop.open(change: { $0.delivery.order = .saveThenFinish }) { shop in
            let nobodys = try await shop.pay(token: nil)
            func post(_ device: Int, _ payment: Payment, as user: String) async throws -> Reply {
                try await shop.send(
                    .post, "/v1/transactions",
                    ["signedTransaction": .string(payment.signed), "deviceId": .string("\(device)")],
                    as: .user(user))
            }
            for device in 0..<8 { #expect(try await post(device, nobodys, as: "thief")["finish"] == true) }
            let ninth = try await post(8, nobodys, as: "thief")
            #expect(ninth.status == 202 && ninth["outcome"].text == "quarantined" && ninth["finish"] == false)
            let paid = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            for device in 0..<8 { _ = try await post(device, paid, as: "ann") }
            #expect(try await post(8, paid, as: "ann")["outcome"].text == "granted")
            _ = try await SavedProofs(shop.server.ledger).processAll()
            #expect(try await shop.grantCount() == 1)
        }
    }
}

import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillServer

@Suite("A receipt states what was paid, Apple states for whom") struct ReceiptLookupJourneys {
    private func submit(
        _ payment: Payment, to shop: Shop, as party: Party, orderID: OrderID? = nil
    ) async throws -> Reply {
        var body: [String: JSONValue] = [
            "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
            "productId": .string(Shop.points60),
        ]
        if let orderID { body["orderId"] = .string(orderID.description) }
        return try await shop.send(.post, "/v1/transactions", .object(body), as: party)
    }

    private func waiting(in shop: Shop) async throws -> Int64 {
        try await shop.ledger.read { try WaitingProofTable($0).count() }
    }

    @Test(
        "The token in Apple's signed copy decides, for a receipt from any caller (U1 match 1, P8)",
        arguments: Reach.allCases)
    func token(_ reach: Reach) async throws {
        let line = AppleProxy()
        try await Shop.open(reach, line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            // Ben's phone delivers it, and claims one of his own orders for it.
            let other = try await shop.openOrder(as: "ben")
            let reply = try await submit(payment, to: shop, as: .user("ben"), orderID: other)
            #expect(reply.status == 200 && reply["outcome"].text == "granted" && reply["finish"] == true)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.points(of: "ben") == 0)
            #expect(try await shop.status(of: other) == "prepared")
            #expect(line.asked == ["/inApps/v1/transactions/\(payment.id)"])

            let again = try await submit(payment, to: shop, as: .user("ann"))
            #expect(again["outcome"].text == "alreadyGranted")
            #expect(line.asked.count == 1, "what the ledger knows is not asked about")
        }
    }

    @Test(
        "Apple is down: the receipt waits in the ledger and is granted without the phone when Apple answers (U7)",
        arguments: [
            AppleConnectionError(.timedOut), AppleConnectionError(.unreachable),
            AppleConnectionError(.responseTooLarge),
        ])
    func outage(_ outage: AppleConnectionError) async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            line.outage = outage
            for _ in 0..<3 {
                let reply = try await submit(payment, to: shop, as: .user("ann"))
                #expect(reply.status == 202 && reply["outcome"].text == "accepted" && reply["finish"] == false)
                #expect(reply["reason"].text == "waiting_for_apple")
            }
            #expect(try await waiting(in: shop) == 1)
            #expect(try await shop.grantCount() == 0)

            let jobs = WaitingReceipts(shop.server.ledger)
            for _ in 0..<20 {
                shop.time.advance(seconds: 60)
                #expect(try await jobs.askAll() == 0)
            }
            #expect(line.asked.count < 20, "asked ever less often: \(line.asked.count)")
            line.outage = nil
            shop.time.advance(seconds: 3_600)
            #expect(try await jobs.askAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await waiting(in: shop) == 0)
            #expect(try await submit(payment, to: shop, as: .user("ann"))["outcome"].text == "alreadyGranted")
        }
    }

    @Test("A page, a refused key or a spent quota say nothing about the purchase either: it waits (P2, U7)")
    func noResponse() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            let page = Array("<html><body>Service Unavailable</body></html>".utf8)
            let until = shop.time.now.adding(seconds: 7_200).milliseconds
            let answers = [
                AppleResponse(status: 200, headers: [.init("Content-Type", "text/html")], body: page),
                AppleResponse(status: 503, headers: [.init("Content-Type", "text/html")], body: page),
                AppleResponse(status: 401),
                AppleResponse(
                    status: 429, headers: [.init("Retry-After", String(until))],
                    body: Array(#"{"errorCode": 4290000, "errorMessage": "Rate limit exceeded."}"#.utf8)),
            ]
            for answer in answers {
                line.answer = answer
                let reply = try await submit(payment, to: shop, as: .user("ann"))
                #expect(reply.status == 202 && reply["outcome"].text == "accepted", "\(answer.status)")
            }
            #expect(try await shop.grantCount() == 0)
            line.answer = nil
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 0, "before Apple's quota opens again")
            shop.time.advance(seconds: 7_300)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("If Apple doesn't know it, the order id beside the receipt decides, and without one it is quarantined (U1)")
    func unknown() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            line.answer = AppleResponse(
                status: 404, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode": 4040010, "errorMessage": "Transaction id not found."}"#.utf8))
            let order = try await shop.openOrder(as: "ann")
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: nil)
            let lonely = try await submit(payment, to: shop, as: .user("ann"))
            #expect(lonely.status == 202 && lonely["outcome"].text == "quarantined")
            #expect(lonely["reason"].text == "receipt_needs_order")
            let claimed = try await submit(payment, to: shop, as: .user("ann"), orderID: order)
            #expect(claimed["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("An answer about another transaction, or one that Apple never signed, grants nothing: it waits (P9)")
    func liar() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let ben = try await shop.pay(token: try await shop.openOrder(as: "ben"))
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            let forged = String(payment.signed.dropLast(4)) + "AAAA"
            for lie in [ben.signed, forged] {
                line.answer = AppleResponse(
                    status: 200, headers: [.init("Content-Type", "application/json")],
                    body: Array(#"{"signedTransactionInfo": "\#(lie)"}"#.utf8))
                let reply = try await submit(payment, to: shop, as: .user("ann"))
                #expect(reply.status == 202 && reply["outcome"].text == "accepted")
            }
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("A notification that comes first processes the purchase, and Apple is no longer asked about it (U2)")
    func notificationFirst() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let payment = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            line.outage = AppleConnectionError(.timedOut)
            #expect(try await submit(payment, to: shop, as: .user("ann"))["outcome"].text == "accepted")
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "granted")
            let asked = line.asked.count
            shop.time.advance(seconds: 60)
            #expect(try await WaitingReceipts(shop.server.ledger).askAll() == 1)
            #expect(line.asked.count == asked)
            #expect(try await waiting(in: shop) == 0)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }
}

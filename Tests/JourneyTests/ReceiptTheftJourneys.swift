import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillServer

/// A receipt hides the token that Apple signed, so a thief can post another customer's receipt with the thief's own
/// order.
@Suite("A receipt's grant goes to the customer whom Apple's signature names (V3)") struct ReceiptTheftJourneys {
    private func open(
        _ reach: Reach = .inProcess, debt: DebtPolicy = .owe, line: AppleProxy? = nil,
        _ journey: (Shop) async throws -> Void
    ) async throws {
        try await Shop.open(
            reach,
            change: { configuration in
                configuration.receipts = ReceiptTerms(policy: .provisional)
                configuration.debt = debt
            }, line: line, journey)
    }

    /// A thief's order, a victim's purchase with a token, and the victim's receipt in the thief's hands.
    private func steal(
        _ shop: Shop, product: String = Shop.points60, ordered: String = Shop.points60
    ) async throws -> (payment: Payment, thiefs: OrderID, victims: OrderID) {
        let thiefs = try await shop.openOrder(product, as: "thief")
        let victims = try await shop.openOrder(ordered, as: "victim")
        shop.time.advance(seconds: 5)
        let payment = try await shop.pay(product, token: victims)
        let taken = try await shop.post(receiptOf: payment, product, order: thiefs, as: "thief")
        #expect(taken["outcome"].text == "granted", "\(taken.body)")
        return (payment, thiefs, victims)
    }

    // MARK: The theft

    @Test(
        "The victim's signed copy brings it back, all of it, under every policy for debts", arguments: Reach.allCases)
    func theft(_ reach: Reach) async throws {
        try await open(reach, debt: .forgive) { shop in
            let (payment, thiefs, victims) = try await steal(shop)
            let wallet = try await shop.send(.get, "/v1/users/thief/wallet", as: .user("thief"))
            #expect(wallet["balances"] == ["points": 60] && wallet["held"] == ["points": 60])
            let spent = try await shop.debit(1, from: "thief", "a")
            #expect(spent.status == 409 && spent.code == "insufficient_funds")
            #expect(spent["detail"].text.contains("60 of these points are held"))

            // After the hold the thief spends them: the spent points become the thief's debt.
            shop.time.advance(seconds: 86_401)
            #expect(try await shop.debit(50, from: "thief", "b").status == 201)
            let reply = try await shop.submit(payment.signed, as: .user("victim"))
            #expect(reply.status == 200 && reply["outcome"].text == "granted" && reply["finish"] == true)
            #expect(reply["orderId"].text == victims.description && reply["userId"].text == "victim")
            #expect(try await shop.points(of: "victim") == 60)
            #expect(try await shop.points(of: "thief") == -50)
            #expect(try await shop.status(of: victims) == "completed")
            #expect(try await shop.status(of: thiefs) == "refunded")
            let history = try await shop.send(.get, "/v1/orders/\(thiefs)")["history"].list
            #expect(history.last?.at("reason").text == "moved_to_signed_buyer")
            #expect(try await shop.debit(60, from: "victim", "c").status == 201, "nothing of it is held any more")

            let again = try await shop.submit(payment.signed, as: .user("thief"))
            #expect(again["outcome"].text == "alreadyGranted" && again["grant"] == .null)
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test("The backend gets events for both customers, and the evidence names both orders")
    func events() async throws {
        try await open { shop in
            let (payment, thiefs, victims) = try await steal(shop)
            _ = try await shop.submit(payment.signed, as: .user("victim"))
            let mine = try await shop.reported("victim")
            #expect(mine.map { $0.at("type").text } == ["transfer.created", "grant.moved"])
            let moved = try #require(mine.last?.at("data"))
            #expect(moved.at("from").text == "thief" && moved.at("kind").text == "signed_buyer")
            #expect(moved.at("orderId").text == victims.description)
            let theirs = try await shop.reported("thief")
            #expect(theirs.map { $0.at("type").text } == ["grant.created", "grant.withdrawn"])
            let withdrawn = try #require(theirs.last?.at("data"))
            #expect(withdrawn.at("reason").text == "moved_to_signed_buyer")
            #expect(withdrawn.at("orderId").text == thiefs.description)
            #expect(withdrawn.at("postings").list.map { $0.at("amount") } == [-60])
            #expect(theirs.first?.at("data").at("orderId").text == thiefs.description)
            let evidence = try await shop.decisions(on: payment.id)
            #expect(evidence.map(\.decision) == ["granted", "moved"])
            #expect(evidence.last?.detail?.contains("from order \(thiefs) to order \(victims)") == true)
        }
    }

    @Test("Apple's notification and Apple's answer move it as the phone does, and reconciliation finds nothing more")
    func sources() async throws {
        let line = AppleProxy()
        try await open { shop in
            let recorder = RequestRecorder()
            _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
            shop.intercept { request in
                recorder.take(request)
                return HTTPResponse(status: 200)
            }
            _ = try await steal(shop)
            await shop.emulator.sendDueNotifications()
            let reported = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(try #require(recorder.payloads.last))],
                as: .anonymous)
            #expect(reported.status == 200)
            #expect(try await shop.points(of: ["victim", "thief"]) == [60, 0])
            let comparison = try await shop.server.ledger.compareWithApple(
                asking: try await line.serverAPI(of: shop.emulator, time: shop.time))
            #expect(comparison.driftCount <= 1, "\(comparison.differences)")
            #expect(comparison.differences.allSatisfy { $0.kind == .notificationMissed }, "\(comparison.differences)")
        }
    }

    @Test("Another user's phone moves it to the buyer too, and gets no details")
    func stranger() async throws {
        try await open { shop in
            let (payment, _, _) = try await steal(shop)
            let reply = try await shop.submit(payment.signed, as: .user("stranger"))
            #expect(reply["outcome"].text == "alreadyGranted" && reply["finish"] == true)
            #expect(reply["grant"] == .null && reply["orderId"] == .null && reply["userId"] == .null)
            #expect(try await shop.points(of: "victim") == 60)
        }
    }

    @Test("A user who lost a purchase this way has later receipts wait for ninety days; signed copies are granted")
    func distrust() async throws {
        try await open { shop in
            let (stolen, _, _) = try await steal(shop)
            _ = try await shop.submit(stolen.signed, as: .user("victim"))
            let order = try await shop.openOrder(as: "thief")
            let payment = try await shop.pay(token: order)
            let waiting = try await shop.post(receiptOf: payment, order: order, as: "thief")
            #expect(waiting.status == 202 && waiting["reason"].text == "receipt_needs_signed_copy")
            #expect(waiting["finish"] == false)
            #expect(try await shop.submit(payment.signed, as: .user("thief"))["outcome"].text == "granted")
            shop.time.advance(seconds: 90 * 86_400)
            let later = try await shop.openOrder(as: "thief")
            let bought = try await shop.pay(token: later)
            #expect(try await shop.post(receiptOf: bought, order: later, as: "thief")["outcome"].text == "granted")
        }
    }

    @Test("A second account can't sell one payment twice: a receipt's grant is held until the signed copy takes it")
    func sock() async throws {
        try await open { shop in
            let secondAccounts = try await shop.openOrder(as: "guest-sock")
            let own = try await shop.openOrder(as: "buyer")
            let payment = try await shop.pay(token: own)
            _ = try await shop.post(receiptOf: payment, order: secondAccounts, as: "guest-sock")
            #expect(try await shop.debit(60, from: "guest-sock", "a").status == 409)
            // A merge keeps the hold.
            let merged = try await shop.send(
                .post, "/v1/users/main/guests", ["guestId": "guest-sock", "reason": "signed in"])
            #expect(merged.status == 201, "\(merged.body)")
            #expect(try await shop.points(of: "main") == 60)
            #expect(try await shop.debit(60, from: "main", "b").status == 409)
            #expect(try await shop.submit(payment.signed, as: .user("buyer"))["outcome"].text == "granted")
            #expect(try await shop.debit(60, from: "buyer", "c").status == 201)
            #expect(try await shop.points(of: ["main", "guest-sock"]) == [0, 0])
        }
    }

    // MARK: The other rows

    @Test("A copy that names the owner, or no owner, confirms it and ends the hold")
    func confirmed() async throws {
        try await open { shop in
            for token in [true, false] {
                let user = token ? "ann" : "bob"
                let order = try await shop.openOrder(as: user)
                let payment = try await shop.pay(token: token ? order : nil)
                _ = try await shop.post(receiptOf: payment, order: order, as: user)
                #expect(try await shop.debit(60, from: user, "\(user) 1").status == 409)
                #expect(try await shop.submit(payment.signed, as: .user(user))["outcome"].text == "alreadyGranted")
                #expect(try await shop.debit(60, from: user, "\(user) 2").status == 201)
                #expect(
                    try await shop.decisions(on: payment.id).last?.ground == (token ? "token" : "order_id"))
            }
        }
    }

    @Test("An unknown token contests the grant: it stays held, with one event, and is decided when the token is known")
    func contested() async throws {
        try await open { shop in
            let thiefs = try await shop.openOrder(as: "thief")
            let token = UniqueID(high: 0x1234, low: 0x5678)
            let payment = try await shop.pay(token: token)
            _ = try await shop.post(receiptOf: payment, order: thiefs, as: "thief")
            for _ in 0..<2 {
                let reply = try await shop.submit(payment.signed, as: .user("victim"))
                #expect(reply.status == 202 && reply["outcome"].text == "quarantined" && reply["finish"] == false)
                #expect(reply["reason"].text == "unknown_token")
                #expect(try await shop.submit(payment.signed, as: .user("thief"))["outcome"].text == "alreadyGranted")
            }
            shop.time.advance(seconds: 100_000)
            #expect(try await shop.debit(1, from: "thief", "a").status == 409, "the hold does not end")
            #expect(
                try await shop.reported("thief").map { $0.at("type").text } == ["grant.created", "grant.contested"])
            #expect(try await shop.decisions(on: payment.id).map(\.decision) == ["granted", "contested"])

            let registered = try await shop.send(.put, "/v1/users/victim/account-tokens/\(token)")
            #expect(registered.status == 201 || registered.status == 200, "\(registered.body)")
            #expect(try await shop.submit(payment.signed, as: .user("victim"))["outcome"].text == "alreadyGranted")
            #expect(try await shop.points(of: ["victim", "thief"]) == [60, 0])
        }
    }

    @Test("An operator ends a contest for the owner, and then no copy moves it")
    func operatorConfirms() async throws {
        try await open { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: UniqueID(high: 0x1234, low: 0x5678))
            _ = try await shop.post(receiptOf: payment, order: order, as: "ann")
            _ = try await shop.submit(payment.signed, as: .user("eve"))
            let decided = try await shop.send(
                .post, "/v1/quarantine/\(payment.id)/claims",
                ["userId": "ann", "reason": "showed the mail", "operator": "kim", "environment": "sandbox"])
            #expect(decided.status == 200 && decided["outcome"].text == "alreadyGranted", "\(decided.body)")
            #expect(try await shop.debit(60, from: "ann", "a").status == 201)
            #expect(try await shop.submit(payment.signed, as: .user("eve"))["outcome"].text == "alreadyGranted")
        }
    }

    @Test("An order of another product: back into quarantine, and only its customer can claim it")
    func contradicting() async throws {
        try await open { shop in
            let (payment, thiefs, victims) = try await steal(shop, ordered: Shop.points300)
            let reply = try await shop.submit(payment.signed, as: .user("victim"))
            #expect(reply.status == 202 && reply["reason"].text == "contradicts_order" && reply["finish"] == false)
            #expect(try await shop.points(of: "thief") == 0)
            #expect(try await shop.status(of: thiefs) == "refunded")
            #expect(try await shop.status(of: victims) == "prepared")
            #expect(try await shop.reported("thief").last?.at("type").text == "grant.withdrawn")
            func claim(_ user: String) async throws -> Reply {
                try await shop.send(
                    .post, "/v1/quarantine/\(payment.id)/claims",
                    [
                        "userId": .string(user), "reason": "paid for it", "operator": "kim",
                        "environment": "sandbox",
                    ])
            }
            #expect(try await claim("thief").status == 409)
            let claimed = try await claim("victim")
            #expect(claimed["outcome"].text == "granted", "\(claimed.body)")
            #expect(try await shop.points(of: ["victim", "thief"]) == [60, 0])
            #expect(try await shop.submit(payment.signed, as: .user("victim"))["outcome"].text == "alreadyGranted")

            // A refund applies to the current owner.
            shop.time.advance(seconds: 60)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
            _ = try await shop.submit(refunded["signedTransaction"].text, as: .backend)
            #expect(try await shop.points(of: ["victim", "thief"]) == [0, 0])
        }
    }

    @Test("A refund in between applies to the thief, and its reversal to the buyer")
    func refundBetween() async throws {
        try await open { shop in
            let (payment, _, victims) = try await steal(shop)
            shop.time.advance(seconds: 60)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
            let reply = try await shop.submit(refunded["signedTransaction"].text, as: .user("victim"))
            #expect(reply["outcome"].text == "revoked")
            #expect(try await shop.points(of: ["thief", "victim"]) == [0, 0])
            #expect(try await shop.submit(payment.signed, as: .user("victim"))["outcome"].text == "revoked")
            shop.time.advance(seconds: 60)
            let reversed = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refundReversal")
            let given = try await shop.submit(reversed["signedTransaction"].text, as: .user("victim"))
            #expect(given["outcome"].text == "granted" && given["orderId"].text == victims.description)
            #expect(try await shop.points(of: ["thief", "victim"]) == [0, 60])
        }
    }

    @Test("No copy undoes a support transfer: an older one is recorded, a new token is reported once")
    func supportTransfer() async throws {
        try await open { shop in
            let (payment, _, _) = try await steal(shop)
            let moved = try await shop.send(
                .post, "/v1/transfers",
                [
                    "from": "thief", "to": "cousin", "originalTransactionId": .string(payment.id),
                    "environment": "sandbox", "reason": "bought for a cousin", "operator": "kim",
                ])
            #expect(moved.status == 201, "\(moved.body)")
            #expect(try await shop.debit(10, from: "cousin", "a").status == 201, "a person decided: nothing is held")
            for _ in 0..<2 {
                let reply = try await shop.submit(payment.signed, as: .user("victim"))
                #expect(reply["outcome"].text == "alreadyGranted" && reply["grant"] == .null)
            }
            #expect(try await shop.points(of: ["cousin", "victim"]) == [50, 0])
            let stored = try await shop.decisions(on: payment.id).filter { $0.decision == "kept" }
            #expect(stored.map(\.ground) == ["token_changed"])
            let reported = try await shop.reported("cousin").filter { $0.at("type").text == "grant.contested" }
            #expect(reported.map { $0.at("data").at("reason").text } == ["token_changed"])
        }
    }

    // MARK: Without and with a key

    @Test("Without a key a receipt waits in quarantine, unless the shop configures otherwise")
    func quarantine() async throws {
        try await Shop.open(change: { $0.receipts = ReceiptTerms() }) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            let reply = try await shop.post(receiptOf: payment, order: order, as: "ann")
            #expect(reply.status == 202 && reply["reason"].text == "receipt_needs_signed_copy")
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "granted")
        }
    }

    @Test("A key that is configured later is used to ask Apple about every grant by a receipt")
    func keyLater() async throws {
        let line = AppleProxy()
        try await open { shop in
            let (payment, _, _) = try await steal(shop)
            let api = try await line.serverAPI(of: shop.emulator, time: shop.time)
            let server = try Server(
                configuration: shop.server.configuration, database: shop.ledger, clock: { shop.time.now },
                entropy: RandomBytes.make, serverAPI: api)
            line.outage = AppleConnectionError(.unreachable)
            #expect(try await ReceiptConfirmations(server.ledger).askAll() == 0)
            line.outage = nil
            shop.time.advance(seconds: 3_600)
            #expect(try await ReceiptConfirmations(server.ledger).askAll() == 1)
            #expect(line.asked.last == "/inApps/v1/transactions/\(payment.id)")
            #expect(try await shop.points(of: ["victim", "thief"]) == [60, 0])
            let count = line.asked.count
            shop.time.advance(seconds: 86_400)
            #expect(try await ReceiptConfirmations(server.ledger).askAll() == 0)
            #expect(line.asked.count == count, "what Apple signed is asked about no more")
        }
    }

    @Test("A purchase that Apple knows a little later is checked several times before its points are released")
    func knownLater() async throws {
        let line = AppleProxy()
        try await open(line: line) { shop in
            line.answer = AppleProxy.notFound
            _ = try await steal(shop)
            let confirmations = ReceiptConfirmations(shop.server.ledger)
            for minute in 0..<20 {
                if minute == 10 { line.answer = nil }
                _ = try await confirmations.askAll()
                shop.time.advance(seconds: 60)
            }
            #expect(try await shop.points(of: ["victim", "thief"]) == [60, 0])
        }
    }

    @Test("Apple is asked once more before points that depend on a receipt are released, however short the hold")
    func beforeTheHoldEnds() async throws {
        let line = AppleProxy()
        try await Shop.open(
            change: { $0.receipts = ReceiptTerms(policy: .provisional, holdHours: 1) }, line: line
        ) { shop in
            line.answer = AppleProxy.notFound
            _ = try await steal(shop)
            for minute in 0..<60 {
                if minute == 30 { line.answer = nil }
                _ = try await ReceiptConfirmations(shop.server.ledger).askAll()
                shop.time.advance(seconds: 60)
            }
            #expect(try await shop.points(of: ["victim", "thief"]) == [60, 0])
        }
    }

    @Test("An order may be five minutes younger than the purchase beside it, and no more")
    func clock() async throws {
        try await open { shop in
            for (seconds, outcome) in [(299, "granted"), (302, "quarantined")] {
                let payment = try await shop.pay(token: nil)
                shop.time.advance(seconds: Int64(seconds))
                let order = try await shop.openOrder(as: "ann")
                let reply = try await shop.post(receiptOf: payment, order: order, as: "ann")
                #expect(reply["outcome"].text == outcome, "\(reply.body)")
            }
        }
    }
}

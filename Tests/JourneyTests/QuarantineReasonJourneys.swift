import Testing
import TillAppStore
import TillBilling
import TillLedger
import TillServer

/// A caller chooses the data beside a proof, and may submit it any number of times.
@Suite("Different data beside a quarantined purchase") struct QuarantineReasonJourneys {
    private func random(_ number: UInt64) -> OrderID {
        UniqueID(high: 0x0123_4567_89AB_4000 | number, low: 0x8000_0000_0000_0001)
    }

    private func quarantineEvents(in shop: Shop) async throws -> Int {
        try await shop.send(.get, "/v1/events?limit=100")["data"].list
            .filter { $0.at("type").text == "transaction.quarantined" }.count
    }

    @Test("A hundred posts with different data write one event, and evidence once for each reason and caller")
    func flipFlop() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "ann")
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: nil)
            for number in 0..<50 {
                let plain = try await shop.submit(payment.signed, as: .user("thief"))
                #expect(plain["reason"].text == "no_owner")
                let claimed = try await shop.submit(
                    payment.signed, as: .user("thief"), orderID: random(UInt64(number)))
                #expect(claimed["reason"].text == "claimed_order_unknown", "the reply is about these words")
            }
            #expect(try await quarantineEvents(in: shop) == 1)
            let evidence = try await shop.decisions(on: payment.id)
            #expect(evidence.map(\.ground) == ["no_owner", "claimed_order_unknown"])
            let listed = try await shop.send(.get, "/v1/quarantine")["data"].list
            #expect(listed.map { $0.at("reason").text } == ["no_owner"])
            // Another user's data is recorded for that user, and the buyer's data grants it.
            _ = try await shop.submit(payment.signed, as: .user("ben"), orderID: random(99))
            #expect(try await shop.decisions(on: payment.id).map(\.caller).last == "user:ben")
            let granted = try await shop.submit(payment.signed, as: .user("ann"), orderID: order)
            #expect(granted["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("Six hundred posts of one proof with different order ids write a limited number of rows, with a count of 600")
    func sixHundred() async throws {
        try await Shop.open(.socket) { shop in
            let order = try await shop.openOrder(Shop.points300, as: "thief")
            let payment = try await shop.pay(token: nil)
            func rows() async throws -> [Int64] {
                try await shop.ledger.read { connection in
                    try connection.query(
                        """
                        SELECT count(*) AS count FROM evidence UNION ALL SELECT count(*) FROM outbox \
                        UNION ALL SELECT count(*) FROM quarantine_reasons UNION ALL SELECT count(*) FROM proofs \
                        UNION ALL SELECT count(*) FROM transactions
                        """, []
                    ) { $0.integer("count") }
                }
            }
            for number in 0..<600 {
                let user = number < 300 ? "thief" : "thief-\(number % 20)"
                let words: OrderID? = number % 3 == 0 ? nil : number % 3 == 1 ? order : random(UInt64(number))
                let reply = try await shop.submit(payment.signed, as: .user(user), orderID: words)
                #expect(reply.status == 202)
            }
            let (evidence, events) = (try await rows()[0], try await rows()[1])
            #expect(evidence <= 20, "five callers for each of four reasons")
            #expect(events <= 2)
            #expect(Array(try await rows()[3...]) == [1, 1])
            let listed = try #require(try await shop.send(.get, "/v1/quarantine")["data"].list.first)
            let reasons = listed.at("reasons").list
            #expect(Set(reasons.map { $0.at("reason").text }).count == reasons.count)
            #expect(reasons.reduce(0) { $0 + ($1.at("count").int ?? 0) } == 600)
            let before = try await rows()
            for number in 0..<60 {
                _ = try await shop.submit(payment.signed, as: .user("eve-\(number)"), orderID: random(UInt64(number)))
            }
            #expect(try await rows() == before)
        }
    }

    @Test("A newer copy from Apple that gives another reason is reported and recorded")
    func news() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let payment = try await shop.pay(token: random(1))
            line.answer = AppleResponse(
                status: 404, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode": 4040010, "errorMessage": "Transaction id not found."}"#.utf8))
            let receipt = try await shop.send(
                .post, "/v1/transactions",
                [
                    "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                    "productId": .string(Shop.points60),
                ], as: .user("ann"))
            #expect(receipt["reason"].text == "receipt_needs_order")
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["reason"].text == "unknown_token")
            #expect(try await quarantineEvents(in: shop) == 2)
            let listed = try await shop.send(.get, "/v1/quarantine")["data"].list
            #expect(listed.map { $0.at("reason").text } == ["unknown_token"])
        }
    }

    @Test("A device id can't imitate another field of the evidence, which names no device (R6)")
    func forgedField() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let device = #"x; reason "granted" (li), order_id matched"#
            _ = try await shop.send(
                .post, "/v1/transactions",
                ["signedTransaction": .string(payment.signed), "deviceId": .string(device)], as: .user("thief"))
            let detail = try #require(try await shop.decisions(on: payment.id).first?.detail)
            #expect(detail.contains("device_id sent") && !detail.contains("(li)"), "\(detail)")
        }
    }

    @Test("The evidence names the first five callers for each reason, also for the recorded reason")
    func sameReason() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: random(1))
            for user in ["thief", "ann", "ann"] {
                #expect(try await shop.submit(payment.signed, as: .user(user))["reason"].text == "unknown_token")
            }
            #expect(try await shop.decisions(on: payment.id).map(\.caller) == ["user:thief", "user:ann"])
            for number in 0..<20 { _ = try await shop.submit(payment.signed, as: .user("eve \(number)")) }
            #expect(try await shop.decisions(on: payment.id).count == 5)
        }
    }
}

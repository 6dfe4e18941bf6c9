import Testing
import TillBilling
import TillHTTP
import TillJSON

@Suite("Concurrent purchases") struct CrowdJourneys {
    @Test("One purchase from the app, from Apple and as a receipt, all at once: one grant (O8, U4, U8)")
    func allSources() async throws {
        try await Shop.open(.socket) { shop in
            for round in 0..<5 {
                let user = "u\(round)"
                let order = try await shop.openOrder(as: user)
                let (payment, notices) = try await Self.bought(shop, order)
                var requests: [(path: String, body: JSONValue, party: Party)] = []
                for _ in 0..<8 {
                    requests.append(("/v1/transactions", ["signedTransaction": .string(payment.signed)], .user(user)))
                }
                for number in 0..<4 {
                    let notice = notices[number % notices.count]
                    requests.append(("/v1/notifications/apple", ["signedPayload": .string(notice)], .anonymous))
                    requests.append(
                        (
                            "/v1/transactions",
                            [
                                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                                "productId": .string(Shop.points60), "orderId": .string(order.description),
                            ], .user(user)
                        ))
                }
                let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
                    for (path, body, party) in requests.shuffled() {
                        group.addTask {
                            let reply = try await shop.send(.post, path, body, as: party)
                            #expect(reply.status == 200, "\(path): \(reply.body)")
                            return reply["outcome"].text
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(outcomes.filter { $0 == "granted" }.count <= 1)
                #expect(outcomes.filter { $0 == "granted" || $0 == "alreadyGranted" }.count == 12)
                #expect(try await shop.points(of: user) == 60)
                #expect(try await shop.status(of: order) == "completed")
                #expect(try await shop.grantCount() == Int64(round + 1))
                #expect(try await shop.send(.get, "/v1/users/\(user)/wallet/postings")["data"].list.count == 1)
            }
        }
    }

    /// A purchase, and Apple's notification of it as two deliveries.
    private static func bought(_ shop: Shop, _ order: OrderID) async throws -> (Payment, [String]) {
        let recorder = RequestRecorder()
        _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        shop.intercept { request in
            recorder.take(request)
            return HTTPResponse(status: 200)
        }
        let payment = try await shop.pay(token: order)
        await shop.emulator.sendDueNotifications()
        shop.intercept(nil)
        _ = try await shop.ask(.put, "/emulator/notifications", ["url": .null])
        try #require(!recorder.payloads.isEmpty)
        return (payment, recorder.payloads)
    }

    @Test("40 users buy, spend and are refunded at the same time: each wallet ends exact (invariant 4, U5)")
    func someUsers() async throws { try await shopping(users: 40) }

    @Test("The same with 200 users", .slow)
    func manyUsers() async throws { try await shopping(users: 200) }

    private func shopping(users: Int) async throws {
        try await Shop.open(.socket) { shop in
            var purchases: [(user: String, order: OrderID, payment: Payment, refunded: String?)] = []
            for number in 0..<users {
                let order = try await shop.openOrder(as: "u\(number)")
                // Each has its own account, because a receipt lists everything its account has bought.
                let payment = try await shop.pay(token: order, account: "u\(number)")
                purchases.append(("u\(number)", order, payment, nil))
            }
            shop.time.advance(seconds: 60)
            for number in purchases.indices where number.isMultiple(of: 3) {
                let reply = try await shop.ask(.post, "/emulator/transactions/\(purchases[number].payment.id)/refund")
                purchases[number].refunded = reply["signedTransaction"].text
            }
            let spent = try await withThrowingTaskGroup(of: (String, Int64).self) { group in
                for (user, _, payment, refunded) in purchases {
                    for proof in [payment.signed, payment.signed, refunded].compactMap({ $0 }) {
                        group.addTask {
                            let reply = try await shop.submit(proof, as: .user(user))
                            #expect(reply.status == 200)
                            return (user, 0)
                        }
                    }
                    for number in 0..<3 {
                        group.addTask {
                            let body: JSONValue = [
                                "currency": "points", "amount": 25, "reference": .string("\(user)-\(number)"),
                            ]
                            let reply = try await shop.send(.post, "/v1/users/\(user)/wallet/debits", body)
                            #expect([201, 409].contains(reply.status))
                            return (user, reply.status == 201 ? 25 : 0)
                        }
                    }
                }
                return try await group.reduce(into: [String: Int64]()) { $0[$1.0, default: 0] += $1.1 }
            }
            for (user, order, _, refunded) in purchases {
                let paid: Int64 = refunded == nil ? 60 : 0
                #expect(try await shop.points(of: user) == paid - (spent[user] ?? 0), "\(user)")
                #expect((spent[user] ?? 0) <= 60)
                #expect(try await shop.status(of: order) == (refunded == nil ? "completed" : "refunded"))
            }
        }
    }
}

import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillThreads

@testable import TillServer

@Suite("Revocation, with the whole server (U7, field G7)", .timeLimit(.minutes(3))) struct RevocationJourneys {
    @Test("Good certificates: granted; each certificate is checked once", arguments: Reach.allCases)
    func good(_ reach: Reach) async throws {
        try await RevocationAuthority.with { authority in
            try await authority.shop(.hard, reach) { shop in
                for number in 0..<3 {
                    let order = try await shop.openOrder(as: "u1")
                    let reply = try await shop.submit(
                        authority.transaction(number, token: order), as: .user("u1"))
                    #expect(reply["outcome"].text == "granted" && reply["finish"] == true)
                }
                #expect(authority.takeQuestions().sorted() == ["/intermediate", "/leaf"])
                #expect(try await Self.doubts(shop) == 0)
            }
        }
    }

    @Test(
        "A revoked certificate: a refusal with its own code, final, with date and reason, logged (P9)",
        arguments: Reach.allCases, [RevocationPolicy.soft, .hard])
    func revoked(_ reach: Reach, _ policy: RevocationPolicy) async throws {
        try await RevocationAuthority.with { authority in
            let date = authority.time.now.adding(seconds: -3_600)
            authority.revoke(at: date, reason: "keyCompromise")
            try await authority.shop(policy, reach) { shop in
                let order = try await shop.openOrder(as: "u1")
                // Dated long before, which the holder of the key can forge.
                let proof = try authority.transaction(
                    1, token: order, signedAt: authority.time.now.adding(seconds: -86_400))
                for _ in 0..<2 {
                    let reply = try await shop.submit(proof, as: .user("u1"))
                    #expect(reply.status == 422 && reply.code == "certificate_revoked")
                    #expect(reply["retryable"] == false && reply["finish"].isNull)
                }
                let logged = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: nil, limit: 9) }
                #expect(logged.map(\.code) == ["certificate_revoked"], "equal ones are counted")
                let detail = logged.first?.detail ?? ""
                #expect(detail.contains(date.rfc3339.prefix(19)) && detail.contains("keyCompromise"))
                #expect(try await shop.grantCount() == 0)
                #expect(try await shop.status(of: order) == "prepared")
                let notification = try Self.notification(authority, order, 2)
                #expect(try await Signed.post(notification, to: shop).code == "certificate_revoked")
            }
        }
    }

    @Test("A replaced certificate: its earlier signatures stay good, its later ones do not")
    func superseded() async throws {
        try await RevocationAuthority.with { authority in
            authority.revoke(at: authority.time.now.adding(seconds: -3_600), reason: "superseded")
            try await authority.shop(.hard) { shop in
                for (number, age, outcome) in [(1, Int64(-7_200), "granted"), (2, -1_800, "")] {
                    let order = try await shop.openOrder(as: "u1")
                    let signedAt = authority.time.now.adding(seconds: age)
                    let proof = try authority.transaction(number, token: order, signedAt: signedAt)
                    let reply = try await shop.submit(proof, as: .user("u1"))
                    #expect(reply["outcome"].text == outcome)
                    #expect(reply.code == (outcome.isEmpty ? "certificate_revoked" : ""))
                }
            }
        }
    }

    /// Everything a responder can do except answer.
    private static let outages: [RevocationAuthority.Conduct] = [
        .page(status: 200), .page(status: 503), .page(status: 302), .huge, .silent,
    ]

    @Test(
        "Apple is down, soft: granted on the signature, with a note; checked again when Apple is back (U7)",
        arguments: Reach.allCases)
    func softOutage(_ reach: Reach) async throws {
        try await RevocationAuthority.with { authority in
            try await authority.shop(.soft, reach) { shop in
                for (number, conduct) in Self.outages.enumerated() {
                    authority.behave(conduct)
                    shop.time.advance(seconds: 600)
                    _ = authority.takeQuestions()
                    let order = try await shop.openOrder(as: "u1")
                    let proof = try authority.transaction(number, token: order)
                    let reply = try await shop.submit(proof, as: .user("u1"))
                    #expect(reply["outcome"].text == "granted" && reply["finish"] == true, "\(conduct)")
                    #expect(authority.takeQuestions().count == 2)
                    #expect(try await Self.doubts(shop) == number + 1)
                    // No further requests are sent during the outage.
                    let again = try await shop.submit(proof, as: .user("u1"))
                    #expect(again["outcome"].text == "alreadyGranted")
                    #expect(authority.takeQuestions().isEmpty)
                }
                authority.behave(.honest)
                shop.time.advance(seconds: 600)
                let order = try await shop.openOrder(as: "u1")
                let reply = try await shop.submit(authority.transaction(99, token: order), as: .user("u1"))
                #expect(reply["outcome"].text == "granted")
                #expect(try await Self.doubts(shop) == Self.outages.count)
                #expect(try await Signed.refusals(in: shop.ledger).isEmpty)
            }
        }
    }

    @Test("A purchase that waits for Apple keeps no place from other purchases")
    func places() async throws {
        try await RevocationAuthority.with { authority in
            try await authority.shop(.soft) { shop in
                let inside = Locked<[Int]>([])
                authority.whenAsked { inside.withLock { $0.append(shop.server.purchases.inside) } }
                for number in 0..<3 {
                    let order = try await shop.openOrder(as: "u1")
                    let reply = try await shop.submit(authority.transaction(number, token: order), as: .user("u1"))
                    #expect(reply["outcome"].text == "granted")
                    // The signer is known from now on; the doubt of an outage ends, so the responder is asked again.
                    authority.behave(.page(status: 503))
                    shop.time.advance(seconds: number == 0 ? 8 * 86_400 : 600)
                }
                #expect(inside.withLock { $0 } == [0, 0, 0, 0, 0, 0] && shop.server.purchases.inside == 0)
            }
        }
    }

    @Test(
        "Apple is down, hard: try again later, nothing refused, nothing finished; granted when Apple is back (U7)",
        arguments: Reach.allCases)
    func hardOutage(_ reach: Reach) async throws {
        try await RevocationAuthority.with { authority in
            try await authority.shop(.hard, reach) { shop in
                let order = try await shop.openOrder(as: "u1")
                let proof = try authority.transaction(1, token: order)
                for conduct in Self.outages {
                    authority.behave(conduct)
                    shop.time.advance(seconds: 600)
                    for _ in 0..<2 {
                        let reply = try await shop.send(
                            .post, "/v1/transactions", ["signedTransaction": .string(proof)], as: .user("u1"),
                            headers: [("Accept-Language", "zh"), ("Idempotency-Key", "k1")])
                        #expect(reply.status == 503 && reply.code == "revocation_unknown", "\(conduct)")
                        #expect(reply["retryable"] == true && reply["finish"].isNull && reply["outcome"].isNull)
                        #expect(reply.headers["Retry-After"] == "30")
                        #expect(reply["title"].text.contains("没有丢失任何内容"))
                    }
                }
                #expect(try await Signed.refusals(in: shop.ledger).isEmpty)
                #expect(try await shop.grantCount() == 0)
                authority.behave(.honest)
                shop.time.advance(seconds: 600)
                let reply = try await shop.send(
                    .post, "/v1/transactions", ["signedTransaction": .string(proof)], as: .user("u1"),
                    headers: [("Idempotency-Key", "k1")])
                #expect(reply["outcome"].text == "granted" && reply["finish"] == true)
                #expect(try await Self.doubts(shop) == 0)
            }
        }
    }

    @Test(
        "No server at the responder's address: the same, soft and hard", arguments: [RevocationPolicy.soft, .hard])
    func noListener(_ policy: RevocationPolicy) async throws {
        try await RevocationAuthority.with { authority in
            await authority.goAway()
            try await authority.shop(policy) { shop in
                let order = try await shop.openOrder(as: "u1")
                let reply = try await shop.submit(authority.transaction(1, token: order), as: .user("u1"))
                #expect(reply.status == (policy == .soft ? 200 : 503))
            }
        }
    }

    @Test("A hundred buyers at once cause two requests")
    func crowd() async throws {
        try await RevocationAuthority.with { authority in
            try await authority.shop(.hard, .socket) { shop in
                var proofs: [String] = []
                for number in 0..<100 {
                    proofs.append(
                        try authority.transaction(number, token: try await shop.openOrder(as: "u\(number)")))
                }
                let all = proofs
                let granted = await withTaskGroup(of: Bool.self) { group in
                    for (number, proof) in all.enumerated() {
                        group.addTask {
                            (try? await shop.submit(proof, as: .user("u\(number)")))?["outcome"].text == "granted"
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(granted == 100)
                #expect(authority.takeQuestions().sorted() == ["/intermediate", "/leaf"])
            }
        }
    }

    @Test("A notification during an outage is stored and answered 200, and processed when Apple is back (U4, U7)")
    func notification() async throws {
        try await RevocationAuthority.with { authority in
            authority.behave(.page(status: 503))
            try await authority.shop(.hard) { shop in
                let order = try await shop.openOrder(as: "u1")
                let payload = try Self.notification(authority, order, 1)
                #expect(try await Signed.post(payload, to: shop).status == 200)
                let jobs = PendingNotifications(shop.server.ledger)
                #expect(try await jobs.processAll() == 0)
                #expect(try await Signed.stored(in: shop.ledger).map(\.state) == [.pending])
                #expect(try await shop.grantCount() == 0)
                authority.behave(.honest)
                shop.time.advance(seconds: 600)
                #expect(try await jobs.processAll() == 1)
                #expect(try await shop.status(of: order) == "completed")
                #expect(try await Signed.refusals(in: shop.ledger).isEmpty)
            }
        }
    }

    @Test("A notification that waited for Apple and has a revoked signer is never processed")
    func notificationOfRevoked() async throws {
        try await RevocationAuthority.with { authority in
            authority.behave(.page(status: 503))
            try await authority.shop(.hard) { shop in
                let order = try await shop.openOrder(as: "u1")
                let payload = try Self.notification(authority, order, 1)
                #expect(try await Signed.post(payload, to: shop).status == 200)
                authority.revoke(at: authority.time.now.adding(seconds: -60), reason: "keyCompromise")
                authority.behave(.honest)
                shop.time.advance(seconds: 600)
                for _ in 0..<2 { #expect(try await PendingNotifications(shop.server.ledger).processAll() == 0) }
                let stored = try #require(await Signed.stored(in: shop.ledger).first)
                #expect(stored.state == .stuck && stored.detail.hasPrefix("certificate_revoked: "))
                #expect(try await shop.grantCount() == 0)
            }
        }
    }

    @Test("Certificates without a responder address: soft accepts their receipts with a note, hard lets them wait")
    func noAddress() async throws {
        for (policy, status) in [(RevocationPolicy.soft, 200), (.hard, 503)] {
            try await RevocationAuthority.with { authority in
                try await authority.shop(policy) { shop in
                    let order = try await shop.openOrder(as: "u1")
                    let payment = try await shop.pay(token: order)
                    let reply = try await shop.send(
                        .post, "/v1/transactions",
                        [
                            "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                            "productId": .string(Shop.points60), "orderId": .string(order.description),
                        ], as: .user("u1"))
                    #expect(reply.status == status)
                    #expect(try await Self.doubts(shop) == (policy == .soft ? 1 : 0))
                    #expect(authority.takeQuestions().isEmpty)
                }
            }
        }
    }

    @Test("The addresses in a forger's certificates are never asked. Nor is any address when checking is off")
    func strangers() async throws {
        try await RevocationAuthority.with { forger in
            try await RevocationAuthority.with { authority in
                for policy in [RevocationPolicy.hard, .off] {
                    try await authority.shop(policy) { shop in
                        let order = try await shop.openOrder(as: "u1")
                        let forged = try await shop.submit(forger.transaction(1, token: order), as: .user("u1"))
                        #expect(forged.status == 422 && forged.code == "chain_untrusted")
                        let good = try await shop.submit(authority.transaction(1, token: order), as: .user("u1"))
                        #expect(good["outcome"].text == "granted")
                        #expect(authority.takeQuestions().count == (policy == .off ? 0 : 2))
                    }
                }
                #expect(forger.takeQuestions().isEmpty)
            }
        }
    }

    @Test("A server without the effect for asking Apple sends no request, whatever its configuration")
    func noEffect() async throws {
        try await Shop.open(change: { $0.apple.revocation = .hard }) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
            #expect(try await Self.doubts(shop) == 0)
        }
    }

    // MARK: Signed payloads and the ledger

    private static func notification(
        _ authority: RevocationAuthority, _ order: OrderID, _ number: Int
    ) throws -> String {
        let nested = try authority.transaction(number, token: order)
        return try Signed.notification(
            ["signedTransactionInfo": .string(nested)],
            ["signedDate": .int(authority.time.now.milliseconds), "notificationUUID": .string("n\(number)")],
            by: authority.sign)
    }

    /// The number of decisions that rest on a signature alone, by their evidence.
    private static func doubts(_ shop: Shop) async throws -> Int {
        try await shop.ledger.read { connection in
            try connection.query(
                "SELECT ground FROM evidence WHERE decision = 'revocation_unknown'", []
            ) { $0.text("ground") }
        }.filter { $0 == "accepted_on_signature" }.count
    }
}

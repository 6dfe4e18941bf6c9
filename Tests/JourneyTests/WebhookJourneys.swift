import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillThreads

@Suite("Events for the app's backend") struct WebhookJourneys {
    /// `grant.created u1#1`, oldest first, and the events themselves.
    private func feed(_ shop: Shop) async throws -> (names: [String], events: [JSONValue]) {
        let events = try await shop.send(.get, "/v1/events?limit=100")["data"].list
        let names = events.map { event in
            event.at("type").text + event.at("userId").text.replacing(/^./) { " \($0.output)" }
                + (event.at("userSequence").int.map { "#\($0)" } ?? "")
        }
        return (names, events)
    }

    @Test("A purchase, its refund and the refund's reversal are events with the moved points and per-user numbers")
    func grants() async throws {
        try await Shop.open { shop in
            let payment = try await shop.purchase(as: "u1")
            _ = try await shop.purchase(as: "u2")
            _ = try await shop.refund(payment.id, by: "u1")
            _ = try await shop.refund(payment.id, reversal: true, by: "u1")
            let (names, events) = try await feed(shop)
            #expect(
                names == ["grant.created u1#1", "grant.created u2#1", "grant.revoked u1#2", "grant.reinstated u1#3"])
            let data = events[0].at("data")
            #expect(data.at("transactionId").text == payment.id && data.at("productId").text == Shop.points60)
            #expect(data.at("quantity") == 1 && data.at("price") == ["amount": 600, "currency": "CNY"])
            #expect(UniqueID(data.at("orderId").text) != nil && UniqueID(data.at("grantId").text) != nil)
            #expect(events.allSatisfy { $0.at("environment") == "Sandbox" && $0.at("data").at("environment").isNull })
            func moved(_ event: JSONValue) -> [String] {
                event.at("data").at("postings").list.map {
                    "\($0.at("account").text) \($0.at("currency").text) \($0.at("amount").int ?? 0) "
                        + $0.at("kind").text
                }
            }
            #expect(moved(events[0]) == ["user:u1 points 60 purchase"])
            #expect(moved(events[2]) == ["user:u1 points -60 refund"])
            #expect(moved(events[3]) == ["user:u1 points 60 refund_reversal"])
            #expect(events[2].at("data").at("grantId") == data.at("grantId"))
            #expect(Set(events.map { $0.at("id").text }).count == 4)
            // A repeated event is the same, whatever happened since.
            #expect(try await feed(shop).events[0] == events[0])
        }
    }

    @Test("A transfer names both accounts, and an unclaimed purchase its reason")
    func movedAndStray() async throws {
        try await Shop.open { shop in
            let payment = try await shop.purchase("com.example.learn.pro", as: "guest")
            let merged = try await shop.merge("guest", into: "ann")
            let stray = try await shop.pay(token: nil)
            _ = try await shop.submit(stray.signed, as: .user("u1"))
            let (names, events) = try await feed(shop)
            #expect(
                names == [
                    "grant.created guest#1", "transfer.created ann#1", "grant.moved ann#2", "guest.merged guest#2",
                    "guest.merged ann#3", "transaction.quarantined",
                ])
            let transfer = events[1].at("data")
            #expect(transfer.at("transferId") == merged["id"] && transfer.at("kind") == "guest_merge")
            #expect(transfer.at("from") == "guest" && transfer.at("to") == "ann" && transfer.at("grantCount") == 1)
            #expect(transfer.at("grants").list.map { $0.at("transactionId").text } == [payment.id])
            #expect(events[1].at("environment").isNull)
            let moved = events[2].at("data")
            #expect(moved.at("transactionId").text == payment.id && moved.at("entitlement") == "pro")
            #expect(moved.at("from") == "guest" && moved.at("to") == "ann" && moved.at("transferId") == merged["id"])
            #expect(events[3].at("data").at("transferId") == merged["id"] && events[4].at("data").at("from") == "guest")
            #expect(events[5].at("data").at("reason") == "no_owner")
            #expect(events[5].at("data").at("transactionId").text == stray.id)
            #expect(try await shop.send(.get, "/v1/events", as: .user("u1")).status == 403)
        }
    }

    @Test(
        "The published library accepts what till serve pushes to a socket, with the old secret and the new",
        .enabled(if: WebhookPython.isInstalled, WebhookPython.isMissing))
    func served() async throws {
        let secrets = (1...2).map { "whsec_" + Base64.encode([UInt8](repeating: $0, count: 32)) }
        let got = Locked<[HTTPRequest]>([])
        let receiver = try Listener(bodyLimit: { _, _ in 1 << 20 }) { request in
            got.withLock { $0.append(request) }
            return HTTPResponse(status: 204)
        }
        try await ServerProcess.withFiles { files in
            let endpoint: JSONValue = [
                "id": "backend", "url": .string("http://127.0.0.1:\(receiver.port)/hook"),
                "secret": .string(secrets[1]), "previousSecrets": [.string(secrets[0])],
            ]
            try files.configure("webhooks", ["allowPrivate": true, "endpoints": [endpoint]])
            let (process, port) = try await files.start()
            try await files.buy(port, as: "u1")
            try await files.buy(port, as: "u2")
            let deadline = ContinuousClock().now + .seconds(30)
            while got.withLock({ $0.count }) < 2, ContinuousClock().now < deadline {
                try await Task.sleep(for: .milliseconds(50))
            }
            let state = try await files.send(port, .get, "/v1/webhooks")["data"].list.first
            #expect(state?.at("id") == "backend" && state?.at("dead") == 0)
            process.send(SIGTERM)
            #expect(await process.end() == 0, "\(process.complaints)")
        }
        await receiver.stop(grace: 1)
        let requests = got.withLock { $0 }
        #expect(requests.count == 2 && Set(requests.compactMap { $0.headers["webhook-id"] }).count == 2)
        let verdicts = try WebhookPython.verify(requests, secrets: secrets + ["whsec_" + Base64.encode([1, 2, 3])])
        let wanted = ["grant.created", "grant.created", "No matching signature found"]
        #expect(verdicts == [wanted, wanted])
    }

    @Test("An endpoint in a private network is not connected to unless the configuration allows it (SSRF)")
    func guarded() async throws {
        let receiver = try Listener(bodyLimit: { _, _ in 1 << 20 }, handler: { _ in HTTPResponse(status: 204) })
        try await ServerProcess.withFiles { files in
            let endpoint: JSONValue = [
                "id": "inside", "url": .string("https://localhost:\(receiver.port)/hook"),
                "secret": .string("whsec_" + Base64.encode([UInt8](repeating: 1, count: 32))),
            ]
            try files.configure("webhooks", ["endpoints": [endpoint]])
            let (process, port) = try await files.start()
            let tested = try await files.send(port, .post, "/v1/webhooks/inside/test")
            #expect(tested["delivered"] == false, "\(tested.body)")
            #expect(tested["error"].text.hasPrefix("addressRefused: "), "\(tested.body)")
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
        await receiver.stop(grace: 1)
    }
}

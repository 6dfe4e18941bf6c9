import Testing
import TillBilling
import TillJSON
import TillServer

@testable import TillLedger

@Suite("A ledger that was restored from a backup") struct EpochJourneys {
    @Test(
        "Cursors from before are refused with a message, and repeated events have the same ids",
        arguments: Reach.allCases)
    func restored(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            for user in ["ann", "ben", "ann"] { _ = try await shop.purchase(as: user) }
            let pages = ["/v1/events?limit=2&after=", "/v1/users/ann/orders?limit=1&cursor="]
            var cursors: [String] = []
            for page in pages {
                let reply = try await shop.send(.get, page + "0")
                #expect(reply.status == 200 && reply["hasMore"] == true, "\(reply.body)")
                cursors.append(reply["nextCursor"].text)
            }
            let known = try await shop.send(.get, "/v1/events?limit=100")["data"].list.map { $0.at("id").text }
            #expect(known.count >= 3 && Set(known).count == known.count)

            try await shop.beginEpoch()
            for (page, cursor) in zip(pages, cursors) {
                let stale = try await shop.send(.get, page + cursor)
                #expect(stale.status == 409 && stale.code == "stale_cursor", "\(stale.body)")
                #expect(stale["detail"].text.contains("backup") || stale["title"].text.contains("backup"))
            }
            let again = try await shop.send(.get, "/v1/events?limit=2")
            #expect(again["data"].list.map { $0.at("id").text } == Array(known.prefix(2)))
            let next = again["nextCursor"].text
            #expect(next != cursors[0])
            let rest = try await shop.send(.get, "/v1/events?after=\(next)")["data"].list
            #expect(rest.dropLast().map { $0.at("id").text } == Array(known.dropFirst(2)))
            #expect(rest.dropLast().allSatisfy { $0.at("epoch") == 1 })
            let restored = try #require(rest.last)
            #expect(restored.at("type") == "ledger.restored" && restored.at("epoch") == 2)
            _ = try await shop.purchase(as: "cem")
            let later = try await shop.send(.get, "/v1/events?user=cem")["data"].list
            #expect(later.map { $0.at("epoch") } == [2])

            try await shop.beginEpoch()
            #expect(try await shop.send(.get, "/v1/events?after=\(next)").code == "stale_cursor")
        }
    }

    @Test("A cursor of one restore is refused after another restore of the same backup (R4)")
    func twiceFromOneBackup() async throws {
        var cursors: [String] = []
        for seconds in [Int64(60), 120] {
            try await Shop.open { shop in
                _ = try await shop.purchase(as: "ann")
                shop.time.advance(seconds: seconds)
                try await shop.beginEpoch()
                let feed = try await shop.send(.get, "/v1/events?limit=100")
                cursors.append(feed["nextCursor"].text)
                guard let first = cursors.first, cursors.count == 2 else { return }
                #expect(try await shop.send(.get, "/v1/events?after=\(first)").code == "stale_cursor")
            }
        }
        #expect(Set(cursors).count == 2)
    }

    @Test("Two ledgers that record one purchase give it the same grant id and event id")
    func sameIDs() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            _ = try await shop.submit(payment.signed, as: .user("ann"))
            let event = try await shop.send(.get, "/v1/events")["data"].list.first {
                $0.at("type").text == "grant.created"
            }
            let grant = try #require(event).at("data").at("grantId").text
            let id = TransactionID(payment.id)
            #expect(
                grant == DerivedID.grant(app: Shop.bundleID, id, in: .sandbox).description, "nothing random is in it")
            let key = "grant.created:Sandbox:\(payment.id)"
            let expected = DerivedID.event(key, revision: 0).description.replacing("-", with: "")
            #expect(event?.at("id").text == "evt_\(expected)")
        }
    }
}

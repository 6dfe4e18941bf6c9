import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillServer

@testable import TillLedger

@Suite("What happened after the backup") struct RestoredLedgerJourneys {
    private static let points = CloudShop.prefix + "points60"

    /// Paid under an order id that this ledger does not have, as after a restore.
    private func pay(_ silent: SilentShop, token: OrderID, by account: String) async throws -> Payment {
        let payment = try await silent.shop.pay(Self.points, token: token, account: account)
        await silent.shop.emulator.sendDueNotifications()
        return payment
    }

    @Test("Apple reports what was bought, and the order's nonce or the shop's own table says whose it is (R4)")
    func lostOrders() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            _ = try await silent.buyAndSubmit("points60", as: "ann")
            try await silent.reconcile()
            let (proven, own) = (ProvenOrder(of: "ben"), UniqueID(high: 7, low: 7))
            _ = try await pay(silent, token: proven.id, by: "ben")
            let second = try await pay(silent, token: own, by: "cem")
            let before = try await shop.send(.get, "/v1/users/ben/orders", as: .user("ben"))
            #expect(before.status == 200 && before["restored"].isNull)

            let restore = try await shop.beginEpoch()
            let run = try #require(try await silent.reconciliations.advance())
            #expect(run.reason == "restored" && run.state == .finished && run.rowID > restore.lastRun, "\(run)")
            let waiting = try await shop.send(.get, "/v1/quarantine")["data"].list
            let tokens = Set(waiting.map { $0.at("appAccountToken").text })
            #expect(tokens == [proven.id.description, own.description])

            let list = try await shop.send(.get, "/v1/users/ben/orders", as: .user("ben"))
            #expect(list["restored"].at("restoredAt").text == restore.restoredAt.rfc3339, "\(list.body)")
            let opened = try await shop.send(
                .post, "/v1/orders", proven.opening(["productId": .string(Self.points)]), as: .user("ben"))
            #expect(opened.status == 201 && opened["status"] == "completed", "\(opened.body)")
            #expect(try await shop.points(of: "ben") == 60)

            let claim = JSONValue.object([
                "userId": "cem", "reason": "till recover", "operator": "anna", "environment": "sandbox",
            ])
            let path = "/v1/quarantine/\(second.id)/claims"
            #expect(try await shop.send(.post, path, claim)["outcome"] == "granted")
            #expect(try await shop.send(.post, path, claim)["outcome"] == "alreadyGranted")
            #expect(try await shop.points(of: "cem") == 60)
            #expect(try await shop.send(.get, "/v1/quarantine")["data"].list.isEmpty)
            // One comparison follows a restore.
            #expect(try await silent.reconciliations.advance() == nil)
        }
    }

    @Test("After a while devices are no longer told of the restore")
    func forgotten() async throws {
        try await Shop.open { shop in
            _ = try await shop.purchase(as: "ann")
            try await shop.beginEpoch()
            let orders = "/v1/users/ann/orders"
            #expect(try await !shop.send(.get, orders)["restored"].isNull)
            shop.time.advance(seconds: 181 * 86_400)
            #expect(try await shop.send(.get, orders)["restored"].isNull)
        }
    }

    @Test("A purchase has the same event id whatever its data; a statement of what holds has an id of its data")
    func eventIDs() {
        let key = "subscription.updated:Sandbox:1"
        let states = ["{\"state\":\"active\"}", "{\"state\":\"expired\"}"].map {
            DerivedID.event(key, revision: 5, data: $0)
        }
        #expect(
            states[0] != states[1] && states[0] == DerivedID.event(key, revision: 5, data: "{\"state\":\"active\"}"))
        #expect(states[0] != DerivedID.event(key, revision: 6, data: "{\"state\":\"active\"}"))
        for type in EventType.allCases {
            #expect(
                type.movesValue
                    == [
                        "grant.created", "grant.revoked", "grant.reinstated", "grant.withdrawn",
                        "wallet.forgiven",
                    ].contains(type.rawValue), "\(type)")
        }
    }
}

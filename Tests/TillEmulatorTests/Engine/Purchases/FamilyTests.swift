import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillSQL

@testable import TillEmulator

@Suite("Family Sharing")
struct FamilyTests {
    /// A family of `organizer` and a number of others, `m1` and on.
    private func family(_ others: Int) async throws -> EmulatedWorld {
        let world = try await EmulatedWorld.withStore()
        #expect(await world.put(account: "organizer", ["family": "organizer"]).status == 200)
        for number in 1...others {
            #expect(await world.put(account: "m\(number)", ["family": "organizer"]).status == 200)
        }
        return world
    }

    @Test("A family is an organizer and five others: a seventh is refused, and so is a member of another family")
    func six() async throws {
        let world = try await family(5)
        #expect(await world.put(account: "m6", ["family": "organizer"]).json["code"] == "family_full")
        #expect(await world.ask(.get, "/emulator/accounts/m6").status == 404, "a refused change opens no account")
        #expect(await world.put(account: "m1", ["family": "m1"]).json["code"] == "in_another_family")
        #expect(await world.put(account: "m7", ["family": "m1"]).json["code"] == "in_another_family")
        #expect(await world.put(account: "m7", ["family": "nobody"]).json["code"] == "unknown_account")
        #expect(await world.ask(.post, "/emulator/accounts/m1/leaveFamily").json["family"] == nil)
        #expect(await world.ask(.post, "/emulator/accounts/m1/leaveFamily").json["code"] == "no_family")
        #expect(await world.put(account: "m6", ["family": "organizer"]).status == 200)
        await world.put(account: "m6", ["isDeleted": true])
        #expect(await world.put(account: "m6", ["family": "organizer"]).json["code"] == "account_deleted")
        await world.remove()
    }

    @Test("Five members get their own copies of a non-consumable: own ids, no token, price 0, ONE_TIME_CHARGE each")
    func copies() async throws {
        let world = try await family(5)
        let bought = try await world.buy(
            "library", ["account": "m1", "appAccountToken": "3f2c1a00-1111-4222-8333-444455556666"])
        let paid = try payload(of: bought["signedTransaction"]?.string)
        #expect(paid["inAppOwnershipType"] == "PURCHASED")
        var ids = [try world.identifier(bought)]
        var downloads = [paid["appTransactionId"]?.string]
        for name in ["organizer", "m2", "m3", "m4", "m5"] {
            let copy = try #require(await world.transactions(of: name).first)
            #expect(copy["sharedFrom"] == bought["transactionId"])
            let signed = try payload(of: copy["signedTransaction"]?.string)
            #expect(signed["inAppOwnershipType"] == "FAMILY_SHARED")
            #expect(signed["appAccountToken"] == nil)
            #expect(signed["price"] == 0 && signed["currency"] == "CNY")
            #expect(signed["originalTransactionId"] == signed["transactionId"])
            ids.append(try #require(signed["transactionId"]?.string))
            downloads.append(signed["appTransactionId"]?.string)
        }
        #expect(Set(ids).count == 6)
        #expect(Set(downloads).count == 6 && !downloads.contains(nil))
        #expect(try await world.events() == Array(repeating: "ONE_TIME_CHARGE", count: 6))
        _ = try await world.buy("points60", ["account": "m1"])
        #expect(await world.transactions(of: "m2").count == 1, "a consumable is not shared")
        await world.remove()
    }

    @Test("U5: The purchaser's refund revokes every copy, with REVOKE each, and its reversal gives access again")
    func refund() async throws {
        let world = try await family(5)
        let id = try world.identifier(try await world.buy("library", ["account": "organizer"]))
        _ = try await world.events()
        let copy = try world.identifier(try #require(await world.transactions(of: "m1").first))
        #expect(await world.post(copy, "refund").json["code"] == "family_shared")
        await world.post(id, "refund")
        #expect(try await world.events() == ["REFUND"] + Array(repeating: "REVOKE", count: 5))
        let signed = try payload(
            of: try #require(await world.transactions(of: "m1").first)["signedTransaction"]?.string)
        #expect(signed["revocationType"] == "FAMILY_REVOKE")
        #expect(signed["revocationDate"] == .int(world.now.milliseconds))
        #expect(signed["revocationPercentage"] == nil)
        #expect(await world.post(copy, "refundReversal").json["code"] == "not_refunded")
        await world.post(id, "refundReversal")
        #expect(try await world.events() == ["REFUND_REVERSED"] + Array(repeating: "ONE_TIME_CHARGE", count: 5))
        await world.remove()
    }

    @Test("A new member gets the shared purchases and shares their own; a leaving member takes their own away")
    func comingAndGoing() async throws {
        let world = try await family(1)
        _ = try await world.buy("library", ["account": "organizer"])
        _ = try await world.buy("family.monthly", ["account": "organizer"])
        _ = try await world.notified()
        await world.put(account: "late", ["family": "organizer"])
        let mine = await world.transactions(of: "late")
        #expect(mine.compactMap { $0["type"]?.string }.sorted() == ["Auto-Renewable Subscription", "Non-Consumable"])
        #expect(try await world.events().contains("SUBSCRIBED/INITIAL_BUY"))
        await world.leaveFamily("late")
        #expect(try await world.events() == ["REVOKE", "REVOKE"])
        #expect(await world.transactions(of: "late").allSatisfy { $0["revocationDate"] != nil })
        await world.put(account: "late", ["family": "organizer"])
        #expect(try await world.events().sorted() == ["ONE_TIME_CHARGE", "SUBSCRIBED/RESUBSCRIBE"])
        let again = await world.transactions(of: "late").filter { $0["type"] == "Auto-Renewable Subscription" }
        #expect(again.count == 2 && again[0]["originalTransactionId"] == again[1]["originalTransactionId"])
        // When the organizer leaves, the whole family ends.
        await world.leaveFamily("organizer")
        #expect(Set(try await world.events()) == ["REVOKE"])
        #expect(await world.ask(.get, "/emulator/accounts/late").json["family"] == nil)
        #expect(await world.transactions(of: "organizer").allSatisfy { $0["revocationDate"] == nil })
        await world.remove()
    }

    @Test("A member has a period for each of the purchaser's, and none in addition to a subscription of their own")
    func subscription() async throws {
        let world = try await family(1)
        let paid = try world.identifier(try await world.buy("family.monthly", ["account": "organizer"]))
        _ = try await world.buy("family.monthly", ["account": "own"])
        await world.put(account: "late", ["family": "organizer"])
        let first = try #require(await world.transactions(of: "late").first)
        await world.put(account: "own", ["family": "organizer"])
        #expect(await world.transactions(of: "own").count == 1)
        #expect(await world.transactions(of: "late").count == 2, "the newcomer shares too")
        _ = try await world.notified()
        let number = try #require(Int64(paid))
        try await renew(world, number)
        let notified = try await world.notified()
        let periods = await world.transactions(of: "late").filter {
            $0["originalTransactionId"] == first["transactionId"]
        }
        try #require(periods.count == 2)
        let newest = try world.identifier(periods[1])
        #expect(notified.filter { $0.transaction == newest }.map(\.event) == ["DID_RENEW"])
        #expect(periods[0]["expiresDate"] != periods[1]["expiresDate"])
        let signed = try payload(of: periods[1]["signedTransaction"]?.string)
        #expect(signed["transactionReason"] == "RENEWAL")
        #expect(signed["webOrderLineItemId"]?.string != nil)
        await world.remove()
    }

    /// A renewal by the purchaser at this moment, with its effect on the family.
    private func renew(_ world: EmulatedWorld, _ original: Int64) async throws {
        try await world.emulator.store.change { change in
            guard var subscription = try SubscriptionTable.find(original, change.connection),
                var period = try TransactionTable.find(subscription.current, change.connection),
                let terms = period.subscription
            else { return }
            period.number = try Counter.transaction.take(change.connection)
            period.reason = "RENEWAL"
            period.purchased = terms.expires
            period.subscription?.expires = SubscriptionPeriod.month.end(from: terms.expires)
            period = try TransactionTable.insert(period, change.connection)
            subscription.current = period.number
            subscription.expires = period.subscription?.expires ?? subscription.expires
            try SubscriptionTable.save(subscription, change.connection)
            for _ in 0..<2 { try FamilySharing.share(period, subscription, change) }
        }
    }

    @Test("A purchaser's expired period ends the member's as expired, not as revoked")
    func expiry() async throws {
        let world = try await family(1)
        let paid = try world.identifier(try await world.buy("family.monthly", ["account": "organizer"]))
        await world.put(account: "late", ["family": "organizer"])
        _ = try await world.notified()
        let number = try #require(Int64(paid))
        try await world.emulator.store.change { change in
            guard var subscription = try SubscriptionTable.find(number, change.connection),
                let current = try TransactionTable.find(number, change.connection)
            else { return }
            subscription.state = .expired
            subscription.expirationIntent = 1
            try SubscriptionTable.save(subscription, change.connection)
            let end = StoreChange(
                connection: change.connection, now: subscription.expires, configuration: change.configuration,
                entropy: change.entropy)
            try FamilySharing.revoke(current, end)
        }
        let events = try await world.database.read { connection in
            try connection.query("SELECT type, subtype FROM notifications ORDER BY number", []) { "\($0.text("type"))" }
        }
        #expect(events.last == "EXPIRED")
        let copy = try #require(await world.transactions(of: "late").first)
        #expect(copy["revocationDate"] == nil)
        await world.remove()
    }

    @Test("Revoking a member's copy ends that one; revoking the purchaser's ends sharing, for later members too")
    func revoke() async throws {
        let world = try await family(2)
        let id = try world.identifier(try await world.buy("library", ["account": "organizer"]))
        _ = try await world.notified()
        let first = try world.identifier(try #require(await world.transactions(of: "m1").first))
        #expect(await world.post(first, "revoke").json["revocationDate"] != nil)
        #expect(await world.post(first, "revoke").json["code"] == "already_revoked")
        #expect(try await world.events() == ["REVOKE"])
        #expect(await world.post(id, "revoke").status == 200)
        #expect(try await world.events() == ["REVOKE"])
        #expect(await world.post(id, "revoke").json["code"] == "not_shared")
        await world.put(account: "late", ["family": "organizer"])
        #expect(await world.transactions(of: "late").isEmpty)
        #expect(await world.transactions(of: "organizer").allSatisfy { $0["revocationDate"] == nil })
        await world.remove()
    }

    @Test("A product bought by two members stays when one of them leaves; a refunded buyer gets the family's copy")
    func twoPurchasers() async throws {
        let world = try await EmulatedWorld.withStore()
        for name in ["a", "b"] { _ = try await world.buy("library", ["account": .string(name)]) }
        for name in ["a", "b", "c"] { await world.put(account: name, ["family": "a"]) }
        #expect(await world.transactions(of: "a").count == 1, "who bought it needs no copy")
        #expect(await world.transactions(of: "c").count == 2)
        await world.leaveFamily("b")
        #expect(await world.transactions(of: "c").filter { $0["revocationDate"] == nil }.count == 1)
        await world.put(account: "b", ["family": "a"])
        let own = try #require(await world.transactions(of: "b").first)
        await world.post(try world.identifier(own), "refund")
        let left = await world.transactions(of: "b").filter { $0["revocationDate"] == nil }
        #expect(left.count == 1 && left.first?["sharedFrom"] != nil)
        let again = try await world.buy("library", ["account": "b"])
        #expect(again["transactionId"] == left.first?["transactionId"], "it has it, so nothing is charged")
        await world.remove()
    }
}

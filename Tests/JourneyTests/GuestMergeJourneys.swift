import Testing
import TillBilling
import TillJSON

@Suite("A guest becomes a customer") struct GuestMergeJourneys {
    private let guest = "guest-7"

    @Test("A guest's purchases move to the account once, with audit and event (P12)", arguments: Reach.allCases)
    func merge(_ reach: Reach) async throws {
        try await CloudShop.open(reach) { shop in
            try await shop.buyPlan("pro", as: guest)
            try await shop.buyPlan("points60", as: guest)
            try await shop.buyPlan("basic_monthly", as: guest)
            try await shop.buyPlan("points60", as: "ann")
            let before = try await shop.rights(of: guest)
            #expect(before.count == 2)

            let merged = try await shop.merge(guest, into: "ann")
            #expect(merged.status == 201, "\(merged.body)")
            #expect(merged["kind"].text == "guest_merge" && merged["actor"].text == "user:ann")
            #expect(merged["from"].text == guest && merged["to"].text == "ann")
            #expect(merged["grantCount"].int == 3 && merged["grants"].list.count == 3)
            #expect(merged["points"] == [["environment": "Sandbox", "currency": "points", "amount": 60]])
            #expect(try await shop.rights(of: guest).isEmpty)
            #expect(try await shop.rights(of: "ann") == before)
            #expect(try await shop.points(of: guest) == 0)
            #expect(try await shop.points(of: "ann") == 120)
            #expect(
                try await shop.events().suffix(6)
                    == [
                        "transfer.created ann", "grant.moved ann", "grant.moved ann", "grant.moved ann",
                        "guest.merged guest-7", "guest.merged ann",
                    ])

            let again = try await shop.merge(guest, into: "ann")
            #expect(again.status == 200 && again["id"] == merged["id"] && again["points"] == merged["points"])
            #expect(try await shop.merge(guest, into: "ann", as: .backend)["id"] == merged["id"])
            #expect(try await shop.points(of: "ann") == 120)
            #expect(try await shop.transfers(of: "ann") == ["guest_merge guest-7 ann 3 60"])
            #expect(try await shop.transfers(of: guest) == ["guest_merge guest-7 ann 3 60"])
        }
    }

    @Test("A guest's later payments, and those in progress, follow to the account, with the reason (P12)")
    func later() async throws {
        try await Shop.open { shop in
            let open = try await shop.openOrder(as: guest)
            let paid = try await shop.pay(token: open, account: guest)
            #expect(try await shop.merge(guest, into: "ann")["grantCount"].int == 0)
            // The phone is still signed in as the guest, and gets no details of the account.
            let reply = try await shop.submit(paid.signed, as: .user(guest))
            #expect(reply.body == ["outcome": "granted", "transactionId": .string(paid.id), "finish": true])
            #expect(try await shop.points(of: guest) == 0)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.evidence() == ["granted token", "succeeded merged_guest"])
            let hers = try await shop.submit(paid.signed, as: .user("ann"))
            #expect(hers["outcome"].text == "alreadyGranted" && hers["userId"].text == "ann")
            #expect(hers["grant"].at("postings").list.first?.at("account").text == "user:ann")
        }
    }

    @Test("A subscription that a guest began renews for the account (P12, C7)")
    func renewal() async throws {
        try await CloudShop.open { shop in
            let first = try await shop.buyPlan("premium_monthly_auto", as: guest)
            #expect(try await shop.merge(guest, into: "ann").status == 201)
            let before = try await shop.rights(of: "ann")
            #expect(before.count == 1)
            try await shop.renew(first)
            let after = try await shop.rights(of: "ann")
            #expect(after.count == 1 && after != before, "\(after)")
            #expect(try await shop.rights(of: guest).isEmpty)
            #expect(try await shop.evidence().contains("succeeded chain_owner"))
        }
    }

    @Test("A refund of a guest's purchase applies to the account in full, and so does its reversal (P12, U5)")
    func refund() async throws {
        try await Shop.open { shop in
            let first = try await shop.purchase(as: guest)
            let second = try await shop.purchase(Shop.points300, as: guest)
            _ = try await shop.send(
                .post, "/v1/users/\(guest)/wallet/debits",
                ["currency": "points", "amount": 350, "reference": "r1"])
            #expect(try await shop.merge(guest, into: "ann").status == 201)
            #expect(try await shop.points(of: "ann") == 10)
            #expect(try await shop.refund(first.id, by: guest)["outcome"].text == "revoked")
            #expect(try await shop.points(of: "ann") == -50)
            #expect(try await shop.points(of: guest) == 0)
            #expect(try await shop.refund(second.id, by: "ann")["userId"].text == "ann")
            #expect(try await shop.points(of: "ann") == -350)
            #expect(try await shop.refund(first.id, reversal: true, by: guest)["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == -290)
        }
    }

    @Test("A guest's debt moves to the account (P12, U5)")
    func debt() async throws {
        try await Shop.open { shop in
            let payment = try await shop.purchase(as: guest)
            _ = try await shop.send(
                .post, "/v1/users/\(guest)/wallet/debits", ["currency": "points", "amount": 60, "reference": "r1"])
            _ = try await shop.refund(payment.id, by: guest)
            let merged = try await shop.merge(guest, into: "ann")
            #expect(merged["points"].list.first?.at("amount").int == -60)
            #expect(try await shop.points(of: "ann") == -60)
            #expect(try await shop.points(of: guest) == 0)
        }
    }

    @Test("A merged guest's orders are in the account's list and open to the account alone (P12, L6)")
    func orders() async throws {
        try await Shop.open { shop in
            _ = try await shop.purchase(as: guest)
            shop.time.advance(seconds: 60)
            _ = try await shop.purchase(Shop.points300, as: "ann")
            func list(_ user: String, _ query: String = "") async throws -> [String] {
                let reply = try await shop.send(.get, "/v1/users/\(user)/orders\(query)", as: .user(user))
                return reply["data"].list.map { "\($0["userId"]?.string ?? "") \($0["productId"]?.string ?? "")" }
            }
            let own = "ann \(Shop.points300)"
            #expect(try await list("ann") == [own])
            let order = try await shop.send(.get, "/v1/users/\(guest)/orders")["data"].list.first?["id"]?.string
            let path = "/v1/orders/\(try #require(order))"
            #expect(try await shop.send(.get, path, as: .user("ann")).status == 404)
            #expect(try await shop.merge(guest, into: "ann").status == 201)
            #expect(try await list("ann") == [own, "\(guest) \(Shop.points60)"])
            #expect(try await list("ann", "?limit=1") == [own])
            #expect(try await shop.send(.get, path, as: .user("ann")).status == 200)
            #expect(try await shop.send(.get, path, as: .user("ben")).status == 404)
            #expect(try await list("ben").isEmpty)
        }
    }

    @Test("Plans of guest and account are one service, in the order of purchase (P12, C5)")
    func plans() async throws {
        try await CloudShop.open { shop in
            let start = shop.time.now
            try await shop.buyPlan("basic_monthly", as: guest)
            shop.time.advance(seconds: 10 * 86_400)
            try await shop.buyPlan("basic_monthly", as: "ann")
            #expect(try await shop.merge(guest, into: "ann").status == 201)
            let end = start.adding(seconds: 60 * 86_400).rfc3339
            #expect(try await shop.rights(of: "ann") == ["service basic basic_monthly \(end)"])
            #expect(try await shop.preview("premium_monthly", as: "ann")["current"].list.count == 2)
            #expect(try await shop.preview("premium_monthly", as: guest)["current"] == [])
        }
    }

    @Test("Without the guest's token, with a bad one or another user's, nothing moves (P12)")
    func attacks() async throws {
        try await Shop.open { shop in
            _ = try await shop.purchase(as: guest)
            let now = shop.time.now.seconds
            let tokens: [JSONValue] = [
                .null, "", "a.b.c", .string(UserToken.hs256(subject: guest, expires: now)),
                .string(UserToken.hs256(subject: "ben", expires: now + 60)),
                .string(UserToken.hs256(subject: guest, expires: now + 60, secret: Array(repeating: 7, count: 32))),
                .string(Shop.secretKey),
            ]
            for token in tokens {
                let reply = try await shop.send(
                    .post, "/v1/users/ben/guests", ["guestId": .string(guest), "guestToken": token],
                    as: .user("ben"))
                #expect(reply.status == 403 && reply.code == "forbidden", "\(token)")
            }
            // A token of the guest is no token of the account.
            let other = try await shop.send(
                .post, "/v1/users/ann/guests",
                [
                    "guestId": .string(guest),
                    "guestToken": .string(UserToken.hs256(subject: guest, expires: now + 60)),
                ], as: .user(guest))
            #expect(other.status == 403)
            #expect(try await shop.points(of: guest) == 60)
            #expect(try await shop.transfers(of: guest).isEmpty)
            #expect(try await shop.send(.get, "/v1/users/ann/transfers", as: .user("ann")).status == 403)
            #expect(try await shop.send(.post, "/v1/transfers", [:], as: .user("ann")).status == 403)
        }
    }

    @Test("A guest goes to one account, an account that is a guest takes none, and no user is merged into itself (P12)")
    func refusals() async throws {
        try await Shop.open { shop in
            let open = try await shop.openOrder(as: guest)
            let second = try await shop.openOrder(as: guest)
            #expect(try await shop.merge(guest, into: "guest-9").status == 201)
            let taken = try await shop.merge(guest, into: "ben")
            #expect(taken.status == 409 && taken.code == "guest_taken")
            let merged = try await shop.merge("guest-8", into: guest)
            #expect(merged.status == 409 && merged.code == "account_merged")
            let itself = try await shop.merge("guest-3", into: "guest-3")
            #expect(itself.status == 422 && itself.code == "same_user")
            // A guest who has guests is merged into an account: everything moves there, and no circle results.
            let paid = try await shop.pay(token: open, account: guest)
            #expect(try await shop.submit(paid.signed, as: .user(guest))["outcome"].text == "granted")
            #expect(try await shop.merge("guest-9", into: "ben").status == 201)
            let later = try await shop.pay(token: second, account: guest)
            #expect(try await shop.submit(later.signed, as: .user(guest))["outcome"].text == "granted")
            #expect(try await shop.points(of: "ben") == 120)
            #expect(try await shop.merge("guest-8", into: guest).code == "account_merged")
            #expect(try await shop.merge("guest-8", into: "guest-9").code == "account_merged")
        }
    }

    @Test("A merge that fails at its last step has moved nothing, and the next one moves all of it (P12)")
    func oneCommit() async throws {
        try await CloudShop.open { shop in
            try await shop.buyPlan("pro", as: guest)
            try await shop.buyPlan("points60", as: guest)
            let (rights, events) = (try await shop.rights(of: guest), try await shop.events())
            try await shop.change(
                sqlite: """
                    CREATE TRIGGER stop BEFORE UPDATE OF merged_into ON customers \
                    BEGIN SELECT RAISE(ABORT, 'stop'); END
                    """,
                postgres: """
                    CREATE TRIGGER stop BEFORE UPDATE OF merged_into ON customers FOR EACH ROW
                    EXECUTE FUNCTION refuse_change('stop')
                    """)
            #expect(try await shop.merge(guest, into: "ann").status >= 500)
            #expect(try await shop.rights(of: guest) == rights)
            #expect(try await shop.points(of: guest) == 60)
            #expect(try await shop.points(of: "ann") == 0)
            #expect(try await shop.transfers(of: guest).isEmpty)
            #expect(try await shop.events() == events)
            try await shop.change(sqlite: "DROP TRIGGER stop", postgres: "DROP TRIGGER stop ON customers")
            #expect(try await shop.merge(guest, into: "ann").status == 201)
            #expect(try await shop.rights(of: "ann") == rights)
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("Two accounts claim one guest at the same time: one of them gets it, complete (P12)")
    func race() async throws {
        try await Shop.open { shop in
            _ = try await shop.purchase(as: guest)
            let accounts = (0..<8).map { "user\($0)" }
            let statuses = try await withThrowingTaskGroup(of: (String, Int).self) { group in
                for account in accounts {
                    group.addTask { (account, try await shop.merge(guest, into: account).status) }
                }
                return try await group.reduce(into: [String: Int]()) { $0[$1.0] = $1.1 }
            }
            let winners = accounts.filter { statuses[$0] == 201 }
            #expect(winners.count == 1 && statuses.values.filter { $0 == 409 }.count == 7, "\(statuses)")
            #expect(try await shop.points(of: winners[0]) == 60)
            for account in accounts where account != winners[0] { #expect(try await shop.points(of: account) == 0) }
        }
    }
}

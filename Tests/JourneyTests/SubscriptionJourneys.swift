import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

@testable import TillServer

@Suite("Subscriptions, from Apple's signed data") struct SubscriptionJourneys {
    /// step | the rights, allowed or not, with the reason | the subscriptions, by day of their end
    ///
    /// It starts on the 21st of September; each line happens one second after the one before.
    static let journeys = [
        """
        buy basic      | basic:subscribed   | active basic 30 renews basic
        wait 31        | basic:subscribed   | active basic 61 renews basic
        wait 31        | basic:subscribed   | active basic 91 renews basic
        """,
        """
        buy basic      | basic:subscribed   | active basic 30 renews basic
        cancel         | basic:renewal_off  | cancelled basic 30 ends
        resume         | basic:subscribed   | active basic 30 renews basic
        cancel         | basic:renewal_off  | cancelled basic 30 ends
        wait 31        | basic:cancelled    | expired basic 30 ends cancelled
        buy basic      | basic:subscribed   | active basic 62 renews basic
        wait 32        | basic:subscribed   | active basic 92 renews basic
        """,
        """
        grace 16       |                    |
        buy basic      | basic:subscribed   | active basic 30 renews basic
        billingFailure | basic:subscribed   | active basic 30 renews basic
        wait 31        | basic:grace_period | grace basic 46 renews basic
        recover        | basic:subscribed   | active basic 61 renews basic
        """,
        """
        grace 16       |                       |
        buy basic      | basic:subscribed      | active basic 30 renews basic
        billingFailure | basic:subscribed      | active basic 30 renews basic
        wait 31        | basic:grace_period    | grace basic 46 renews basic
        wait 16        | basic:billing_problem | billing_retry basic 46 renews basic billing_error
        wait 50        | basic:payment_failed  | expired basic 30 ends billing_error
        """,
        """
        grace 16       |                       |
        buy basic      | basic:subscribed      | active basic 30 renews basic
        billingFailure | basic:subscribed      | active basic 30 renews basic
        wait 31        | basic:grace_period    | grace basic 46 renews basic
        cancel         | basic:cancelled       | expired basic 30 ends cancelled
        """,
        """
        buy basic      | basic:subscribed      | active basic 30 renews basic
        billingFailure | basic:subscribed      | active basic 30 renews basic
        wait 31        | basic:billing_problem | billing_retry basic 30 renews basic billing_error
        wait 5         | basic:billing_problem | billing_retry basic 30 renews basic billing_error
        recover        | basic:subscribed      | active basic 67 renews basic
        """,
        """
        buy basic      | basic:subscribed                  | active basic 30 renews basic
        wait 10        | basic:subscribed                  | active basic 30 renews basic
        change premium | basic:replaced premium:subscribed | active premium 41 renews premium
        refund         | basic:replaced premium:refunded   | revoked premium 10 ends
        """,
        """
        buy premium    | premium:subscribed               | active premium 30 renews premium
        change basic   | premium:subscribed               | active premium 30 renews basic
        wait 31        | basic:subscribed premium:expired | active basic 61 renews basic
        """,
        """
        buy premium           | premium:subscribed | active premium 30 renews premium
        change premium_annual | premium:subscribed | active premium 30 renews premium_annual
        wait 31               | premium:subscribed | active premium_annual 395 renews premium_annual
        """,
        """
        buy basic      | basic:subscribed  | active basic 30 renews basic
        refund         | basic:refunded    | revoked basic 0 ends
        reverse        | basic:renewal_off | cancelled basic 30 ends
        """,
        """
        buy basic      | basic:subscribed  | active basic 30 renews basic
        wait 31        | basic:subscribed  | active basic 61 renews basic
        refund first   | basic:subscribed  | active basic 61 renews basic
        refund         | basic:refunded    | revoked basic 31 ends
        """,
        """
        buy basic      | basic:subscribed  | active basic 30 renews basic
        raise 499      | basic:subscribed  | active basic 30 renews basic pending
        consent        | basic:subscribed  | active basic 30 renews basic accepted
        wait 31        | basic:subscribed  | active basic 61 renews basic
        """,
        """
        buy basic      | basic:subscribed         | active basic 30 renews basic
        raise 499      | basic:subscribed         | active basic 30 renews basic pending
        wait 31        | basic:price_not_accepted | expired basic 30 ends price_increase
        """,
        """
        buy basic      | basic:subscribed  | active basic 30 renews basic
        extend 10      | basic:subscribed  | active basic 40 renews basic
        wait 35        | basic:subscribed  | active basic 40 renews basic
        """,
        """
        buy music    | music:trial                        | active music 7 renews music trial
        wait 8       | music:subscribed                   | active music 14 renews music
        """,
        """
        buy basic    | basic:subscribed                   | active basic 30 renews basic
        wait 30      | basic:subscribed                   | active basic 61 renews basic
        buy premium  | basic:replaced premium:subscribed  | active premium 61 renews premium
        """,
        """
        buy basic | basic:subscribed | active basic 30 renews basic
        buy music | basic:subscribed music:trial | active music 7 renews music trial, active basic 30 renews basic
        cancel music | basic:subscribed music:renewal_off | cancelled music 7 ends trial, active basic 30 renews basic
        wait 8 | basic:subscribed music:cancelled | expired music 7 ends cancelled trial, active basic 30 renews basic
        buy music | basic:subscribed music:subscribed | active music 15 renews music, active basic 30 renews basic
        """,
    ]

    @Test(
        "Each change of a subscription is reported as Apple signed it (C7, U2, U4, U6)",
        arguments: journeys)
    func life(_ journey: String) async throws {
        try await SubscriptionShop.open { shop in
            for line in journey.split(separator: "\n") {
                let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                try #require(cells.count == 3)
                try await shop.act(cells[0])
                #expect(try await shop.rights() == cells[1], "\(cells[0])")
                #expect(try await shop.subscriptions() == cells[2], "\(cells[0])")
            }
        }
    }

    @Test("Each change that Apple signs is an event; a change by time alone is none (invariant 2)")
    func events() async throws {
        try await SubscriptionShop.open { shop in
            for act in ["buy basic", "cancel", "resume", "wait 31", "cancel", "wait 31"] { try await shop.act(act) }
            let reported = try await shop.shop.ledger.read { connection in
                try connection.query(
                    """
                    SELECT \(user: "outbox.customer_id") AS user_id, body FROM outbox WHERE type = \
                    'subscription.updated' ORDER BY row_id
                    """, []
                ) { ($0.text("user_id"), try JSONValue(decoding: Array($0.text("body").utf8))) }
            }
            #expect(reported.allSatisfy { $0.0 == "u1" && !$0.1.at("originalTransactionId").text.isEmpty })
            #expect(
                reported.map { $0.1.at("state").text } == ["active", "cancelled", "active", "active", "cancelled"],
                "\(reported)")
        }
    }

    @Test("A family member's copy is unclaimed until a backend names its owner, who then gets its renewals (C7, U1)")
    func family() async throws {
        try await SubscriptionShop.open { shop in
            let world = shop.shop
            for (name, family) in [("u1", "u1"), ("kid", "u1")] {
                let joined = try await world.ask(
                    .put, "/emulator/accounts/\(name)", ["family": .string(family), "storefront": "USA"])
                #expect(joined.status == 200, "\(joined.body)")
            }
            try await shop.act("buy music")
            let copies = try await world.ask(.get, "/emulator/subscriptions?account=kid")["data"].list
            let copy = try #require(copies.first?.at("currentTransactionId").text)
            let signed = try await world.ask(.get, "/emulator/transactions/\(copy)")["signedTransaction"].text
            let waiting = try await world.submit(signed, as: .user("kid"))
            #expect(waiting["outcome"].text == "quarantined" && waiting["reason"].text == "no_owner")
            #expect(try await shop.subscriptions(of: "kid").isEmpty)

            let given = try await world.submit(signed, as: .backend, userID: "kid")
            #expect(given["outcome"].text == "granted", "\(given.body)")
            #expect(try await shop.rights(of: "kid") == "music:family_shared")
            try await shop.act("wait 8")
            #expect(try await shop.rights(of: "kid") == "music:family_shared")
            #expect(try await shop.subscriptions(of: "kid") == "active music 14 renews music shared")
            _ = try await world.ask(.post, "/emulator/accounts/kid/leaveFamily")
            try await shop.act("wait 0")
            #expect(try await shop.rights(of: "kid") == "music:family_access_ended")
            #expect(try await shop.rights() == "music:subscribed")
        }
    }

    @Test("A name that the catalogue does not have is refused, and others' rights are hidden")
    func access() async throws {
        try await SubscriptionShop.open { shop in
            let path = "/v1/users/u1/entitlements/"
            let unknown = try await shop.shop.send(.get, path + "moon", as: .user("u1"))
            #expect(unknown.status == 404 && unknown.code == "unknown_entitlement")
            let never = try await shop.shop.send(.get, path + "basic", as: .user("u1"))
            #expect(never["allowed"] == false && never["why"].text == "never_had" && never["until"] == .null)
            #expect(never["sentence"].at("zh").text == "从未购买。")
            for party in [Party.user("u2"), .anonymous] {
                for path in [path + "basic", "/v1/users/u1/subscriptions"] {
                    let status = try await shop.shop.send(.get, path, as: party).status
                    #expect(status == 401 || status == 403)
                }
            }
        }
    }

    @Test("Any number of renewals is one right of one subscription")
    func manyPeriods() async throws {
        try await SubscriptionShop.open { shop in
            shop.shop.willChangeRows()
            try await shop.act("buy basic")
            let now = shop.shop.time.now
            let first = TransactionID(shop.newest)
            try await shop.shop.ledger.write { connection in
                let order = try TransactionTable(connection).find(first, in: .sandbox)?.orderRowID
                for number in 1...Self.periods {
                    let bought = now.adding(seconds: Int64(number - Self.periods) * 86_400 * 30)
                    let transaction = PaidTransaction(
                        id: TransactionID("9\(1_000_000 + number)"), originalID: first,
                        productID: ProductID(SubscriptionShop.prefix + "basic"), quantity: 1, environment: .sandbox,
                        token: nil, purchasedAt: bought, signedAt: bought, revokedAt: nil, isRenewal: true,
                        isFromReceipt: false, price: nil,
                        terms: TransactionTerms(
                            type: .autoRenewable, expiresAt: bought.adding(seconds: 86_400 * 30)))
                    _ = try TransactionTable(connection).insert(
                        transaction, state: .granted, quarantine: nil, orderRowID: order, at: now)
                }
            }
            let answer = try await shop.shop.send(.get, "/v1/users/u1/entitlements/basic", as: .user("u1"))
            #expect(answer["allowed"] == true && answer["sources"].list.count == 1, "\(answer.body)")
            #expect(try await shop.shop.send(.get, "/v1/users/u1/subscriptions")["data"].list.count == 1)
        }
    }

    private static let periods = 200
}

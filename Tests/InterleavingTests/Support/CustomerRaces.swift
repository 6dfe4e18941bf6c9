import TillBilling
import TillHTTP
import TillJSON
import TillLedger

@testable import TillServer

/// Races about customers: wallets, merges, transfers, and what is counted or listed for them.
extension Cast {
    private func funded(_ name: String) throws -> [HTTPRequest] {
        [open(1, for: name), try submit(Paid(id: transaction(1), token: order(1)), as: name)]
    }

    func twoDebits() throws -> Race {
        Race(
            name: "two debits of a balance that is enough for one", setup: try funded("a"),
            work: (0..<3).map { Work($0 % 2, "debit\($0)", debit(50, of: "a", $0)) }
        ) { answers in
            var found = Findings()
            found.expect(answers.map(\.status).sorted(), is: [201, 409, 409], "the debits")
            found.expect(try balance(of: "a"), is: 10, "the balance")
            return found.list
        }
    }

    func sameReference() throws -> Race {
        Race(
            name: "the same debit twice", setup: try funded("a"),
            work: (0..<3).map { Work($0 % 2, "debit\($0)", debit(20, of: "a", 7)) }
        ) { answers in
            var found = Findings()
            found.expect(answers.map(\.status).sorted(), is: [200, 200, 201], "the debits")
            found.expect(try balance(of: "a"), is: 40, "the balance")
            return found.list
        }
    }

    /// The reference of one user's debit is used for another's.
    func mixedReferences() throws -> Race {
        Race(
            name: "one reference for the debits of two users",
            setup: try funded("a") + [
                open(2, for: "b"), try submit(Paid(id: transaction(2), token: order(2)), as: "b"),
            ],
            work: [Work(0, "debit a", debit(20, of: "a", 7)), Work(1, "debit b", debit(20, of: "b", 7))]
        ) { answers in
            var found = Findings()
            found.expect(answers.map(\.status).sorted(), is: [201, 409], "the debits")
            found.expect(try balance(of: "a") + balance(of: "b"), is: 100, "both balances")
            return found.list
        }
    }

    func sameKey() throws -> Race {
        let key = reference(1)
        let body: JSONValue = ["userId": .string(user("a")), "productId": .string(SharedLedgerWorld.points60)]
        let order = world.request(.post, "/v1/orders", key: key, body)
        return Race(
            name: "the same Idempotency-Key at both servers", setup: try funded("b"),
            work: [
                Work(0, "order", order), Work(1, "order again", order),
                Work(0, "debit", debit(20, of: "b", 3, key: key)),
                Work(1, "debit again", debit(20, of: "b", 3, key: key)),
            ]
        ) { answers in
            var found = Findings()
            for (what, pair) in [("orders", answers[..<2]), ("debits", answers[2...])] {
                let done = pair.filter { $0.status == 201 }
                let isFine = pair.allSatisfy { $0.status == 201 || $0.outcome == "idempotency_in_flight" }
                found.expect(isFine && !done.isEmpty, "the \(what): \(pair)")
                found.expect(Set(done.map { $0.body.encoded() }).count, is: 1, "the number of different \(what)")
            }
            let orders = try world.count(
                """
                SELECT count(*) FROM orders o JOIN customers c USING (customer_id) WHERE c.user_id = '\(user("a"))'
                """)
            found.expect(orders, is: 1, "the number of orders")
            found.expect(try balance(of: "b"), is: 40, "the balance")
            return found.list
        }
    }

    func guestMerge() throws -> Race {
        let paid = Paid(id: transaction(1), token: order(1))
        return Race(
            name: "a guest is merged while the guest's purchase and debit arrive",
            setup: [
                open(1, for: "g"), open(2, for: "g"), try submit(Paid(id: transaction(2), token: order(2)), as: "g"),
            ],
            work: [
                Work(0, "merge", merge("g", into: "a")), Work(1, "submit", try submit(paid, as: "g")),
                Work(1, "debit", debit(50, of: "g", 1)), Work(0, "notify", try notify(paid)),
            ]
        ) { answers in
            var found = Findings()
            found.expect(answers[0].status, is: 201, "the merge")
            let spent = answers[2].status == 201 ? 50 : 0
            found.expect([201, 409].contains(answers[2].status), "the debit got \(answers[2])")
            found.expect(try balance(of: "g"), is: 0, "the guest's balance")
            found.expect(try balance(of: "a"), is: 120 - spent, "the account's balance")
            found.expect(try owner(of: transaction(1)), is: user("a"), "the owner")
            return found.list
        }
    }

    /// A guest belongs to an account that is itself merged into another one, while the guest's purchase arrives.
    func chainOfMerges() throws -> Race {
        let paid = Paid(id: transaction(1), token: order(1))
        return Race(
            name: "an account is merged while the purchase of its guest arrives",
            setup: [open(1, for: "g"), open(2, for: "b"), merge("g", into: "a")],
            work: [
                Work(0, "merge", merge("a", into: "b")), Work(1, "notify", try notify(paid)),
                Work(1, "merge again", merge("a", into: "b")),
            ]
        ) { answers in
            var found = Findings()
            found.expect([answers[0].status, answers[2].status].sorted(), is: [200, 201], "the merges")
            found.expect(try balance(of: "a"), is: 0, "the first account's balance")
            found.expect(try balance(of: "b"), is: 60, "the last account's balance")
            found.expect(try owner(of: transaction(1)), is: user("b"), "the owner")
            return found.list
        }
    }

    func transferAgainstRenewal() throws -> Race {
        let monthly = SharedLedgerWorld.monthly
        let first = Paid(id: transaction(1), product: monthly, token: order(1))
        let renewal = Paid(id: transaction(2), original: transaction(1), product: monthly, token: order(1), at: 1)
        return Race(
            name: "a subscription is transferred while it renews",
            setup: [open(1, for: "a", monthly), try submit(first, as: "a"), open(2, for: "b")],
            work: [
                Work(0, "transfer", transfer(transaction(1), from: "a", to: "b")),
                Work(1, "renew", try notify(renewal, "DID_RENEW")), Work(0, "submit", try submit(renewal, as: "a")),
            ]
        ) { answers in
            var found = Findings()
            found.expect(answers[0].status, is: 201, "the transfer")
            found.expect(answers.allSatisfy { $0.status < 300 }, "the answers: \(answers)")
            for index in 1...2 {
                found.expect(try owner(of: transaction(UInt64(index))), is: user("b"), "the owner of period \(index)")
            }
            return found.list
        }
    }

    func twoTransfers() throws -> Race {
        Race(
            name: "a purchase is transferred to two users, and spent", setup: try funded("a"),
            work: [
                Work(0, "to b", transfer(transaction(1), from: "a", to: "b")),
                Work(1, "to c", transfer(transaction(1), from: "a", to: "c")), Work(1, "debit", debit(20, of: "a", 1)),
            ]
        ) { answers in
            var found = Findings()
            found.expect([answers[0].status, answers[1].status].sorted(), is: [201, 409], "the transfers")
            let spent = answers[2].status == 201 ? 20 : 0
            found.expect([201, 409].contains(answers[2].status), "the debit got \(answers[2])")
            let receiver = answers[0].status == 201 ? "b" : "c"
            found.expect(try balance(of: receiver), is: 60 - spent, "the receiver's balance")
            found.expect(try balance(of: "a") + balance(of: "b") + balance(of: "c"), is: 60 - spent, "all balances")
            found.expect(try balance(of: "a"), is: 0, "the former owner's balance")
            return found.list
        }
    }

    func previews() throws -> Race {
        let course = SharedLedgerWorld.course
        let paid = (1...2).map { Paid(id: transaction(UInt64($0)), product: course, token: order(UInt64($0))) }
        let preview = world.request(
            .post, "/v1/plans/preview", ["userId": .string(user("a")), "planId": "course"])
        return Race(
            name: "two plans are paid while they are previewed",
            setup: [open(1, for: "a", course), open(2, for: "a", course)],
            work: [
                Work(0, "first", try submit(paid[0], as: "a")), Work(1, "preview", preview),
                Work(1, "second", try submit(paid[1], as: "a")), Work(0, "preview again", preview),
            ]
        ) { answers in
            var found = Findings()
            found.expect(answers.map(\.status), is: [200, 200, 200, 200], "the answers")
            found.expect(try events("grant.created"), is: 2, "the number of grant.created")
            // Both years count, one after the other: their reminders name one end.
            let ends = try world.count(
                """
                SELECT count(DISTINCT r.expires_at) FROM reminders r JOIN customers c USING (customer_id) \
                WHERE c.user_id = '\(user("a"))'
                """)
            found.expect(ends, is: 1, "the number of ends with reminders")
            return found.list
        }
    }

    func consents() throws -> Race {
        func state(_ isGiven: Bool) -> HTTPRequest {
            world.request(.put, "/v1/users/\(user("a"))/consents/consumption", ["given": .bool(isGiven)])
        }
        return Race(
            name: "consent is given and withdrawn at both servers",
            work: [
                Work(0, "give", state(true)), Work(1, "give again", state(true)), Work(1, "withdraw", state(false)),
            ]
        ) { answers in
            var found = Findings()
            found.expect(answers.map(\.status), is: [200, 200, 200], "the answers")
            let rows = try world.sql(
                """
                SELECT n.given FROM consents n JOIN customers c USING (customer_id) WHERE c.user_id = '\(user("a"))' \
                ORDER BY n.row_id
                """
            ).map { $0[0] ?? "" }
            found.expect(zip(rows, rows.dropFirst()).allSatisfy { $0 != $1 }, "two equal statements: \(rows)")
            return found.list
        }
    }

    /// Two servers place events and read the feed while purchases commit.
    func feed() throws -> Race {
        let paid = (1...2).map { Paid(id: transaction(UInt64($0)), token: order(UInt64($0))) }
        return Race(
            name: "both servers place events while purchases commit", setup: [open(1, for: "a"), open(2, for: "b")],
            work: [
                Work(0, "first", try submit(paid[0], as: "a")), Work(1, "second", try submit(paid[1], as: "b")),
                Work(0, "place") { try await $0.ledger.placeEvents() },
                Work(1, "place too") { try await $0.ledger.placeEvents() },
            ]
        ) { answers in
            var found = Findings()
            found.expect(answers.map(\.status), is: [200, 200, 200, 200], "the answers: \(answers)")
            found.expect(try events("grant.created"), is: 2, "the number of grant.created")
            return found.list
        }
    }

    /// Both servers want to do the jobs; only one may, and what it sends is sent once.
    func jobs() throws -> Race {
        let deliver: @Sendable (Server) async throws -> Void = { server in
            guard let lease = await server.jobLease.take(for: server) else { return }
            do {
                _ = try await WebhookDeliveries(server.under(lease)).deliverAll()
                await server.jobLease.end(for: server)
            } catch is LeaseLostError {
                // Another race of this seed took it over for the same server.
            }
        }
        return Race(
            name: "both servers take the lease and deliver events", setup: try funded("a"),
            work: [
                Work(0, "deliver", deliver), Work(1, "deliver too", deliver), Work(1, "debit", debit(20, of: "a", 1)),
            ]
        ) { answers in
            var found = Findings()
            found.expect(answers.map(\.status), is: [200, 200, 201], "the answers: \(answers)")
            let sent = world.sentEvents
            found.expect(Set(sent).count, is: sent.count, "the number of different events sent")
            return found.list
        }
    }
}

import TillBilling
import TillHTTP
import TillJSON
import TillServer

/// Races about one purchase: it arrives twice, before its order, with its refund, or without an owner.
extension Cast {
    typealias Make = @Sendable (Cast) throws -> Race

    static let all: [Make] = [
        { try $0.sameTransaction() }, { try $0.withNotification() }, { try $0.orderWhilePaying() },
        { try $0.accountToken() }, { try $0.unclaimed() }, { try $0.decidedTwice() }, { try $0.refundAgainstDebit() },
        { try $0.refundAgainstGrant() }, { try $0.twoPeriods() }, { try $0.payerForgivenOnce() },
        { try $0.twoDebits() }, { try $0.sameReference() }, { try $0.sameKey() }, { try $0.guestMerge() },
        { try $0.chainOfMerges() }, { try $0.transferAgainstRenewal() }, { try $0.twoTransfers() },
        { try $0.previews() }, { try $0.consents() }, { try $0.feed() }, { try $0.jobs() },
        { try $0.mixedReferences() },
    ]

    private static func outcomes(_ answers: [Answer]) -> [String] { answers.map(\.outcome).sorted() }

    private func sameTransaction() throws -> Race {
        let paid = Paid(id: transaction(1), token: order(1))
        return Race(
            name: "the same paid transaction at both servers", setup: [open(1, for: "a")],
            work: try (0..<3).map { Work($0 % 2, "submit\($0)", try submit(paid, as: "a")) }
        ) { answers in
            var found = Findings()
            found.expect(
                Self.outcomes(answers), is: ["alreadyGranted", "alreadyGranted", "granted"], "the answers")
            found.expect(try balance(of: "a"), is: 60, "the balance")
            found.expect(try events("grant.created"), is: 1, "the number of grant.created")
            return found.list
        }
    }

    private func withNotification() throws -> Race {
        let paid = Paid(id: transaction(1), token: order(1))
        return Race(
            name: "a transaction from the app and in a notification", setup: [open(1, for: "a")],
            work: [
                Work(0, "submit", try submit(paid, as: "a")), Work(1, "notify", try notify(paid)),
                Work(0, "notify again", try notify(paid)),
            ]
        ) { answers in
            var found = Findings()
            found.expect(["granted", "alreadyGranted"].contains(answers[0].outcome), "the app got \(answers[0])")
            found.expect(answers[1...].allSatisfy { $0.status == 200 }, "Apple got \(answers)")
            found.expect(try balance(of: "a"), is: 60, "the balance")
            found.expect(try events("grant.created"), is: 1, "the number of grant.created")
            return found.list
        }
    }

    /// The order's id is proven: under any other id, a payment that came first stays in quarantine.
    private func orderWhilePaying() throws -> Race {
        let number = reference(1)
        let id = OrderIDCommitment(user: UserID(user("a")), orderNumber: number).id
        let paid = Paid(id: transaction(1), token: id)
        let open = world.request(
            .post, "/v1/orders",
            [
                "orderNumber": .string(number), "userId": .string(user("a")),
                "productId": .string(SharedLedgerWorld.points60),
            ])
        return Race(
            name: "an order is opened while its payment arrives",
            work: [
                Work(0, "open", open), Work(1, "submit", try submit(paid, as: "a")), Work(1, "open again", open),
                Work(0, "notify", try notify(paid)),
            ]
        ) { answers in
            var found = Findings()
            found.expect([answers[0].status, answers[2].status].sorted(), is: [200, 201], "the orders")
            let isTaken = ["granted", "alreadyGranted", "quarantined"].contains(answers[1].outcome)
            found.expect(isTaken, "the app got \(answers[1])")
            found.expect(try balance(of: "a"), is: 60, "the balance")
            found.expect(try events("grant.created"), is: 1, "the number of grant.created")
            found.expect(try status(of: id), is: "1", "the status of the order")
            return found.list
        }
    }

    private func status(of order: UniqueID) throws -> String {
        let id = order.description.replacing("-", with: "")
        return try world.sql("SELECT status FROM orders WHERE encode(id, 'hex') = '\(id)'").first?[0] ?? ""
    }

    private func accountToken() throws -> Race {
        let paid = Paid(id: transaction(1), token: order(1))
        let register = world.request(.put, "/v1/users/\(user("a"))/account-tokens/\(order(1))")
        let other = world.request(.put, "/v1/users/\(user("b"))/account-tokens/\(order(1))")
        return Race(
            name: "an account token is registered for two users while a payment carries it",
            work: [
                Work(0, "register", register), Work(1, "submit", try submit(paid, as: "a")),
                Work(1, "register other", other),
            ]
        ) { answers in
            var found = Findings()
            found.expect([answers[0].status, answers[2].status].sorted(), is: [201, 409], "the registrations")
            let owner = answers[0].status == 201 ? "a" : "b"
            found.expect(try balance(of: owner), is: 60, "the balance of the token's user")
            found.expect(try balance(of: "a") + balance(of: "b"), is: 60, "both balances")
            found.expect(try events("grant.created"), is: 1, "the number of grant.created")
            return found.list
        }
    }

    private func unclaimed() throws -> Race {
        let paid = Paid(id: transaction(1), product: SharedLedgerWorld.pro)
        func restore(_ name: String) throws -> HTTPRequest {
            world.request(
                .post, "/v1/restores", as: .user(user(name)), ["signedTransactions": [.string(try signed(paid))]])
        }
        return Race(
            name: "two users restore a purchase without an owner", setup: [try submit(paid, as: "c")],
            work: [
                Work(0, "restore a", try restore("a")), Work(1, "restore b", try restore("b")),
                Work(1, "submit", try submit(paid, as: "c")),
            ]
        ) { answers in
            var found = Findings()
            let outcomes = answers[..<2].map { $0.body["data"]?.array?.first?["outcome"]?.string ?? "" }
            let isFine = outcomes.sorted() == ["claimed", "moved"] || outcomes.sorted() == ["claimed", "claimed"]
            found.expect(isFine, "the restores: \(answers)")
            found.expect(try events("grant.created"), is: 1, "the number of grant.created")
            let owner = try owner(of: transaction(1)) ?? ""
            found.expect([user("a"), user("b")].contains(owner), "the owner is \(owner)")
            return found.list
        }
    }

    private func decidedTwice() throws -> Race {
        let paid = Paid(id: transaction(1))
        func decide(_ name: String) -> HTTPRequest {
            world.request(
                .post, "/v1/quarantine/\(transaction(1))/claims",
                ["userId": .string(user(name)), "reason": "receipt seen", "operator": "ann", "environment": "sandbox"])
        }
        return Race(
            name: "operators give a purchase without an owner to two users", setup: [try submit(paid, as: "c")],
            work: [
                Work(0, "give a", decide("a")), Work(1, "give b", decide("b")), Work(0, "give a again", decide("a")),
            ]
        ) { answers in
            var found = Findings()
            let isFine = Set(answers.map(\.status)).isSubset(of: [200, 409])
            found.expect(isFine, "the decisions: \(answers)")
            found.expect(answers.filter { $0.outcome == "granted" }.count, is: 1, "the number of granted: \(answers)")
            found.expect(try balance(of: "a") + balance(of: "b"), is: 60, "both balances")
            found.expect(try events("grant.created"), is: 1, "the number of grant.created")
            return found.list
        }
    }

    private func refundAgainstDebit() throws -> Race {
        let paid = Paid(id: transaction(1), token: order(1))
        var refund = paid
        refund.isRevoked = true
        return Race(
            name: "a refund against a debit", setup: [open(1, for: "a"), try submit(paid, as: "a")],
            work: [
                Work(0, "debit", debit(50, of: "a", 1)), Work(1, "refund", try notify(refund, "REFUND")),
                Work(0, "refund again", try submit(refund, as: "a")),
            ]
        ) { answers in
            var found = Findings()
            found.expect([201, 409].contains(answers[0].status), "the debit got \(answers[0])")
            // What was spent is written off.
            found.expect(try balance(of: "a"), is: 0, "the balance")
            found.expect(try postings("write_off"), is: answers[0].status == 201 ? 1 : 0, "the write-offs")
            found.expect(try events("grant.revoked"), is: 1, "the number of grant.revoked")
            return found.list
        }
    }

    private func refundAgainstGrant() throws -> Race {
        let paid = Paid(id: transaction(1), token: order(1))
        var refund = paid
        refund.isRevoked = true
        return Race(
            name: "a refund against its own grant", setup: [open(1, for: "a")],
            work: [
                Work(0, "submit", try submit(paid, as: "a")), Work(1, "refund", try notify(refund, "REFUND")),
                Work(1, "submit again", try submit(paid, as: "a")),
            ]
        ) { answers in
            var found = Findings()
            let granted = try events("grant.created")
            found.expect(granted <= 1, "\(granted) grants")
            found.expect(try events("grant.revoked"), is: granted, "the number of grant.revoked")
            found.expect(try balance(of: "a"), is: 0, "the balance")
            let outcomes = [answers[0].outcome, answers[2].outcome]
            let isFine = outcomes.allSatisfy { ["granted", "alreadyGranted", "revoked"].contains($0) }
            found.expect(isFine && outcomes.filter { $0 == "granted" }.count <= 1, "the app got \(outcomes)")
            return found.list
        }
    }

    private func twoPeriods() throws -> Race {
        let monthly = SharedLedgerWorld.monthly
        let first = Paid(id: transaction(1), product: monthly, token: order(1))
        let renewals = (1...2).map { index in
            Paid(
                id: transaction(UInt64(1 + index)), original: transaction(1), product: monthly, token: order(1),
                at: Int64(index))
        }
        return Race(
            name: "periods of one subscription arrive at once", setup: [open(1, for: "a", monthly)],
            work: [
                Work(0, "first", try submit(first, as: "a")),
                Work(1, "second", try notify(renewals[0], "DID_RENEW", index: 1)),
                Work(0, "third", try submit(renewals[1], as: "a")),
                Work(1, "third again", try notify(renewals[1], "DID_RENEW", index: 2)),
            ]
        ) { answers in
            var found = Findings()
            found.expect(answers.allSatisfy { [200, 202].contains($0.status) }, "the answers: \(answers)")
            found.expect(try events("grant.created"), is: 3, "the number of grant.created")
            for index in 1...3 {
                found.expect(try owner(of: transaction(UInt64(index))), is: user("a"), "the owner of period \(index)")
            }
            let chains = try world.count(
                "SELECT count(*) FROM subscriptions WHERE original_id = '\(transaction(1))'")
            found.expect(chains, is: 1, "the number of subscriptions")
            return found.list
        }
    }

    /// The shop forgives one debt of an Apple Account a year, whichever of its users has it.
    private func payerForgivenOnce() throws -> Race {
        let payer = "79\(transaction(0).suffix(12))"
        let paid = ["a", "b"].enumerated().map { index, _ in
            Paid(id: transaction(UInt64(1 + index)), token: order(UInt64(1 + index)), payer: payer)
        }
        let refunds = paid.map { one in
            var refund = one
            refund.isRevoked = true
            return refund
        }
        return Race(
            name: "refunds to two users of one Apple Account",
            setup: [
                open(1, for: "a"), open(2, for: "b"), try submit(paid[0], as: "a"), try submit(paid[1], as: "b"),
                debit(60, of: "a", 1), debit(60, of: "b", 2),
            ],
            work: [
                Work(0, "refund a", try notify(refunds[0], "REFUND", index: 1)),
                Work(1, "refund b", try notify(refunds[1], "REFUND", index: 2)),
            ]
        ) { _ in
            var found = Findings()
            found.expect(try postings("write_off"), is: 1, "the number of forgiven debts")
            found.expect(try balance(of: "a") + balance(of: "b"), is: -60, "both balances")
            return found.list
        }
    }
}

import Testing
import TillBilling
import TillJSON
import TillServer

@Suite("Restoring under the shop's policy") struct RestorePolicyJourneys {
    private static let pro = CloudShop.prefix + "pro"
    private static let renewing = CloudShop.prefix + "premium_monthly_auto"

    private func open(_ terms: RestoreTerms, _ journey: (Shop) async throws -> Void) async throws {
        try await Shop.open(change: { configuration in
            configuration.catalog = CloudShop.catalog
            configuration.restore = terms
        }) { shop in
            try await CloudShop.stock(shop)
            try await journey(shop)
        }
    }

    @Test("Keep: the owner's purchases come back, another's proof gives nothing, and consumables don't come back (P10)")
    func keep() async throws {
        try await open(RestoreTerms()) { shop in
            let proofs = try await [Self.pro, Self.renewing, Shop.points60].asyncMap {
                try await shop.purchase($0, as: "ann").signed
            }
            let hers = try await shop.restore(proofs, as: .user("ann"))
            #expect(hers.status == 200)
            #expect(shop.outcomes(hers) == ["owned finish", "owned finish", "not_restorable finish"])
            let his = try await shop.restore(proofs + ["x"], as: .user("ben"))
            #expect(
                shop.outcomes(his) == [
                    "kept other_customer finish", "kept other_customer finish", "not_restorable finish",
                    "refused malformed",
                ])
            #expect(his["data"].list.last?.at("transactionId") == .null)
            let named = try await shop.restore(proofs, as: .backend, userID: "ben")
            #expect(shop.outcomes(named) == shop.outcomes(his).dropLast())
            #expect(try await shop.rights(of: "ben").isEmpty)
            #expect(try await shop.rights(of: "ann").count == 2)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.points(of: "ben") == 0)
            #expect(try await shop.grantCount() == 3)
            #expect(try await shop.transfers(of: "ann").isEmpty)
        }
    }

    @Test("A restored proof is processed like a submitted one: an unseen purchase is granted to its owner (P8, P10)")
    func unseen() async throws {
        try await open(RestoreTerms(policy: .move)) { shop in
            let right = try await shop.pay(Self.pro, token: try await shop.openOrder(Self.pro, as: "ann"))
            let pack = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            let reply = try await shop.restore([pack.signed, right.signed], as: .user("ben"))
            #expect(shop.outcomes(reply) == ["not_restorable finish", "moved finish"])
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.evidence() == ["granted token", "granted token"])
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(right.id)/refund")
            let again = try await shop.restore([refunded["signedTransaction"].text], as: .user("ben"))
            #expect(shop.outcomes(again) == ["revoked finish"])
        }
    }

    @Test("Move: the chain moves to the user who restores it, audited, a few times a year, and renews there (P10)")
    func move() async throws {
        try await open(RestoreTerms(policy: .move, movesPerYear: 2)) { shop in
            let payment = try await shop.purchase(Self.renewing, as: "ann")
            let before = try await shop.rights(of: "ann")
            func restored(by user: String) async throws -> [String] {
                shop.outcomes(try await shop.restore([payment.signed], as: .user(user)))
            }
            #expect(try await restored(by: "ben") == ["moved finish"])
            #expect(try await shop.rights(of: "ben") == before)
            #expect(try await shop.rights(of: "ann").isEmpty)
            #expect(try await restored(by: "ben") == ["owned finish"])
            #expect(try await restored(by: "ann") == ["moved finish"])
            #expect(try await restored(by: "ben") == ["kept too_many_moves finish"])
            #expect(try await shop.transfers(of: "ann") == ["restore ben ann 1", "restore ann ben 1"])
            #expect(try await shop.events().suffix(2) == ["transfer.created ann", "grant.moved ann"])
            try await shop.renew(payment.id, days: 366)
            #expect(try await shop.rights(of: "ann").count == 1)
            #expect(try await restored(by: "ben") == ["moved finish"])
            #expect(try await shop.rights(of: "ben").count == 1)
            #expect(try await shop.rights(of: "ann").isEmpty)
        }
    }

    @Test("Move: the customer whom Apple's token names always gets it back, however often others have moved it (P10)")
    func wayBack() async throws {
        try await open(RestoreTerms(policy: .move, movesPerYear: 2)) { shop in
            let payment = try await shop.purchase(Self.pro, as: "ann")
            func restored(by user: String) async throws -> [String] {
                shop.outcomes(try await shop.restore([payment.signed], as: .user(user)))
            }
            #expect(try await restored(by: "eve") == ["moved finish"])
            #expect(try await restored(by: "ben") == ["moved finish"])
            #expect(try await restored(by: "eve") == ["kept too_many_moves finish"])
            #expect(try await restored(by: "ann") == ["moved finish"])
            #expect(try await restored(by: "eve") == ["kept too_many_moves finish"])
            #expect(try await restored(by: "ann") == ["owned finish"])
            #expect(try await shop.rights(of: "ann").count == 1)
        }
    }

    @Test("Move: many phones restore at once, and the chain moves as often as allowed (P10)")
    func crowd() async throws {
        try await open(RestoreTerms(policy: .move, movesPerYear: 3)) { shop in
            let payment = try await shop.purchase(Self.pro, as: "ann")
            let outcomes = try await withThrowingTaskGroup(of: [String].self) { group in
                for index in 0..<8 {
                    group.addTask {
                        shop.outcomes(try await shop.restore([payment.signed], as: .user("user\(index)")))
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(outcomes.filter { $0 == "moved finish" }.count == 3)
            #expect(outcomes.filter { $0 == "kept too_many_moves finish" }.count == 5)
            var owners = 0
            for index in 0..<8 { owners += try await shop.rights(of: "user\(index)").count }
            #expect(owners == 1)
            #expect(try await shop.rights(of: "ann").isEmpty)
        }
    }

    @Test("Ask: nothing moves by itself, and the backend may move it (P10)")
    func ask() async throws {
        try await open(RestoreTerms(policy: .ask)) { shop in
            let payment = try await shop.purchase(Self.pro, as: "ann")
            let stray = try await shop.pay(Self.renewing, token: nil)
            let reply = try await shop.restore([payment.signed, stray.signed], as: .user("ben"))
            #expect(shop.outcomes(reply) == ["kept ask_backend finish", "quarantined no_owner"])
            #expect(reply["data"].list.first?.at("askBackend") == true)
            let moved = try await shop.send(
                .post, "/v1/transfers",
                [
                    "from": "ann", "to": "ben", "originalTransactionId": .string(payment.id), "reason": "same person",
                    "operator": "li",
                ])
            #expect(moved.status == 201)
            #expect(shop.outcomes(try await shop.restore([payment.signed], as: .user("ben"))) == ["owned finish"])
        }
    }

    @Test("A purchase without a token belongs to the first user who restores it; delivering it is not enough (P8, P10)")
    func claim() async throws {
        try await open(RestoreTerms()) { shop in
            let right = try await shop.pay(Self.pro, token: nil, account: "family")
            let chain = try await shop.pay(Self.renewing, token: nil, account: "family")
            let pack = try await shop.pay(token: nil, account: "family")
            let delivered = try await shop.submit(right.signed, as: .user("ben"))
            #expect(delivered["outcome"].text == "quarantined")
            let proofs = [right.signed, chain.signed, pack.signed]
            let hers = try await shop.restore(proofs, as: .user("ann"))
            #expect(shop.outcomes(hers) == ["claimed finish", "claimed finish", "quarantined no_owner"])
            #expect(
                shop.outcomes(try await shop.restore(proofs, as: .user("ann")))
                    == ["owned finish", "owned finish", "quarantined no_owner"])
            #expect(
                shop.outcomes(try await shop.restore(proofs, as: .backend, userID: "ben"))
                    == ["kept other_customer finish", "kept other_customer finish", "quarantined no_owner"])
            #expect(try await shop.rights(of: "ann").count == 2)
            #expect(try await shop.points(of: "ann") == 0)
            try await shop.renew(chain.id)
            #expect(try await shop.rights(of: "ann").count == 2)
            #expect(try await shop.rights(of: "ben").isEmpty)
        }
    }

    @Test("A renewal is claimed although its beginning was never seen, and the chain stays with its claimant (P10)")
    func claimedLate() async throws {
        try await open(RestoreTerms()) { shop in
            let first = try await shop.pay(Self.renewing, token: nil, account: "family")
            shop.time.advance(seconds: 31 * 86_400)
            let list = try await shop.transactions(of: "family", "state=purchased")
            let newest = try #require(list.last { $0 != first.id })
            let signed = try await shop.ask(.get, "/emulator/transactions/\(newest)")["signedTransaction"].text
            #expect(shop.outcomes(try await shop.restore([signed], as: .user("ann"))) == ["claimed finish"])
            // The beginning is submitted by another phone: the chain has an owner.
            let his = try await shop.restore([first.signed], as: .user("ben"))
            #expect(shop.outcomes(his) == ["quarantined no_owner"])
            try await shop.renew(first.id)
            #expect(try await shop.rights(of: "ann").count == 1)
            #expect(try await shop.rights(of: "ben").isEmpty)
        }
    }

    @Test("A purchase whose token names an order, known or not, can't be claimed (U1, P10)")
    func tokens() async throws {
        try await open(RestoreTerms()) { shop in
            let unknown = try await shop.pay(Self.pro, token: UniqueID(high: 7, low: 7))
            let order = try await shop.openOrder(Self.renewing, as: "ann")
            let hers = try await shop.pay(Self.renewing, token: order)
            let reply = try await shop.restore([unknown.signed, hers.signed], as: .user("ben"))
            #expect(shop.outcomes(reply) == ["quarantined unknown_token", "kept other_customer finish"])
            #expect(try await shop.rights(of: "ann").count == 1)
        }
    }

    @Test("A receipt stands for the newest of each chain; without Apple's signed copy none of it is claimed (P10)")
    func receipts() async throws {
        try await open(RestoreTerms(policy: .move)) { shop in
            _ = try await shop.purchase(Self.pro, as: "ann", account: "ann")
            let last = try await shop.purchase(Self.renewing, as: "ann", account: "ann")
            _ = try await shop.pay(Self.pro, token: nil, account: "ben")
            func restored(_ receipt: String, as user: String) async throws -> Reply {
                try await shop.send(.post, "/v1/restores", ["receipt": .string(receipt)], as: .user(user))
            }
            let hers = try await restored(last.receipt, as: "ann")
            #expect(shop.outcomes(hers) == ["owned finish", "owned finish"], "\(hers.body)")
            let stray = try await shop.pay(Self.renewing, token: nil, account: "ben")
            #expect(
                shop.outcomes(try await restored(stray.receipt, as: "ben"))
                    == ["quarantined receipt_needs_order", "quarantined receipt_needs_order"])
            #expect(shop.outcomes(try await restored(last.receipt, as: "eve")) == ["moved finish", "moved finish"])
            #expect(try await restored("AAAA", as: "eve").status == 422)
            #expect(try await restored("§", as: "eve").code == "malformed")
        }
    }

    @Test("Bodies with too few or too many members are refused, and restoring needs a user")
    func unusable() async throws {
        try await open(RestoreTerms()) { shop async throws in
            func code(_ body: JSONValue, _ party: Party = .user("ann")) async throws -> String {
                try await shop.send(.post, "/v1/restores", body, as: party).code
            }
            #expect(try await code([:]) == "invalid_field")
            #expect(try await code(["signedTransactions": []]) == "invalid_field")
            #expect(try await code(["signedTransactions": ["x"], "receipt": "AAAA"]) == "invalid_field")
            let many = JSONValue.array(Array(repeating: "x", count: 101))
            #expect(try await code(["signedTransactions": many]) == "invalid_field")
            #expect(try await code(["signedTransactions": ["x"]], .backend) == "invalid_field")
            #expect(try await code(["signedTransactions": ["x"]], .anonymous) == "unauthorized")
            #expect(try await code(["signedTransactions": ["x"], "userId": "ben"]) == "forbidden")
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}

import Testing
import TillAppStore
import TillBilling

/// A renewal belongs to the owner of the purchase that it renews.
@Suite("The owner of a renewal does not depend on the order of arrival (U1, U4)") struct RenewalOwnerJourneys {
    enum Token: CaseIterable, Sendable {
        case none
        case unknown
        /// Apple carries the chain's first token on.
        case inherited
    }

    private static let stranger = OrderID(high: 0x1111_2222_3333_4444, low: 0x9555_6666_7777_8888)

    /// Ann had a month. Ben returns in her chain without a token that names him, and it renews.
    private func returned(
        _ token: Token, _ house: HouseholdShop
    ) async throws -> (purchase: String, renewal: String) {
        let order = try await house.shop.openOrder(HouseholdShop.premium, as: "ann")
        let first = try house.period("7001", HouseholdShop.premium, 0..<30, token: order)
        #expect(try await house.submit(first, as: "ann") == "granted finish")
        house.go(to: 82)
        let bought: OrderID? = token == .unknown ? Self.stranger : nil
        let renewed: OrderID? = token == .inherited ? order : bought
        return (
            try house.period("7002", HouseholdShop.premium, 50..<80, token: bought),
            try house.period("7003", HouseholdShop.premium, 79..<110, token: renewed, renews: true)
        )
    }

    @Test(
        "A return that names no customer waits with its renewals, and the operator's decision grants them",
        arguments: Token.allCases, Reach.allCases)
    func waiting(_ token: Token, _ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let (purchase, renewal) = try await returned(token, house)
            let why = token == .unknown ? "unknown_token" : "no_owner"
            #expect(try await house.submit(purchase, as: "ben") == "quarantined \(why)")
            #expect(try await house.submit(renewal, as: "ben") == "quarantined \(why)")
            #expect(try await house.rights(["ann", "ben"]) == ["", ""])
            #expect(try await house.decide("7002", for: "ben") == 200)
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
            #expect(try await house.submit(renewal, as: "ben") == "alreadyGranted finish")
        }
    }

    @Test("A renewal may come before its purchase, with the same result", arguments: Token.allCases, Reach.allCases)
    func renewalFirst(_ token: Token, _ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let (purchase, renewal) = try await returned(token, house)
            try await house.submit(renewal, as: "ben")
            try await house.submit(purchase, as: "ben")
            #expect(try await house.submit(renewal, as: "ben").hasPrefix("quarantined"))
            #expect(try await house.rights(["ann", "ben"]) == ["", ""])
            #expect(try await house.decide("7002", for: "ben") == 200)
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
            #expect(try await house.states(["ann", "ben"]) == ["expired premium_monthly", "active premium_monthly"])
        }
    }

    @Test("A renewal that came first goes to the customer whom its purchase names", arguments: Reach.allCases)
    func namedLater(_ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let (_, renewal) = try await returned(.none, house)
            #expect(try await house.submit(renewal, as: "ben").hasSuffix("finish"))
            #expect(try await house.rights(["ann", "ben"]) == ["premium", ""])
            let order = try await house.shop.openOrder(HouseholdShop.premium, as: "ben")
            let purchase = try house.period("7002", HouseholdShop.premium, 50..<80, token: order)
            #expect(try await house.submit(purchase, as: "ben") == "granted finish")
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
        }
    }

    @Test("A renewal with an unknown token of its own has no other match, until the token is known")
    func ownToken() async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.premium, as: "ann")
            try await house.submit(
                try house.period("7001", HouseholdShop.premium, 0..<30, token: order), as: "ann")
            house.go(to: 30)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: Self.stranger, renews: true)
            #expect(try await house.submit(renewal, as: "ann") == "quarantined unknown_token")
            #expect(try await house.rights(["ann"]) == [""])
            let proven = ProvenOrder(of: "ben", 9)
            let known = try house.period("7003", HouseholdShop.premium, 59..<90, token: proven.id, renews: true)
            house.go(to: 61)
            #expect(try await house.submit(known, as: "ben") == "quarantined unknown_token")
            let body = proven.opening(["productId": .string(HouseholdShop.premium), "quantity": 1])
            #expect(try await house.shop.send(.post, "/v1/orders", body, as: .user("ben")).status == 201)
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
            #expect(try await house.received("ben") == ["active"])
        }
    }

    @Test(
        "A renewal under another customer's order of something else waits for that customer, or for an operator",
        arguments: [true, false])
    func otherOrder(_ isDecidedByOperator: Bool) async throws {
        try await HouseholdShop.open { house in
            let hers = try await house.shop.openOrder(HouseholdShop.premium, as: "ann")
            try await house.submit(try house.period("7001", HouseholdShop.premium, 0..<30, token: hers), as: "ann")
            let his = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ben")
            house.go(to: 30)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: his, renews: true)
            #expect(try await house.submit(renewal, as: "ben") == "quarantined contradicts_order")
            if isDecidedByOperator {
                #expect(try await house.decide("7002", for: "ben") == 200)
            } else {
                let accepted = try await house.shop.send(
                    .post, "/v1/users/ben/claims", ["transactionId": "7002"], as: .user("ben"))
                #expect(accepted.status == 200)
            }
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
        }
    }

    @Test("An order of Ben's that matches Ann's renewal does not take it: the renewed purchase decides (U1)")
    func orderBeside() async throws {
        try await HouseholdShop.open { house in
            let hers = try await house.shop.openOrder(HouseholdShop.premium, as: "ann")
            try await house.submit(try house.period("7001", HouseholdShop.premium, 0..<30, token: hers), as: "ann")
            house.go(to: 29)
            let his = try await house.shop.openOrder(HouseholdShop.premium, as: "ben")
            house.go(to: 30)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, renews: true)
            let reply = try await house.shop.submit(renewal, as: .user("ben"), orderID: his)
            #expect(reply["outcome"].text == "granted" && reply["grant"] == .null, "\(reply.body)")
            #expect(try await house.rights(["ann", "ben"]) == ["premium", ""])
            #expect(try await house.shop.status(of: his) == "prepared")
            #expect(try await house.shop.decisions(on: "7002").map(\.ground) == ["original_transaction"])
            // The same order beside a purchase of his own: nothing precedes it there.
            let own = try house.period("8001", HouseholdShop.premium, 30..<60, of: "8001")
            #expect(try await house.shop.submit(own, as: .user("ben"), orderID: his)["outcome"].text == "granted")
            #expect(try await house.shop.status(of: his) == "completed")
        }
    }

    // MARK: Upgrades in Settings

    @Test(
        "The owner of a chain without tokens may submit an upgrade bought in Settings, another user may not",
        arguments: Reach.allCases)
    func upgradeInSettings(_ reach: Reach) async throws {
        try await HouseholdShop.open(reach) { house in
            let first = try house.period("7001", HouseholdShop.basicYear, 0..<365)
            #expect(try await house.shop.submit(first, as: .backend, userID: "ann")["outcome"].text == "granted")
            house.go(to: 30)
            let upgrade = try house.period("7002", HouseholdShop.premium, 30..<60)
            #expect(try await house.submit(upgrade, as: "ben") == "quarantined no_owner")
            #expect(try await house.rights(["ann", "ben"]) == ["", ""])
            #expect(try await house.submit(upgrade, as: "ann") == "granted finish")
            #expect(try await house.rights(["ann", "ben"]) == ["premium", ""])
            house.go(to: 60)
            let renewal = try house.period("7003", HouseholdShop.premium, 60..<90, renews: true)
            #expect(try await house.submit(renewal, as: "ben").hasSuffix("finish"))
            #expect(try await house.rights(["ann", "ben"]) == ["premium", ""])
        }
    }

    @Test("If tokens distinguish customers, an upgrade without one waits, and so does a return after a lapse")
    func notTrusted() async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ann")
            let first = try house.period("7001", HouseholdShop.basicYear, 0..<365, token: order)
            try await house.submit(first, as: "ann")
            let other = try house.period("8001", HouseholdShop.premium, 0..<30, of: "8001")
            #expect(try await house.shop.submit(other, as: .backend, userID: "ann")["outcome"].text == "granted")
            house.go(to: 51)
            let upgrade = try house.period("7002", HouseholdShop.premium, 30..<60)
            #expect(try await house.submit(upgrade, as: "ann") == "quarantined no_owner")
            let later = try house.period("8002", HouseholdShop.premium, 50..<80, of: "8001")
            #expect(try await house.submit(later, as: "ann") == "quarantined no_owner")
        }
    }

    // MARK: Renewals that wait with their purchase

    @Test("A renewal that waits with its purchase belongs to its token's customer, whatever an operator says")
    func waitingNamed() async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ann")
            let first = try house.period("7001", HouseholdShop.premium, 0..<30, token: order)
            #expect(try await house.submit(first, as: "eve") == "quarantined contradicts_order")
            house.go(to: 30)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: order, renews: true)
            #expect(try await house.submit(renewal, as: "eve") == "quarantined no_owner")
            #expect(try await house.decide("7002", for: "eve") == 409)
            #expect(try await house.rights(["ann", "eve"]) == ["", ""])
            #expect(try await house.decide("7002", for: "ann") == 200)
            #expect(try await house.rights(["ann", "eve"]) == ["premium", ""])
        }
    }

    @Test(
        "A first period that was refunded before it was seen takes no renewal from an account",
        arguments: [true, false])
    func refundedFirst(_ isRefundFirst: Bool) async throws {
        try await HouseholdShop.open { house in
            let put = try await house.shop.send(.put, "/v1/users/ann/account-tokens/\(Self.stranger)")
            #expect(put.status == 201)
            house.go(to: 30)
            let refunded = try house.period(
                "7001", HouseholdShop.premium, 0..<30, token: Self.stranger, signed: 5, revoked: 5)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: Self.stranger, renews: true)
            if isRefundFirst { #expect(try await house.submit(refunded, as: "ann").hasPrefix("revoked")) }
            #expect(try await house.submit(renewal, as: "ann") == "granted finish")
            if !isRefundFirst { #expect(try await house.submit(refunded, as: "eve").hasPrefix("revoked")) }
            #expect(try await house.rights(["ann"]) == ["premium"])
        }
    }

    @Test("A first period that was refunded while its token was unknown takes no renewal from the account")
    func refundedUnknown() async throws {
        try await HouseholdShop.open { house in
            let first = try house.period("7001", HouseholdShop.premium, 0..<30, token: Self.stranger)
            #expect(try await house.submit(first, as: "ann") == "quarantined unknown_token")
            house.go(to: 6)
            let refunded = try house.period(
                "7001", HouseholdShop.premium, 0..<30, token: Self.stranger, signed: 5, revoked: 5)
            #expect(try await house.submit(refunded, as: "ann").hasPrefix("revoked"))
            house.go(to: 30)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: Self.stranger, renews: true)
            #expect(try await house.submit(renewal, as: "ann") == "quarantined unknown_token")
            let put = try await house.shop.send(.put, "/v1/users/ann/account-tokens/\(Self.stranger)")
            #expect(put.status == 201)
            #expect(try await house.rights(["ann"]) == ["premium"])
        }
    }

    @Test("A renewal that came before its purchase leaves its owner when the purchase proves to be another's")
    func refundedReturn() async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.premium, as: "ann")
            try await house.submit(
                try house.period("7001", HouseholdShop.premium, 0..<30, token: order), as: "ann")
            house.go(to: 82)
            let renewal = try house.period("7003", HouseholdShop.premium, 80..<110, renews: true)
            #expect(try await house.submit(renewal, as: "ann") == "granted finish")
            let refunded = try house.period("7002", HouseholdShop.premium, 50..<80, signed: 81, revoked: 60)
            #expect(try await house.submit(refunded, as: "ben").hasPrefix("revoked"))
            #expect(try await house.rights(["ann"]) == [""])
            #expect(try await house.submit(renewal, as: "ann") == "quarantined no_owner")
        }
    }

    // MARK: Several customers

    @Test("A period without a token in a chain of two customers is restored by neither of them")
    func firstCustomer() async throws {
        try await HouseholdShop.open { house in
            for (user, id, days) in [("eve", "7001", Int64(0)..<30), ("ben", "7002", 50..<80)] {
                house.go(to: days.lowerBound)
                let order = try await house.shop.openOrder(HouseholdShop.premium, as: user)
                let bought = try house.period(id, HouseholdShop.premium, days, token: order)
                #expect(try await house.submit(bought, as: user) == "granted finish")
            }
            house.go(to: 60)
            let change = try house.period("7003", HouseholdShop.basicYear, 60..<425)
            #expect(try await house.submit(change, as: "ben") == "quarantined no_owner")
            for user in ["eve", "ben"] {
                let reply = try await house.shop.restore([change], as: .user(user))
                #expect(house.shop.outcomes(reply) == ["quarantined no_owner"], "\(user): \(reply.body)")
            }
            #expect(try await house.decide("7003", for: "ben") == 200)
            #expect(try await house.rights(["eve", "ben"]) == ["", "basic"])
        }
    }

    // MARK: Accepted purchases

    private func accept(_ id: String, as user: String, _ house: HouseholdShop) async throws -> Int {
        try await house.shop.send(
            .post, "/v1/users/\(user)/claims", ["transactionId": .string(id)], as: .user(user)
        ).status
    }

    @Test("The renewals of an accepted purchase go to the purchase's owner")
    func acceptedAndMoved() async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ann")
            let first = try house.period("7001", HouseholdShop.premium, 0..<30, token: order)
            #expect(try await house.submit(first, as: "ann") == "quarantined contradicts_order")
            #expect(try await accept("7001", as: "ann", house) == 200)
            let moved = try await house.shop.send(
                .post, "/v1/transfers",
                ["from": "ann", "to": "carl", "originalTransactionId": "7001", "reason": "r", "operator": "li"])
            #expect(moved.status == 201, "\(moved.body)")
            house.go(to: 30)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: order, renews: true)
            #expect(try await house.submit(renewal, as: "carl") == "granted finish")
            #expect(try await house.rights(["ann", "carl"]) == ["", "premium"])
        }
    }

    @Test("A renewal that its customer accepted stays accepted when its purchase comes")
    func acceptedFirst() async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ann")
            house.go(to: 31)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: order, renews: true)
            #expect(try await house.submit(renewal, as: "eve") == "quarantined contradicts_order")
            #expect(try await accept("7002", as: "ann", house) == 200)
            #expect(try await house.rights(["ann"]) == ["premium"])
            let purchase = try house.period("7001", HouseholdShop.premium, 0..<30, token: order)
            #expect(try await house.submit(purchase, as: "eve") == "quarantined contradicts_order")
            #expect(try await house.rights(["ann"]) == ["premium"])
        }
    }

    @Test(
        "The customer may accept a renewal whose purchase was refunded while it waited",
        arguments: [true, false])
    func acceptedWithoutPurchase(_ isRefundFirst: Bool) async throws {
        try await HouseholdShop.open { house in
            let order = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ann")
            let first = try house.period("7001", HouseholdShop.premium, 0..<30, token: order)
            #expect(try await house.submit(first, as: "eve") == "quarantined contradicts_order")
            house.go(to: 31)
            let refunded = try house.period(
                "7001", HouseholdShop.premium, 0..<30, token: order, signed: 31, revoked: 31)
            let renewal = try house.period("7002", HouseholdShop.premium, 30..<60, token: order, renews: true)
            for signed in isRefundFirst ? [refunded, renewal] : [renewal, refunded] {
                try await house.submit(signed, as: "eve")
            }
            #expect(try await accept("7002", as: "eve", house) == 404)
            #expect(try await accept("7002", as: "ann", house) == 200)
            #expect(try await house.rights(["ann", "eve"]) == ["premium", ""])
        }
    }

    @Test(
        "A customer may accept a renewal under their order of something else, if a receipt hides the purchase",
        arguments: [true, false])
    func acceptedBehindReceipt(_ isDecidedByOperator: Bool) async throws {
        try await HouseholdShop.open(hasKey: false) { house in
            let hers = try await house.shop.openOrder(HouseholdShop.premium, as: "ann")
            let payment = try await house.pay(HouseholdShop.premium, token: hers)
            let bought = try await house.shop.post(receiptOf: payment, HouseholdShop.premium, order: hers, as: "ann")
            #expect(bought["outcome"].text == "granted", "\(bought.body)")
            let order = try await house.shop.openOrder(HouseholdShop.basicYear, as: "ben")
            house.go(to: 30)
            let renewal = try house.period(
                "7002", HouseholdShop.premium, 30..<60, of: payment.id, token: order, renews: true)
            #expect(try await house.submit(renewal, as: "ben") == "quarantined contradicts_order")
            if isDecidedByOperator {
                #expect(try await house.decide("7002", for: "ben") == 200)
            } else {
                #expect(try await accept("7002", as: "ben", house) == 200)
            }
            #expect(try await house.rights(["ann", "ben"]) == ["", "premium"])
        }
    }
}

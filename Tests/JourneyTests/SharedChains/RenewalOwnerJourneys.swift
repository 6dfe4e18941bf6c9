import Testing
import TillAppStore
import TillBilling

/// A renewal belongs to the customer who has the purchase that it renews.
@Suite("Who has a renewal does not depend on arrival (U1, U4)") struct RenewalOwnerJourneys {
    enum Token: CaseIterable, Sendable {
        case none
        case unknown
        /// Apple carries the chain's first token on.
        case inherited
    }

    private static let stranger = OrderID(high: 0x1111_2222_3333_4444, low: 0x9555_6666_7777_8888)

    /// Ann had a month. Ben returns in her chain with nothing that names him, and it renews.
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
        "A return that names nobody waits with its renewals, and the operator's decision brings them",
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

    @Test("The renewal may come before its purchase: it ends the same", arguments: Token.allCases, Reach.allCases)
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

    @Test("A renewal under a token of its own that names nobody falls no further, until the token is known")
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
            #expect(try await house.heard("ben") == ["active"])
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

    // MARK: Upgrades in Settings

    @Test(
        "Who has a chain without tokens and brings the upgrade bought in Settings is believed, another is not",
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

    @Test("Where tokens tell customers apart, an upgrade without one waits, and so does a return after a lapse")
    func notBelieved() async throws {
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
}

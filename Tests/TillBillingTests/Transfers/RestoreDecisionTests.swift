import Testing
import TillBilling

/// The restore policy as a table: the outcome of the transaction, its type and owner, the shop's policy, and how often
/// its chain has moved; then the result of B restoring it.
@Suite("Restoring is decided from facts alone") struct RestoreDecisionTests {
    static let table = """
        granted  consumable     B  keep  0 | not_restorable
        granted  consumable     A  keep  0 | not_restorable
        granted  consumable     A  move  0 | not_restorable
        granted  non_consumable B  keep  0 | owned
        granted  non_consumable B  move  9 | owned
        granted  non_consumable B  ask   0 | owned
        granted  non_consumable A  keep  0 | kept other_customer
        granted  non_consumable A  move  0 | move
        granted  non_consumable A  move  2 | move
        granted  non_consumable A  move  3 | kept too_many_moves
        granted  non_consumable A  ask   0 | kept ask_backend
        granted  renewable      B  keep  0 | owned
        granted  renewable      A  keep  0 | kept other_customer
        granted  renewable      A  move  0 | move
        granted  renewable      A  move  4 | kept too_many_moves
        granted  renewable      A  ask   0 | kept ask_backend
        granted  non_renewing   B  move  0 | owned
        granted  non_renewing   A  keep  0 | not_restorable
        granted  non_renewing   A  move  0 | not_restorable
        granted  free           A  move  0 | not_restorable
        granted  unknown        A  move  0 | not_restorable
        granted  unknown        B  keep  0 | owned
        claimed  renewable      B  keep  0 | claimed
        claimed  non_consumable B  move  9 | claimed
        revoked  renewable      A  move  0 | revoked
        revoked  consumable     B  keep  0 | revoked
        quarant. non_consumable A  move  0 | quarantined
        quarant. consumable     B  keep  0 | quarantined
        waiting  renewable      A  move  0 | waiting
        """

    private static let types: [String: ProductType] = [
        "consumable": .consumable, "non_consumable": .nonConsumable, "renewable": .autoRenewable,
        "non_renewing": .nonRenewing, "free": .freeSubscription,
    ]

    @Test(
        "The decision which purchases are restored, moved or kept (P10, T11)",
        arguments: table.split(separator: "\n").map(String.init))
    func decide(_ line: String) throws {
        let sides = line.split(separator: "|").map { $0.split(separator: " ").map(String.init) }
        let facts = sides[0]
        let standings: [String: RestoreFacts.Status] = [
            "granted": .granted(to: UserID(facts[2])), "claimed": .claimed, "revoked": .revoked,
            "quarant.": .quarantined, "waiting": .waiting,
        ]
        let decision = RestoreDecision(
            RestoreFacts(
                status: try #require(standings[facts[0]]), type: Self.types[facts[1]], restorer: UserID("B"),
                moves: try #require(Int(facts[4]))),
            RestoreTerms(policy: try #require(RestorePolicy(rawValue: facts[3]))))
        #expect(Self.words(decision) == sides[1].joined(separator: " "), "\(line)")
    }

    private static func words(_ decision: RestoreDecision) -> String {
        switch decision {
        case .owned: "owned"
        case .claimed: "claimed"
        case .move: "move"
        case .kept(let reason): "kept \(reason.rawValue)"
        case .notRestorable: "not_restorable"
        case .revoked: "revoked"
        case .quarantined: "quarantined"
        case .waiting: "waiting"
        }
    }
}

@Suite("The new owner of what moves") struct TransferRuleTests {
    /// buyer | owner of the chain's earlier transactions | the buyer's account | new owner and ground
    static let successions = """
        A | - | - | A
        A | A | - | A
        A | B | - | B chain_owner
        G | - | A | A merged_guest
        G | A | A | A chain_owner
        G | G | A | G
        """

    @Test(
        "A new transaction goes to its chain's owner, a guest's to the account, all others to the buyer (P12)",
        arguments: successions.split(separator: "\n").map(String.init))
    func succession(_ line: String) {
        let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
        func user(_ name: String) -> UserID? { name == "-" ? nil : UserID(name) }
        let succession = NewOwner(buyer: UserID(cells[0]), currentChainOwner: user(cells[1]), account: user(cells[2]))
        let words = [succession.user.text] + (succession.ground.map { [$0.rawValue] } ?? [])
        #expect(words.joined(separator: " ") == cells[3], "\(line)")
    }

    /// points of the purchases | the wallet's balance | points that move
    static let points = """
        60      | 60  | 60
        60      | 20  | 20
        60      | 0   |
        60      | -5  |
        60 30   | 70  | 60 10
        60 30   | 100 | 60 30
        -10     | 40  | -10
        -10 60  | 20  | -10 30
        """

    @Test(
        "Points move as far as the wallet holds them, debts in full (P10, P12)",
        arguments: points.split(separator: "\n").map(String.init))
    func left(_ line: String) throws {
        let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            .map { $0.split(separator: " ").compactMap { Int64($0) } }
        let submitted = cells[0].enumerated().map { index, amount in
            MovedPoints(environment: .sandbox, currency: "points", amount: amount, grant: Int64(index))
        }
        let left = MovedPoints.left(of: submitted, in: Wallet(balances: ["points": cells[1][0], "gems": 7]))
        #expect(left.map(\.amount) == cells[2], "\(line)")
        #expect(left.allSatisfy { $0.currency == "points" })
    }

    @Test("Points leave one wallet and enter the other; the account in between stays even (DESIGN §4, invariant 4)")
    func postings() {
        let transfer = Transfer(
            id: UniqueID(high: 1, low: 2), kind: .guestMerge, from: UserID("G"), to: UserID("A"), reason: "r",
            actor: "user:A", at: Instant(seconds: 1))
        let moved = [("gems", -5), ("points", 60)].map { currency, amount in
            MovedPoints(environment: .sandbox, currency: currency, amount: Int64(amount))
        }
        let postings = moved.flatMap { $0.postings(transfer) }
        #expect(postings.map(\.userID.text) == ["G", "A", "G", "A"])
        #expect(postings.map(\.amount) == [5, -5, -60, 60])
        #expect(postings.allSatisfy { $0.contra == .moved && $0.kind == .moved })
        #expect(postings.reduce(0) { $0 + $1.amount } == 0)
    }
}

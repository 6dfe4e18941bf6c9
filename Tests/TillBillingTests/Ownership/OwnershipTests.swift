import Testing
import TillBilling

/// The decision about a granted purchase when another signed copy of it arrives, as a table.
@Suite("How a newer copy changes the owner of a grant") struct OwnershipTests {
    /// basis | the copy that arrived, compared with the newest known one | decision
    static let table = """
        receipt  | newer names owner                | confirm token
        receipt  | newer names another              | move
        receipt  | newer names unknown              | contest
        receipt  | newer names anothersOtherOrder   | take back
        receipt  | newer names none                 | confirm order_id
        receipt  | same names unknown               | contest
        receipt  | same names another               | move
        receipt  | same names owner                 | confirm token
        receipt  | older names owner                | keep
        receipt  | older names none                 | keep
        receipt  | older names another              | note older_copy_names_another
        receipt  | older names unknown              | note older_copy_names_another
        order_id | newer names owner                | confirm token
        order_id | newer names none                 | keep
        order_id | newer names another              | note token_changed
        order_id | newer names unknown              | note token_changed
        order_id | newer names anothersOtherOrder   | note token_changed
        order_id | older names another              | note older_copy_names_another
        token    | newer names owner                | keep
        token    | newer names none                 | keep
        token    | newer names another              | note token_changed
        token    | newer names unknown              | note token_changed
        token    | newer names anothersOtherOrder   | note token_changed
        token    | same names another               | keep
        token    | older names another              | note older_copy_names_another
        person   | newer names owner                | keep
        person   | newer names none                 | keep
        person   | newer names another              | note token_changed
        person   | newer names unknown              | note token_changed
        person   | newer names anothersOtherOrder   | note token_changed
        person   | same names another               | keep
        person   | older names another              | note older_copy_names_another
        """

    @Test("Each row of the table holds (V3)", arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let sides = row.split(separator: "|").map(\.trimmed)
        try #require(sides.count == 3)
        let words = sides[1].split(separator: " ").map(String.init)
        let names: [String: OwnershipFacts.NamedOwner] = [
            "none": .none, "owner": .owner, "another": .another, "unknown": .unknown,
            "anothersOtherOrder": .anothersOtherOrder,
        ]
        let decision = OwnershipDecision(
            OwnershipFacts(
                basis: try #require(OwnershipBasis(rawValue: sides[0])), named: try #require(names[words[2]]),
                isOlder: words[0] == "older", isKnownToken: words[0] == "same"))
        #expect(text(decision) == sides[2])
    }

    private func text(_ decision: OwnershipDecision) -> String {
        switch decision {
        case .keep: "keep"
        case .confirm(let basis): "confirm \(basis.rawValue)"
        case .move: "move"
        case .contest: "contest"
        case .withdraw: "take back"
        case .note(let note): "note \(note.rawValue)"
        }
    }

    /// the proof, the owner match, an earlier grant's basis | basis
    static let bases = """
        receipt, order_id                     | receipt
        receipt, original_transaction         | receipt
        receipt, original_transaction token   | receipt
        receipt, original_transaction person  | receipt
        receipt, original_transaction receipt | receipt
        receipt, operator                     | person
        signed, order_id                      | order_id
        signed, device                        | order_id
        signed, claim                         | order_id
        signed, backend                       | order_id
        signed, order_number                  | person
        signed, original_transaction          | order_id
        signed, original_transaction receipt  | receipt
        token, token                          | token
        token, account_token                  | token
        token, backend                        | token
        token, order_number                   | person
        token, original_transaction receipt   | receipt
        """

    @Test("The basis of a new grant", arguments: bases.split(separator: "\n").map(String.init))
    func basis(_ row: String) throws {
        let sides = row.split(separator: "|").map(\.trimmed)
        try #require(sides.count == 2)
        let parts = sides[0].split(separator: ",").map(\.trimmed)
        let words = parts[1].split(separator: " ").map(String.init)
        let transaction = PaidTransaction(
            id: TransactionID("T"), originalID: TransactionID("T"), productID: ProductID("p"), quantity: 1,
            environment: .sandbox, token: parts[0] == "token" ? .order(UniqueID(high: 1, low: 1)) : nil,
            purchasedAt: Instant(seconds: 1), signedAt: Instant(seconds: 2), revokedAt: nil, isRenewal: false,
            isFromReceipt: parts[0] == "receipt", price: nil)
        let basis = OwnershipBasis(
            of: transaction, foundBy: try #require(OwnerMatch(rawValue: words[0])),
            chain: words.count > 1 ? OwnershipBasis(rawValue: words[1]) : nil)
        #expect(basis.rawValue == sides[1])
    }

    @Test("Held points count in the balance and can't be spent")
    func held() {
        let wallet = Wallet(balances: ["points": 100], held: ["points": 60])
        #expect(wallet.covers(40, of: "points") && !wallet.covers(41, of: "points"))
        #expect(wallet.hasBalance(100, of: "points"))
        #expect(DebtPolicy.owe.refusal(ofSpending: 41, of: "points", from: wallet) == .insufficientFunds)
        let debtor = Wallet(balances: ["points": 30], held: ["points": 60])
        #expect(!debtor.covers(1, of: "points"))
    }
}

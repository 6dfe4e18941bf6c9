import Testing
import TillBilling

@Suite("An order is granted for the product and quantity it ordered") struct PresentTests {
    /// facts, separated by commas | decision; the facts are those of `SettlementTests.table`.
    static let table = """
        token OA, order quantity 2                            | quarantine contradicts_order
        token OA, order product other                         | quarantine contradicts_order
        token OA, partly revoked, order quantity 2            | quarantine contradicts_order
        token OA, order holds X, order product other          | quarantine contradicts_order
        token OA, order holds X, order quantity 2             | quarantine contradicts_order
        token OA, order status cancelled, order product other | quarantine contradicts_order
        token OA, renewal, order product other                | quarantine contradicts_order
        token OA, renewal, order product other, in OA's chain | grant A OA token
        token OA, renewal                                     | grant A OA token
        token OA, order product other, accepted by A          | grant A new acceptance
        token OA, order holds X, order product other, accepted by A | grant A new acceptance
        token OA, order product other, accepted by B          | quarantine contradicts_order
        token unknown, accepted by B                          | quarantine unknown_token
        accepted by B                                         | quarantine no_owner
        account of A, accepted by B                           | grant A new account_token
        token OA, chain began at 80, order product other      | quarantine contradicts_order
        token OA, chain began at 80, order product other, in OA's chain | grant A new token
        token OA, chain began at 80, order quantity 2         | quarantine contradicts_order
        token OA, chain began at 80, order quantity 2, in OA's chain | grant A new token
        """

    @Test(
        "A purchase that differs from its order waits for the order's user, except renewals in the user's own chain",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let sides = row.split(separator: "|").map { $0.trimmed }
        try #require(sides.count == 2)
        let facts = DecisionRow(sides[0].split(separator: ",").map(\.trimmed))
        #expect(facts.decision == sides[1])
    }
}

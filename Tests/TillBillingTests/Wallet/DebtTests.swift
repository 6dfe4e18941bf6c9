import Testing
import TillBilling

/// Refunds of spent points, as a table with a column for each policy.
@Suite("A refund after the points were spent") struct DebtTests {
    /// steps | balance under owe | under freeze | under forgive; a second figure is of gems, and refused steps follow
    static let table = """
        buy A 100, spend points 80                                        | 20 | 20 | 20
        buy A 100, refund A                                               | 0 | 0 | 0
        buy A 100, spend points 80, refund A                              | -80 | -80 | 0
        buy A 100, refund A, spend points 80                              | 0 !funds | 0 !funds | 0 !funds
        buy A 100, spend points 80, refund A, refund A                    | -80 | -80 | 0
        buy A 100, spend points 80, refund A, spend points 1              | -80 !funds | -80 !debt | 0 !funds
        buy A 100, spend points 80, refund A, reverse A                   | 20 | 20 | 20
        buy A 100, spend points 80, refund A, reverse A, reverse A        | 20 | 20 | 20
        buy A 100, spend points 80, refund A, reverse A, refund A         | -80 | -80 | 0
        buy A 100, spend points 80, refund A, reverse A, spend points 20  | 0 | 0 | 0
        buy A 100, reverse A                                              | 100 | 100 | 100
        buy A 100, spend points 80, refund A, buy B 50                    | -30 | -30 | 50
        buy A 100, spend points 80, refund A, buy B 80, spend points 1    | 0 !funds | 0 !funds | 79
        buy A 100, spend points 80, refund A, buy B 50, reverse A         | 70 | 70 | 70
        buy A 100, spend points 80, refund A, buy B 100, spend points 20  | 0 | 0 | 80
        buy A 100, spend points 80, refund A, gift points 90              | 10 | 10 | 90
        buy A 100, spend points 80, refund A, correct points 80           | 0 | 0 | 80
        buy A 100, buy B 50, spend points 120, refund A                   | -70 | -70 | 0
        buy A 100, buy B 50, spend points 120, refund A, refund B         | -120 | -120 | 0
        buy A 100, buy B 50, spend points 120, refund A, refund B, reverse A | -20 | -20 | 30
        buy A 100, buy B 50, spend points 120, refund A, refund B, reverse A, reverse B | 30 | 30 | 30
        buy A 100, buy B 50, spend points 120, refund B                   | -20 | -20 | 0
        buy A 100, buy B 50, spend points 100, refund B                   | 0 | 0 | 0
        buy A 100, gift gems 5, spend points 80, refund A, spend gems 2   | -80/3 | -80/5 !debt | 0/3
        buy A 100, gift gems 5, spend points 80, refund A, buy B 80, spend gems 2 | 0/3 | 0/3 | 80/3
        buy A 100, spend points 30, refund A 40000                        | 30 | 30 | 30
        buy A 100, spend points 80, refund A 40000                        | -20 | -20 | 0
        buy A 100, spend points 80, refund A 40000, reverse A             | 20 | 20 | 20
        buy A 100, spend points 80, refund A 40000, refund A              | -80 | -80 | 0
        buy A 100, spend points 80, refund A, refund A 40000              | -20 | -20 | 0
        buy A 100, spend points 80, refund A, refund A 40000, reverse A   | 20 | 20 | 20
        buy A 100, spend points 80, refund A, refund A 10000              | 10 | 10 | 10
        buy A 7, refund A 50000                                           | 4 | 4 | 4
        buy A 3, refund A 33333                                           | 3 | 3 | 3
        buy A 3, refund A 100000                                          | 0 | 0 | 0
        correct points -30, buy A 100, spend points 70, refund A          | -100 | -100 | 0
        correct points -30, buy A 100, spend points 70, refund A, reverse A | 0 | 0 | 0
        """

    @Test("Each row of the table, under each policy (U5)", arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let cells = row.split(separator: "|").map { $0.trimmed }
        try #require(cells.count == 4)
        for (policy, wanted) in zip([DebtPolicy.owe, .freeze, .forgive], cells.dropFirst()) {
            var ledger = FakeLedger(policy)
            let refused = ledger.follow(cells[0]).map { "!" + $0.split(separator: "_")[1] }
            let balances = ledger.wallet.balances
            let figures = (["points", "gems"] as [String]).compactMap { balances[$0] }.map(String.init)
            #expect(([figures.joined(separator: "/")] + refused).joined(separator: " ") == wanted, "\(policy)")
            for currency in balances.keys {
                let lots = ledger.lots(of: currency)
                let (allocated, debt) = lots.lotsAndDebt()
                #expect(allocated.map(\.remaining).reduce(0, +) - debt == balances[currency])
            }
        }
    }

    /// type | percentage | share of 100000 points that is taken
    static let shares = """
        none            | none   | 100000
        none            | 25000  | 25000
        none            | 0      | 0
        none            | -5     | 0
        none            | 100001 | 100000
        REFUND_PRORATED | 33333  | 33333
        REFUND_PRORATED | none   | 100000
        REFUND_FULL     | 100000 | 100000
        REFUND_FULL     | 40000  | 100000
        FAMILY_REVOKE   | none   | 100000
        FAMILY_REVOKE   | 40000  | 100000
        SOMETHING_NEW   | 40000  | 40000
        """

    @Test("Apple's signed statement decides the share (U5)", arguments: shares.split(separator: "\n").map(String.init))
    func share(_ row: String) throws {
        let cells = row.split(separator: "|").map { $0.trimmed }
        try #require(cells.count == 3)
        let copy = FakeLedger.copy(percentage: Int(cells[1]), type: cells[0] == "none" ? nil : cells[0])
        #expect(RevokedShare(copy).part(of: 100_000) == Int64(cells[2]))
        #expect(RevokedShare(copy).part(of: .max) <= .max)
        let standing = FakeLedger.copy(percentage: Int(cells[1]), isRevoked: false)
        #expect(RevokedShare(standing) == .none)
    }

    @Test("Copies with other percentages give the same result in every order: the one signed last counts (U4, U5)")
    func order() {
        let copies: [(share: Int?, isRevoked: Bool)] = [(40_000, true), (nil, true), (25_000, true), (nil, false)]
        var orders = 0
        for policy in DebtPolicy.allCases {
            for last in copies.indices {
                var found: Set<[String: Int64]> = []
                for order in Self.permutations(Array(copies.indices)) {
                    var ledger = FakeLedger(policy)
                    ledger.buy("A", ["points": 100, "gems": 7])
                    _ = ledger.spend(80)
                    for index in order {
                        let copy = FakeLedger.copy(
                            percentage: copies[index].share, isRevoked: copies[index].isRevoked)
                        let signed = Instant(seconds: 2_000_000_000 + (index == last ? 100 : Int64(index)))
                        ledger.receive("A", RevokedShare(copy), signedAt: signed)
                    }
                    found.insert(ledger.wallet.balances)
                    orders += 1
                }
                #expect(found.count == 1, "\(policy) \(last): \(found)")
            }
        }
        #expect(orders == 3 * 4 * 24)
    }

    private static func permutations(_ items: [Int]) -> [[Int]] {
        guard items.count > 1 else { return [items] }
        return items.flatMap { item in permutations(items.filter { $0 != item }).map { [item] + $0 } }
    }
}

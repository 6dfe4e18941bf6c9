import Testing
import TillBilling

/// The remainder of each purchase, as a table.
@Suite("Lots show how much of each purchase was used") struct LotTests {
    /// steps | used and remaining of each lot, the oldest first | debt
    static let table = """
        buy A 100                                                  | 0+100 | 0
        buy A 100, spend points 30                                 | 30+70 | 0
        buy A 100, buy B 50, spend points 120                      | 100+0 20+30 | 0
        gift points 10, buy A 100, spend points 30                 | 10+0 20+80 | 0
        buy A 100, buy B 50, spend points 30, refund A             | 0+0 30+20 | 0
        buy A 100, buy B 50, spend points 80, refund A             | 0+0 50+0 | 30
        buy A 100, buy B 50, spend points 80, refund A, reverse A  | 80+20 0+50 | 0
        buy A 100, buy B 50, spend points 80, refund A, buy C 40   | 0+0 50+0 30+10 | 0
        buy A 100, buy B 50, spend points 80, refund A, buy C 40, reverse A | 80+20 0+50 0+40 | 0
        buy A 100, spend points 80, refund A 40000                 | 60+0 | 20
        buy A 100, spend points 30, refund A 40000                 | 30+30 | 0
        buy A 100, buy B 50, spend points 80, refund A 40000       | 60+0 20+30 | 0
        buy A 100, correct points -30, correct points 5            | 30+70 0+5 | 0
        correct points -30, buy A 20, gift points 40               | 20+0 10+30 | 0
        buy A 100, spend points 80, refund A, gift points 100      | 0+0 80+20 | 0
        buy A 100, late B 50, spend points 60                      | 50+0 10+90 | 0
        """

    @Test(
        "Each row of the table: the oldest purchase is used first (U5)",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let cells = row.split(separator: "|").map { $0.trimmed }
        try #require(cells.count == 3)
        var ledger = FakeLedger(.owe)
        let refused = ledger.follow(cells[0])
        #expect(refused.allSatisfy { !$0.hasPrefix("?") }, "\(refused)")
        let (lots, debt) = ledger.lots().lotsAndDebt()
        #expect(lots.map { "\($0.used)+\($0.remaining)" }.joined(separator: " ") == cells[1])
        #expect("\(debt)" == cells[2])
    }

    @Test("Written-off points count as used in no lot: the next points can be spent (U5)")
    func writtenOff() {
        var ledger = FakeLedger(.forgive)
        #expect(ledger.follow("buy A 100, spend points 80, refund A, buy B 50").isEmpty)
        let (lots, debt) = ledger.lots().lotsAndDebt()
        #expect(lots.map(\.used) == [0, 0] && lots.map(\.remaining) == [0, 50] && debt == 0)
    }

    @Test("Over random sequences balance, lots and debt agree at every step, and none is negative (invariant 4, U5)")
    func lives() {
        var generator = SeededGenerator(state: 11)
        var (debts, writeOffs, steps) = (0, 0, 0)
        for life in 0..<90 {
            var ledger = FakeLedger(DebtPolicy.allCases[life % 3])
            var names: [String] = []
            for _ in 0..<30 {
                let amount = Int64.random(in: 1...40, using: &generator)
                switch Int.random(in: 0..<11, using: &generator) {
                case 0, 1:
                    names.append("G\(names.count)")
                    let age = Int64.random(in: 0...3, using: &generator) * 5
                    ledger.buy(names[names.count - 1], ["points": amount, "gems": amount / 7 + 1], age: age)
                case 2: ledger.post(.bonus, .given, amount / 4 + 1)
                case 3: ledger.post(.correction, .corrected, Bool.random(using: &generator) ? amount : -amount / 4 - 1)
                case 4, 5, 6, 7:
                    _ = ledger.spend(amount, ["points", "gems"].randomElement(using: &generator) ?? "points")
                case 8, 9:
                    let share = RevokedShare(
                        FakeLedger.copy(percentage: Int.random(in: 1...100_000, using: &generator)))
                    ledger.receive(names.randomElement(using: &generator) ?? "", share)
                default:
                    let share = Bool.random(using: &generator) ? RevokedShare.all : .none
                    ledger.receive(names.randomElement(using: &generator) ?? "", share)
                }
                steps += 1
                for currency in ledger.wallet.balances.keys { debts += check(ledger, currency) }
            }
            writeOffs += ledger.postings.count { $0.kind == .writeOff }
            checkReversal(of: names, ledger, &generator)
        }
        #expect(steps == 2_700 && debts > 100 && writeOffs > 10, "\(debts) \(writeOffs)")
    }

    /// - Returns: 1 if there is a debt.
    private func check(_ ledger: FakeLedger, _ currency: String) -> Int {
        let lots = ledger.lots(of: currency)
        let (allocated, debt) = lots.lotsAndDebt()
        #expect(lots.balance == ledger.wallet.balances[currency])
        #expect(allocated.map(\.remaining).reduce(0, +) - debt == lots.balance)
        #expect(debt >= 0 && (debt == 0 || allocated.allSatisfy { $0.remaining == 0 }))
        #expect(
            allocated.allSatisfy { lot in
                lot.used >= 0 && lot.remaining >= 0 && lot.takenBack >= 0 && lot.used <= lot.amount
            })
        // The oldest lot first: after a lot with a remainder, no lot is used.
        let firstOpen = allocated.firstIndex { $0.remaining > 0 } ?? allocated.endIndex
        #expect(allocated.dropFirst(firstOpen + 1).allSatisfy { $0.used == 0 })
        return debt > 0 ? 1 : 0
    }

    /// A refund that is reversed at once leaves wallet and lots unchanged.
    private func checkReversal(of names: [String], _ ledger: FakeLedger, _ generator: inout SeededGenerator) {
        var ledger = ledger
        guard let name = names.randomElement(using: &generator) else { return }
        ledger.receive(name, .none)
        let (wallet, lots) = (ledger.wallet, ledger.lots().lotsAndDebt().lots)
        ledger.receive(name, .all)
        ledger.receive(name, RevokedShare(FakeLedger.copy(percentage: 12_345)))
        ledger.receive(name, .none)
        #expect(ledger.wallet == wallet && ledger.lots().lotsAndDebt().lots == lots)
    }

    @Test("A purchase that is known late, or refunded early or late, gives the same result in the end (U4)")
    func orderOfArrival() {
        let rows = [
            "buy A 100, late B 50, spend points 60, refund B 50000",
            "late B 50, buy A 100, spend points 60, refund B 50000",
            "late B 50, refund B 50000, buy A 100, spend points 60",
        ]
        let ends = rows.map { row -> [String] in
            var ledger = FakeLedger(.owe)
            #expect(ledger.follow(row).isEmpty)
            return ledger.lots().lotsAndDebt().lots.map { "\($0.amount) \($0.takenBack) \($0.used)" }
        }
        #expect(Set(ends).count == 1 && ends[0] == ["50 25 25", "100 0 35"], "\(ends)")
    }

    @Test("Shares are given in thousandths of a percent, rounded down (U5)")
    func shares() {
        #expect(UsedShare(used: 0, of: 60).thousandths == 0)
        #expect(UsedShare(used: 10, of: 60).thousandths == 16_666)
        #expect(UsedShare(used: 60, of: 60).thousandths == 100_000)
        #expect(UsedShare(used: 70, of: 60).thousandths == 100_000)
        #expect(UsedShare(used: .max - 1, of: .max).thousandths == 99_999)
        #expect(UsedShare(used: -1, of: 60).thousandths == 0 && UsedShare(used: 0, of: 0).thousandths == 0)
        let start = Instant(seconds: 100)
        #expect(UsedShare(from: start, milliseconds: 4_000, at: Instant(seconds: 101)).thousandths == 25_000)
        #expect(UsedShare(from: start, milliseconds: 4_000, at: Instant(seconds: 99)).thousandths == 0)
        #expect(UsedShare(from: Instant(milliseconds: .min), milliseconds: 4, at: start).thousandths == 100_000)
        var ledger = FakeLedger(.owe)
        ledger.buy("A", ["points": 100, "gems": 4])
        _ = ledger.spend(50)
        _ = ledger.spend(1, "gems")
        let lots = ["gems", "points"].compactMap { currency in
            ledger.grantID("A").flatMap { ledger.lots(of: currency).lot(ofGrant: $0) }
        }
        #expect(UsedShare(mean: lots.map { UsedShare(used: $0.used, of: $0.amount) })?.thousandths == 37_500)
        #expect(UsedShare(mean: []) == nil)
    }
}

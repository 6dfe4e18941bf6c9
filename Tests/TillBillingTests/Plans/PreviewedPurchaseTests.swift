import Testing
import TillBilling

/// Times are hours: `PM@20<5` was bought at 20 on a preview of 5.
@Suite("A previewed purchase counts at the previewed moment") struct PreviewedPurchaseTests {
    static let table = """
        at once              | BM@0, PM@5<5                | BM@0 PM@5
        later the same day   | BM@0, PM@20<5               | BM@0 PM@5
        after 24 hours       | BM@0, PM@29<5               | BM@0 PM@5
        after more           | BM@0, PM@30<5               | BM@0 PM@30
        one in between       | BM@0, BA@10, PM@20<5        | BM@0 BA@10 PM@20
        one at its moment    | BM@0, BA@5, PM@20<5         | BM@0 BA@5 PM@5
        a trial in between   | BM@0, T@10, PM@20<5         | BM@0 T@10 PM@20
        refunded in between  | BM@0, ~BA@10, PM@20<5       | BM@0 PM@5
        two previews, first  | PM@20<5, BA@21<6            | PM@5 BA@21
        two, one in another  | PM@20<15, BA@21<6           | PM@15 BA@21
        two, one by one      | PM@20<15, BA@26<21          | PM@15 BA@21
        clocks disagree      | BM@0, PM@20<21              | BM@0 PM@21
        and one between them | PM@20<22, BM@21             | PM@20 BM@21
        clocks far apart     | PM@20<45                    | PM@20
        of another day       | PM@20<-30                   | PM@20
        """

    @Test(
        "Each row: within 24 hours, and with no other purchase in between (C6)",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let cells = row.split(separator: "|").map { $0.trimmed }
        try #require(cells.count == 3)
        let purchases = try Self.purchases(cells[1])
        let names = Dictionary(
            uniqueKeysWithValues: (CloudPlans.names + ["T"]).compactMap { name in
                CloudPlans.plan(name).map { ($0.id, name) }
            })
        func counted(_ purchases: [PlanPurchase]) -> String {
            PlanPurchase.counted(purchases).map {
                "\(names[$0.plan.id] ?? "?")@\(($0.at.seconds - CloudPlans.start.seconds) / 3_600)"
            }.joined(separator: " ")
        }
        #expect(counted(purchases) == cells[2])
        #expect(counted(purchases.reversed()) == cells[2])
    }

    private static func purchases(_ cell: String) throws -> [PlanPurchase] {
        try cell.split(separator: ",").map(\.trimmed).enumerated().compactMap { number, text in
            guard !text.hasPrefix("~") else { return nil }
            let parts = text.split { "@<".contains($0) }
            func hour(_ text: Substring) throws -> Instant {
                CloudPlans.start.adding(seconds: try #require(Int64(text)) * 3_600)
            }
            return PlanPurchase(
                plan: try #require(CloudPlans.plan(parts[0])), paid: nil, at: try hour(parts[1]),
                previewedAt: parts.count > 2 ? try hour(parts[2]) : nil, transactionID: TransactionID("\(100 + number)")
            )
        }
    }

    @Test("After any earlier purchases, a purchase within 24 hours of its preview ends when the preview said (C6)")
    func honoured() throws {
        var generator = SeededGenerator(state: 21)
        var late = 0
        for _ in 0..<80 {
            let before = PlanSequence.random(&generator, count: Int.random(in: 0...6, using: &generator))
            // The preview is requested after all purchases up to that time.
            let last = (before + PlanPurchase.counted(before)).map(\.at).max() ?? CloudPlans.start
            let at = last.adding(milliseconds: .random(in: 0...2_000_000_000, using: &generator))
            var bought = PlanSequence.purchase(&generator, at: at, number: 99)
            let stated = Service(before).proration(
                to: bought.plan, quantity: bought.quantity, device: bought.deviceID, at: at)
            let delay = Int64.random(in: 0...100_000_000, using: &generator)
            bought = PlanPurchase(
                plan: bought.plan, quantity: bought.quantity, worth: bought.worth, at: at.adding(milliseconds: delay),
                preview: PlanPurchase.Preview(at: at, price: bought.plan.price), deviceID: bought.deviceID,
                transactionID: bought.transactionID)
            let came = Service.proration(of: bought, among: before)
            let id = try #require(bought.transactionID)
            guard delay <= 86_400_000 else {
                late += 1
                #expect(came.at == bought.at)
                continue
            }
            #expect(came.at == at && came.expiresAt == stated.expiresAt)
            #expect(came.balance == stated.balance && came.coverage == stated.coverage)
            #expect(Service.end(of: id, in: before + [bought]) == stated.expiresAt)
        }
        #expect(late > 3)
    }
}

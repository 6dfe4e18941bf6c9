import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("The ledger's entries for settlement reports") struct FinanceEntriesTests {
    private static let day = CivilDate(daysSinceEpoch: 20_000)

    /// A purchase in a test's table: at noon in UTC, so that every region of the world has the same day.
    private static func sale(
        _ id: Int, _ product: String = "a", day: Int = 0, price: Int64? = 600, type: ProductType? = .consumable,
        storefront: String? = "CHN", quantity: Int = 1, refunded: Int? = nil, percentage: Int? = nil,
        original: Int? = nil, days: Int = 30, isUpgraded: Bool = false, isShared: Bool = false,
        environment: StoreEnvironment = .production
    ) -> PaidTransaction {
        func noon(_ day: Int) -> Instant { Instant(seconds: Int64(20_000 + day) * 86_400 + 43_200) }
        var terms = TransactionTerms(
            type: type, expiresAt: type == .autoRenewable ? noon(day + days) : nil, isUpgraded: isUpgraded,
            isFamilyShared: isShared, storefront: storefront)
        terms.revocationPercentage = percentage
        return PaidTransaction(
            id: TransactionID("\(2_000 + id)"), originalID: TransactionID("\(2_000 + (original ?? id))"),
            productID: ProductID(product), quantity: quantity, environment: environment, token: nil,
            purchasedAt: noon(day), signedAt: noon(refunded ?? day), revokedAt: refunded.map(noon), isRenewal: false,
            isFromReceipt: false, price: price.map { SignedPrice(milliunits: $0 * 10, currency: Currency("CNY")) },
            terms: terms)
    }

    private static func record(_ sales: [PaidTransaction], in connection: any Connection) throws {
        for (index, sale) in sales.enumerated() {
            // The owner does not matter.
            let state: RecordedTransaction.State =
                sale.revokedAt != nil ? .revoked : index % 2 == 0 ? .granted : .quarantined
            _ = try TransactionTable(connection).insert(
                sale, state: state, quarantine: state == .quarantined ? .noOwner : nil, orderRowID: nil,
                at: sale.signedAt)
        }
    }

    /// An entry as a line: kind, day, product, storefront, price × quantity, count, and further members.
    private static func line(_ entry: FinanceEntry) -> String {
        var words = [
            entry.kind.rawValue, "+\(entry.day.daysSinceEpoch - day.daysSinceEpoch)", entry.productID.text,
            entry.storefront ?? "-", "\(entry.paid.amount)x\(entry.quantity)", "\(entry.count)",
        ]
        if entry.isAfterOneYear { words.append("after-one-year") }
        if entry.kind == .refund {
            words.append("sold+\(entry.soldOn.daysSinceEpoch - day.daysSinceEpoch)")
            if entry.refundedPercentage != 100_000 { words.append("\(entry.refundedPercentage)") }
        }
        return words.joined(separator: " ")
    }

    private static func lines(
        _ sales: [PaidTransaction], days: ClosedRange<Int> = 0...900, in environment: StoreEnvironment = .production,
        rowsAtOnce: Int64 = 1_000_000
    ) async throws -> (lines: [String], unpriced: [String: Int]) {
        let found = Found()
        try await withLedger { ledger in
            try await ledger.write { try record(sales, in: $0) }
            let read = try await ledger.read { connection in
                try FinanceEntries(connection).list(
                    from: day.adding(days: days.lowerBound), through: day.adding(days: days.upperBound),
                    in: environment, rowsAtOnce: rowsAtOnce)
            }
            found.value = (
                read.entries.map(line),
                Dictionary(uniqueKeysWithValues: read.unpriced.map { ($0.key.text, $0.value) })
            )
        }
        return found.value
    }

    private final class Found { var value: (lines: [String], unpriced: [String: Int]) = ([], [:]) }

    private static let mixed: [PaidTransaction] = [
        sale(1), sale(2), sale(3, quantity: 3), sale(4, price: 1_200), sale(5, storefront: "USA"), sale(6, day: 1),
        sale(7, "b", day: 1, refunded: 40), sale(8, "b", day: 1, refunded: 41, percentage: 45_000),
        sale(9, "b", day: 1, refunded: 41, percentage: 0), sale(10, "c", price: 0), sale(11, "c", isShared: true),
        sale(12, "d", price: nil), sale(13, "d", price: nil, refunded: 2), sale(14, environment: .sandbox),
        sale(15, "e", type: nil, storefront: nil),
    ]

    private static let mixedLines = [
        "sale +0 a CHN 600x1 2", "sale +0 a CHN 600x3 1", "sale +0 a CHN 1200x1 1", "sale +0 a USA 600x1 1",
        "sale +0 e - 600x1 1", "sale +1 a CHN 600x1 1", "sale +1 b CHN 600x1 3", "refund +40 b CHN 600x1 1 sold+1",
        "refund +41 b CHN 600x1 1 sold+1 45000",
    ]

    @Test("A seat that another customer pays for is no sale, in quarantine and after an operator has granted it (V6)")
    func assignedSeats() async throws {
        func assigned(_ id: Int) -> PaidTransaction {
            var terms = TransactionTerms(type: .consumable, storefront: "CHN")
            terms.otherOwnership = "ASSIGNED"
            let sale = Self.sale(id)
            return PaidTransaction(
                id: sale.id, originalID: sale.originalID, productID: sale.productID, quantity: 1,
                environment: .production, token: nil, purchasedAt: sale.purchasedAt, signedAt: sale.signedAt,
                revokedAt: nil, isRenewal: false, isFromReceipt: false, price: sale.signedPrice, terms: terms)
        }
        let found = try await Self.lines([Self.sale(1), assigned(2), assigned(3)])
        #expect(found.lines == ["sale +0 a CHN 600x1 1"])
        #expect(found.unpriced.isEmpty)
    }

    @Test("Sales and refunds count on their own days, for any owner; free transactions do not count (C3)")
    func table() async throws {
        let found = try await Self.lines(Self.mixed)
        #expect(found.lines == Self.mixedLines)
        #expect(found.unpriced == ["d": 3])
        #expect(try await Self.lines(Self.mixed, in: .sandbox).lines == ["sale +0 a CHN 600x1 1"])
    }

    @Test("Only the requested days count: a refund without its sale, and a sale without its refund")
    func span() async throws {
        #expect(try await Self.lines(Self.mixed, days: 40...40).lines == ["refund +40 b CHN 600x1 1 sold+1"])
        #expect(
            try await Self.lines(Self.mixed, days: 1...1).lines == ["sale +1 a CHN 600x1 1", "sale +1 b CHN 600x1 3"])
        #expect(try await Self.lines(Self.mixed, days: 2...2).unpriced == ["d": 1])
        #expect(try await Self.lines([], days: 0...3).lines.isEmpty)
    }

    @Test("A day begins where its storefront's region has midnight (C3)")
    func regions() async throws {
        // Noon in UTC and sixteen hours later: the next morning in Japan, the evening before in California.
        var late = [Self.sale(1, storefront: "JPN"), Self.sale(2, storefront: "USA"), Self.sale(3, storefront: "DEU")]
        late = late.map { sale in
            PaidTransaction(
                id: sale.id, originalID: sale.originalID, productID: sale.productID, quantity: 1,
                environment: .production, token: nil, purchasedAt: sale.purchasedAt.adding(seconds: 16 * 3_600),
                signedAt: sale.signedAt, revokedAt: nil, isRenewal: false, isFromReceipt: false,
                price: sale.signedPrice, terms: sale.terms)
        }
        #expect(
            try await Self.lines(late, days: 0...0).lines == ["sale +0 a USA 600x1 1"])
        #expect(
            try await Self.lines(late, days: 1...1).lines == ["sale +1 a DEU 600x1 1", "sale +1 a JPN 600x1 1"])
    }

    /// Thirteen periods of thirty days, with a free week before them; then another period after a gap of so many days.
    private static func subscriber(_ number: Int, gap: Int, upgradedAt: Int? = nil) -> [PaidTransaction] {
        let first = number * 100
        var periods = [sale(first, "s", price: 0, type: .autoRenewable, original: first, days: 7)]
        for period in 0..<13 {
            periods.append(
                sale(
                    first + 1 + period, "s", day: 7 + period * 30, type: .autoRenewable, original: first,
                    isUpgraded: period == upgradedAt))
        }
        periods.append(
            sale(first + 50, "s", day: 7 + 13 * 30 + gap, price: 700, type: .autoRenewable, original: first))
        return periods
    }

    @Test("After 365 days of paid service a subscriber's periods are marked; a gap over 60 days starts anew (C2)")
    func year() async throws {
        let all = Self.subscriber(1, gap: 60) + Self.subscriber(2, gap: 61)
        let found = try await Self.lines(all).lines
        #expect(found.filter { $0.hasPrefix("sale +7 ") } == ["sale +7 s CHN 600x1 2"])
        #expect(found.filter { $0.hasPrefix("sale +367 ") } == ["sale +367 s CHN 600x1 2"], "330 and 360 days before")
        #expect(
            found.suffix(2) == ["sale +457 s CHN 700x1 1 after-one-year", "sale +458 s CHN 700x1 1"],
            "390 days before, and none")
        #expect(found.count == 15, "\(found)")
        // Only the last days are requested, but earlier periods count.
        #expect(try await Self.lines(all, days: 457...457).lines == ["sale +457 s CHN 700x1 1 after-one-year"])
    }

    @Test("The refund of a period uses the rate of its sale, and ends its service (C2, C3)")
    func refundedPeriod() async throws {
        var all = Self.subscriber(1, gap: 0)
        all[14] = Self.sale(150, "s", day: 397, price: 700, type: .autoRenewable, refunded: 400, original: 100)
        #expect(
            try await Self.lines(all, days: 390...410).lines == [
                "sale +397 s CHN 700x1 1 after-one-year", "refund +400 s CHN 700x1 1 after-one-year sold+397",
            ])
        // Two periods that were refunded on their first day are no service.
        for index in 1...2 {
            all[index] = Self.sale(
                100 + index, "s", day: 7 + (index - 1) * 30, type: .autoRenewable, refunded: 7 + (index - 1) * 30,
                original: 100)
        }
        #expect(try await Self.lines(all, days: 397...397).lines == ["sale +397 s CHN 700x1 1"])
    }

    @Test("The order of arrival and the number of passes change nothing (DESIGN §4, invariant 8)")
    func shuffled() async throws {
        var sales = Self.mixed
        for number in 1...20 { sales += Self.subscriber(number, gap: 50 + number, upgradedAt: number % 13) }
        let straight = try await Self.lines(sales)
        #expect(straight.lines.count > 30)
        var state: UInt64 = 7
        for rowsAtOnce in [1_000_000, 40, 7] as [Int64] {
            for index in sales.indices.dropFirst() {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                sales.swapAt(index, Int(state >> 33) % (index + 1))
            }
            let again = try await Self.lines(sales, rowsAtOnce: rowsAtOnce)
            #expect(again.lines == straight.lines, "\(rowsAtOnce)")
            #expect(again.unpriced == straight.unpriced)
        }
    }
}

@Suite("Apple's reports in the ledger") struct AppleReportTableTests {
    @Test("The same text is stored once; reports are found by the days they cover, the newest first")
    func table() async throws {
        try await withLedger { ledger in
            @Sendable func entry(_ byte: UInt8, _ start: Int, _ end: Int) -> AppleReportTable.Entry {
                AppleReportTable.Entry(
                    digest: Array(repeating: byte, count: 32), name: "r\(byte).txt", importedAt: Instant(seconds: 1),
                    actor: "key:a", start: CivilDate(daysSinceEpoch: start), end: CivilDate(daysSinceEpoch: end),
                    lines: 3)
            }
            let isNew = try await ledger.write { connection in
                let table = AppleReportTable(connection)
                return try [entry(1, 10, 19), entry(2, 20, 29), entry(2, 30, 39), entry(3, 10, 19)].map {
                    try table.insertIfNew($0, text: Array("text \($0.name)".utf8))
                }
            }
            #expect(isNew == [true, true, false, true])
            let (all, found, text) = try await ledger.read { connection in
                let table = AppleReportTable(connection)
                let found = try table.list(
                    from: CivilDate(daysSinceEpoch: 12), through: CivilDate(daysSinceEpoch: 15), limit: 9)
                return (
                    try table.list(before: .max, limit: 9).map(\.name), found.map(\.name),
                    try table.text(found[0].rowID)
                )
            }
            #expect(all == ["r3.txt", "r2.txt", "r1.txt"])
            #expect(found == ["r3.txt", "r1.txt"])
            #expect(text == Array("text r3.txt".utf8))
        }
    }
}

import Testing
import TillBilling

@testable import TillClient

@Suite("The order journal")
struct OrderJournalTests {
    private let ann = UserID("ann")
    private let noon = Instant(seconds: 1_800_000_000)

    private func id(_ number: Int) -> OrderID { UniqueID(high: 7, low: UInt64(number)) }

    private func entry(_ number: Int, user: String = "ann") -> JournalEntry {
        JournalEntry(
            preparing: id(number), productID: ProductID("points.60"), quantity: 1,
            price: Money(amount: 600, currency: Currency("CNY")), userID: UserID(user),
            at: noon.adding(seconds: Int64(number)))
    }

    private func transaction(_ number: Int, proof: PurchaseProof? = nil) -> QueuedTransaction {
        QueuedTransaction(
            id: TransactionID("20000000000\(number)"), productID: ProductID("points.60"), quantity: 1,
            token: id(number), purchasedAt: noon, proof: proof ?? .signedTransaction("signed.\(number)"))
    }

    @Test("L5: an order is on the disk with price, time, status, buyer and identity when the call returns")
    func durable() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        try await journal.add(entry(1))

        let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        #expect(await reopened[id(1)] == entry(1))
        #expect(reopened.recovery == JournalRecovery(orders: 1, cutTail: 0, damaged: 0))
    }

    @Test("P5: the proof is there from the moment the order is ongoing, and gone after the server's final answer")
    func proof() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        let receipt = PurchaseProof.receipt((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await journal.add(entry(1))
        try await journal.save(transaction(1, proof: receipt), for: id(1), at: noon)

        let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        #expect(await reopened[id(1)]?.status == .ongoing)
        #expect(await reopened.proof(of: id(1)) == receipt)
        #expect(await reopened.entry(of: transaction(1).id)?.id == id(1))

        try await journal.complete(id(1), as: .completed, at: noon, reason: "granted")
        let after = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        #expect(await after[id(1)]?.status == .completed)
        #expect(await after.proof(of: id(1)) == nil)
    }

    /// For each status the statuses that an order may be moved to; `+` marks those that it reaches through ongoing.
    private static let moves = """
        prepared  -> ongoing completed cancelled failed deferred +refunded
        completed -> refunded
        ongoing   -> completed refunded
        cancelled -> ongoing +completed +refunded
        failed    -> ongoing +completed +refunded
        deferred  -> ongoing completed cancelled failed +refunded
        refunded  -> completed
        """

    @Test("L6: of all 49 moves the legal ones succeed and the others change nothing, in memory or on disk")
    func legalMoves() async throws {
        var (tried, taken) = (0, 0)
        for row in Self.moves.split(separator: "\n") {
            let words = row.split(separator: " ").map(String.init)
            let from = try #require(OrderStatus(name: words[0]))
            for to in OrderStatus.allCases {
                let file = PretendDisk()
                let journal = try OrderJournal(disk: file.disk)
                try await journal.add(entry(1))
                if let way = way(to: from) { for step in way { try await journal.move(id(1), to: step, at: noon) } }
                let before = try #require(await journal[id(1)])
                try #require(before.status == from)
                let bytes = file.bytes
                let legal = words.dropFirst(2)
                let isDirect = legal.contains(to.name)
                let isLegal = isDirect || legal.contains("+\(to.name)")
                let expected: JournalError? = isLegal || to == from ? nil : .illegalMove(from: from, to: to)

                var fault: JournalError?
                do throws(JournalError) { try await journal.move(id(1), to: to, at: noon) } catch { fault = error }
                let after = try #require(await journal[id(1)])
                let steps = after.history.dropFirst(before.history.count).map(\.status)
                #expect(fault == expected, "\(from.name) to \(to.name)")
                let passed: [OrderStatus] = isDirect ? [to] : isLegal ? [.ongoing, to] : []
                #expect(steps == passed, "\(from.name) to \(to.name)")
                #expect((file.bytes == bytes) == !isLegal, "\(from.name) to \(to.name)")
                #expect(try await OrderJournal(disk: PretendDisk(file.bytes).disk)[id(1)] == after)
                (tried, taken) = (tried + 1, taken + (isLegal ? 1 : 0))
            }
        }
        #expect(tried == 49 && taken == 21)
    }

    private func way(to status: OrderStatus) -> [OrderStatus]? {
        switch status {
        case .prepared: nil
        case .refunded: [.completed, .refunded]
        default: [status]
        }
    }

    @Test("L6: the list is newest first, of one buyer, with the status in both languages")
    func list() async throws {
        let journal = try OrderJournal(disk: PretendDisk().disk)
        for number in [2, 3, 1] {
            var entry = entry(number)
            if number == 1 { entry.label = ProductLabel(name: "Pro", kind: .access) }
            if number == 3 { entry.label = ProductLabel(name: "60", kind: .topUp) }
            try await journal.add(entry)
        }
        try await journal.add(entry(4, user: "bob"))
        try await journal.save(transaction(2), for: id(2), at: noon)
        try await journal.postpone(id(2), because: PendingReason(code: "offline", isFinal: false), until: noon)

        let list = await journal.summaries(of: ann)
        #expect(list.map(\.uuid) == [id(3), id(2), id(1)])
        #expect(list.map { $0.title(in: "zh") } == ["待充值", "处理中", "待付款"])
        #expect(list.map(\.productName) == ["60", "points.60", "Pro"])
        #expect(list.map { $0.title(in: "en") } == ["Waiting for payment", "In progress", "Waiting for payment"])
        #expect(list.map(\.canResubmit) == [false, true, false])
        #expect(list[1].sentence == TransportError.Kind.offline.sentence)
        #expect(await journal.summaries().count == 4)
    }

    @Test("That a receipt was refreshed is known after a relaunch, whatever delayed the purchase since")
    func refreshed() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        for number in 1...2 {
            try await journal.add(entry(number))
            try await journal.save(transaction(number), for: id(number), at: noon)
        }
        for (number, code) in [(1, "receipt_needs_refresh"), (1, "offline"), (2, "offline")] {
            try await journal.postpone(id(number), because: PendingReason(code: code, isFinal: false), until: noon)
        }
        let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        let entries = await reopened.entries()
        let (first, second) = (entries.first { $0.id == id(1) }, entries.first { $0.id == id(2) })
        #expect(first?.hasRefreshedReceipt == true && first?.pendingReason?.code == "offline")
        #expect(second?.hasRefreshedReceipt == false && second?.pendingReason?.isFinal == false)
    }

    @Test("A product's name and kind are read back, with and without the other additions of an entry")
    func labels() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        let labels = [
            nil, ProductLabel(name: "60 点", kind: .topUp), ProductLabel(name: "Pro", kind: .access),
            ProductLabel(name: String(repeating: "long ", count: 100), kind: nil),
        ]
        for (number, label) in labels.enumerated() {
            let nonce = try #require(OrderIDNonce(bytes: [UInt8](repeating: UInt8(number), count: 16)))
            var begun = JournalEntry(
                preparing: nonce, productID: ProductID("p"), quantity: 1, price: nil, label: label,
                userID: UserID("ann"), at: noon)
            if number == 2 { begun.idNonce = nil }
            try await journal.add(begun)
        }
        let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        #expect(reopened.recovery.isClean)
        #expect(await reopened.entries().count == 4)
        #expect(await Set(reopened.entries().map(\.label)) == Set(labels))
    }

    @Test("The price paid and a plan's device are read back; an entry without them has the form of older versions (L6)")
    func payments() async throws {
        let paid = Money(amount: 1_200, currency: Currency("CNY"))
        let nonce = try #require(OrderIDNonce(bytes: [UInt8](repeating: 7, count: 16)))
        for (label, price, device) in [
            (nil, paid, nil), (ProductLabel(name: "60 点", kind: .topUp), paid, "camera-7"), (nil, nil, "camera-7"),
            (ProductLabel(name: "Pro", kind: nil), nil, nil), (nil, nil, nil),
        ] as [(ProductLabel?, Money?, String?)] {
            let file = PretendDisk()
            let journal = try OrderJournal(disk: file.disk)
            var begun = JournalEntry(
                preparing: nonce, productID: ProductID("p"), quantity: 1, price: nil, label: label,
                userID: UserID("ann"), at: noon)
            begun.device = device
            try await journal.add(begun)
            try await journal.complete(begun.id, as: .completed, at: noon, reason: "granted", paid: price)
            let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
            #expect(reopened.recovery.isClean)
            #expect(await reopened.entries() == journal.entries())
            let entry = try #require(await reopened.entries().first)
            #expect(entry.paid == price && entry.device == device && entry.label == label && entry.idNonce == nonce)
            #expect(StoreOrder(entry).total == price)
            var writer = JournalWriter()
            JournalRecord.entry(entry).encode(to: &writer)
            #expect(writer.bytes.first == (price != nil || device != nil ? 7 : label != nil ? 6 : 5))
        }
    }

    @Test("L11: twenty orders changed concurrently lose nothing")
    func concurrent() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await journal.add(entry(number))
                    try await journal.markOpened(id(number))
                    try await journal.save(transaction(number), for: id(number), at: noon)
                    if number % 2 == 0 {
                        try await journal.complete(id(number), as: .completed, at: noon, reason: "granted")
                    }
                }
            }
            try await group.waitForAll()
        }
        let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        #expect(await reopened.entries() == journal.entries())
        #expect(await reopened.entries().filter { $0.status == .completed }.count == 10)
        #expect(await reopened.entries().filter { $0.status == .ongoing }.count == 10)
    }

    @Test("One order changed by twenty concurrent tasks keeps every step of its history")
    func concurrentHistory() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        try await journal.add(entry(1))
        try await journal.save(transaction(1), for: id(1), at: noon)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try? await journal.postpone(id(1), because: .unreadableResponse, until: noon)
                }
            }
        }
        let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        #expect(await reopened[id(1)]?.attempts == 20)
    }

    @Test("A history stays short enough to be read back, however often a refund is reversed")
    func longHistory() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        try await journal.add(entry(1))
        try await journal.save(transaction(1), for: id(1), at: noon)
        for _ in 0..<100 {
            try await journal.complete(id(1), as: .completed, at: noon, reason: "granted")
            try await journal.complete(id(1), as: .refunded, at: noon, reason: "revoked")
        }
        let reopened = try OrderJournal(disk: PretendDisk(file.bytes).disk)
        let found = try #require(await reopened[id(1)])
        #expect(found.history.count == JournalEntry.longestHistory)
        #expect(found.history.prefix(2).map(\.status) == [.prepared, .ongoing])
        #expect(found.status == .refunded)
    }

    @Test("A payment without a token belongs to the newest matching order, and to none if two buyers have one")
    func candidates() async throws {
        let journal = try OrderJournal(disk: PretendDisk().disk)
        let later = QueuedTransaction(
            id: TransactionID("9"), productID: ProductID("points.60"), quantity: 1, token: nil,
            purchasedAt: noon.adding(seconds: 100), proof: .receipt([1]))
        for number in [1, 2, 3] { try await journal.add(entry(number)) }
        #expect(await journal.candidate(for: later) == nil)
        for number in [1, 2] { try await journal.markOpened(id(number)) }
        #expect(await journal.candidate(for: later)?.id == id(2))
        let early = QueuedTransaction(
            id: TransactionID("9"), productID: ProductID("points.60"), quantity: 1, token: nil, purchasedAt: noon,
            proof: .receipt([1]))
        #expect(await journal.candidate(for: early) == nil)
        try await journal.add(entry(4, user: "bob"))
        try await journal.markOpened(id(4))
        #expect(await journal.candidate(for: later) == nil)
        #expect(await journal.candidate(for: later, paying: id(1))?.id == id(1))
        #expect(await journal.candidate(for: early, paying: id(4)) == nil)
    }
}

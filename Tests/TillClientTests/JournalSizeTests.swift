import Foundation
import Testing
import TillBilling

@testable import TillClient

@Suite("The size of the journal")
struct JournalSizeTests {
    private let noon = Instant(seconds: 1_800_000_000)

    private func buy(_ number: Int, in journal: OrderJournal, proofLength: Int = 4_000) async throws {
        let id = UniqueID(high: 7, low: UInt64(number))
        let at = noon.adding(seconds: Int64(number))
        let transaction = QueuedTransaction(
            id: TransactionID("2000000\(number)"), productID: ProductID("com.example.points.60"), quantity: 1,
            token: id, purchasedAt: at,
            proof: .signedTransaction(String(repeating: "e", count: proofLength)))
        try await journal.add(
            JournalEntry(
                preparing: id, productID: transaction.productID, quantity: 1,
                price: Money(amount: 600, currency: Currency("CNY")), userID: UserID("user-1"), at: at))
        try await journal.markOpened(id)
        try await journal.save(transaction, for: id, at: at)
        try await journal.complete(id, as: .completed, at: at, reason: "granted")
    }

    @Test("10,000 completed orders take less than 2.5 MiB and open quickly, and a change is short")
    func tenThousand() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        for number in 0..<10_000 { try await buy(number, in: journal, proofLength: 100) }
        let size = file.bytes.count
        #expect(size < 5 << 19, "\(size) bytes")
        // Rewriting costs no more than a small multiple of the written data.
        #expect(file.state.now.bytesWritten < 200_000_000, "\(file.state.now.bytesWritten) bytes written")
        #expect(file.state.now.writes + file.state.now.rewrites == 40_000)
        #expect(file.state.now.rewrites < 1_000)

        let started = Date()
        let reopened = try OrderJournal(disk: file.disk)
        let took = Date().timeIntervalSince(started)
        #expect(reopened.recovery.orders == 10_000)
        #expect(took < 5, "opened in \(took) s")
        #expect(await reopened.entries() == journal.entries())

        let before = file.state.now.bytesWritten
        try await reopened.postpone(UniqueID(high: 7, low: 1), because: .accepted, until: nil)
        #expect(file.state.now.bytesWritten - before < 300)
    }

    @Test("Proofs that are no longer needed do not make the file grow")
    func compaction() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        let limit = 2 * 55_000 + 65_536
        for number in 0..<200 {
            try await buy(number, in: journal)
            #expect(file.bytes.count < limit)
        }
        #expect(file.state.now.rewrites >= 2)
    }

    @Test("A file that could be compacted, but has no space to be rewritten, continues to grow")
    func compactionOnFullDisk() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        file.state.withLock { $0.capacity = 80 << 10 }
        for number in 0..<16 { try await buy(number, in: journal) }
        file.state.withLock { $0.capacity = $0.bytes.count + 20_000 }
        for number in 16..<19 { try await buy(number, in: journal) }
        #expect(try await OrderJournal(disk: file.disk).entries().count == 19)
    }
}

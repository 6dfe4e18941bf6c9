import Foundation
import TillBilling
import TillClient

/// Makes many purchases on one device, to measure the client kit's journal on this machine's disk, and its opening.
struct JournalLoad {
    let directory: String
    let orders: Int

    /// Reports changes per second, each on disk before the next; milliseconds of a change (median of the first and of
    /// the last thousand); milliseconds to open the file and to list all orders; bytes of the file per order.
    func line() async throws -> String {
        let path = directory + "/orders.journal"
        let clock = ContinuousClock()
        var times: [Double] = []
        var journal: OrderJournal? = try OrderJournal(disk: .file(at: path))
        let began = clock.now
        for number in 0..<orders {
            guard let journal else { break }
            for change in 0..<4 {
                let start = clock.now
                try await apply(change, of: number, to: journal)
                times.append((clock.now - start) / .seconds(1))
            }
        }
        let rate = Double(times.count) / ((clock.now - began) / .seconds(1))
        // Releases the lock, so that the file can be opened as at the next launch.
        journal = nil
        let opening = clock.now
        let reopened = try OrderJournal(disk: .file(at: path))
        let opened = clock.now
        let listed = await reopened.summaries()
        let done = clock.now
        guard listed.count == orders, reopened.recovery.isClean else {
            throw LoadError("\(listed.count) orders in a journal of \(orders)")
        }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        return [
            String(Int(rate)), milliseconds(median(times.prefix(1_000))), milliseconds(median(times.suffix(1_000))),
            milliseconds((opened - opening) / .seconds(1)), milliseconds((done - opened) / .seconds(1)),
            String(size / orders),
        ].joined(separator: " ")
    }

    /// The four durable steps of a purchase: prepared, opened, paid, completed.
    private func apply(_ change: Int, of number: Int, to journal: OrderJournal) async throws {
        let id = UniqueID(high: 7, low: UInt64(number))
        let at = Instant(seconds: 1_800_000_000 + Int64(number))
        switch change {
        case 0:
            try await journal.add(
                JournalEntry(
                    preparing: id, productID: ProductID("com.example.learn.points60"), quantity: 1,
                    price: Money(amount: 600, currency: Currency("CNY")), userID: UserID("ann"), at: at))
        case 1: try await journal.markOpened(id)
        case 2:
            try await journal.save(
                QueuedTransaction(
                    id: TransactionID("2000000\(number)"), productID: ProductID("com.example.learn.points60"),
                    quantity: 1, token: id, purchasedAt: at,
                    // About as long as Apple's.
                    proof: .signedTransaction(String(repeating: "e", count: 6_000))), for: id, at: at)
        default: try await journal.complete(id, as: .completed, at: at, reason: "granted")
        }
    }

    private func median(_ times: some Collection<Double>) -> Double { times.sorted()[times.count / 2] }

    private func milliseconds(_ seconds: Double) -> String { String(format: "%.3f", seconds * 1_000) }
}

import Testing
import TillBilling
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillLedger

@Suite("Erasures of a ledger, and their list beside the backups") struct ErasureTests {
    private static let key = ErasureKey("an erasure key of at least thirty-two bytes")!
    private static let start = Instant(milliseconds: 1_700_000_000_000)
    private static let device = "heart-of-gold-7"

    /// A customer with orders, each with a device, a phone, metadata and a text of the app.
    private static func fill(
        _ ledger: any Database, _ name: String, orders: Int = 3, at: Instant = start, prefix: UInt8 = 1
    ) async throws {
        try await ledger.write { connection in
            _ = try CustomerTable(connection).id(of: UserID(name), at: at)
            for number in 0..<orders {
                let bytes = (0..<15).map { UInt8(truncatingIfNeeded: number >> (8 * min($0, 3))) }
                let id = UniqueID(bytes: [prefix] + bytes)
                let table = OrderTable(connection)
                let stored = try table.insert(
                    Order(
                        id: try #require(id), userID: UserID(name), productID: ProductID("p"), quantity: 1,
                        price: Money(amount: 1, currency: Currency("CNY")), deviceID: DeviceID(device),
                        metadata: #"{"note":"towel of \#(name)"}"#, createdAt: at, updatedAt: at,
                        phoneID: DeviceID("phone-of-\(name)")), reason: "opened")
                let deferred = try table.move(stored, along: [.deferred], at: at, reason: "parents of \(name) asked")
                _ = try table.move(deferred, along: [.failed], at: at, reason: "card of \(name) refused")
            }
        }
    }

    private static func erase(_ ledger: any Database, _ name: String, at: Instant = start) async throws -> [String] {
        let erasures = Erasures(ledger, key: key, sealKey: nil)
        let begun = try await erasures.begin(UserID(name), .init(caller: "till", at: at)) { _ in }
        try await erasures.finish(at: at)
        return begun.map(\.line)
    }

    @Test(
        "A customer with thousands of orders is erased in bounded commits, whatever is interrupted (R6)",
        arguments: LedgerDatabase.each)
    func interrupted(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await Self.fill(ledger, "zaphod", orders: 1_100)
            try await Self.fill(ledger, "arthur", prefix: 2)
            let erasures = Erasures(ledger, key: Self.key, sealKey: nil)
            let begun = try await erasures.begin(UserID("zaphod"), .init(caller: "till", at: Self.start)) { _ in }
            // A crash: the name is gone, and the orders still have the rest.
            #expect(try await ledger.tables(with: "zaphod") == ["orders", "order_moves"])
            let number = begun[0].customerID
            #expect(try await ledger.read { try ErasureTable($0).find(customer: number) }?.finishedAt == nil)
            try await Erasures(ledger, key: Self.key, sealKey: nil).finish(at: Self.start)
            #expect(try await ledger.tables(with: "zaphod").isEmpty)
            #expect(try await ledger.tables(with: "arthur") == ["customers", "orders", "order_moves"])
            let stored = try #require(try await ledger.read { try ErasureTable($0).find(customer: number) })
            #expect(stored.finishedAt == Self.start && stored.pseudonym.isPseudonym)
            let orders = try await ledger.read { connection in
                try OrderTable(connection).list(
                    user: stored.pseudonym, status: nil, before: .max, limit: 2_000
                ).map(\.order)
            }
            // One pseudonym for the one device: plans of one device stay on one device.
            #expect(orders.count == 1_100 && Set(orders.map(\.deviceID)).count == 1)
            #expect(orders.allSatisfy { $0.deviceID?.text.hasPrefix("erased:") == true && $0.metadata == nil })
            #expect(try await ledger.read { try LedgerAudit.violations($0) }.isEmpty)
        }
    }

    @Test(
        "An older ledger that is restored forgets everyone on the list, and no other person (R6)",
        arguments: LedgerDatabase.each)
    func replay(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await Self.fill(ledger, "zaphod")
            try await Self.fill(ledger, "arthur", prefix: 2)
            try await withLedger(on: .sqlite) { backup in
                _ = try await LedgerCopy(
                    from: ledger, to: backup, batch: 100, refusesNUL: false, isSourceLocked: true
                ).run { _, _ in }
                let later = Self.start.adding(seconds: 60)
                // The person is erased, comes back, and a person who came after the backup is erased too.
                let first = try await Self.erase(ledger, "zaphod", at: later)
                try await Self.fill(ledger, "zaphod", at: later.adding(seconds: 60), prefix: 3)
                try await Self.fill(ledger, "ford", at: later, prefix: 4)
                let second = try await Self.erase(ledger, "ford", at: later.adding(seconds: 90))
                let lines = Locked<[String]>([])
                try await Erasures.lines(of: ledger) { page in lines.withLock { $0 += page } }
                #expect(lines.withLock { $0 } == first + second)
                #expect(!lines.withLock { $0.joined() }.contains("zaphod"))

                // The backup gives the number of the erased newcomer to somebody else.
                try await Self.fill(backup, "trillian", at: later.adding(seconds: 95), prefix: 5)
                let result = try await Erasures(backup, key: Self.key, sealKey: nil).replay(
                    lines.withLock { $0 } + ["", "half a li"], at: later.adding(seconds: 100))
                #expect(
                    result == .init(lines: 2, unreadable: 1, erased: 1, unchanged: 0, unknown: 1))
                #expect(try await backup.tables(with: "zaphod").isEmpty)
                #expect(try await backup.tables(with: "arthur") == ["customers", "orders", "order_moves"])
                #expect(try await backup.tables(with: "trillian").contains("customers"))
                #expect(try await backup.read { try LedgerAudit.violations($0) }.isEmpty)
                // The restored ledger has the erasure in its own list, with the time of the first.
                let again = Locked<[String]>([])
                try await Erasures.lines(of: backup) { page in again.withLock { $0 += page } }
                #expect(again.withLock { $0 } == first)
                let repeated = try await Erasures(backup, key: Self.key, sealKey: nil).replay(
                    first, at: later.adding(seconds: 200))
                #expect(repeated == .init(lines: 1, unreadable: 0, erased: 0, unchanged: 1, unknown: 0))
            }
            // A newer backup holds the person who came back: the older line doesn't mean them.
            let kept = Locked<[String]>([])
            try await Erasures.lines(of: ledger) { page in kept.withLock { $0 += page } }
            let result = try await Erasures(ledger, key: Self.key, sealKey: nil).replay(
                kept.withLock { $0 }, at: Self.start.adding(seconds: 300))
            #expect(result.erased == 0 && result.unchanged == 2)
            #expect(try await ledger.tables(with: "zaphod") == ["customers", "orders", "order_moves"])
        }
    }

    @Test("Another key finds no person by the hash, and still finds a row by its number and first sight (R6)")
    func otherKey() async throws {
        try await withLedger { ledger in
            try await Self.fill(ledger, "zaphod")
            let other = ErasureKey("another key of at least thirty-two bytes!")!
            #expect(other.hash(of: UserID("zaphod")) != Self.key.hash(of: UserID("zaphod")))
            try await withLedger { backup in
                _ = try await LedgerCopy(
                    from: ledger, to: backup, batch: 100, refusesNUL: false, isSourceLocked: true
                ).run { _, _ in }
                let lines = try await Self.erase(ledger, "zaphod", at: Self.start.adding(seconds: 1))
                let result = try await Erasures(backup, key: other, sealKey: nil).replay(
                    lines, at: Self.start.adding(seconds: 2))
                #expect(result.erased == 1)
                #expect(try await backup.tables(with: "zaphod").isEmpty)
            }
        }
    }

    @Test("Only ids of the exact form stand for erased customers")
    func form() {
        let pseudonym = Self.key.pseudonym(of: UserID("zaphod"), customer: 7)
        #expect(pseudonym.isPseudonym && pseudonym.text.utf8.count <= UserID.maximumLength)
        #expect(Self.key.pseudonym(of: UserID("zaphod"), customer: 8) != pseudonym)
        for text in ["erased:", "erased:42", "Erased:0123456789abcdef0123456789abcdef", "zaphod"] {
            #expect(!UserID(text).isPseudonym, "\(text)")
        }
        #expect(ErasureKey("too short") == nil)
        // A device is hashed once, also by an erasure that is repeated after a crash.
        let (iPad, device) = (DeviceID("iPad"), Self.key.device(DeviceID("iPad"), customer: 7))
        #expect(device != iPad && Self.key.device(device, customer: 7) == device)
        #expect(Self.key.device(iPad, customer: 8) != device)
    }
}

import Testing
import TillBilling

@testable import TillClient

@Suite("A damaged journal")
struct JournalDamageTests {
    private let noon = Instant(seconds: 1_800_000_000)

    private func id(_ number: Int) -> OrderID { UniqueID(high: 7, low: UInt64(number)) }

    private func entry(_ number: Int) -> JournalEntry {
        JournalEntry(
            preparing: id(number), productID: ProductID("points.60"), quantity: 1, price: nil, userID: UserID("ann"),
            at: noon.adding(seconds: Int64(number)))
    }

    /// A file of five changes, with the file's length after each.
    private func fiveChanges() async throws -> (bytes: [UInt8], ends: [Int]) {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        var ends: [Int] = []
        for number in 0..<5 {
            try await journal.add(entry(number))
            ends.append(file.bytes.count)
        }
        return (file.bytes, ends)
    }

    @Test("L11: cut at any byte, it opens with every complete change, and accepts the next one")
    func tornAnywhere() async throws {
        let (bytes, ends) = try await fiveChanges()
        for length in 0...bytes.count {
            let file = PretendDisk(Array(bytes.prefix(length)))
            let journal = try OrderJournal(disk: file.disk)
            let whole = ends.filter { $0 <= length }.count
            #expect(await journal.entries().map(\.id) == (0..<whole).reversed().map(id))
            #expect(journal.recovery.damaged == 0)
            let lastEnd = ends.last { $0 <= length } ?? (length >= 16 ? 16 : 0)
            #expect(journal.recovery.cutTail == length - lastEnd, "at \(length)")
            #expect(file.bytes.count == lastEnd)

            try await journal.add(entry(9))
            let again = try OrderJournal(disk: file.disk)
            #expect(again.recovery.isClean)
            #expect(await again.entries().count == whole + 1)
        }
    }

    @Test("L11: with any one byte damaged, at most its own change is lost, and the rest is reported and kept")
    func badAnywhere() async throws {
        let (bytes, ends) = try await fiveChanges()
        for position in bytes.indices {
            var bad = bytes
            bad[position] ^= 0x41
            let file = PretendDisk(bad)
            let journal = try OrderJournal(disk: file.disk)
            let lost = ends.firstIndex { position < $0 } ?? 0
            let expected = (0..<5).filter { position < 16 || $0 != lost }
            #expect(await journal.entries().map(\.id) == expected.reversed().map(id), "at \(position)")
            #expect(!journal.recovery.isClean)
            #expect(file.state.now.aside == bad)

            try await journal.add(entry(9))
            let again = try OrderJournal(disk: file.disk)
            #expect(again.recovery.isClean, "at \(position)")
            #expect(await again.entries().count == expected.count + 1)
        }
    }

    @Test("A file that is no journal is set aside, and purchases continue")
    func noJournal() async throws {
        for bytes in [Array("hello".utf8), [UInt8](repeating: 0, count: 4_096), [UInt8](repeating: 0xF5, count: 999)] {
            let file = PretendDisk(bytes)
            let journal = try OrderJournal(disk: file.disk)
            #expect(journal.recovery == JournalRecovery(orders: 0, cutTail: bytes.count, damaged: 0))
            #expect(file.state.now.aside == bytes)
            try await journal.add(entry(1))
            #expect(try await OrderJournal(disk: file.disk).entries().map(\.id) == [id(1)])
        }
    }

    @Test("A journal of another version is refused with its version, and left unchanged")
    func otherVersion() throws {
        let start = Array("TillJrnl".utf8) + [2, 0, 0, 0]
        let sum = CRC32C.checksum(start)
        let bytes = start + (0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) } + [1, 2, 3]
        let file = PretendDisk(bytes)
        #expect(throws: JournalError.otherVersion(2)) { try OrderJournal(disk: file.disk) }
        #expect(file.bytes == bytes)
    }

    @Test("On a full disk a change is refused without effect; with free space it is accepted")
    func fullDisk() async throws {
        let file = PretendDisk()
        let journal = try OrderJournal(disk: file.disk)
        try await journal.add(entry(1))
        file.state.withLock { $0.capacity = $0.bytes.count + 10 }
        await #expect(throws: JournalError.disk(DiskError(.full))) { try await journal.add(entry(2)) }
        await #expect(throws: JournalError.disk(DiskError(.full))) { try await journal.add(entry(2)) }
        #expect(await journal[id(2)] == nil)
        file.state.withLock { $0.capacity = .max }
        try await journal.add(entry(2))
        let reopened = try OrderJournal(disk: file.disk)
        #expect(await reopened.entries().map(\.id) == [id(2), id(1)])
        #expect(reopened.recovery.isClean)
    }

    @Test("After a failed partial write, the next change rewrites the file")
    func halfWritten() async throws {
        for count in [0, 1, 20, 40] {
            let file = PretendDisk()
            let journal = try OrderJournal(disk: file.disk)
            try await journal.add(entry(1))
            file.state.withLock { $0.tearNextWriteAfter = count }
            await #expect(throws: JournalError.self) { try await journal.add(entry(2)) }
            #expect(try await OrderJournal(disk: PretendDisk(file.bytes).disk).entries().map(\.id) == [id(1)])
            try await journal.add(entry(3))
            #expect(file.state.now.rewrites == 1)
            #expect(try await OrderJournal(disk: file.disk).entries().map(\.id) == [id(3), id(1)])
        }
    }

    @Test("The checksum is CRC-32C of RFC 3720")
    func checksum() {
        #expect(CRC32C.checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(CRC32C.checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(CRC32C.checksum(Array("123456789".utf8)) == 0xE306_9283)
    }
}

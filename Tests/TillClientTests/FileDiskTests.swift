import Foundation
import Testing
import TillBilling

@testable import TillClient

@Suite("The journal on a real disk")
struct FileDiskTests {
    private let noon = Instant(seconds: 1_800_000_000)

    private func entry(_ number: Int) -> JournalEntry {
        JournalEntry(
            preparing: UniqueID(high: 7, low: UInt64(number)), productID: ProductID("points.60"), quantity: 1,
            price: nil, userID: UserID("ann"), at: noon.adding(seconds: Int64(number)))
    }

    private func inDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "till-journal-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    @Test("Written data is there after a relaunch, and so is a rewritten file")
    func relaunch() async throws {
        try await inDirectory { directory in
            let path = directory + "/orders.journal"
            for launch in 0..<3 {
                let journal = try OrderJournal(disk: .file(at: path))
                #expect(journal.recovery == JournalRecovery(orders: launch * 50, cutTail: 0, damaged: 0))
                for number in launch * 50..<launch * 50 + 50 { try await journal.add(entry(number)) }
            }
            let disk = try Disk.file(at: path)
            try disk.replace(try disk.read())
            #expect(try await OrderJournal(disk: disk).entries().count == 150)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == [
                    "orders.journal", "orders.journal-lock",
                ])
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test("A torn tail is cut off on the disk itself, and the original file is kept beside it")
    func tornTail() async throws {
        try await inDirectory { directory in
            let path = directory + "/orders.journal"
            do {
                let journal = try OrderJournal(disk: .file(at: path))
                try await journal.add(entry(1))
            }
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            try (whole + Data(whole.suffix(30))).write(to: URL(fileURLWithPath: path))
            let journal = try OrderJournal(disk: .file(at: path))
            #expect(journal.recovery == JournalRecovery(orders: 1, cutTail: 30, damaged: 0))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == whole)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-damaged")).count == whole.count + 30)
        }
    }

    @Test("Two instances of an app can't open one journal; after the first has ended, the second can")
    func twoInstances() async throws {
        try await inDirectory { directory in
            let path = directory + "/orders.journal"
            var first: OrderJournal? = try OrderJournal(disk: .file(at: path))
            try await first?.add(entry(1))
            #expect { try Disk.file(at: path) } throws: { ($0 as? DiskError)?.kind == .inUse }
            first = nil
            #expect(try await OrderJournal(disk: .file(at: path)).entries().count == 1)
        }
    }

    @Test("A directory that can't be created is an error with a sentence, not a crash")
    func noDirectory() throws {
        #expect { try Disk.file(at: "/proc/no-such-place/orders.journal") } throws: { error in
            guard let fault = error as? DiskError else { return false }
            return fault.kind != .inUse && fault.number != 0 && !fault.sentence.zh.isEmpty
        }
    }
}

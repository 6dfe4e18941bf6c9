import Foundation
import Testing
import TillBilling

@testable import TillClient

@Suite("The store's files")
struct StoreFileTests {
    private func directory() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("till-kit-\(UUID())/deeper").path
    }

    private func configuration(_ directory: String) -> TillConfiguration {
        var configuration = TillConfiguration(server: "https://till.test/")
        configuration.directory = directory
        return configuration
    }

    @Test("With two instances on one directory the second is refused, and can open it after the first has ended")
    func twoInstances() async throws {
        let path = directory()
        defer { try? FileManager.default.removeItem(atPath: path) }
        var first: TillStore? = try TillStore(configuration(path))
        let guest = await first?.guestID
        do {
            _ = try TillStore(configuration(path))
            Issue.record("two instances would write over each other")
        } catch {
            #expect(error.code == .diskInUse && error.isRetryable)
            #expect(
                error.message(in: "en") == "The app is already running elsewhere on this device. Close it there first.")
            #expect(error.message(in: "zh") == "此 App 正在本设备的另一处运行，请先将其关闭。")
        }
        await first?.stop()
        first = nil
        let world = PretendWorld()
        #expect(await world.sees { (try? TillStore(configuration(path))) != nil })
        #expect(await world.sees { await (try? TillStore(configuration(path)))?.guestID == guest })
    }

    @Test("A journal of another version is an error with a sentence, and the file is left unchanged")
    func otherVersion() throws {
        var header = JournalFile.header
        header[8] = 9
        let sum = CRC32C.checksum(header[..<12])
        for index in 0..<4 { header[12 + index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
        let bytes = header + Array("orders of tomorrow".utf8)
        let world = PretendWorld(disk: bytes)
        do {
            _ = try TillStore(
                TillConfiguration(server: "https://till.test"), access: world.access, effects: world.effects,
                files: DeviceFiles(journal: world.disk, identity: world.identity.disk), transport: world.transport)
            Issue.record("orders of another version may not be read")
        } catch {
            #expect(
                error == TillError(.journal(.otherVersion(9))) && error.code.rawValue == "journal_version"
                    && !error.isRetryable)
        }
        #expect(world.file.bytes == bytes && world.file.state.now.aside == nil)
    }

    @Test("Orders torn off by a power cut are reported, and the ones before are kept")
    func torn() async throws {
        let whole = PretendWorld()
        let journal = try OrderJournal(disk: whole.file.disk)
        let stored = UniqueID(high: 1, low: 1)
        for id in [stored, UniqueID(high: 2, low: 2)] {
            try await journal.add(
                JournalEntry(
                    preparing: id, productID: ProductID("points.60"), quantity: 1, price: nil, userID: UserID("ann"),
                    at: Instant(seconds: 1_800_000_000)))
        }
        let world = PretendWorld(disk: Array(whole.file.bytes.dropLast(5)))
        let logged = Guarded<[LogEvent]>([])
        var configuration = TillConfiguration(server: "https://till.test")
        configuration.log = { event in logged.withLock { $0.append(event) } }
        let store = try TillStore(
            configuration, access: world.access, effects: world.effects,
            files: DeviceFiles(journal: world.disk, identity: world.identity.disk), transport: world.transport)
        let recovery = store.components.journal.recovery
        #expect(!recovery.isClean && recovery.cutTail > 0 && recovery.orders == 1)
        await store.start()
        #expect(logged.now.map(\.name) == ["journal_repaired"] && logged.now.map(\.level) == [.warning])
        await world.end(store)
        #expect(await store.orders(all: true).map(\.orderID) == [stored.description])
    }

    @Test("10,000 orders: a launch and a purchase write as little as with ten, and the list shows each once")
    func manyOrders() async throws {
        func cost(of count: Int) async throws -> (launch: Int, purchase: Int, rewrites: Int) {
            let bytes = try (0..<count).reduce(into: JournalFile.header) { bytes, number in
                var entry = JournalEntry(
                    preparing: UniqueID(high: 7, low: UInt64(number)), productID: ProductID("points.60"),
                    quantity: 1, price: nil, userID: UserID("ann"), at: Instant(seconds: Int64(number)))
                try entry.move(to: .completed, at: Instant(seconds: Int64(number + 1)), reason: "granted")
                bytes += JournalFile.frame([.entry(entry)])
            }
            let world = PretendWorld(disk: bytes)
            let before = world.file.state.now
            let store = try await world.launch()
            #expect(await world.isIdle(store))
            let launched = world.file.state.now
            guard case .completed(let order) = await store.buy("points.60") else { throw Unexpected("?") }
            let bought = world.file.state.now
            let orders = await store.orders()
            #expect(orders.count == count + 1 && Set(orders.map(\.id)).count == count + 1)
            #expect(orders.first == order)
            await world.end(store)
            return (
                launched.bytesWritten - before.bytesWritten, bought.bytesWritten - launched.bytesWritten,
                bought.rewrites - before.rewrites
            )
        }
        let few = try await cost(of: 10)
        let many = try await cost(of: 10_000)
        #expect(many.launch == 0 && few.launch == 0)
        #expect(many.purchase == few.purchase && many.rewrites == 0, "\(many.purchase) bytes, \(few.purchase) with ten")
    }

    @Test("The directory is the configured one, created with all its parents")
    func chosenDirectory() throws {
        let path = directory()
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try StoreDirectory.made(path) == path)
        var isDirectory: ObjCBool = false
        #expect(FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue)
        #expect(throws: DiskError.self) { try StoreDirectory.made("/dev/null/till") }
    }
}

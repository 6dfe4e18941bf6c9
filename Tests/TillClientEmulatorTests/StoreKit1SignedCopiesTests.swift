import Foundation
import StoreKit
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillThreads

@testable import TillClient

@Suite("Signed transactions of StoreKit 1's purchases, over the emulated StoreKit")
struct StoreKit1SignedCopiesTests {
    private static let prefix = "com.example.learnpoints."
    private static let points = ProductID(prefix + "points60")

    /// A phone with both StoreKits, and its connection to the store.
    private final class Phone: Sendable {
        let device: EmulatedDevice
        let asked = Locked<[String]>([])
        /// While set, these paths get no answer.
        let silent = Locked<String?>(nil)
        let pauses = Locked<[Int64]>([])
        let spawned = Locked<[Task<Void, Never>]>([])

        init(_ emulator: Emulator, _ directory: URL, _ number: Int) throws {
            var effects = StoreEffects.process
            effects.pollInterval = 5
            let (asked, silent) = (asked, silent)
            device = EmulatedDevice(
                id: try #require(UUID(uuidString: "3f2c1a00-1111-4222-8333-44445555000\(number)")),
                account: "ann", bundleID: "com.example.learnpoints",
                connection: .inProcess { request in
                    asked.withLock { $0.append(request.path) }
                    while let path = silent.now, request.path.hasSuffix(path) {
                        try? await Task.sleep(for: .milliseconds(2))
                    }
                    return await emulator.respond(to: request)
                }, directory: directory.appendingPathComponent("\(number)"), effects: effects)
        }

        var effects: Effects {
            Effects(
                clock: { Instant(milliseconds: 1_772_353_800_123) }, entropy: RandomBytes.make,
                pause: { milliseconds in
                    self.pauses.withLock { $0.append(milliseconds) }
                    // A test waits as long as the store answers.
                    if milliseconds > 2_000, self.silent.now == nil {
                        try? await Task.sleep(for: .seconds(20))
                    }
                },
                spawn: { work in
                    let task = Task { await work() }
                    self.spawned.withLock { $0.append(task) }
                })
        }

        func access(_ proof: StoreKit1Proof = .signedTransaction) -> StoreAccess {
            EmulatedDevice.$current.withValue(device) { .storeKit1(effects, proof: proof) }
        }

        func listed() async -> [String] {
            await EmulatedDevice.$current.withValue(device) {
                var ids: [String] = []
                for await payment in StoreKit.Transaction.unfinished {
                    ids.append(String(payment.unsafePayloadValue.id))
                }
                return ids
            }
        }
    }

    private func world(_ body: (Emulator, URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-copies-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let database = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        let emulator = try await Emulator(
            database: database, clock: { Instant(milliseconds: 1_772_353_800_123) }, entropy: RandomBytes.make,
            send: { _, _ throws(HTTPError) in HTTPResponse(status: 200) })
        try await body(emulator, directory)
        await database.close()
    }

    private func paid(_ access: StoreAccess, _ order: OrderID) async throws -> QueuedTransaction {
        let wish = PurchaseRequest(order: order, productID: Self.points, quantity: 1)
        guard case .paid(let paid) = await access.purchase(wish) else { throw Unexpected("not paid") }
        return paid
    }

    @Test("A queued purchase is signed, names its order after a relaunch too, and is finished in the queue")
    func life() async throws {
        try await world { emulator, directory in
            let order = OrderID(random: RandomBytes.make(16))
            let phone = try Phone(emulator, directory, 1)
            let access = phone.access()
            let paid = try await paid(access, order)
            guard case .receipt = paid.proof else { throw Unexpected("\(paid.proof)") }
            let signed = await access.signed(paid)
            guard case .signedTransaction(let text) = signed.proof else { throw Unexpected("no copy") }
            #expect(text.split(separator: ".").count == 3)
            #expect(signed.id == paid.id && signed.token == order && signed.productID == Self.points)
            await access.stop()

            // StoreKit 1 does not keep the token over a relaunch; the signed transaction has it.
            let relaunched = try Phone(emulator, directory, 1)
            let second = relaunched.access()
            _ = second.events()
            let shown = try await unfinished(second)
            let nameless = QueuedTransaction(
                id: shown.id, productID: shown.productID, quantity: 1, token: nil, purchasedAt: shown.purchasedAt,
                proof: shown.proof)
            #expect(await second.signed(nameless).token == order)
            #expect(await relaunched.listed() == [paid.id.text])
            await second.finish(paid.id)
            #expect(await eventually { await relaunched.listed().isEmpty })
            // The queue drops it once the store has confirmed the finish.
            #expect(await eventually { (try? await second.unfinished())?.isEmpty == true })
            // No request that shows a sign-in sheet.
            #expect(!(phone.asked.now + relaunched.asked.now).contains("/emulator/restore"))
            await second.stop()
        }
    }

    @Test("An app shipped before sends the receipt")
    func shipped() async throws {
        try await world { emulator, directory in
            let phone = try Phone(emulator, directory, 1)
            let access = phone.access(.receipt)
            let paid = try await paid(access, OrderID(random: RandomBytes.make(16)))
            #expect(await access.signed(paid) == paid)
            await access.stop()
        }
    }

    @Test("Without an answer of StoreKit 2 within five seconds the receipt is used, and no second call is made")
    func silent() async throws {
        try await world { emulator, directory in
            let phone = try Phone(emulator, directory, 1)
            let access = phone.access()
            let paid = try await paid(access, OrderID(random: RandomBytes.make(16)))
            phone.silent.withLock { $0 = "/transactions" }
            #expect(await access.signed(paid) == paid)
            #expect(phone.pauses.now == [5_000])
            // The request runs in the background, and may complete a moment later.
            for _ in 0..<500 where !phone.asked.now.contains(where: { $0.hasSuffix("/transactions") }) {
                try await Task.sleep(nanoseconds: 10_000_000)
            }
            let asked = phone.asked.now.count { $0.hasSuffix("/transactions") }
            #expect(await access.signed(paid) == paid)
            #expect(phone.pauses.now == [5_000])
            #expect(phone.asked.now.count { $0.hasSuffix("/transactions") } == asked)
            // It answers again, late.
            phone.silent.withLock { $0 = nil }
            for task in phone.spawned.now { await task.value }
            guard case .signedTransaction = await access.signed(paid).proof else { throw Unexpected("no copy") }
            await access.stop()
        }
    }

    @Test("A purchase that StoreKit 2 does not list, even after a moment, is proved by the receipt")
    func unlisted() async throws {
        try await world { emulator, directory in
            let phone = try Phone(emulator, directory, 1)
            let access = phone.access()
            let paid = try await paid(access, OrderID(random: RandomBytes.make(16)))
            let stranger = QueuedTransaction(
                id: TransactionID("2000000999999999"), productID: paid.productID, quantity: 1, token: nil,
                purchasedAt: paid.purchasedAt, proof: paid.proof)
            #expect(await access.signed(stranger) == stranger)
            #expect(phone.pauses.now.filter { $0 < 2_000 } == [300, 1_000])
            await access.stop()
        }
    }

    @Test("A restored purchase is proved by the newest of its chain, and keeps the queue's number")
    func restored() async throws {
        try await world { emulator, directory in
            let old = try Phone(emulator, directory, 1)
            let before = old.access()
            let product = ProductID(Self.prefix + "library")
            guard
                case .paid(let paid) = await before.purchase(
                    PurchaseRequest(order: OrderID(random: RandomBytes.make(16)), productID: product, quantity: 1))
            else { throw Unexpected("not paid") }
            await before.finish(paid.id)
            #expect(await eventually { await old.listed().isEmpty })
            await before.stop()
            let access = try Phone(emulator, directory, 2).access()
            let found = try await access.restore()
            #expect(found.map(\.id) == [paid.id])
            guard case .signedTransaction? = found.first?.proof else { throw Unexpected("no copy") }
            #expect(found.first?.token == paid.token)
            await access.stop()
        }
    }

    private func unfinished(_ access: StoreAccess) async throws -> QueuedTransaction {
        for _ in 0..<2_000 {
            if let found = try await access.unfinished().first { return found }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Unexpected("the queue shows nothing")
    }

    private func eventually(_ condition: () async -> Bool) async -> Bool {
        for _ in 0..<2_000 {
            if await condition() { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
    }
}

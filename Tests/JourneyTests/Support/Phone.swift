import Foundation
import StoreKit
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillSimulation
import TillThreads

@testable import TillClient

/// A phone with the client kit: signed in to an account of the emulated store, and possibly to the app.
final class Phone: Sendable {
    /// The user signed in to the app; nil for none.
    let user: String?
    /// The account signed in to the store.
    let account: String
    let wire = FaultyNetwork()
    let shop: Shop
    private let generation: StoreKitGeneration
    private let proof: Locked<StoreKit1Proof>
    private let device = UUID()
    /// The id that the store knows.
    var deviceID: String { device.uuidString.lowercased() }
    private let folder: URL
    /// Whether the phone's disk refuses writes.
    private let isFull = Locked(false)
    /// Seconds.
    private let clockError = Locked<Int64>(0)

    /// One run of the app: everything that a kill ends.
    private struct Launch {
        let number: Int
        let run: AppRun
        let device: EmulatedDevice
        let directory: URL
        let store: TillStore
    }

    private let launched = Locked<Launch?>(nil)
    /// Tells the running app that the phone has a network again.
    private let network = Locked<AsyncStream<Void>.Continuation?>(nil)

    init(
        _ shop: Shop, user: String?, account: String, generation: StoreKitGeneration, proof: StoreKit1Proof, folder: URL
    ) {
        self.shop = shop
        self.user = user
        self.account = account
        self.generation = generation
        self.proof = Locked(proof)
        self.folder = folder
    }

    /// The running app.
    private var launch: Launch {
        guard let launch = launched.withLock({ $0 }) else { fatalError("the app was not launched") }
        return launch
    }

    var store: TillStore { launch.store }
    var run: AppRun { launch.run }
    var receiptURL: URL { launch.device.receiptURL }
    /// The number of `SKReceiptRefreshRequest`s since the launch.
    var receiptRefreshes: Int { get async { await launch.device.receiptRefreshes } }

    // MARK: Launching and killing

    /// Launches the app as a user would: the store is started, and the user is signed in.
    ///
    /// - Parameters:
    ///   - isStarted: false stops before `start`.
    ///   - user: the user who signs in instead of the phone's user.
    func open(killedAt step: AppRun.Step? = nil, isStarted: Bool = true, as user: String? = nil) async throws {
        let number = (launched.withLock { $0?.number } ?? 0) + 1
        let directory = folder.appendingPathComponent("run-\(number)")
        if !FileManager.default.fileExists(atPath: directory.path) {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        }
        let run = AppRun(killedAt: step)
        let device = EmulatedDevice(
            id: device, account: account, bundleID: Shop.bundleID, connection: connection(in: run),
            directory: directory, effects: storeEffects)
        let store = try EmulatedDevice.$current.withValue(device) {
            try TillStore(
                configuration, access: access(), effects: effects, files: try files(in: directory, run),
                transport: transport(in: run))
        }
        launched.withLock {
            $0 = Launch(number: number, run: run, device: device, directory: directory, store: store)
        }
        if isStarted { await use { await $0.start() } }
        if let user = user ?? self.user { await signIn(user) }
    }

    /// Kill -9: nothing that the app does from now on has any effect.
    func kill() async {
        guard let launch = launched.withLock({ $0 }) else { return }
        launch.run.kill()
        // This has no effect either; it only spares the machine an app that polls for ever.
        await EmulatedDevice.$current.withValue(launch.device) { await launch.store.stop() }
    }

    /// Killed, and launched again: the disk is as the kill left it.
    ///
    /// - Parameter seconds: the error of the phone's own clock from now on.
    func relaunch(
        killedAt step: AppRun.Step? = nil, as user: String? = nil, clock seconds: Int64 = 0
    ) async throws {
        let left = launch
        await kill()
        clockError.withLock { $0 = seconds }
        // The old run holds its files as a process does until the system ends it; the new one starts with copies of
        // them.
        let directory = folder.appendingPathComponent("run-\(left.number + 1)")
        try Self.copy(left.directory, to: directory)
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) where name.hasSuffix("-lock") {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(name))
        }
        try await open(killedAt: step, as: user)
    }

    /// A file that is replaced during the copy may vanish; then the copy is repeated.
    private static func copy(_ directory: URL, to other: URL) throws {
        for _ in 0..<5 {
            if (try? FileManager.default.copyItem(at: directory, to: other)) != nil { return }
            try? FileManager.default.removeItem(at: other)
        }
        try FileManager.default.copyItem(at: directory, to: other)
    }

    /// A new version of the app, from the next launch on, with another proof for purchases through StoreKit 1.
    func update(to proof: StoreKit1Proof) { self.proof.withLock { $0 = proof } }

    /// Killed, deleted with all its data, and installed again.
    func reinstall(killedAt step: AppRun.Step? = nil, as user: String? = nil) async throws {
        await kill()
        try await open(killedAt: step, as: user)
    }

    /// Calls the app's store on this phone.
    func use<Result: Sendable>(
        _ work: @Sendable (TillStore) async throws -> Result
    ) async rethrows -> Result {
        let launch = launch
        return try await EmulatedDevice.$current.withValue(launch.device) { try await work(launch.store) }
    }

    // MARK: The owner's actions

    func signIn(_ user: String) async {
        let time = shop.time
        await use { store in
            await store.signIn(user) {
                UserToken.hs256(
                    subject: user, expires: time.now.seconds + 600, extra: UserToken.guestClaim(user))
            }
        }
    }

    /// The phone has a network again, which the system tells the app.
    func regainNetwork() { _ = network.withLock { $0?.yield() } }

    func signOut() async { await use { await $0.signOut() } }

    @discardableResult
    func buy(_ product: String = Shop.points60, quantity: Int = 1) async -> PurchaseOutcome {
        await use { await $0.buy(product, quantity: quantity) }
    }

    /// The owner's choice at payment sheets: `purchased`, `cancelled`, `failed`, `deferred`, `interrupted`.
    func sheet(_ outcome: String) async throws { try await set(["paymentSheet": .string(outcome)]) }

    func set(_ change: JSONValue) async throws {
        let reply = try await shop.ask(.put, "/emulator/accounts/\(account)", change)
        try #require(reply.status == 200, "\(reply.body)")
    }

    // MARK: Observations

    func orders() async -> [StoreOrder] { await use { await $0.orders() } }

    /// The orders as another launch would find them, read from a copy of the file.
    func ordersOnDisk() async throws -> [JournalEntry] {
        let copy = folder.appendingPathComponent("copy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        let file = copy.appendingPathComponent("orders.journal")
        try FileManager.default.copyItem(at: launch.directory.appendingPathComponent("orders.journal"), to: file)
        return await (try OrderJournal(disk: try Disk.file(at: file.path))).entries()
    }

    /// Ids of the account's paid transactions at the store.
    func paid() async throws -> [String] { try await shop.transactions(of: account, "state=purchased") }

    /// Ids of paid transactions that are not finished.
    func unfinished() async throws -> [String] { try await shop.transactions(of: account, "unfinished=true") }

    /// Waits until all of the account's purchases are finished.
    func hasFinishedAll() async throws -> Bool { try await eventually { try await self.unfinished().isEmpty } }

    /// Waits until the app has nothing left to do: no step for a while.
    func comesToRest() async throws {
        var seen = -1
        while seen != run.steps.count {
            seen = run.steps.count
            try await Task.sleep(for: .milliseconds(60))
        }
    }

    // MARK: The app's environment

    /// Makes the disk refuse writes, or accept them again.
    func fillDisk(_ isFull: Bool = true) { self.isFull.withLock { $0 = isFull } }

    private var configuration: TillConfiguration {
        var configuration = TillConfiguration(server: "till:")
        configuration.generation = generation
        configuration.language = "en"
        return configuration
    }

    private func access() -> StoreAccess {
        let spawn: @Sendable (@escaping @Sendable () async -> Void) -> Void = { work in Task { await work() } }
        return generation == .storeKit1 ? .storeKit1(effects, proof: proof.withLock { $0 }) : .storeKit2(spawn: spawn)
    }

    private func files(in directory: URL, _ run: AppRun) throws(DiskError) -> DeviceFiles {
        var files = try DeviceFiles.inDirectory(directory.path)
        files.journal = guarded(files.journal, "journal", run)
        files.identity = guarded(files.identity, "identity", run)
        return files
    }

    private func guarded(_ disk: Disk, _ name: String, _ run: AppRun) -> Disk {
        let isFull = isFull
        return Disk(
            read: disk.read,
            write: { (bytes, offset) throws(DiskError) in
                guard run.step("\(name) written") else { throw DiskError(.other) }
                if isFull.withLock({ $0 }) { throw DiskError(.full) }
                try disk.write(bytes, offset)
            },
            replace: { (bytes) throws(DiskError) in
                guard run.step("\(name) replaced") else { throw DiskError(.other) }
                if isFull.withLock({ $0 }) { throw DiskError(.full) }
                try disk.replace(bytes)
            }, setAside: disk.setAside)
    }

    private var effects: Effects {
        let (time, clockError) = (shop.time, clockError)
        return Effects(
            clock: { time.now.adding(seconds: clockError.withLock { $0 }) }, entropy: RandomBytes.make,
            pause: { await Self.pause($0, time) },
            spawn: { work in Task { await work() } },
            networkReturns: { [network] in
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                network.withLock { $0 = continuation }
                return stream
            })
    }

    private var storeEffects: StoreEffects {
        StoreEffects(
            pause: { try? await Task.sleep(for: .milliseconds(min($0, 15))) }, entropy: RandomBytes.make,
            spawn: { work in Task { await work() } }, callback: { $0() }, pollInterval: 15)
    }

    /// Pauses that a buyer waits for pass at once, and so does the shortest pause of the kit's loop: if the clock moved
    /// before the loop looked at it, the loop would wait for ever. Longer pauses wait for the shop's clock.
    private static func pause(_ milliseconds: Int64, _ time: TestClock) async {
        if milliseconds <= RetrySchedule().first / 2 {
            try? await Task.sleep(for: .milliseconds(2))
            return
        }
        let due = time.now.adding(milliseconds: milliseconds)
        // At most half a second of real time once the clock was moved: a task that computed its pause before the move,
        // and began it afterwards, would never finish. A task that wakes too early checks again, and waits again.
        var looks = 0
        while time.now < due, !Task.isCancelled, !time.wasMoved || looks < 50 {
            try? await Task.sleep(for: .milliseconds(10))
            looks += 1
        }
    }

    private func connection(in run: AppRun) -> StoreConnection {
        let (wire, shop) = (wire, shop)
        return shop.storeConnection.through { request, send throws(HTTPError) in
            try await wire.carry(request, to: .store, in: run, send)
        }
    }

    private func transport(in run: AppRun) -> Transport {
        let (wire, shop) = (wire, shop)
        return Transport { (request) async throws(TransportError) in
            do throws(HTTPError) {
                let response = try await wire.carry(HTTPRequest(request), to: .server, in: run) {
                    request throws(HTTPError) in try await shop.deliver(request)
                }
                return TransportResponse(response)
            } catch {
                throw TransportError(error.kind == .connectionLost ? .connectionLost : .cannotConnect, error.detail)
            }
        }
    }
}

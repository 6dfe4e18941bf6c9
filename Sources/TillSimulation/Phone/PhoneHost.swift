import Foundation
import StoreKit
import TillBilling
import TillClient
import TillHTTP

/// A phone that is signed in to an Apple Account, with the client kit in an app that is launched, killed, deleted and
/// installed again.
final class PhoneHost: @unchecked Sendable {
    let name: String
    let account: String
    let generation: StoreKitGeneration
    /// The proof that its app sends for StoreKit 1 purchases.
    let proof: StoreKit1Proof
    private let parts: SimulationContext
    private let id: UUID
    private let toStore: Link
    private let toServer: Link
    private let journal: DeviceDisk
    private let identity: DeviceDisk
    private let catalog: DeviceDisk
    private let directory: URL
    private let entropy: Entropy
    private var launches = 0
    private var random: SeededRandom
    private var habit: PaymentHabit
    /// The error of its clock, in milliseconds.
    private var clockError: Int64 = 0
    private var app: App?
    /// The user who started the current purchase, recorded in `GroundTruth` when the app calls the store.
    private(set) var buyer: String?
    /// Observes a purchase on its way to the store, and may remove its token.
    private let payment: (PhoneHost, HTTPRequest) -> HTTPRequest
    /// Observes requests to the server.
    private let asked: (PhoneHost, HTTPRequest) -> Void

    /// One run of the app.
    private final class App: @unchecked Sendable {
        let process: SimulatedProcess
        let device: EmulatedDevice
        let store: TillStore

        init(_ process: SimulatedProcess, _ device: EmulatedDevice, _ store: TillStore) {
            self.process = process
            self.device = device
            self.store = store
        }
    }

    struct Connections {
        let toStore: Link
        let toServer: Link
    }

    ///   - folder: for its receipt, the one file that the emulated device keeps on a real disk.
    init(
        _ name: String, account: String, generation: StoreKitGeneration, _ parts: SimulationContext, lines: Connections,
        folder: URL,
        payment: @escaping (PhoneHost, HTTPRequest) -> HTTPRequest,
        asked: @escaping (PhoneHost, HTTPRequest) -> Void
    ) {
        self.name = name
        self.account = account
        self.generation = generation
        // Half of the apps were shipped before the kit sent signed transactions. A separate stream leaves all other
        // draws unchanged.
        var shipped = SeededRandom(seed: parts.seed, stream: "proof \(name)")
        proof = shipped.chance(0.5) ? .receipt : .signedTransaction
        self.parts = parts
        self.payment = payment
        self.asked = asked
        toStore = lines.toStore
        toServer = lines.toServer
        directory = folder.appendingPathComponent(name)
        random = SeededRandom(seed: parts.seed, stream: "phone \(name)")
        habit = PaymentHabit(random: SeededRandom(seed: parts.seed, stream: "habit \(name)"))
        entropy = Entropy(parts.seed, name)
        journal = DeviceDisk("\(name)/orders.journal", parts)
        identity = DeviceDisk("\(name)/identity", parts)
        catalog = DeviceDisk("\(name)/catalogue.json", parts)
        let bytes = random.bytes(16)
        id = UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 0x0F | 0x40, bytes[7],
                bytes[8] & 0x3F | 0x80, bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }

    // MARK: App lifecycle

    var isRunning: Bool { app?.process.isAlive ?? false }

    /// Launches the app if it is not running: starts the store and signs its user in.
    ///
    /// - Returns: false if it can't be launched now.
    func launch() async -> Bool {
        if isRunning { return true }
        launches += 1
        let process = SimulatedProcess("\(name)-\(launches)", on: parts.scheduler)
        let device = EmulatedDevice(
            id: id, account: account, bundleID: SimulatedShop.bundleID, connection: connection(in: process),
            directory: directory, consumableHistory: false, receipts: receipts, effects: storeEffects(of: process))
        do {
            let store = try EmulatedDevice.$current.withValue(device) {
                try TillStore(
                    configuration, access: access(in: process), effects: effects(of: process),
                    files: files(in: process),
                    transport: transport(in: process))
            }
            app = App(process, device, store)
        } catch {
            parts.log.record(name, "the app can't start: \(error)")
            process.kill()
            return false
        }
        parts.log.record(process.name, "is launched")
        return await use { await $0.start() } != nil
    }

    /// The app's process ends where it is.
    func kill() {
        guard let app, app.process.isAlive else { return }
        parts.log.record(app.process.name, "is killed")
        app.process.kill()
    }

    func kill(afterSteps count: Int) { app?.process.kill(afterSteps: count) }

    /// Deletes the app with all its data.
    func erase() {
        kill()
        parts.log.record(name, "deletes the app")
        for disk in [journal, identity, catalog] { disk.erase() }
        try? FileManager.default.removeItem(at: directory)
    }

    /// Runs work in the app.
    ///
    /// - Returns: nil if the app was killed before the work was done.
    func use<Value: Sendable>(_ work: @escaping @Sendable (TillStore) async -> Value) async -> Value? {
        guard let app, app.process.isAlive else { return nil }
        return await app.process.ask {
            await EmulatedDevice.$current.withValue(app.device) { await work(app.store) }
        }
    }

    // MARK: User actions

    func signIn(_ user: String) async {
        let scheduler = parts.scheduler
        _ = await use { store in
            await store.signIn(user) { SimulatedShop.token(of: user, at: scheduler.now) }
        }
    }

    /// - Parameter user: the user who taps, and so the purchase's owner.
    func buy(
        _ product: String, quantity: Int, by user: String
    ) async -> Result<PurchaseResult, TillError>? {
        buyer = user
        return await use { store in
            var options = PurchaseOptions()
            options.quantity = quantity
            do throws(TillError) {
                return .success(try await store.purchase(product, options: options))
            } catch {
                return .failure(error)
            }
        }
    }

    func set(clockError milliseconds: Int64) { clockError = milliseconds }
    func fillDisk(for milliseconds: Int64) { journal.fill(for: milliseconds) }
    func makeRoom() { journal.makeRoom() }

    // MARK: Effects of the app

    private var configuration: TillConfiguration {
        var configuration = TillConfiguration(server: "till:")
        configuration.generation = generation
        configuration.language = "en"
        return configuration
    }

    private func access(in process: SimulatedProcess) -> StoreAccess {
        generation == .storeKit1
            ? .storeKit1(effects(of: process), proof: proof) : .storeKit2(spawn: { process.spawn($0) })
    }

    /// The kit reads the app receipt under StoreKit 1, and no other.
    private var receipts: EmulatedDevice.Receipts { generation == .storeKit1 ? .app : .requested }

    private func files(in process: SimulatedProcess) -> DeviceFiles {
        let cache = catalog
        return DeviceFiles(
            journal: journal.open(by: process), identity: identity.open(by: process),
            catalog: CacheFile(
                read: { cache.bytes.isEmpty ? nil : cache.bytes },
                replace: { bytes in try? cache.open(by: process).replace(bytes) }))
    }

    private func effects(of process: SimulatedProcess) -> Effects {
        let (scheduler, entropy) = (parts.scheduler, entropy)
        return Effects(
            clock: { [self] in scheduler.now.adding(milliseconds: clockError) }, entropy: entropy.bytes,
            pause: { await scheduler.pause($0) }, spawn: { process.spawn($0) })
    }

    private func storeEffects(of process: SimulatedProcess) -> StoreEffects {
        let (scheduler, entropy) = (parts.scheduler, entropy)
        return StoreEffects(
            pause: { await scheduler.pause($0) }, entropy: entropy.bytes, spawn: { process.spawn($0) },
            callback: { $0() }, pollInterval: 20_000,
            paymentSheet: { [self] _ in
                let (answer, time) = habit.decide()
                await scheduler.pause(time)
                return answer
            })
    }

    private func connection(in process: SimulatedProcess) -> StoreConnection {
        .inProcess { [self] request in
            let request = request.path == "/emulator/purchases" ? payment(self, request) : request
            guard let response = try? await toStore.send(request, from: process) else { return .hangUp }
            return response
        }
    }

    private func transport(in process: SimulatedProcess) -> Transport {
        Transport { [self] (request) async throws(TransportError) in
            let request = HTTPRequest(request)
            asked(self, request)
            do throws(HTTPError) {
                return TransportResponse(try await toServer.send(request, from: process))
            } catch {
                let kind: TransportError.Kind =
                    switch error.kind {
                    case .timedOut: .timedOut
                    case .connectionLost: .connectionLost
                    default: .cannotConnect
                    }
                throw TransportError(kind, error.detail)
            }
        }
    }
}

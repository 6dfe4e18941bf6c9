import Foundation
import StoreKit
import Testing
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillSQLite
import TillThreads

import struct TillBilling.Instant

/// An emulated App Store in this process, with a clock that a test advances, and phones signed in to it.
final class ModernWorld: Sendable {
    static let bundleID = "com.example.learnpoints"
    static let start = Instant(milliseconds: 1_772_353_800_123)
    /// RSA keys are slow to generate, so all worlds of a run share them.
    private static let keys: [String: String] = Dictionary(
        uniqueKeysWithValues: ["receiptIntermediate", "receiptSigner"].compactMap { name in
            (try? PrivateKey.generate(.rsa2048).pem()).map { (name, $0) }
        })

    let emulator: Emulator
    let directory: URL
    private let database: SQLiteDatabase
    private let time: Locked<Instant>

    init() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("till-modern-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let time = Locked(Self.start)
        var configuration = EmulatorConfiguration()
        configuration.keys = Self.keys
        self.directory = directory
        database = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        emulator = try await Emulator(
            configuration: configuration, database: database, clock: { time.withLock { $0 } },
            entropy: RandomBytes.make, send: { _, _ throws(HTTPError) in HTTPResponse(status: 200) })
        self.time = time
    }

    /// A world for one test.
    static func with(_ test: (ModernWorld) async throws -> Void) async throws {
        let world = try await ModernWorld()
        do {
            try await test(world)
        } catch {
            await world.remove()
            throw error
        }
        await world.remove()
    }

    func remove() async {
        await database.close()
        try? FileManager.default.removeItem(at: directory)
    }

    func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }

    /// A phone; the same number again is a relaunch of the app on it.
    func phone(
        _ number: Int = 1, of account: String? = "ann", client: NetworkLink = NetworkLink(), consumables: Bool = false,
        connection: StoreConnection? = nil
    ) throws -> EmulatedDevice {
        let emulator = emulator
        let connection = connection ?? .inProcess { await emulator.respond(to: $0) }
        var effects = StoreEffects.process
        effects.pollInterval = 5
        effects.pause = { try? await Task.sleep(for: .milliseconds(min($0, 20))) }
        return EmulatedDevice(
            id: try #require(UUID(uuidString: "3f2c1a00-1111-4222-8333-\(444_455_550_000 + number)")),
            account: account, bundleID: Self.bundleID, connection: client.on(connection),
            directory: directory.appendingPathComponent("phone-\(number)"), consumableHistory: consumables,
            effects: effects)
    }

    // MARK: Events elsewhere

    @discardableResult
    func ask(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [], _ body: JSONValue = [:]
    ) async throws -> JSONValue {
        let response = await emulator.respond(
            to: HTTPRequest(method: method, path: path, query: query, body: Array(body.encoded().utf8)))
        let json = (try? JSONValue(decoding: response.body)) ?? .null
        try #require(response.status == 200, "\(path): \(json.encoded())")
        return json
    }

    func set(_ account: String, _ change: JSONValue) async throws {
        try await ask(.put, "/emulator/accounts/\(account)", change)
    }

    /// A purchase elsewhere, whose result no phone of the test receives.
    @discardableResult
    func buy(_ product: String, of account: String = "ann", outcome: String = "purchased") async throws -> String {
        let answer = try await ask(
            .post, "/emulator/purchases",
            [
                "bundleId": .string(Self.bundleID), "productId": .string(Self.id(product)),
                "account": .string(account), "outcome": .string(outcome), "receipt": false,
            ])
        return try #require(answer["transactionId"]?.string)
    }

    /// Ann's newest request, paid or not.
    func newest() async throws -> String {
        let list = try await ask(.get, "/emulator/transactions", query: [("account", "ann")])
        return try #require(list["data"]?.array?.first?["transactionId"]?.string, "\(list.encoded())")
    }

    func act(_ transaction: String, _ verb: String) async throws {
        try await ask(.post, "/emulator/transactions/\(transaction)/\(verb)")
    }

    static func id(_ product: String) -> String { "\(bundleID).\(product)" }
}

/// The connection between a phone and its store, which a test can cut.
final class NetworkLink: Sendable {
    enum Cut: Sendable {
        /// Nothing arrives in either direction.
        case off
        /// The store performs the request, and the answer is lost.
        case answerLost
        /// An intermediary changes the store's answer.
        case altered(@Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse)
    }

    private let cut = Locked<(path: String, Cut)?>(nil)
    private let asked = Locked<[String]>([])

    /// The number of requests to a path, such as `POST /emulator/purchases`.
    func count(_ path: String) -> Int { asked.withLock { $0.filter { $0.contains(path) }.count } }

    /// Cuts all requests whose path contains this text; the empty text matches all.
    func cut(_ path: String = "", _ how: Cut = .off) { cut.withLock { $0 = (path, how) } }
    func mend() { cut.withLock { $0 = nil } }

    func on(_ connection: StoreConnection) -> StoreConnection {
        connection.through { request, send throws(HTTPError) in
            self.asked.withLock { $0.append("\(request.method.rawValue) \(request.path)") }
            let cut = self.cut(of: request)
            if case .off = cut { throw HTTPError(.cannotConnect, "cut") }
            let response = try await send(request)
            // The store can read a request later than the test cuts the link: that answer is lost too.
            if case .off = self.cut(of: request) { throw HTTPError(.connectionLost, "cut") }
            switch cut {
            case .answerLost: throw HTTPError(.connectionLost, "cut")
            case .altered(let alter): return alter(request, response)
            case .off, nil: return response
            }
        }
    }

    private func cut(of request: HTTPRequest) -> Cut? {
        cut.withLock { cut in cut.flatMap { $0.path.isEmpty || request.path.contains($0.path) ? $0.1 : nil } }
    }
}

extension EmulatedDevice {
    /// Runs with this phone as StoreKit's device.
    func run<Result>(_ work: () async throws -> Result) async rethrows -> Result {
        try await EmulatedDevice.$current.withValue(self) { try await work() }
    }

    func product(_ name: String) async throws -> Product {
        try await run { try #require(try await Product.products(for: [ModernWorld.id(name)]).first) }
    }

    func buy(_ name: String, _ options: Set<Product.PurchaseOption> = []) async throws -> Product.PurchaseResult {
        let product = try await product(name)
        return try await run { try await product.purchase(options: options) }
    }

    /// Buys, and expects success.
    func bought(
        _ name: String, _ options: Set<Product.PurchaseOption> = []
    ) async throws -> VerificationResult<Transaction> {
        guard case .success(let result) = try await buy(name, options) else {
            Issue.record("\(name) was not bought")
            throw StoreKitError.unknown
        }
        return result
    }

    /// The ids of a finite sequence, as texts.
    func ids(_ sequence: () -> Transaction.Transactions) async -> [String] {
        await run {
            var found: [String] = []
            for await result in sequence() { found.append("\(result.unsafePayloadValue.id)") }
            return found
        }
    }

    func listen() -> Listening { Listening(on: self) }
}

/// Records the elements of `Transaction.updates`.
final class Listening: Sendable {
    private let received = Locked<[VerificationResult<Transaction>]>([])
    private let hasEnded = Locked(false)
    private let task: Task<Void, Never>

    init(on device: EmulatedDevice) {
        let received = received
        let hasEnded = hasEnded
        task = EmulatedDevice.$current.withValue(device) {
            Task {
                for await result in Transaction.updates { received.withLock { $0.append(result) } }
                hasEnded.withLock { $0 = true }
            }
        }
    }

    var results: [VerificationResult<Transaction>] { received.withLock { $0 } }
    var ids: [String] { results.map { "\($0.unsafePayloadValue.id)" } }
    var isOver: Bool { hasEnded.withLock { $0 } }

    /// Waits for this many elements, and a while longer for surplus ones.
    func receives(_ count: Int, within seconds: Double = 10) async -> [String] {
        await until(within: seconds) { self.ids.count >= count }
        try? await Task.sleep(for: .milliseconds(60))
        return ids
    }

    func end() async {
        task.cancel()
        await task.value
    }
}

/// Returns once the condition holds, or after the time limit.
@discardableResult
func until(within seconds: Double = 10, _ holds: @Sendable () async -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
        if await holds() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return await holds()
}

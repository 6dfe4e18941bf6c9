import Foundation
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillSQLite
import TillThreads

@testable import StoreKit

/// An emulated App Store in process with a clock that a test advances, and phones that use it.
final class StoreKitWorld: Sendable {
    static let bundleID = "com.example.learnpoints"
    /// RSA keys are slow to generate, so all worlds of a run share them.
    private static let keys: [String: String] = Dictionary(
        uniqueKeysWithValues: ["receiptIntermediate", "receiptSigner"].compactMap { name in
            (try? PrivateKey.generate(.rsa2048).pem()).map { (name, $0) }
        })

    let directory: URL
    let emulator: Emulator
    private let database: SQLiteDatabase
    private let time = Locked(Instant(milliseconds: 1_772_353_800_123))

    init() async throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-storekit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var configuration = EmulatorConfiguration()
        configuration.keys = Self.keys
        database = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        let time = time
        emulator = try await Emulator(
            configuration: configuration, database: database, clock: { time.withLock { $0 } },
            entropy: { RandomBytes.make($0) }, send: { _, _ throws(HTTPError) in HTTPResponse(status: 200) })
    }

    func remove() async {
        await database.close()
        try? FileManager.default.removeItem(at: directory)
    }

    var now: Instant { time.withLock { $0 } }

    /// Advances the clock, with everything that falls due.
    func advance(_ span: String) async {
        await ask(.post, "/emulator/clock", ["advance": .string(span)])
    }

    @discardableResult
    func ask(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [], _ body: JSONValue? = nil
    ) async -> JSONValue {
        let request = HTTPRequest(
            method: method, path: path, query: query, headers: HTTPHeaders([]),
            body: body.map { Array($0.encoded().utf8) } ?? [])
        let response = await emulator.respond(to: request)
        if response.status >= 400 {
            Issue.record("\(method) \(path): \(String(decoding: response.body, as: UTF8.self))")
        }
        return (try? JSONValue(decoding: response.body)) ?? .null
    }

    func id(_ product: String) -> String { "\(Self.bundleID).\(product)" }

    /// A purchase on a device outside of this test.
    @discardableResult
    func buyElsewhere(
        _ product: String, account: String, _ more: [String: JSONValue] = [:]
    ) async -> String {
        var body: [String: JSONValue] = [
            "bundleId": .string(Self.bundleID), "productId": .string(id(product)), "account": .string(account),
            "receipt": false,
        ]
        body.merge(more) { $1 }
        return await ask(.post, "/emulator/purchases", .object(body))["transactionId"]?.string ?? ""
    }

    /// The unfinished transactions of an account.
    func unfinished(_ account: String) async -> [String] {
        let answer = await ask(
            .get, "/emulator/transactions", query: [("account", account), ("unfinished", "true"), ("limit", "100")])
        return (answer["data"]?.array ?? []).compactMap { $0["transactionId"]?.string }
    }

    func paidTransactions(_ account: String) async -> Int {
        let answer = await ask(
            .get, "/emulator/transactions", query: [("account", account), ("state", "purchased"), ("limit", "100")])
        return answer["data"]?.array?.count ?? 0
    }
}

/// The connection from one phone to the store: it can be cut before a request arrives or before its answer returns.
final class StoreKitCable: Sendable {
    enum Delivery: Sendable {
        case passes, losesRequest, losesAnswer
        /// The answer arrives when this has returned.
        case delaysAnswer(@Sendable () async -> Void)
    }

    private let delivery = Locked<@Sendable (HTTPRequest) -> Delivery>({ _ in .passes })
    private let asked = Locked<[String]>([])

    func set(_ rule: @escaping @Sendable (HTTPRequest) -> Delivery) { delivery.withLock { $0 = rule } }
    func cut() { set { _ in .losesRequest } }
    func mend() { set { _ in .passes } }
    /// Loses the next answer of this path; all later ones arrive.
    func loseOneAnswer(of path: String) {
        let isLost = Locked(false)
        set { request in
            guard request.path == path else { return .passes }
            return isLost.withLock { lost in
                defer { lost = true }
                return lost ? .passes : .losesAnswer
            }
        }
    }

    var paths: [String] { asked.withLock { $0 } }

    func connection(to emulator: Emulator) -> StoreConnection {
        StoreConnection.inProcess { await emulator.respond(to: $0) }.through { request, send throws(HTTPError) in
            self.asked.withLock { $0.append(request.path) }
            switch self.delivery.withLock({ $0 })(request) {
            case .passes: return try await send(request)
            case .losesRequest: throw HTTPError(.cannotConnect, "cut")
            case .losesAnswer:
                _ = try await send(request)
                throw HTTPError(.connectionLost, "cut")
            case .delaysAnswer(let wait):
                let answer = try await send(request)
                await wait()
                return answer
            }
        }
    }
}

extension StoreKitWorld {
    /// A run of the app on a phone. The same number and place is a relaunch; another place is a reinstallation.
    func launch(
        _ number: Int = 1, of account: String? = "ann", place: String = "app", cable: StoreKitCable = StoreKitCable(),
        receipts: EmulatedDevice.Receipts = .all, sheet: PaymentSheet.Answer? = nil
    ) throws -> EmulatedDevice {
        let id = try #require(UUID(uuidString: "3F2C91AB-0000-4000-8000-\(String(format: "%012d", number))"))
        return EmulatedDevice(
            id: id, account: account, bundleID: Self.bundleID, connection: cable.connection(to: emulator),
            directory: directory.appendingPathComponent("\(number)/\(place)"), receipts: receipts,
            effects: .quick(sheet))
    }
}

extension StoreEffects {
    /// Polls a hundred times a second, and calls observers synchronously.
    static func quick(_ sheet: PaymentSheet.Answer? = nil) -> StoreEffects {
        var effects = StoreEffects(
            pause: { milliseconds in try? await Task.sleep(for: .milliseconds(milliseconds)) },
            entropy: { RandomBytes.make($0) }, spawn: { work in Task { await work() } }, callback: { call in call() },
            pollInterval: 10)
        if let sheet { effects.paymentSheet = { _ in sheet } }
        return effects
    }
}

/// Waits up to 10 seconds for a condition.
@discardableResult
func eventually(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ condition: @Sendable () async -> Bool
) async -> Bool {
    for _ in 0..<2_000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it never came: \(what)", sourceLocation: sourceLocation)
    return false
}

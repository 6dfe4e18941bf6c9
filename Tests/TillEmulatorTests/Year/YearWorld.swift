import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillThreads

@testable import TillAppStore
@testable import TillEmulator
@testable import TillSQLite

/// A production App Store over a year, with a developer's server that has outages and otherwise accepts everything.
/// Everything random comes from one seed.
final class YearWorld: Sendable {
    /// One delivery attempt, as recorded by the developer's server.
    struct Attempt: Sendable {
        var signedPayload: String
        var at: Instant
        var isTaken: Bool
    }

    /// The days of the year on which the server is down; the longest outage covers all six attempts.
    static let outages: [Range<Int64>] = [20..<21, 45..<48, 120..<128, 210..<214, 300..<301]

    /// 2026-01-03T09:00:00.000Z.
    static let start = Instant(milliseconds: 1_767_430_800_000)
    static func day(_ number: Int64) -> Instant { start.adding(seconds: number * 86_400) }

    let directory: URL
    let database: SQLiteDatabase
    let emulator: Emulator
    let entropy: SeededEntropy
    let signer: OfferSigner
    let tokens: BearerTokens
    private let keys: [String: String]
    private let outages: [Range<Int64>]
    private let time: Locked<Instant>
    private let received: Locked<[Attempt]>

    var store: Store { emulator.store }
    var attempts: [Attempt] { received.withLock { $0 } }

    private static func configuration(_ keys: [String: String]) -> EmulatorConfiguration {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        configuration.storefront = "USA"
        configuration.products = YearCatalogue.products
        // Without a grace period from a trial into the first month, so that both kinds of failure occur.
        configuration.billingGracePeriod = BillingGracePeriod(.sixteen, scope: .paidToPaidOnly)
        configuration.keys = keys
        return configuration
    }

    /// - Parameter keys: RSA keys, which are slow to generate: `receiptIntermediate` and `receiptSigner`.
    convenience init(
        seed: UInt64, keys: [String: String], outages: [Range<Int64>] = YearWorld.outages
    ) async throws {
        try await self.init(
            FileManager.default.temporaryDirectory.appendingPathComponent("till-year-\(UUID().uuidString)"),
            keys, outages, time: Self.start, entropy: SeededEntropy(seed), received: [])
    }

    private init(
        _ directory: URL, _ keys: [String: String], _ outages: [Range<Int64>], time: Instant, entropy: SeededEntropy,
        received: [Attempt]
    ) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let (time, received) = (Locked(time), Locked(received))
        let clock = Locked<StoreClock?>(nil)
        self.directory = directory
        self.keys = keys
        self.outages = outages
        // No power is cut here, so nothing waits for the disk: a year has ten thousand commits.
        var options = Emulator.databaseOptions
        options.synchronous = "OFF"
        options.threads = .inline
        database = try SQLiteDatabase.open(
            path: directory.appendingPathComponent("emulator.sqlite").path, role: .server, options: options)
        emulator = try await Emulator(
            configuration: Self.configuration(keys), database: database, clock: { time.withLock { $0 } },
            entropy: { entropy.bytes($0) },
            send: { _, request throws(HTTPError) in
                guard let text = try? JSONValue(decoding: request.body)["signedPayload"]?.string,
                    let now = clock.withLock({ $0?.now })
                else { throw HTTPError(.other, "no notification") }
                let isUp = !outages.contains { Self.day($0.lowerBound) <= now && now < Self.day($0.upperBound) }
                received.withLock { $0.append(Attempt(signedPayload: text, at: now, isTaken: isUp)) }
                return HTTPResponse(status: isUp ? 200 : 503)
            })
        let storeClock = emulator.store.clock
        clock.withLock { $0 = storeClock }
        self.entropy = entropy
        self.time = time
        self.received = received
        let json = await emulator.respond(to: HTTPRequest(method: .get, path: "/emulator/api-key")).body
        let described = try JSONValue(decoding: json)
        let key = try InAppPurchaseKey(
            issuerID: try #require(described["issuerId"]?.string), keyID: try #require(described["keyId"]?.string),
            privateKey: try PrivateKey(pem: try #require(described["privateKey"]?.string)))
        signer = OfferSigner(
            key: key, bundleID: YearCatalogue.bundleID, clock: { storeClock.now }, entropy: { entropy.bytes($0) })
        tokens = BearerTokens(key: key, bundleID: YearCatalogue.bundleID)
        try await store.setNotificationURL("http://127.0.0.1:9/apple")
    }

    /// Stops the store and starts it again on the same file.
    func restarted() async throws -> YearWorld {
        await database.close()
        return try await entropy.aside {
            try await YearWorld(
                directory, keys, outages, time: time.withLock { $0 }, entropy: entropy, received: attempts)
        }
    }

    func remove() async {
        await database.close()
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: Time

    /// A few seconds between two acts.
    func passes(_ milliseconds: Int64) { time.withLock { $0 = $0.adding(milliseconds: milliseconds) } }

    /// Advances to the morning of a day.
    func advance(toDay day: Int64) async throws { _ = try await store.advance(to: Self.day(day)).get() }

    // MARK: Requests

    /// The App Store Server API, as the developer's server calls it.
    @discardableResult
    func api(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [], _ body: JSONValue? = nil
    ) async throws -> (Int, JSONValue) {
        var headers = HTTPHeaders()
        headers.add("Authorization", "Bearer \(try tokens.token(at: store.now))")
        let response = await emulator.respond(
            to: HTTPRequest(
                method: method, path: path, query: query, headers: headers,
                body: body.map { Array($0.encoded().utf8) } ?? []))
        return (response.status, (try? JSONValue(decoding: response.body)) ?? .null)
    }

    func transactions(of account: String) async throws -> [StoreTransaction] {
        try await store.transactions(account: account, unfinishedOnly: false, limit: 10_000)
    }

    /// The account's own subscription in a group, by the group's name in the script.
    func subscription(of account: String, _ group: String) async throws -> StoreSubscription? {
        let id = ["club": "21000001", "home": "21000002", "extra": "21000003", "plan": "21000004"][group] ?? group
        return try await store.ask { connection in
            try SubscriptionTable.own(account: account, bundleID: YearCatalogue.bundleID, groupID: id, connection)
        }
    }
}

import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillSQLite
import TillThreads

@testable import TillEmulator

/// An emulated store for tests of subscriptions: its entropy comes from a seed, a test advances its clock, and its
/// notifications are read from the database.
final class SubscribedWorld: Sendable {
    static let bundleID = "com.example.learnpoints"
    static let dollar = Currency("USD")

    let directory: URL
    let database: SQLiteDatabase
    let emulator: Emulator
    private let time: Locked<Instant>
    private let random: Locked<UInt64>

    var store: Store { emulator.store }
    var now: Instant { time.withLock { $0 } }

    init(
        start: String = "2026-03-01T08:30:00.000Z", seed: UInt64 = 1, directory: URL? = nil,
        _ adjust: (inout EmulatorConfiguration) -> Void = { _ in }
    ) async throws {
        let directory =
            directory
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("till-life-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let time = Locked(try #require(Instant(rfc3339: start)))
        let random = Locked(seed &* 0x9E37_79B9_7F4A_7C15 | 1)
        var configuration = EmulatorConfiguration()
        configuration.storefront = "USA"
        configuration.products = Self.products
        configuration.keys = EmulatedWorld.keys
        adjust(&configuration)
        self.directory = directory
        database = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        emulator = try await Emulator(
            configuration: configuration, database: database, clock: { time.withLock { $0 } },
            entropy: { count in
                random.withLock { state in
                    (0..<count).map { _ in
                        state ^= state << 13
                        state ^= state >> 7
                        state ^= state << 17
                        return UInt8(truncatingIfNeeded: state >> 24)
                    }
                }
            },
            send: { _, _ throws(HTTPError) in HTTPResponse(status: 200) })
        self.time = time
        self.random = random
        try await store.setNotificationURL("http://127.0.0.1:1/notifications")
    }

    func remove() async {
        await database.close()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Closes the store and opens it again on the same file, at the same moment and with the entropy at the same
    /// position.
    func reopened(_ adjust: (inout EmulatorConfiguration) -> Void = { _ in }) async throws -> SubscribedWorld {
        await database.close()
        let world = try await SubscribedWorld(start: now.rfc3339, directory: directory, adjust)
        let state = random.withLock { $0 }
        world.random.withLock { $0 = state }
        return world
    }

    // MARK: Time

    func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }
    func advance(days: Int64) { advance(seconds: days * 86_400) }
    func go(to text: String) throws {
        let moment = try #require(Instant(rfc3339: text))
        time.withLock { $0 = moment }
    }

    // MARK: Customer actions

    @discardableResult
    func buy(
        _ product: String, account: String = Emulator.defaultAccount, offer: PurchaseRequest.Offer? = nil,
        outcome: PurchaseRequest.Outcome = .purchased, token: UniqueID? = nil
    ) async throws -> Result<PurchaseResult, StoreRefusal> {
        var request = PurchaseRequest(bundleID: Self.bundleID, productID: ProductID(product))
        request.account = account
        request.offer = offer
        request.outcome = outcome
        request.appAccountToken = token
        return try await store.purchase(request)
    }

    /// Buys, and expects a paid transaction.
    @discardableResult
    func bought(
        _ product: String, account: String = Emulator.defaultAccount, offer: PurchaseRequest.Offer? = nil,
        token: UniqueID? = nil
    ) async throws -> StoreTransaction {
        let result = try await buy(product, account: account, offer: offer, token: token).get()
        guard case .purchased(let transaction) = result else {
            Issue.record("\(product) was not bought: \(result)")
            throw CancellationError()
        }
        return transaction
    }

    func setPayment(works: Bool, account: String = Emulator.defaultAccount) async throws {
        try await store.change { change in
            guard var found = try AccountTable.find(account, change.connection) else { return }
            found.paymentMethodWorks = works
            try AccountTable.update(found, change.connection)
        }
    }

    // MARK: Reading

    func subscription(_ original: Int64) async throws -> StoreSubscription {
        try #require(try await store.subscription(original))
    }

    func transactions(account: String = Emulator.defaultAccount) async throws -> [StoreTransaction] {
        try await store.transactions(account: account, unfinishedOnly: false, limit: 10_000)
    }

    struct NotifiedEvent: Sendable, Equatable {
        var at: Instant
        var name: String
        var original: Int64?
        var content: JSONValue
        var transactionID: String? { content["transaction"]?["transactionId"]?.string }
        var reason: String? { content["transaction"]?["transactionReason"]?.string }
        var status: Int64? { content["status"]?.int }
    }

    /// Every notification so far, as `TYPE/SUBTYPE`.
    func notified(original: Int64? = nil) async throws -> [NotifiedEvent] {
        let all = try await store.ask { connection in
            try connection.query(
                "SELECT created_at, type, subtype, original, content FROM notifications ORDER BY number", []
            ) { row in
                NotifiedEvent(
                    at: Instant(milliseconds: row.integer("created_at")),
                    name: row.text("type") + (row.isNull("subtype") ? "" : "/" + row.text("subtype")),
                    original: row.isNull("original") ? nil : row.integer("original"),
                    content: (try? JSONValue(decoding: Array(row.text("content").utf8))) ?? .null)
            }
        }
        return original.map { wanted in all.filter { $0.original == wanted } } ?? all
    }

    func names() async throws -> [String] { try await notified().map(\.name) }

    /// The renewal info as it would be signed now.
    func renewal(_ original: Int64) async throws -> [String: JSONValue] {
        let subscription = try await subscription(original)
        let current = try #require(try await store.transaction(subscription.current))
        return SignedContent.renewal(subscription, current: current, signed: now).json.object ?? [:]
    }

    // MARK: Products

    static func dollars(_ cents: Int64) -> Money { Money(amount: cents, currency: dollar) }

    static let products: [StoreProduct] = {
        func product(_ id: String, _ cents: Int64, level: Int64, _ period: SubscriptionPeriod) -> StoreProduct {
            StoreProduct(
                id: ProductID(id), kind: .autoRenewable, name: id, prices: ["USA": dollars(cents)],
                subscription: SubscriptionTerms(groupID: "7001", level: level, period: period))
        }
        var basic = product("basic.monthly", 299, level: 2, .month)
        basic.offers = [
            ProductOffer(
                kind: .promotional, identifier: "half", discount: .payAsYouGo, period: OfferPeriod(1, .month),
                periods: 3, prices: ["USA": dollars(149)]),
            ProductOffer(
                kind: .winBack, identifier: "again", discount: .payUpFront, period: OfferPeriod(3, .month),
                prices: ["USA": dollars(499)]),
            ProductOffer(
                kind: .winBack, identifier: "free-again", discount: .freeTrial, period: OfferPeriod(1, .month)),
            ProductOffer(kind: .winBack, identifier: "no-price", discount: .payUpFront, period: OfferPeriod(1, .month)),
        ]
        var trial = product("trial.monthly", 499, level: 2, .month)
        trial.offers = [ProductOffer(kind: .introductory, discount: .freeTrial, period: OfferPeriod(3, .day))]
        var steps = product("steps.monthly", 599, level: 2, .month)
        steps.offers = [
            ProductOffer(
                kind: .introductory, discount: .payAsYouGo, period: OfferPeriod(1, .month), periods: 2,
                prices: ["USA": dollars(99)])
        ]
        var upFront = product("upfront.monthly", 599, level: 2, .month)
        upFront.offers = [
            ProductOffer(
                kind: .introductory, discount: .payUpFront, period: OfferPeriod(6, .month),
                prices: ["USA": dollars(999)])
        ]
        return [
            basic, trial, steps, upFront,
            product("basic.annual", 2_999, level: 2, .year),
            product("other.monthly", 299, level: 2, .month),
            product("premium.monthly", 699, level: 1, .month),
            product("premium.annual", 6_999, level: 1, .year),
            product("light.weekly", 99, level: 3, .week),
        ]
    }()
}

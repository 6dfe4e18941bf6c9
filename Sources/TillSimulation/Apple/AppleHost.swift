import TillBilling
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillSQLite

/// Apple: the emulated App Store on a reliable disk. It is never killed; its faults are downtime, lost tokens and lost
/// notifications.
final class AppleHost: @unchecked Sendable {
    let process: SimulatedProcess
    let emulator: Emulator
    let ledger: SQLiteDatabase
    private let disk: CrashableDisk
    private(set) var isDown = false
    /// Finished transactions.
    private var finished: Set<String> = []
    private let parts: SimulationContext
    private let watch: Watch

    /// - Parameters:
    ///   - files: those of its empty database.
    ///   - send: the connection for notifications to the developer's server.
    static func create(
        _ parts: SimulationContext, keys: StoreKeys, files: [String: [UInt8]], watch: Watch,
        send: @escaping @Sendable (SimulatedProcess) -> HTTPSend
    ) async throws -> AppleHost {
        let process = SimulatedProcess("apple", on: parts.scheduler)
        let scheduler = parts.scheduler
        let disk = CrashableDisk(seed: parts.seed, files: files)
        var options = Emulator.databaseOptions
        options.vfs = disk.vfs
        options.threads = .inline
        let ledger = try SQLiteDatabase.open(path: EmptyDatabases.storePath, role: .server, options: options)
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        configuration.app = EmulatedApp(bundleID: SimulatedShop.bundleID)
        configuration.products = SimulatedShop.sold
        configuration.keys = keys.apple.pem
        configuration.certificates = keys.apple.certificates
        let entropy = Entropy(parts.seed, "apple")
        let emulator = try await Emulator(
            configuration: configuration, database: ledger, clock: { scheduler.now }, entropy: entropy.bytes,
            send: send(process), pause: { await scheduler.pause($0) })
        return AppleHost(parts, process, emulator, ledger, disk, watch)
    }

    private init(
        _ parts: SimulationContext, _ process: SimulatedProcess, _ emulator: Emulator, _ ledger: SQLiteDatabase,
        _ disk: CrashableDisk, _ watch: Watch
    ) {
        self.parts = parts
        self.watch = watch
        self.emulator = emulator
        self.ledger = ledger
        self.disk = disk
        self.process = process
    }

    /// Starts performing due changes and sending notifications.
    func start() {
        let (emulator, scheduler) = (emulator, parts.scheduler)
        process.spawn { await emulator.run() }
        process.spawn {
            while true {
                await scheduler.pause(1_800_000)
                emulator.wake()
            }
        }
    }

    /// The store's end for network clients; nil while it is down.
    var end: Link.End? {
        guard !isDown else { return nil }
        return Link.End(process: process) { [self] in await respond(to: $0) }
    }

    private func respond(to request: HTTPRequest) async -> HTTPResponse {
        let id = Self.finished(by: request)
        // A delayed request may finish a transaction that is finished already.
        if let id, !finished.contains(id) { await watch.isFinished(id) }
        let response = await emulator.respond(to: request)
        if let id, response.status == 200 { finished.insert(id) }
        if request.method == .post, request.path == "/emulator/purchases" { watch.isBought(request, response) }
        return response
    }

    /// The transaction that a request finishes, sent by the phone or by the server.
    private static func finished(by request: HTTPRequest) -> String? {
        let parts = request.path.split(separator: "/")
        guard request.method == .post, parts.last == "finish", parts.count >= 2 else { return nil }
        return String(parts[parts.count - 2])
    }

    /// The callbacks that record the world's truth.
    struct Watch {
        var isBought: (HTTPRequest, HTTPResponse) -> Void
        /// Called before the transaction is finished.
        var isFinished: (_ transaction: String) async -> Void
    }

    /// An action in Apple's own shop or by Apple's staff.
    func act(
        _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil, query: [(name: String, value: String)] = []
    ) async -> JSONValue? {
        let request = HTTPRequest(
            method: method, path: path, query: query,
            headers: HTTPHeaders(body == nil ? [] : [("Content-Type", "application/json")]),
            body: body.map { $0.encodedBytes() } ?? [])
        let emulator = emulator
        let response = await process.ask { await emulator.respond(to: request) }
        guard let response, response.status < 300 else { return nil }
        return try? JSONValue(decoding: response.body)
    }

    func goDown(for milliseconds: Int64) {
        isDown = true
        parts.log.record("apple", "does not respond for \(milliseconds / 60_000) minutes")
        parts.scheduler.after(milliseconds) { self.isDown = false }
    }

    func comeBack() { isDown = false }

    /// The transactions of all accounts in Apple's records, which all ledgers are compared with.
    func transactions() async throws -> [StoreSale] {
        try await ledger.read { connection in
            try connection.query(
                """
                SELECT number, original, state, finished, account, product_id, quantity, app_account_token, reason, \
                purchased_at, revoked_at, kind, shared_from, expires_at FROM transactions ORDER BY number
                """, [], StoreSale.init)
        }
    }

    /// A transaction and all others of its chain.
    func transactions(around id: String) async throws -> [StoreSale] {
        guard let number = Int64(id) else { return [] }
        return try await ledger.read { connection in
            try connection.query(
                """
                SELECT number, original, state, finished, account, product_id, quantity, app_account_token, reason, \
                purchased_at, revoked_at, kind, shared_from, expires_at FROM transactions \
                WHERE number = ?1 OR number = (SELECT original FROM transactions WHERE number = ?1) \
                OR group_id IS NOT NULL AND original = (SELECT original FROM transactions WHERE number = ?1) \
                ORDER BY number
                """, [.integer(number)], StoreSale.init)
        }
    }

    /// Purchases that wait for a decision.
    func waiting() async throws -> [String] {
        try await ledger.read { connection in
            try connection.query(
                "SELECT number FROM transactions WHERE state IN ('deferred', 'interrupted') ORDER BY number", []
            ) { String($0.integer("number")) }
        }
    }

    /// Subscriptions, by their first transactions.
    func subscriptions() async throws -> [String] {
        try await ledger.read { connection in
            try connection.query(
                """
                SELECT DISTINCT original FROM transactions WHERE group_id IS NOT NULL AND state = 'purchased' \
                ORDER BY original
                """, []
            ) { String($0.integer("original")) }
        }
    }

    /// The ends of running grace periods, by the first transaction of the chain.
    func graces() async -> [String: Instant] {
        let page = await act(.get, "/emulator/subscriptions", query: [("limit", "100")])
        guard case .object(let members)? = page, case .array(let found)? = members["data"] else { return [:] }
        var graces: [String: Instant] = [:]
        for case .object(let subscription) in found {
            guard case .string(let id)? = subscription["originalTransactionId"],
                case .string("gracePeriod")? = subscription["state"],
                case .string(let text)? = subscription["gracePeriodExpiresDate"]
            else { continue }
            graces[id] = Instant(rfc3339: text)
        }
        return graces
    }

    /// One transaction in Apple's records.
    struct StoreSale: Sendable {
        let id: String
        let originalID: String
        let isPaid: Bool
        let isFinished: Bool
        let account: String
        let product: String
        let quantity: Int64
        let token: String?
        let isRenewal: Bool
        let purchasedAt: Instant
        let revokedAt: Instant?
        /// Apple's name of the type.
        let kind: String
        let isShared: Bool
        /// Set for a period of a subscription.
        let expiresAt: Instant?

        /// A non-consumable, or a subscription that renews.
        var outlivesItsPurchase: Bool { kind == "Non-Consumable" || kind == "Auto-Renewable Subscription" }

        init(_ row: any Row) {
            id = String(row.integer("number"))
            originalID = String(row.integer("original"))
            isPaid = row.text("state") == "purchased"
            isFinished = row.integer("finished") != 0
            account = row.text("account")
            product = row.text("product_id")
            quantity = row.integer("quantity")
            token = row.isNull("app_account_token") ? nil : row.text("app_account_token")
            isRenewal = row.text("reason") == "RENEWAL"
            purchasedAt = Instant(milliseconds: row.integer("purchased_at"))
            revokedAt = row.isNull("revoked_at") ? nil : Instant(milliseconds: row.integer("revoked_at"))
            kind = row.text("kind")
            isShared = !row.isNull("shared_from")
            expiresAt = row.isNull("expires_at") ? nil : Instant(milliseconds: row.integer("expires_at"))
        }
    }

    func close() async { await ledger.close() }
}

/// Random bytes of one part of the world.
final class Entropy: @unchecked Sendable {
    private var random: SeededRandom

    init(_ seed: UInt64, _ stream: String) { random = SeededRandom(seed: seed, stream: "entropy \(stream)") }

    var bytes: @Sendable (Int) -> [UInt8] { { [self] count in random.bytes(count) } }
}

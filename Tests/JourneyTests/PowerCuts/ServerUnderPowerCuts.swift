import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer
import TillSimulation

@testable import TillSQLite

/// A whole server on a disk whose power fails: it serves a random mix of requests, loses power in the middle of one,
/// starts again, and must have kept every answer it ever gave.
final class ServerUnderPowerCuts {
    private enum Delivery: Hashable {
        case open(Int), submit(Int), notice(Int), refund(Int)
        case debit(String, user: String)
    }

    /// The promises of 2xx answers.
    private struct Promises {
        var opened: Set<OrderID> = []
        var granted: Set<TransactionID> = []
        var revoked: Set<TransactionID> = []
        var recorded: Set<TransactionID> = []
        var notices: Set<String> = []
        var debits: Set<String> = []
    }

    private let sales: [Sale]
    private let deliveries: [Delivery]
    private let references: [String]
    private let configuration: ServerConfiguration
    private let clock: @Sendable () -> Instant
    private let disk: CrashableDisk
    private var options = SQLiteDatabase.Options(.ledger)
    private var random: SeededNumbers
    private var promises = Promises()
    private(set) var violations: [String] = []
    private(set) var answered = 0
    private(set) var cuts: Set<CrashableDisk.PowerCut> = []

    init(
        seed: UInt64, _ sales: [Sale], _ configuration: ServerConfiguration,
        clock: @escaping @Sendable () -> Instant, synchronous: String = "FULL", syncsLie: Bool = false
    ) {
        self.sales = sales
        self.configuration = configuration
        self.clock = clock
        let debits = ["a0", "b1", "c0", "d1"]
        references = debits
        deliveries =
            sales.indices.flatMap { number -> [Delivery] in
                let all: [Delivery] = [.open(number), .submit(number), .notice(number)]
                return sales[number].refund == nil ? all : all + [.refund(number)]
            } + debits.map { .debit($0, user: "u\($0.suffix(1))") }
        disk = CrashableDisk(seed: seed)
        disk.conditions.syncsLie = syncsLie
        options.vfs = disk.vfs
        options.threads = .inline
        options.synchronous = synchronous
        random = SeededNumbers(state: seed &* 0x9E37 &+ 1)
    }

    /// One life: start, serve until the power fails, start again, compare.
    func live(operations: Int) async {
        disk.cutPower(afterOperations: random.below(operations))
        if let (server, database) = try? start() {
            // Completed work writes nothing: without a limit on requests the power might never fail.
            for _ in 0..<40 where disk.hasPower { await run(deliveries[random.below(deliveries.count)], server) }
            await database.close()
        }
        if let cut = disk.lastCut { cuts.insert(cut) }
        disk.restart()
        await inspect()
    }

    /// The last life, without a cut: every request is retried until it succeeds, and all of it is there once.
    func completeAll() async {
        do {
            let (server, database) = try start()
            for _ in 0..<2 { for task in deliveries { await run(task, server) } }
            let found = try await inspection(of: database)
            let unpaid = Set(sales.filter { $0.refund == nil }.map(\.transaction)).subtracting(found.granted)
            if !unpaid.isEmpty { violations.append("paid and not granted in the end: \(unpaid)") }
            if found.debits.count != references.count { violations.append("debits in the end: \(found.debits)") }
            for user in ["u0", "u1"] {
                let paid = Int64(sales.filter { $0.user == user && $0.refund == nil }.count) * Sale.points
                let wallet = try await database.read { try LedgerTable($0).wallet(of: UserID(user), in: .sandbox) }
                let balance = wallet.balances["points", default: 0]
                if balance != paid - 20 { violations.append("\(user) ends with \(balance), not \(paid - 20)") }
            }
            await database.close()
        } catch {
            violations.append("cannot be opened or read: \(error)")
        }
    }

    private func start() throws -> (Server, SQLiteDatabase) {
        let database = try SQLiteDatabase.open(path: "till.db", role: .server, options: options)
        let server = try Server(
            configuration: configuration, database: database, clock: clock, entropy: RandomBytes.make)
        return (server, database)
    }

    // MARK: Requests

    private func run(_ task: Delivery, _ server: Server) async {
        switch task {
        case .open(let number):
            let sale = sales[number]
            let reply = await post(
                server, "/v1/orders",
                sale.proven.opening(["productId": .string(Shop.points60)]), .user(sale.user),
                key: "open-\(number)")
            if reply.isSuccess { promises.opened.insert(sale.order) }
        case .submit(let number):
            let sale = sales[number]
            let reply = await post(
                server, "/v1/transactions", ["signedTransaction": .string(sale.signed)], .user(sale.user),
                key: "submit-\(number)")
            guard reply.isSuccess else { return }
            promises.recorded.insert(sale.transaction)
            switch reply.body.at("outcome").text {
            case "granted", "alreadyGranted": promises.granted.insert(sale.transaction)
            case "revoked": promises.revoked.insert(sale.transaction)
            default: break
            }
        case .notice(let number): await deliver(sales[number].notice, server)
        case .refund(let number): if let refund = sales[number].refund { await deliver(refund, server) }
        case .debit(let reference, let user):
            let reply = await post(
                server, "/v1/users/\(user)/wallet/debits",
                ["currency": "points", "amount": 10, "reference": .string(reference)], .backend)
            if reply.isSuccess { promises.debits.insert(reference) }
        }
    }

    private func deliver(_ notice: Notice, _ server: Server) async {
        let body: JSONValue = ["signedPayload": .string(notice.payload)]
        if await post(server, "/v1/notifications/apple", body, .anonymous).isSuccess {
            promises.notices.insert(notice.uuid)
        }
    }

    private func post(
        _ server: Server, _ path: String, _ body: JSONValue, _ party: Party, key: String? = nil
    ) async -> (isSuccess: Bool, body: JSONValue) {
        var headers = HTTPHeaders()
        if let authorization = party.authorization(now: clock()) { headers.add("Authorization", authorization) }
        // With a key and without one, at random: both must work.
        if let key, random.below(2) == 0 { headers.add("Idempotency-Key", key) }
        // The inline database never suspends: without this, the tests' shared threads would be held for seconds.
        await Task.yield()
        let response = await server.respond(
            to: HTTPRequest(method: .post, path: path, headers: headers, body: Array(body.encoded().utf8)))
        let known: Set<Int> = [200, 201, 202, 409, 503]
        if !known.contains(response.status) { violations.append("\(path) answered \(response.status)") }
        let isSuccess = (200..<300).contains(response.status)
        if isSuccess { answered += 1 }
        return (isSuccess, (try? JSONValue(decoding: response.body)) ?? .null)
    }

    // MARK: Comparing

    private func inspection(of database: SQLiteDatabase) async throws -> LedgerInspection {
        let (sales, references) = (sales, references)
        let found = try await database.write { try LedgerInspection(of: sales, debits: references, in: $0) }
        violations += found.violations
        func compare(_ what: String, _ lost: Set<some Hashable>) {
            if !lost.isEmpty { violations.append("answered and lost: \(what) \(lost)") }
        }
        compare("orders", promises.opened.subtracting(found.opened))
        compare("grants", promises.granted.subtracting(found.granted.union(found.revoked)))
        compare("refunds", promises.revoked.subtracting(found.revoked))
        compare("transactions", promises.recorded.subtracting(found.recorded))
        compare("notifications", promises.notices.subtracting(found.notices))
        compare("debits", promises.debits.subtracting(found.debits))
        return found
    }

    /// The ledger as it was left, and again after stored notifications are processed (which `serve` does first).
    private func inspect() async {
        do {
            let (server, database) = try start()
            _ = try await inspection(of: database)
            _ = try await PendingNotifications(server.ledger).processAll()
            let found = try await inspection(of: database)
            if found.pendingNotices != 0 { violations.append("\(found.pendingNotices) notifications are left over") }
            for sale in sales where found.notices.contains(sale.notice.uuid) && found.opened.contains(sale.order) {
                if !found.recorded.contains(sale.transaction) { violations.append("\(sale.transaction): overlooked") }
            }
            await database.close()
        } catch {
            violations.append("cannot be opened or read: \(error)")
        }
    }
}

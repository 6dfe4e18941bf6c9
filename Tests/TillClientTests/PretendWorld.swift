import Foundation
import TillAPI
import TillBilling

@testable import TillClient

/// A shop in memory around one device: its disk, the store's queue and the server, with a power switch.
///
/// Every effect counts as a step. When `steps` reaches `killAt`, the device is dead: none of its later actions has an
/// effect, as after signal 9.
final class PretendWorld: Sendable {
    struct State {
        var now = Instant(seconds: 1_800_000_000)
        var random: UInt64 = 1
        var steps = 0
        var killAt = Int.max
        var session: UserSession? = UserSession(userID: UserID("ann"), token: "ann")
        // The store.
        var queue: [QueuedTransaction] = []
        var finished: [TransactionID] = []
        var finishedBeforeWord: [TransactionID] = []
        // The server.
        var orders: [OrderID: (user: UserID, product: String, quantity: Int)] = [:]
        /// The bodies of all order requests, repetitions included.
        var opened: [OpenOrderBody] = []
        var grants: [TransactionID: UserID] = [:]
        var guests: [UserID: UserID] = [:]
        var requests: [String] = []
        var bodies: [SubmitProofBody] = []
        /// Answers in place of the server's, for the next requests.
        var answers: [Result<TransportResponse, TransportError>] = []
        /// Answers to read requests, by method and path.
        var pages: [String: TransportResponse] = [:]
        /// Whether no request reaches the server.
        var isAway = false
        var pauses: [Int64] = []
        /// Milliseconds since the device was started, independent of its clock.
        var uptime: Int64 = 0
        /// Awaited by every request before the server receives it.
        var onRequest: @Sendable () async -> Void = {}
        var isDead: Bool { steps >= killAt }
        var paid: Set<TransactionID> { Set(queue.map(\.id) + finished) }
    }

    let state: Guarded<State>
    let file: PretendDisk
    let identity = PretendDisk()
    let shop = Guarded(PretendShop())
    let alarms = PretendAlarms()
    let catalog = Guarded<[UInt8]?>(nil)
    let entitlements = Guarded<[UInt8]?>(nil)
    /// Tells the app that the device has a network again.
    let network = Guarded<AsyncStream<Void>.Continuation?>(nil)
    private let spawned = Guarded<[Task<Void, Never>]>([])

    init(disk: [UInt8] = []) {
        state = Guarded(State())
        file = PretendDisk(disk)
    }

    // MARK: The device

    var effects: Effects {
        Effects(
            clock: { self.state.withLock { $0.now } },
            entropy: { count in
                self.state.withLock { state in
                    (0..<count).map { _ in
                        state.random = state.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                        return UInt8(truncatingIfNeeded: state.random >> 40)
                    }
                }
            },
            pause: { milliseconds in
                self.state.withLock { $0.pauses.append(milliseconds) }
                // A pause that the user watches takes no time here; a timer's does.
                if milliseconds > 2_000 { await self.alarms.wait(until: self.state.now.uptime + milliseconds) }
            },
            spawn: { work in
                let task = Task { await work() }
                self.spawned.withLock { $0.append(task) }
            },
            networkReturns: {
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                self.network.withLock { $0 = continuation }
                return stream
            })
    }

    /// Returns when all started work, and the work started by it, is done.
    func rest() async {
        while let task = spawned.withLock({ $0.popLast() }) { await task.value }
    }

    /// Advances the time.
    func pass(milliseconds: Int64) {
        let uptime = state.withLock { state in
            state.now = state.now.adding(milliseconds: milliseconds)
            state.uptime += milliseconds
            return state.uptime
        }
        alarms.ring(at: uptime)
    }

    /// One step; false if the device is dead by now.
    func step() -> Bool {
        state.withLock { state in
            if state.isDead { return false }
            state.steps += 1
            return !state.isDead
        }
    }

    var disk: Disk {
        let disk = file.disk
        return Disk(
            read: disk.read,
            write: { (bytes, offset) throws(DiskError) in
                guard self.step() else { throw DiskError(.other) }
                try disk.write(bytes, offset)
            },
            replace: { (bytes) throws(DiskError) in
                guard self.step() else { throw DiskError(.other) }
                try disk.replace(bytes)
            }, setAside: disk.setAside)
    }

    var queue: StoreQueue {
        StoreQueue(
            unfinished: { self.state.now.queue },
            finish: { id in
                guard self.step() else { return }
                self.state.withLock { state in
                    if state.grants[id] == nil { state.finishedBeforeWord.append(id) }
                    state.queue.removeAll { $0.id == id }
                    state.finished.append(id)
                }
            })
    }

    var server: ServerAccess {
        ServerAccess(url: "https://till.test", transport: transport, language: .english) { self.state.now.session }
    }

    /// A buyer pays: the transaction stays in the store's queue, whatever happens to the device.
    func pay(_ order: JournalEntry, id: String = "2000000000000001", signed: String = "signed") -> QueuedTransaction {
        let transaction = QueuedTransaction(
            id: TransactionID(id), productID: order.productID, quantity: order.quantity, token: order.id,
            purchasedAt: state.now.now, proof: .signedTransaction("\(signed).\(id).\(order.id)"))
        state.withLock { $0.queue.append(transaction) }
        return transaction
    }

    // MARK: The server

    var transport: Transport {
        Transport { (request) async throws(TransportError) -> TransportResponse in
            guard self.step() else { throw TransportError(.offline) }
            await self.state.now.onRequest()
            let result = self.state.withLock { state -> Result<TransportResponse, TransportError> in
                state.requests.append("\(request.method) \(request.url.dropFirst("https://till.test".count))")
                if state.isAway { return .failure(TransportError(.offline)) }
                if !state.answers.isEmpty { return state.answers.removeFirst() }
                if let page = state.pages[state.requests[state.requests.count - 1]] { return .success(page) }
                return .success(Self.answer(request, &state))
            }
            // The answer is returned: the device may die before it arrives.
            guard self.step() else { throw TransportError(.connectionLost) }
            return try result.get()
        }
    }

    private static func answer(_ request: TransportRequest, _ state: inout State) -> TransportResponse {
        let user = UserID(String(request.headers["Authorization", default: ""].dropFirst("Bearer ".count)))
        let data = Data(request.body)
        if request.url.hasSuffix(Paths.orders), let body = try? JSONDecoder().decode(OpenOrderBody.self, from: data) {
            return open(body, user, &state)
        }
        if request.url.hasSuffix(Paths.transactions),
            let body = try? JSONDecoder().decode(SubmitProofBody.self, from: data)
        {
            state.bodies.append(body)
            return complete(body, user, &state)
        }
        if request.url.hasSuffix(Paths.restores), let body = try? JSONDecoder().decode(RestoreBody.self, from: data) {
            return json(200, RestoreReply(data: (body.signedTransactions ?? []).map { restore($0, user, state) }))
        }
        if request.url.hasSuffix("/guests"), let body = try? JSONDecoder().decode(MergeGuestBody.self, from: data) {
            return merge(body, into: user, &state)
        }
        return problem(.notFound, 404)
    }

    private static func restore(_ token: String, _ user: UserID, _ state: State) -> RestoredTransaction {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let order = UniqueID(parts[2]).flatMap({ state.orders[$0] }) else {
            return RestoredTransaction(
                transaction: nil, outcome: .refused, reason: Refusal.badSignature.rawValue, finish: false)
        }
        let id = TransactionID(String(parts[1]))
        let isOwner = order.user == user
        return RestoredTransaction(
            transaction: (id, id, ProductID(order.product)), outcome: isOwner ? .owned : .kept,
            reason: isOwner ? nil : "other_customer", finish: true)
    }

    private static func merge(
        _ body: MergeGuestBody, into account: UserID, _ state: inout State
    ) -> TransportResponse {
        let guest = UserID(body.guestId)
        guard body.guestToken == guest.text else { return problem(.forbidden, 403) }
        if let taken = state.guests[guest], taken != account { return problem(.guestTaken, 409) }
        let isNew = state.guests.updateValue(account, forKey: guest) == nil
        for (id, user) in state.grants where user == guest { state.grants[id] = account }
        let transfer = Transfer(
            id: UniqueID(high: 1, low: 1), kind: .guestMerge, from: guest, to: account, reason: "signed_in",
            actor: "user:\(account)", at: state.now)
        return json(isNew ? 201 : 200, TransferReply(transfer, grantCount: 0, grants: [], points: []))
    }

    private static func open(_ body: OpenOrderBody, _ user: UserID, _ state: inout State) -> TransportResponse {
        guard let id = body.id else { return problem(.invalidField, 400) }
        state.opened.append(body)
        guard state.proves(id, body.idNonce, body.idUserId, user) else { return problem(.orderIDUnproven, 422) }
        guard body.productId.hasPrefix("points.") else { return problem(.unknownProduct, 422) }
        let isNew = state.orders[id] == nil
        state.orders[id] = (user, body.productId, body.quantity ?? 1)
        let order = Order(
            id: id, userID: user, productID: ProductID(body.productId), quantity: body.quantity ?? 1,
            price: Money(amount: 600, currency: Currency("CNY")), createdAt: state.now, updatedAt: state.now)
        return json(isNew ? 201 : 200, OrderReply(order, metadata: nil, history: []))
    }

    private static func complete(_ body: SubmitProofBody, _ user: UserID, _ state: inout State) -> TransportResponse {
        if body.receipt != nil, let id = body.transactionId, let order = body.orderId {
            let signed = SubmitProofBody(
                signedTransaction: "signed.\(id).\(order)", idNonce: body.idNonce, idUserId: body.idUserId)
            return complete(signed, user, &state)
        }
        let parts = (body.signedTransaction ?? "").split(separator: ".")
        guard parts.count == 3, parts[0] == "signed", let token = UniqueID(parts[2]) else {
            return problem(.badSignature, 422)
        }
        let id = TransactionID(String(parts[1]))
        if state.orders[token] == nil, state.proves(token, body.idNonce, body.idUserId, user) {
            state.orders[token] = (user, "points.60", 1)
        }
        guard let order = state.orders[token] else {
            return json(202, SubmitProofReply(outcome: .quarantined, transactionId: id.text, finish: false))
        }
        let outcome: SubmitProofReply.Outcome = state.grants[id] == nil ? .granted : .alreadyGranted
        state.grants[id] = order.user
        let isOwner = order.user == user
        return json(
            200,
            SubmitProofReply(
                outcome: outcome, transactionId: id.text, finish: true, orderId: isOwner ? token : nil,
                userId: isOwner ? user.text : nil))
    }

    static func json(_ status: Int, _ body: some Encodable) -> TransportResponse {
        let data = (try? JSONEncoder().encode(body)) ?? Data()
        return TransportResponse(status: status, contentType: "application/json", body: [UInt8](data))
    }

    static func problem(_ refusal: Refusal, _ status: Int, retryAfter: Int64? = nil) -> TransportResponse {
        let problem = ProblemDetails(refusal: refusal, status: status, language: .english, requestId: "r-1")
        let data = (try? JSONEncoder().encode(problem)) ?? Data()
        return TransportResponse(
            status: status, contentType: ProblemDetails.contentType, retryAfter: retryAfter, body: [UInt8](data))
    }
}

/// The app on a device, as a launch sets it up.
struct PretendApp {
    let journal: OrderJournal
    let purchase: OrderPreparation
    var submitter: ProofSubmitter
    var retry: Resubmission

    init(_ world: PretendWorld) throws {
        journal = try OrderJournal(disk: world.disk)
        purchase = OrderPreparation(journal: journal, server: world.server, effects: world.effects, phoneID: "phone")
        submitter = ProofSubmitter(journal: journal, queue: world.queue, server: world.server, effects: world.effects)
        retry = Resubmission(journal: journal, queue: world.queue, submitter: submitter, effects: world.effects)
    }

    static let points = ProductID("points.60")
    static let price = Money(amount: 600, currency: Currency("CNY"))
}

extension Guarded {
    /// The current value.
    var now: Value { withLock { $0 } }
}

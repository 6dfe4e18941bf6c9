import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("A signed transaction in place of the receipt")
struct SignedCopyTests {
    private func app(
        _ world: PretendWorld, signed: @escaping @Sendable (QueuedTransaction) async -> QueuedTransaction
    ) throws -> PretendApp {
        var app = try PretendApp(world)
        var queue = world.queue
        queue.signed = signed
        app.submitter = ProofSubmitter(journal: app.journal, queue: queue, server: world.server, effects: world.effects)
        app.retry = Resubmission(journal: app.journal, queue: queue, submitter: app.submitter, effects: world.effects)
        return app
    }

    /// As StoreKit 1's queue shows it after a relaunch: with the receipt, and without a token.
    private func shown(_ entry: JournalEntry, _ world: PretendWorld) -> QueuedTransaction {
        let transaction = QueuedTransaction(
            id: TransactionID("31"), productID: entry.productID, quantity: 1, token: nil,
            purchasedAt: world.state.now.now, proof: .receipt([0x30]))
        world.state.withLock { $0.queue = [transaction] }
        return transaction
    }

    private func signed(_ transaction: QueuedTransaction, for order: OrderID) -> QueuedTransaction {
        transaction.proven(by: .signedTransaction("signed.\(transaction.id).\(order)"), token: order)
    }

    @Test("It is sent and determines its order, where the receipt alone would only have matched another")
    func names() async throws {
        let world = PretendWorld()
        let first = try await PretendApp(world).purchase.prepare(OrderRequest(PretendApp.points))
        let app = try app(world) { signed($0, for: first.id) }
        let second = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        guard case .completed = await app.submitter.submit(shown(second, world)) else { throw Unexpected("lost") }
        let body = try #require(world.state.now.bodies.first)
        #expect(body.receipt == nil && body.signedTransaction == "signed.31.\(first.id)")
        #expect(body.orderId == first.id && body.idNonce == first.idNonce)
        #expect(await app.journal[first.id]?.status == .completed)
        #expect(await app.journal[second.id]?.status == .prepared)
        #expect(world.state.now.finished == [TransactionID("31")])
    }

    @Test("Without one the receipt is sent, and the next attempt requests it again, also for an older version's proof")
    func later() async throws {
        let world = PretendWorld()
        let copy = Guarded<OrderID?>(nil)
        let app = try app(world) { transaction in copy.now.map { signed(transaction, for: $0) } ?? transaction }
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let held = SubmitProofReply(
            outcome: .quarantined, transactionId: "31", finish: false, reason: "receipt_needs_order")
        world.state.withLock { $0.answers = [.success(PretendWorld.json(202, held))] }
        guard case .deliveryPending = await app.submitter.submit(shown(entry, world), paying: entry.id) else {
            throw Unexpected("an end")
        }
        #expect(world.state.now.bodies.last == nil && world.state.now.requests.last == "GET /v1/orders/\(entry.id)")
        #expect(await app.journal.proof(of: entry.id) == .receipt([0x30]))
        copy.withLock { $0 = entry.id }
        _ = await app.retry.resubmit(on: .launch)
        #expect(world.state.now.bodies.last?.signedTransaction == "signed.31.\(entry.id)")
        #expect(await app.journal[entry.id]?.status == .completed && world.state.now.queue.isEmpty)
    }

    @Test("A kept signed transaction is never replaced by a receipt that the queue shows later")
    func kept() async throws {
        let world = PretendWorld()
        let has = Guarded(true)
        let target = Guarded<OrderID?>(nil)
        let app = try app(world) { transaction in
            guard has.now, let order = target.now else { return transaction }
            return signed(transaction, for: order)
        }
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        target.withLock { $0 = entry.id }
        world.state.withLock { $0.answers = [.failure(TransportError(.offline))] }
        guard case .deliveryPending = await app.submitter.submit(shown(entry, world)) else {
            throw Unexpected("an end")
        }
        let proof = PurchaseProof.signedTransaction("signed.31.\(entry.id)")
        #expect(await app.journal.proof(of: entry.id) == proof)
        // StoreKit 2 does not answer from now on, and the queue shows the receipt at every launch.
        has.withLock { $0 = false }
        world.state.withLock { $0.answers = [.failure(TransportError(.offline))] }
        _ = await app.retry.resubmit(on: .launch)
        #expect(await app.journal.proof(of: entry.id) == proof)
        _ = await app.retry.resubmit(on: .launch)
        #expect(world.state.now.bodies.map(\.signedTransaction) == ["signed.31.\(entry.id)"])
        #expect(await app.journal[entry.id]?.status == .completed)
    }
}

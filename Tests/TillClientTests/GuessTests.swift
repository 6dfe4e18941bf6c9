import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Sales without a token that match an order only by guess")
struct GuessTests {
    /// The server's answers about a payment of another order: it can no longer be proved, or has no owner yet.
    private static let ofStrangers: [TransportResponse] = [
        PretendWorld.problem(.transactionNotInReceipt, 422),
        PretendWorld.json(202, SubmitProofReply(outcome: .quarantined, transactionId: "31", finish: false)),
    ]

    @Test(
        "An order completed by another payment than the one assumed for it waits for nothing (U1, regression)",
        arguments: ofStrangers)
    func takenForAnothers(_ answer: TransportResponse) async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        // Another device of the same store account paid for it, without a token, and has finished it since.
        let stranger = QueuedTransaction(
            id: TransactionID("31"), productID: PretendApp.points, quantity: 1, token: nil,
            purchasedAt: world.state.now.now, proof: .receipt([1]))
        world.state.withLock { ($0.queue, $0.answers) = ([stranger], [.success(answer)]) }
        guard case .deliveryPending = await app.submitter.submit(stranger) else { throw Unexpected("an end") }
        #expect(await app.journal[entry.id]?.transactionID == stranger.id)

        let completed = Order(
            id: entry.id, userID: UserID("ann"), productID: PretendApp.points, quantity: 1, status: .completed,
            price: PretendApp.price, transactionID: TransactionID("32"), environment: .production,
            createdAt: world.state.now.now, updatedAt: world.state.now.now)
        world.state.withLock {
            $0.answers = [
                .success(answer),
                .success(PretendWorld.json(200, OrderReply(completed, metadata: nil, history: []))),
            ]
        }
        _ = await app.submitter.submit(stranger)
        for journal in [app.journal, try PretendApp(world).journal] {
            #expect(await journal[entry.id]?.status == .completed)
            #expect(await journal[entry.id]?.transactionID == TransactionID("32"))
            #expect(await journal.ongoing().isEmpty)
            #expect(await journal.entry(of: stranger.id) == nil)
        }
        // No unconfirmed transaction was finished, and one still in the store's queue gets an order of its own.
        #expect(world.state.now.finished.isEmpty)
        _ = await app.submitter.submit(stranger)
        #expect(await app.journal.entry(of: stranger.id)?.id != entry.id)
    }

    @Test("Another customer's payment that only matched an order leaves the order unchanged (U1, P8, regression)")
    func guessedWrong() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        _ = try await app.journal.move(entry.id, to: .deferred, at: world.state.now.now, reason: "deferred")
        let stranger = QueuedTransaction(
            id: TransactionID("31"), productID: PretendApp.points, quantity: 1, token: nil,
            purchasedAt: world.state.now.now, proof: .signedTransaction("signed.31.lost"))
        world.state.withLock { $0.answers = [.failure(TransportError(.offline))] }
        guard case .deliveryPending = await app.submitter.submit(stranger) else { throw Unexpected("an end") }
        #expect(await app.journal[entry.id]?.status == .ongoing)

        // Its buyer has submitted it; the server does not tell others who owns it.
        let reply = SubmitProofReply(outcome: .alreadyGranted, transactionId: "31", finish: true)
        world.state.withLock { $0.answers = [.success(PretendWorld.json(200, reply))] }
        let relaunched = try PretendApp(world)
        _ = await relaunched.retry.resubmit(on: .launch)
        for journal in [relaunched.journal, try PretendApp(world).journal] {
            #expect(await journal[entry.id]?.history.map(\.status) == [.prepared, .deferred])
            #expect(await journal[entry.id]?.transactionID == nil)
            #expect(await journal.entry(of: stranger.id) == nil)
        }
        // Approved at last, the order gets its own payment.
        guard case .completed = await relaunched.submitter.submit(world.pay(entry, id: "32")) else {
            throw Unexpected("lost")
        }
        #expect(await relaunched.journal[entry.id]?.transactionID == TransactionID("32"))
        #expect(world.state.now.grants == [TransactionID("32"): UserID("ann")])
    }

    @Test(
        "A guessed payment that was finished for another order before its proof is released (U1, regression)",
        arguments: [[UInt8](), [1]])
    func finishedForAnother(_ receipt: [UInt8]) async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        _ = try await app.journal.move(entry.id, to: .failed, at: world.state.now.now, reason: "store_unknown")
        let stranger = QueuedTransaction(
            id: TransactionID("31"), productID: PretendApp.points, quantity: 1, token: nil,
            purchasedAt: world.state.now.now, proof: .receipt(receipt))
        let failed = Order(
            id: entry.id, userID: UserID("ann"), productID: PretendApp.points, quantity: 1, status: .failed,
            price: PretendApp.price, createdAt: world.state.now.now, updatedAt: world.state.now.now)
        let answers: [Result<TransportResponse, TransportError>] =
            (receipt.isEmpty ? [] : [.success(PretendWorld.problem(.transactionNotInReceipt, 422))])
            + [.success(PretendWorld.json(200, OrderReply(failed, metadata: nil, history: [])))]
        world.state.withLock { ($0.queue, $0.answers) = ([stranger], answers) }
        _ = await app.submitter.submit(stranger)
        // While the store shows it, it may still be proved.
        #expect(await app.journal[entry.id]?.status == .ongoing)

        world.state.withLock { ($0.queue, $0.answers) = ([], answers) }
        _ = await app.retry.resubmit(on: .launch)
        for journal in [app.journal, try PretendApp(world).journal] {
            #expect(await journal[entry.id]?.status == .failed)
            #expect(await journal.ongoing().isEmpty)
        }
        #expect(world.state.now.finished.isEmpty)
    }

    @Test("The buyer is told if their payment was granted to another customer of this Apple Account (U1, regression)")
    func paidHereProcessedElsewhere() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let paid = QueuedTransaction(
            id: TransactionID("31"), productID: PretendApp.points, quantity: 1, token: nil,
            purchasedAt: world.state.now.now, proof: .receipt([1]))
        func answers(_ status: OrderStatus, paidBy id: TransactionID?) -> [Result<TransportResponse, TransportError>] {
            let order = Order(
                id: entry.id, userID: UserID("ann"), productID: PretendApp.points, quantity: 1, status: status,
                price: PretendApp.price, transactionID: id, environment: id == nil ? nil : .production,
                createdAt: world.state.now.now, updatedAt: world.state.now.now)
            return [
                .success(PretendWorld.problem(.transactionNotInReceipt, 422)),
                .success(PretendWorld.json(200, OrderReply(order, metadata: nil, history: []))),
            ]
        }
        // The store answered the purchase with it; its queue no longer shows it, and the receipt never did.
        let first = answers(.prepared, paidBy: nil)
        world.state.withLock { $0.answers = first }
        guard case .deliveryPending = await app.submitter.submit(paid, paying: entry.id) else {
            throw Unexpected("an end")
        }
        #expect(await app.journal[entry.id]?.pendingReason?.isFinal == false)

        let later = answers(.prepared, paidBy: nil)
        world.state.withLock { ($0.now, $0.answers) = ($0.now.adding(seconds: 86_400), later) }
        _ = await app.retry.resubmit(on: .timer)
        let reported = try #require(await app.journal[entry.id])
        #expect(reported.status == .ongoing && reported.pendingReason == .completedElsewhere)
        #expect(StoreOrder(reported).sentence == PendingReason.completedElsewhere.sentence)
        #expect(!RetrySchedule().isDue(reported, now: world.state.now.now, on: .timer))

        // Support corrected it, and the next launch gets the result.
        let found = answers(.completed, paidBy: TransactionID("31"))
        world.state.withLock { $0.answers = found }
        _ = await app.retry.resubmit(on: .launch)
        #expect(await app.journal[entry.id]?.status == .completed)
    }

    @Test(
        "Refunded before it arrived: the order named by the server is refunded, any other is unchanged (U5, U1)"
    )
    func refundedUnseen() async throws {
        for isNamed in [true, false] {
            let world = PretendWorld()
            let app = try PretendApp(world)
            let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
            let lost = QueuedTransaction(
                id: TransactionID("31"), productID: PretendApp.points, quantity: 1, token: nil,
                purchasedAt: world.state.now.now, proof: .signedTransaction("signed.31.lost"))
            let reply = SubmitProofReply(
                outcome: .revoked, transactionId: "31", finish: true, orderId: isNamed ? entry.id : nil)
            world.state.withLock { $0.answers = [.success(PretendWorld.json(200, reply))] }
            #expect(await app.submitter.submit(lost) == .refunded)
            #expect(await app.journal[entry.id]?.status == (isNamed ? .refunded : .prepared))
            #expect(world.state.now.finished == [lost.id])
        }
    }
}

import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Submitting a paid transaction")
struct SubmitTests {
    @Test("L8, O5: paid, on disk with its proof, sent, granted, finished, completed, in this order")
    func granted() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points, price: PretendApp.price))
        let outcome = await app.submitter.submit(world.pay(entry))
        guard case .completed(let reply) = outcome else { throw Unexpected("\(outcome)") }
        #expect(reply.outcome == .granted && reply.orderId == entry.id)
        let after = world.state.now
        #expect(after.grants.values.map(\.text) == ["ann"])
        #expect(after.queue.isEmpty && after.finishedBeforeWord.isEmpty)
        #expect(await app.journal[entry.id]?.history.map(\.status) == [.prepared, .ongoing, .completed])
        #expect(await app.journal.proof(of: entry.id) == nil)
        #expect(outcome.sentence.en == "It has arrived. Thank you!" && outcome.sentence.zh == "已到账，谢谢！")
    }

    /// Answers after which a paid order waits, with the recorded code.
    private static let waiting: [(String, Result<TransportResponse, TransportError>, String)] = [
        ("a sign-in page", page(200, "text/html; charset=utf-8", "<html>"), "unreadable_answer"),
        ("JSON said to be HTML", page(200, "text/html", #"{"outcome":"granted"}"#), "unreadable_answer"),
        ("an empty body", page(200, "application/json", ""), "unreadable_answer"),
        ("no content", page(204, "", ""), "unreadable_answer"),
        ("a redirect", page(302, "text/html", ""), "unreadable_answer"),
        ("a proxy's error", page(502, "text/html", "<html>"), "unreadable_answer"),
        ("somebody else's 404", page(404, "text/html", "<html>"), "unreadable_answer"),
        ("other JSON", page(200, "application/json", #"{"ok":true}"#), "unreadable_answer"),
        (
            "another transaction's answer",
            .success(PretendWorld.json(200, SubmitProofReply(outcome: .granted, transactionId: "1", finish: true))),
            "unreadable_answer"
        ),
        (
            "an outcome of the future",
            page(200, "application/json", #"{"outcome":"split","transactionId":"2000000000000001","finish":true}"#),
            "unreadable_answer"
        ),
        ("401", .success(PretendWorld.problem(.unauthorized, 401)), "unauthorized"),
        ("403", .success(PretendWorld.problem(.forbidden, 403)), "forbidden"),
        ("404", .success(PretendWorld.problem(.notFound, 404)), "not_found"),
        ("409", .success(PretendWorld.problem(.idempotencyInFlight, 409)), "idempotency_in_flight"),
        ("413", .success(PretendWorld.problem(.payloadTooLarge, 413)), "payload_too_large"),
        ("422 for the configuration", .success(PretendWorld.problem(.wrongEnvironment, 422)), "wrong_environment"),
        (
            "422 for an old receipt", .success(PretendWorld.problem(.transactionNotInReceipt, 422)),
            "transaction_not_in_receipt"
        ),
        ("429", .success(PretendWorld.problem(.tooManyRequests, 429)), "too_many_requests"),
        ("500", .success(PretendWorld.problem(.internalError, 500)), "internal_error"),
        ("503", .success(PretendWorld.problem(.unavailable, 503)), "unavailable"),
        ("a 5xx that calls itself final", .success(PretendWorld.problem(.badSignature, 500)), "bad_signature"),
        (
            "a code of the future",
            page(
                422, "application/problem+json",
                #"{"type":"a","title":"New","status":422,"code":"moon_phase","retryable":false,"requestId":"r"}"#),
            "moon_phase"
        ),
        ("no network", .failure(TransportError(.offline)), "offline"),
        ("nothing at all", .failure(TransportError(.timedOut)), "timed_out"),
        (
            "accepted",
            .success(
                PretendWorld.json(
                    202, SubmitProofReply(outcome: .accepted, transactionId: "2000000000000001", finish: false))),
            "accepted"
        ),
        (
            "quarantined",
            .success(
                PretendWorld.json(
                    202, SubmitProofReply(outcome: .quarantined, transactionId: "2000000000000001", finish: false))),
            "quarantined"
        ),
    ]

    private static func page(
        _ status: Int, _ type: String, _ body: String
    ) -> Result<TransportResponse, TransportError> {
        .success(TransportResponse(status: status, contentType: type, body: Array(body.utf8)))
    }

    @Test(
        "P11, L9, T1: without the server's final answer the order stays ongoing and unfinished, and completes later",
        arguments: waiting.indices)
    func waits(_ index: Int) async throws {
        let (name, answer, code) = Self.waiting[index]
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        world.state.withLock { $0.answers = [answer] }
        let outcome = await app.submitter.submit(world.pay(entry))
        guard case .deliveryPending(let pendingReason, let retryAt?) = outcome else {
            throw Unexpected("\(name): \(outcome)")
        }
        #expect(pendingReason.code == code && !pendingReason.isFinal, "\(name)")
        #expect(!pendingReason.sentence.en.isEmpty && !pendingReason.sentence.zh.isEmpty)
        #expect(outcome.sentence.en == "Paid; it will arrive by itself. \(pendingReason.sentence.en)")
        #expect(outcome.sentence.zh == "已付款，稍后会自动到账。\(pendingReason.sentence.zh)")
        let noted = try #require(await OrderJournal(disk: world.file.disk)[entry.id])
        #expect(noted.status == .ongoing && noted.attempts == 1 && noted.retryAt == retryAt, "\(name)")
        #expect(noted.pendingReason == pendingReason)
        #expect(world.state.now.finished.isEmpty && world.state.now.queue.count == 1, "\(name)")
        #expect(world.state.now.grants.isEmpty)

        // By itself, when its time has come, and not before.
        #expect(await app.retry.resubmit(on: .timer).outcomes.isEmpty)
        world.state.withLock { $0.now = retryAt }
        #expect(await app.retry.resubmit(on: .timer).outcomes.count == 1)
        #expect(await app.journal[entry.id]?.status == .completed)
        #expect(world.state.now.grants.count == 1 && world.state.now.queue.isEmpty)
    }

    @Test(
        "P9: a proof refused as invalid stays visible and unfinished, and waits for a launch or the buyer",
        arguments: [
            Refusal.malformed, .missingChain, .chainLength, .badCertificate, .chainUntrusted, .chainExpired,
            .missingOID, .badSignature, .wrongApp, .wrongDevice, .transactionMismatch, .productMismatch,
            .receiptRefused,
        ])
    func refused(_ refusal: Refusal) async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        world.state.withLock { $0.answers = [.success(PretendWorld.problem(refusal, 422))] }
        #expect(
            await app.submitter.submit(world.pay(entry))
                == .refused(PendingReason(code: refusal.rawValue, isFinal: true)))
        let summary = try #require(await app.journal.summaries().first)
        #expect(summary.status == .ongoing && summary.canResubmit && summary.retryAt == nil)
        #expect(summary.sentence == refusal.advice)
        #expect(world.state.now.queue.count == 1 && world.state.now.finished.isEmpty)

        world.state.withLock { $0.now = $0.now.adding(seconds: 1_000_000) }
        #expect(await app.retry.resubmit(on: .timer).outcomes.isEmpty)
        #expect(await app.retry.resubmit(on: .networkReturned).outcomes.isEmpty)
        // The server's configuration was repaired in the meantime.
        let relaunched = try PretendApp(world)
        #expect(await relaunched.retry.resubmit(on: .launch).outcomes.count == 1)
        #expect(await relaunched.journal[entry.id]?.status == .completed)
    }

    @Test("A forged proof is refused each time the buyer sends it again")
    func forged() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let expected = SubmitOutcome.refused(PendingReason(code: "bad_signature", isFinal: true))
        #expect(await app.submitter.submit(world.pay(entry, signed: "forged")) == expected)
        #expect(await app.retry.resubmit(entry.id) == expected)
        #expect(world.state.now.grants.isEmpty && world.state.now.finished.isEmpty)
    }

    @Test("The `finish` member alone decides whether a transaction is finished; the outcome decides the journal")
    func finish() async throws {
        for finish in [true, false] {
            for outcome in [SubmitProofReply.Outcome.granted, .alreadyGranted, .accepted, .quarantined, .revoked] {
                let world = PretendWorld()
                let app = try PretendApp(world)
                let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
                let transaction = world.pay(entry)
                let reply = SubmitProofReply(outcome: outcome, transactionId: transaction.id.text, finish: finish)
                world.state.withLock { $0.answers = [.success(PretendWorld.json(200, reply))] }
                _ = await app.submitter.submit(transaction)
                #expect(world.state.now.finished == (finish ? [transaction.id] : []))
                let expected: OrderStatus =
                    switch outcome {
                    case .granted, .alreadyGranted: .completed
                    case .revoked: .refunded
                    case .accepted, .quarantined: .ongoing
                    }
                #expect(await app.journal[entry.id]?.status == expected)
            }
        }
    }

    @Test("P8: A pays, the answer is lost, B signs in: B's phone delivers A's purchase to A, and B's list stays empty")
    func accountSwitch() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        world.state.withLock { $0.answers = [.failure(TransportError(.connectionLost))] }
        let transaction = world.pay(entry)
        _ = await app.submitter.submit(transaction)

        world.state.withLock { $0.session = nil }
        guard case .deliveryPending(.signedOut, _) = await app.submitter.submit(transaction) else {
            throw Unexpected("sent")
        }
        #expect(world.state.now.requests.count == 2)

        world.state.withLock { $0.session = UserSession(userID: UserID("bob"), token: "bob") }
        guard case .completed(let reply)? = await app.retry.resubmit(entry.id) else { throw Unexpected("lost") }
        #expect(reply.userId == nil && reply.grant == nil)
        #expect(world.state.now.grants == [transaction.id: UserID("ann")])
        #expect(world.state.now.queue.isEmpty)
        #expect(await app.journal.summaries(of: UserID("bob")).isEmpty)
        #expect(await app.journal.summaries(of: UserID("ann")).map(\.status) == [.completed])
    }

    @Test("O7: after a reinstallation the token finds the server's order, and the list shows the purchase")
    func reinstalled() async throws {
        let world = PretendWorld()
        let entry = try await PretendApp(world).purchase.prepare(OrderRequest(PretendApp.points))
        _ = world.pay(entry)
        world.file.state.withLock { $0.bytes = [] }
        let app = try PretendApp(world)
        #expect(await app.journal.entries().isEmpty)
        #expect(await app.retry.resubmit(on: .launch).outcomes.count == 1)
        #expect(await app.journal[entry.id]?.history.map(\.status) == [.ongoing, .completed])
        #expect(world.state.now.grants.count == 1 && world.state.now.queue.isEmpty)
    }

    @Test("U1: a receipt without a token goes with its only matching order; a second payment of a token has its own")
    func tokens() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let receipt = QueuedTransaction(
            id: TransactionID("31"), productID: PretendApp.points, quantity: 1, token: nil,
            purchasedAt: world.state.now.now, proof: .receipt([0xFB, 0xFF, 0x00]))
        _ = await app.submitter.submit(receipt)
        let body = try #require(world.state.now.bodies.first)
        #expect(body.receipt == "+/8A" && body.transactionId == "31" && body.productId == "points.60")
        #expect(body.orderId == entry.id && body.userId == nil && body.signedTransaction == nil)
        #expect(await app.journal[entry.id]?.transactionID == receipt.id)

        _ = await app.submitter.submit(world.pay(entry, id: "32"))
        #expect(await app.journal.entries().count == 2)
        #expect(await app.journal.entry(of: TransactionID("32"))?.id != entry.id)
        #expect(await app.journal[entry.id]?.transactionID == receipt.id)
    }

    /// Found by the simulation, seed 7171: a downgrade waited for the renewal with its order's id, the customer then
    /// chose another plan in the settings, and the phone searched the receipt for the order's plan.
    @Test("U1: a plan chosen outside of the app has an order of its own, whatever order id came with it")
    func planUnderTheIDOfAnother() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        _ = try await app.purchase.deferred(entry.id)
        let other = QueuedTransaction(
            id: TransactionID("41"), productID: ProductID("plan.gold"), quantity: 1, token: entry.id,
            purchasedAt: world.state.now.now, proof: .receipt([0x30]))
        _ = await app.submitter.submit(other)
        let body = try #require(world.state.now.bodies.first)
        #expect(body.transactionId == "41" && body.productId == "plan.gold" && body.orderId == nil)
        #expect(await app.journal.entry(of: other.id)?.productID == other.productID)
        #expect(await app.journal[entry.id]?.status == .deferred)
        #expect(await app.journal[entry.id]?.transactionID == nil)
    }

    @Test("O8: a transaction seen twenty times concurrently is sent once, and later it is granted already")
    func concurrent() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let transaction = world.pay(entry)
        // The first request is in transit until the nineteen others have come.
        let submitter = app.submitter
        world.state.withLock {
            $0.onRequest = { while await submitter.underWay[transaction.id]?.count != 19 { await Task.yield() } }
        }
        let outcomes = await withTaskGroup(of: SubmitOutcome.self) { group in
            for _ in 0..<20 { group.addTask { await app.submitter.submit(transaction) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 20 && outcomes.allSatisfy { if case .completed = $0 { true } else { false } })
        #expect(Set(outcomes).count == 1 && world.state.now.bodies.count == 1)
        world.state.withLock { $0.onRequest = {} }
        guard case .completed(let reply) = await app.submitter.submit(transaction) else { throw Unexpected("lost") }
        #expect(reply.outcome == .alreadyGranted)
        #expect(world.state.now.grants.count == 1)
    }

    @Test("A transaction shown by the queue while its proof is in transit is finished once it is granted (O5)")
    func shownLate() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let transaction = world.pay(entry)
        let (submitter, shown) = (app.submitter, Guarded<Task<SubmitOutcome, Never>?>(nil))
        world.state.withLock {
            $0.onRequest = {
                shown.withLock { $0 = Task { await submitter.resubmit(transaction) } }
                while await submitter.underWay[transaction.id]?.count != 1 { await Task.yield() }
            }
        }
        guard case .completed = await app.submitter.submit(transaction) else { throw Unexpected("lost") }
        guard case .completed = await shown.now?.value else { throw Unexpected("lost to the second") }
        // Once after the server's answer, when the queue might not have it yet, and once when it did.
        #expect(world.state.now.finished == [transaction.id, transaction.id] && world.state.now.bodies.count == 1)
    }

    @Test("With a full disk a paid transaction is still sent, but stays in the queue until it can be recorded")
    func fullDisk() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        world.file.state.withLock { $0.capacity = $0.bytes.count }
        guard case .completed = await app.submitter.submit(world.pay(entry)) else { throw Unexpected("lost") }
        #expect(world.state.now.grants.count == 1)
        #expect(world.state.now.finished.isEmpty)
        #expect(await app.journal[entry.id]?.status == .prepared)

        world.file.state.withLock { $0.capacity = .max }
        let relaunched = try PretendApp(world)
        #expect(await relaunched.retry.resubmit(on: .launch).outcomes.count == 1)
        #expect(await relaunched.journal[entry.id]?.status == .completed)
        #expect(world.state.now.queue.isEmpty && world.state.now.grants.count == 1)
    }

    @Test("T9: a purchase that comes back a year later is granted as any other")
    func late() async throws {
        let world = PretendWorld()
        let entry = try await PretendApp(world).purchase.prepare(OrderRequest(PretendApp.points))
        _ = world.pay(entry)
        world.state.withLock { $0.now = $0.now.adding(seconds: 366 * 86_400) }
        let app = try PretendApp(world)
        #expect(await app.retry.resubmit(on: .launch).outcomes.count == 1)
        #expect(await app.journal[entry.id]?.status == .completed)
    }
}

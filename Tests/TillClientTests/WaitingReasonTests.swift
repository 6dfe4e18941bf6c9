import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("The reasons why the server holds a paid purchase back")
struct WaitingReasonTests {
    /// The reasons that servers send with a 202 today or soon, and one that no server sends yet.
    private static let reasons =
        QuarantineReason.allCases.map(\.rawValue) + [
            "granted_soon", "waiting_for_apple", "held", "contested", "receipt_needs_signed_copy", "moon_phase", "",
        ]

    @Test("Each reason has a sentence in both languages, and an unknown one has the general one")
    func sentences() {
        for reason in Self.reasons {
            for outcome in [SubmitProofReply.Outcome.quarantined, .accepted] {
                let pendingReason = PendingReason(waitingFor: outcome, reason: reason)
                let sentence = pendingReason.sentence
                #expect(sentence.en.count > 10 && sentence.zh.count > 4 && sentence.en != sentence.zh, "\(reason)")
                #expect(!sentence.en.contains(reason) || reason.isEmpty, "a code is no sentence")
                #expect(!pendingReason.isFinal && pendingReason.code == outcome.rawValue)
            }
        }
        #expect(
            PendingReason(waitingFor: .quarantined, reason: "moon_phase").sentence == PendingReason.quarantined.sentence
        )
        // The product of a paid purchase is not "no longer sold".
        let product = PendingReason(waitingFor: .quarantined, reason: "unknown_product").sentence
        #expect(product != PendingReason(code: "unknown_product", isFinal: false).sentence)
    }

    @Test("The reason is in the order's list, also after a relaunch, until the purchase is granted", arguments: reasons)
    func listed(_ reason: String) async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        let transaction = world.pay(entry)
        let reply = SubmitProofReply(
            outcome: .quarantined, transactionId: transaction.id.text, finish: false, reason: reason)
        world.state.withLock { $0.answers = [.success(PretendWorld.json(202, reply))] }
        guard case .deliveryPending(let pendingReason, _?) = await app.submitter.submit(transaction) else {
            throw Unexpected("an end")
        }
        #expect(pendingReason.reason == reason)
        let relaunched = try PretendApp(world)
        #expect(await relaunched.journal[entry.id]?.pendingReason == pendingReason)
        #expect(await relaunched.journal.summary(of: entry.id)?.sentence == pendingReason.sentence)
        _ = await relaunched.retry.resubmit(on: .launch)
        #expect(await relaunched.journal.summary(of: entry.id)?.sentence == nil)
        #expect(await relaunched.journal[entry.id]?.status == .completed)
    }

    @Test("A restored purchase that waits has its reason")
    func restored() {
        let reported = RestoredTransaction(
            transaction: (TransactionID("1"), TransactionID("1"), ProductID("p")), outcome: .quarantined,
            reason: "contested", finish: false)
        let purchase = RestoredPurchase(reported, of: nil)
        #expect(purchase.status == .waiting && purchase.code == "quarantined")
        #expect(purchase.sentence == PendingReason.sentence(ofWaiting: "contested"))
        var outcome = RestoreResult()
        outcome.add(purchase)
        #expect(outcome.failure?.sentence == purchase.sentence)
    }
}

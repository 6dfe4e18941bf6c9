import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The result of submitting a paid transaction.
package enum SubmitOutcome: Hashable, Sendable {
    /// Granted, now or before. If the signed-in user is the owner, the reply contains the owner and the grant.
    case completed(SubmitProofReply)
    /// Apple refunded or revoked the purchase.
    case refunded
    /// Paid and pending: the order stays *ongoing* and is sent again automatically.
    case deliveryPending(PendingReason, retryAt: Instant?)
    /// The server refused the proof. The order stays visible, and the store keeps the transaction.
    case refused(PendingReason)

    /// A message for the buyer, in addition to the status of the order.
    package var sentence: LocalizedText {
        switch self {
        case .completed: LocalizedText(en: "It has arrived. Thank you!", zh: "已到账，谢谢！")
        case .refunded: LocalizedText(en: "This purchase was refunded.", zh: "此次购买已退款。")
        case .deliveryPending(let pendingReason, _):
            LocalizedText(
                en: "Paid; it will arrive by itself. \(pendingReason.sentence.en)",
                zh: "已付款，稍后会自动到账。\(pendingReason.sentence.zh)")
        case .refused(let pendingReason): pendingReason.sentence
        }
    }
}

/// Submits paid transactions to the server and applies its answers. The proof is on disk before it is sent, and only
/// the server's answer removes the transaction from the store's queue.
package actor ProofSubmitter {
    private let journal: OrderJournal
    private let queue: StoreQueue
    private let server: ServerAccess
    private let effects: Effects
    private let schedule: RetrySchedule
    /// The app's name for this phone.
    private let phoneID: String?
    private let label: @Sendable (ProductID) async -> ProductLabel?
    /// The transactions completed in this launch. The store may return one again for a short time.
    private var ended: [TransactionID: SubmitOutcome] = [:]
    /// Transactions in progress, each with the callers that wait for the same one.
    private(set) var underWay: [TransactionID: [CheckedContinuation<SubmitOutcome, Never>]] = [:]

    package init(
        journal: OrderJournal, queue: StoreQueue, server: ServerAccess, effects: Effects,
        schedule: RetrySchedule = RetrySchedule(), phoneID: String? = nil,
        label: @escaping @Sendable (ProductID) async -> ProductLabel? = { _ in nil }
    ) {
        self.journal = journal
        self.queue = queue
        self.server = server
        self.effects = effects
        self.schedule = schedule
        self.phoneID = phoneID
        self.label = label
    }

    /// Submits a transaction. It never throws: after any failure the transaction stays in the store's queue and, if the
    /// disk could be written, the proof stays in the journal. A transaction in progress is not sent twice; both callers
    /// receive the same outcome.
    ///
    /// - Parameter wish: the order whose payment request returned the transaction. If the store lost the token, this
    ///   alone distinguishes it from the open orders of other users of this installation.
    package func submit(
        _ transaction: QueuedTransaction, paying wantedOrder: OrderID? = nil
    ) async -> SubmitOutcome {
        await send(transaction, wantedOrder)
    }

    /// Handles a transaction that the store delivers by itself. At launch it may be one that the journal has already
    /// sent, which the server need not be asked about again.
    func resubmit(_ transaction: QueuedTransaction) async -> SubmitOutcome {
        if let outcome = ended[transaction.id] {
            await queue.finish(transaction.id)
            return outcome
        }
        let isUnderWay = underWay[transaction.id] != nil
        let outcome = await send(transaction)
        // The submission in progress may have completed before the transaction was in StoreKit 1's queue, which is
        // filled some time after launch; then it is not finished yet.
        if isUnderWay, ended[transaction.id] != nil { await queue.finish(transaction.id) }
        return outcome
    }

    func isSending(_ id: TransactionID) -> Bool { underWay[id] != nil }

    private func send(_ transaction: QueuedTransaction, _ wantedOrder: OrderID? = nil) async -> SubmitOutcome {
        if underWay[transaction.id] != nil {
            return await withCheckedContinuation { underWay[transaction.id]?.append($0) }
        }
        underWay[transaction.id] = []
        let outcome = await deliver(transaction, wantedOrder)
        for waiting in underWay.removeValue(forKey: transaction.id) ?? [] { waiting.resume(returning: outcome) }
        return outcome
    }

    private func deliver(_ queued: QueuedTransaction, _ wantedOrder: OrderID?) async -> SubmitOutcome {
        let shown = await signed(queued)
        let entry = try? await save(shown, wantedOrder)
        let transaction: QueuedTransaction
        do throws(AppStoreError) { transaction = try await prove(shown, entry) } catch {
            let pendingReason = PendingReason(code: error.code, isFinal: false)
            switch await serverOrderState(on: entry, for: shown) {
            case .paid(let reply): return await apply(reply, shown, entry)
            case .paidByAnother: return .deliveryPending(pendingReason, retryAt: nil)
            case .unpaid: if let end = await release(of: shown, entry) { return end }
            case .unknown: break
            }
            return await postpone(entry, because: pendingReason, retryAfter: nil)
        }
        guard let session = await server.session() else { return await postpone(entry, because: ServerError.signedOut) }
        let reply: SubmitProofReply
        do throws(ServerError) {
            reply = try await post(transaction, entry, as: session)
        } catch {
            #if PLANTED_MISTAKES
                if PlantedMistake.finishesAnyway.isPlanted { await queue.finish(transaction.id) }
            #endif
            guard case .refused(let refusal) = error else { return await postpone(entry, because: error) }
            if refusal.refusal == .receiptNeedsRefresh, let entry {
                return await submitRefreshed(transaction, entry, error, as: session)
            }
            switch await serverOrderState(on: entry, for: transaction) {
            case .paid(let reply): return await apply(reply, transaction, entry)
            case .paidByAnother: return .refused(PendingReason(code: error.code, isFinal: refusal.isFinalForProof))
            case .unpaid where error.code == Refusal.transactionNotInReceipt.rawValue:
                if let end = await release(of: transaction, entry) { return end }
            case .unpaid, .unknown: break
            }
            return await postpone(entry, because: error)
        }
        return await apply(reply, transaction, entry)
    }

    private func post(
        _ transaction: QueuedTransaction, _ entry: JournalEntry?, as session: UserSession
    ) async throws(ServerError) -> SubmitProofReply {
        let reply = try await server.post(
            Paths.transactions, await body(for: transaction, entry, as: session.userID), as: session,
            expecting: SubmitProofReply.self)
        // Another party's response, from a cache in between.
        if reply.transactionId != transaction.id.text { throw .unreadable(status: 200, retryAfter: nil) }
        return reply
    }

    /// Apple does not accept the receipt. It is refreshed once, which may ask for the Apple Account's password; later
    /// attempts send the receipt that the device has then. The journal keeps the old one until the new one is accepted.
    private func submitRefreshed(
        _ transaction: QueuedTransaction, _ entry: JournalEntry, _ refusal: ServerError, as session: UserSession
    ) async -> SubmitOutcome {
        do throws(AppStoreError) {
            let fresh =
                entry.hasRefreshedReceipt ? try await queue.proof(transaction) : try await queue.refreshed(transaction)
            guard fresh.proof != transaction.proof else { return await postpone(entry, because: refusal) }
            do throws(ServerError) {
                let reply = try await post(fresh, entry, as: session)
                _ = try? await journal.save(fresh, for: entry.id, at: effects.clock())
                return await apply(reply, fresh, entry)
            } catch {
                if case .refused = error { return await postpone(entry, because: refusal) }
                return await postpone(entry, because: error)
            }
        } catch {
            if error == .cancelled { return await postpone(entry, because: refusal) }
            return await postpone(entry, because: PendingReason(code: error.code, isFinal: false), retryAfter: nil)
        }
    }

    /// Prefers a signed copy, because it names the order while a receipt hides it. A stored copy is never replaced with
    /// a receipt.
    private func signed(_ transaction: QueuedTransaction) async -> QueuedTransaction {
        guard case .receipt = transaction.proof else { return transaction }
        let signed = await queue.signed(transaction)
        if case .signedTransaction = signed.proof { return signed }
        guard let entry = await journal.entry(of: transaction.id),
            let kept = await journal.proof(of: entry.id), case .signedTransaction = kept
        else { return transaction }
        return transaction.proven(by: kept)
    }

    private enum ServerOrderState {
        case paid(SubmitProofReply)
        /// Another transaction completed the order. If the store lost the token, this device assigned the transaction
        /// by matching, and another device of the customer may have submitted the right one.
        case paidByAnother
        /// No transaction has paid for the order, as far as the server knows.
        case unpaid
        case unknown
    }

    /// The order's status at the server. A purchase that this device cannot prove any more may have been granted
    /// through Apple's notification: a consumable that the server finished at Apple is in no receipt. Only the owner
    /// may read the order.
    private func serverOrderState(on entry: JournalEntry?, for transaction: QueuedTransaction) async -> ServerOrderState
    {
        guard let entry, let session = await server.session() else { return .unknown }
        guard entry.isOpened else { return .unpaid }
        guard let order = try? await server.get(Paths.order(entry.id), as: session, expecting: OrderReply.self),
            order.id == entry.id
        else { return .unknown }
        guard let paidBy = order.transactionId else { return .unpaid }
        let (outcome, status): (SubmitProofReply.Outcome, OrderStatus)
        switch OrderStatus(name: order.status) {
        case .completed: (outcome, status) = (.alreadyGranted, .completed)
        case .refunded: (outcome, status) = (.revoked, .refunded)
        case .prepared, .ongoing, .deferred, .cancelled, .failed, nil: return .unknown
        }
        if paidBy == transaction.id.text {
            return .paid(
                SubmitProofReply(
                    outcome: outcome, transactionId: paidBy, finish: true, orderId: order.id, userId: order.userId,
                    paid: order.paid))
        }
        do throws(JournalError) {
            try await journal.complete(
                entry.id, as: status, paidBy: TransactionID(paidBy), order.paid, at: effects.clock())
            return .paidByAnother
        } catch {
            return .unknown
        }
    }

    /// Releases a transaction that cannot be proved, is no longer in the store's queue and did not pay for this order:
    /// it was finished for another one, of another customer with the same Apple Account, after the store lost the
    /// token.
    ///
    /// If only matching assigned it, the order returns to its previous status. If it was paid on this device, it stays
    /// *ongoing*, and after a day its buyer is referred to support. If either is wrong, the server has the payment, and
    /// its order status will say so.
    private func release(of transaction: QueuedTransaction, _ entry: JournalEntry?) async -> SubmitOutcome? {
        guard let entry, let current = await journal[entry.id], current.status == .ongoing,
            let shown = try? await queue.unfinished(), !shown.contains(where: { $0.id == transaction.id })
        else { return nil }
        if current.isGuessed {
            guard (try? await journal.undoGuess(entry.id)) != nil else { return nil }
        } else {
            guard current.updatedAt.adding(seconds: Self.unpaidGracePeriod) <= effects.clock() else { return nil }
            try? await journal.postpone(entry.id, because: .completedElsewhere, until: nil)
        }
        return .refused(.completedElsewhere)
    }

    /// In seconds: the time that a queue, a receipt or the server may be late.
    private static let unpaidGracePeriod: Int64 = 86_400

    /// Finds the order of a transaction: the one that contains it, the one that its token names, the only possible one,
    /// or a new one. The proof is on disk when this returns.
    ///
    /// - Throws: if the journal cannot be written. The transaction is then submitted nevertheless, because it is paid,
    ///   but it stays in the store's queue until a later launch can record it.
    private func save(
        _ transaction: QueuedTransaction, _ wantedOrder: OrderID?
    ) async throws(JournalError) -> JournalEntry {
        let now = effects.clock()
        if let entry = await journal.entry(of: transaction.id) {
            return try await journal.save(transaction, for: entry.id, at: now)
        }
        if let token = transaction.token {
            guard let entry = await journal[token] else {
                return try await adopt(transaction, as: token, at: now)
            }
            // A second purchase with the same token gets an order of its own, and so does the new product of a
            // subscription change with that token.
            if entry.transactionID == nil, entry.productID == transaction.productID {
                return try await journal.save(transaction, for: token, at: now)
            }
        } else if let entry = await journal.candidate(for: transaction, paying: wantedOrder) {
            return try await journal.save(transaction, for: entry.id, at: now, isGuess: entry.id != wantedOrder)
        }
        return try await adopt(transaction, as: UniqueID(random: effects.entropy(16)), at: now)
    }

    private func adopt(
        _ transaction: QueuedTransaction, as id: OrderID, at now: Instant
    ) async throws(JournalError) -> JournalEntry {
        try await journal.adopt(transaction, as: id, label: await label(transaction.productID), at: now)
    }

    /// Gets a valid proof. A valid receipt is never replaced with the receipt that the device has now, because another
    /// Apple Account may be signed in to the store.
    private func prove(
        _ transaction: QueuedTransaction, _ entry: JournalEntry?
    ) async throws(AppStoreError) -> QueuedTransaction {
        guard case .receipt(let bytes) = transaction.proof else { return transaction }
        let isMissing = bytes.isEmpty
        guard isMissing || entry?.pendingReason?.code == Refusal.transactionNotInReceipt.rawValue else {
            return transaction
        }
        do throws(AppStoreError) {
            let proven = try await queue.proof(transaction)
            guard proven.proof != .receipt([]) else { throw .unknown }
            if let entry { _ = try? await journal.save(proven, for: entry.id, at: effects.clock()) }
            return proven
        } catch {
            if isMissing { throw error }
            return transaction
        }
    }

    /// The request includes the order's nonce, so that a server that does not have the order can open it.
    private func body(
        for transaction: QueuedTransaction, _ entry: JournalEntry?, as caller: UserID
    ) async -> SubmitProofBody {
        let order = entry.map { $0.isOpened ? $0.id : nil } ?? transaction.token
        var body = SubmitProofBody(orderId: order, deviceId: entry?.device, phoneId: phoneID)
        switch transaction.proof {
        case .signedTransaction(let text): body.signedTransaction = text
        case .receipt(let bytes):
            body.receipt = Data(bytes).base64EncodedString()
            body.transactionId = transaction.id.text
            body.productId = transaction.productID.text
        }
        if let named = transaction.token ?? order, let proof = await journal[named]?.idProof(for: caller) {
            body.idNonce = proof.nonce
            body.idUserId = proof.user?.text
        }
        return body
    }

    /// Finishes the transaction only if the reply says `finish`, and records the outcome in the journal.
    private func apply(
        _ reply: SubmitProofReply, _ transaction: QueuedTransaction, _ entry: JournalEntry?
    ) async -> SubmitOutcome {
        // An unrecorded transaction stays in the queue: the next launch asks again and receives the same answer.
        if reply.finish, entry != nil { await queue.finish(transaction.id) }
        switch reply.outcome {
        case .granted, .alreadyGranted:
            return await complete(transaction, entry, as: .completed, reply, .completed(reply))
        case .revoked: return await complete(transaction, entry, as: .refunded, reply, .refunded)
        case .accepted:
            return await postpone(
                entry, because: PendingReason(waitingFor: reply.outcome, reason: reply.reason), retryAfter: nil)
        case .quarantined:
            let pendingReason = PendingReason(waitingFor: reply.outcome, reason: reply.reason)
            // If another transaction completed the order, this one waits in the store's queue for an order of its own.
            if case .paidByAnother = await serverOrderState(on: entry, for: transaction) {
                return .deliveryPending(pendingReason, retryAt: nil)
            }
            return await postpone(entry, because: pendingReason, retryAfter: nil)
        }
    }

    private func complete(
        _ transaction: QueuedTransaction, _ entry: JournalEntry?, as status: OrderStatus, _ reply: SubmitProofReply,
        _ outcome: SubmitOutcome
    ) async -> SubmitOutcome {
        guard let entry else { return outcome }
        do throws(JournalError) {
            if let current = await journal[entry.id], current.isGuessed, await isPaidByAnother(reply, entry) {
                try await journal.undoGuess(entry.id)
                if reply.finish { ended[transaction.id] = outcome }
                return outcome
            }
            try await journal.complete(
                entry.id, as: status, at: effects.clock(), reason: reply.outcome.rawValue,
                owner: reply.userId.map(UserID.init), paid: reply.paid)
            if reply.finish { ended[transaction.id] = outcome }
        } catch {
            // It stays ongoing with its proof, and the next attempt receives `alreadyGranted`.
        }
        return outcome
    }

    /// Whether the server's reply concerns another order than the one this device assigned the transaction to. For a
    /// caller who is not the owner, the reply names no order.
    private func isPaidByAnother(_ reply: SubmitProofReply, _ entry: JournalEntry) async -> Bool {
        if let order = reply.orderId { return order != entry.id }
        guard let session = await server.session() else { return false }
        return session.userID == entry.userID
    }

    private func postpone(_ entry: JournalEntry?, because error: ServerError) async -> SubmitOutcome {
        var isFinal = false
        if case .refused(let refusal) = error { isFinal = refusal.isFinalForProof }
        return await postpone(
            entry, because: PendingReason(code: error.code, isFinal: isFinal), retryAfter: error.retryAfter)
    }

    private func postpone(
        _ entry: JournalEntry?, because pendingReason: PendingReason, retryAfter: Int64?
    ) async -> SubmitOutcome {
        var retryAt: Instant?
        if !pendingReason.isFinal {
            retryAt = schedule.nextAttempt(
                after: (entry?.attempts ?? 0) + 1, now: effects.clock(), entropy: effects.entropy,
                retryAfter: retryAfter)
        }
        if let entry, entry.status == .ongoing {
            try? await journal.postpone(entry.id, because: pendingReason, until: retryAt)
        }
        return pendingReason.isFinal ? .refused(pendingReason) : .deliveryPending(pendingReason, retryAt: retryAt)
    }
}

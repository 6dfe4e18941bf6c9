import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What became of a paid transaction.
package enum SubmitOutcome: Hashable, Sendable {
    /// Granted, now or before. To whom and what, if the one who is signed in is the owner (P8).
    case completed(SubmitProofReply)
    /// Apple took the money back.
    case refunded
    /// Paid, and on its way: the order stays *ongoing* and is tried again by itself (L9).
    case willArrive(Trouble, retryAt: Instant?)
    /// The server says that this proof is none. The order stays visible, and the store keeps the transaction.
    case refused(Trouble)

    /// What the buyer is told, beside the status of the order.
    package var sentence: Text {
        switch self {
        case .completed: Text(en: "It has arrived. Thank you!", zh: "已到账，谢谢！")
        case .refunded: Text(en: "This purchase was refunded.", zh: "此次购买已退款。")
        case .willArrive(let trouble, _):
            Text(
                en: "Paid; it will arrive by itself. \(trouble.sentence.en)", zh: "已付款，稍后会自动到账。\(trouble.sentence.zh)")
        case .refused(let trouble): trouble.sentence
        }
    }
}

/// Brings paid transactions to the server and does what it says: the proof is on disk first, then it is sent, and
/// only the server's word takes the transaction off the store's queue (L8, O5, P5, T1).
package actor Submit {
    private let journal: OrderJournal
    private let queue: StoreQueue
    private let server: ServerAccess
    private let effects: Effects
    private let schedule: RetrySchedule
    /// As orders name this device.
    private let deviceID: String?
    /// What this launch brought to its end. The store may show it once more before it notices.
    private var ended: [TransactionID: SubmitOutcome] = [:]
    /// Transactions under way, each with those who ask for the same one meanwhile.
    private(set) var underWay: [TransactionID: [CheckedContinuation<SubmitOutcome, Never>]] = [:]

    package init(
        journal: OrderJournal, queue: StoreQueue, server: ServerAccess, effects: Effects,
        schedule: RetrySchedule = RetrySchedule(), deviceID: String? = nil
    ) {
        self.journal = journal
        self.queue = queue
        self.server = server
        self.effects = effects
        self.schedule = schedule
        self.deviceID = deviceID
    }

    /// Never throws and never loses: whatever goes wrong, the transaction stays in the store's queue, and where the
    /// disk allowed it, the proof in the journal. A transaction that is under way already is not sent a second time;
    /// both callers hear the same.
    ///
    /// - Parameter wish: the order whose payment the store answered with it. Where the store lost the token, nothing
    ///   else tells it from the open orders of others who use this installation (U1).
    package func callAsFunction(
        _ transaction: QueuedTransaction, paying wish: OrderID? = nil
    ) async -> SubmitOutcome {
        await send(transaction, wish)
    }

    /// A transaction that the store shows by itself. At a launch that is the same one which the journal has sent
    /// again meanwhile: then the server is not asked twice.
    func again(_ transaction: QueuedTransaction) async -> SubmitOutcome {
        if let outcome = ended[transaction.id] {
            await queue.finish(transaction.id)
            return outcome
        }
        let isUnderWay = underWay[transaction.id] != nil
        let outcome = await send(transaction)
        // What was under way may have come to its end before the store's queue had the transaction, which StoreKit 1
        // shows only a while after the launch: then nothing was finished.
        if isUnderWay, ended[transaction.id] != nil { await queue.finish(transaction.id) }
        return outcome
    }

    func isSending(_ id: TransactionID) -> Bool { underWay[id] != nil }

    private func send(_ transaction: QueuedTransaction, _ wish: OrderID? = nil) async -> SubmitOutcome {
        if underWay[transaction.id] != nil {
            return await withCheckedContinuation { underWay[transaction.id]?.append($0) }
        }
        underWay[transaction.id] = []
        let outcome = await bring(transaction, wish)
        for waiting in underWay.removeValue(forKey: transaction.id) ?? [] { waiting.resume(returning: outcome) }
        return outcome
    }

    private func bring(_ queued: QueuedTransaction, _ wish: OrderID?) async -> SubmitOutcome {
        let shown = await signed(queued)
        let entry = try? await save(shown, wish)
        let transaction: QueuedTransaction
        do throws(StoreProblem) { transaction = try await prove(shown, entry) } catch {
            let trouble = Trouble(code: error.code, isFinal: false)
            switch await serverWord(on: entry, for: shown) {
            case .itIsPaid(let reply): return await obey(reply, shown, entry)
            case .anotherPaid: return .willArrive(trouble, retryAt: nil)
            case .unpaid: if let end = await letGo(of: shown, entry) { return end }
            case .nothing: break
            }
            return await postpone(entry, because: trouble, retryAfter: nil)
        }
        guard let session = await server.session() else { return await postpone(entry, because: ServerFault.signedOut) }
        let reply: SubmitProofReply
        do throws(ServerFault) {
            reply = try await server.post(
                Paths.transactions, await body(for: transaction, entry, as: session.userID), as: session,
                expecting: SubmitProofReply.self)
            // Somebody else's answer, from a cache in between.
            if reply.transactionId != transaction.id.text { throw .unreadable(status: 200, retryAfter: nil) }
        } catch {
            #if PLANTED_MISTAKES
                if PlantedMistake.finishesAnyway.isPlanted { await queue.finish(transaction.id) }
            #endif
            guard case .refused(let refusal) = error else { return await postpone(entry, because: error) }
            switch await serverWord(on: entry, for: transaction) {
            case .itIsPaid(let reply): return await obey(reply, transaction, entry)
            case .anotherPaid: return .refused(Trouble(code: error.code, isFinal: refusal.isFinalForProof))
            case .unpaid where error.code == Refusal.transactionNotInReceipt.rawValue:
                if let end = await letGo(of: transaction, entry) { return end }
            case .unpaid, .nothing: break
            }
            return await postpone(entry, because: error)
        }
        return await obey(reply, transaction, entry)
    }

    /// A signed copy names its order, and a receipt hides it. A copy that is kept is never given up for a receipt.
    private func signed(_ transaction: QueuedTransaction) async -> QueuedTransaction {
        guard case .receipt = transaction.proof else { return transaction }
        let signed = await queue.signed(transaction)
        if case .signedTransaction = signed.proof { return signed }
        guard let entry = await journal.entry(of: transaction.id),
            let kept = await journal.proof(of: entry.id), case .signedTransaction = kept
        else { return transaction }
        return transaction.proven(by: kept)
    }

    private enum ServerWord {
        case itIsPaid(SubmitProofReply)
        /// The order is settled by another transaction. Where the store loses tokens this device guesses, and another
        /// of the same customer's devices may have brought this one home long ago (U1).
        case anotherPaid
        /// Nothing has paid for the order, as far as it knows.
        case unpaid
        case nothing
    }

    /// What this device cannot prove any more may have arrived all the same, by Apple's own word: a consumable that the
    /// server finished at Apple is in no receipt (U2). Its order says so, to its owner.
    private func serverWord(on entry: JournalEntry?, for transaction: QueuedTransaction) async -> ServerWord {
        guard let entry, let session = await server.session() else { return .nothing }
        guard entry.isOpened else { return .unpaid }
        guard let order = try? await server.get(Paths.order(entry.id), as: session, expecting: OrderReply.self),
            order.id == entry.id
        else { return .nothing }
        guard let paidBy = order.transactionId else { return .unpaid }
        let (outcome, status): (SubmitProofReply.Outcome, OrderStatus)
        switch OrderStatus(name: order.status) {
        case .completed: (outcome, status) = (.alreadyGranted, .completed)
        case .refunded: (outcome, status) = (.revoked, .refunded)
        case .prepared, .ongoing, .deferred, .cancelled, .failed, nil: return .nothing
        }
        if paidBy == transaction.id.text {
            return .itIsPaid(
                SubmitProofReply(
                    outcome: outcome, transactionId: paidBy, finish: true, orderId: order.id, userId: order.userId))
        }
        do throws(JournalFault) {
            try await journal.settle(entry.id, as: status, paidBy: TransactionID(paidBy), at: effects.clock())
            return .anotherPaid
        } catch {
            return .nothing
        }
    }

    /// What can't be proved, is not in the store's queue any more and did not pay for this order was finished for
    /// another one: another customer's of the same Apple Account, where the store lost the token (U1). Where only a
    /// guess made it this order's, the order stands where it stood before. What was paid for it on this device stays
    /// *ongoing*, and after a day its buyer is told to turn to support. Should either be wrong, the server has the
    /// payment, and says so of the order later (G5).
    private func letGo(of transaction: QueuedTransaction, _ entry: JournalEntry?) async -> SubmitOutcome? {
        guard let entry, let current = await journal[entry.id], current.status == .ongoing,
            let shown = try? await queue.unfinished(), !shown.contains(where: { $0.id == transaction.id })
        else { return nil }
        if current.isGuessed {
            guard (try? await journal.takeBackGuess(entry.id)) != nil else { return nil }
        } else {
            guard current.updatedAt.adding(seconds: Self.patience) <= effects.clock() else { return nil }
            try? await journal.postpone(entry.id, because: .settledElsewhere, until: nil)
        }
        return .refused(.settledElsewhere)
    }

    /// Seconds for which a queue, a receipt or the server may be late.
    private static let patience: Int64 = 86_400

    /// The order of a transaction: the one that holds it, the one its token names, the only one it can be; else one
    /// that is made for it. The proof is on disk when this returns.
    ///
    /// - Throws: if it can't be written down. Then it is sent all the same, for the money is paid, but it stays in the
    ///   store's queue until a later launch can write it down.
    private func save(
        _ transaction: QueuedTransaction, _ wish: OrderID?
    ) async throws(JournalFault) -> JournalEntry {
        let now = effects.clock()
        if let entry = await journal.entry(of: transaction.id) {
            return try await journal.save(transaction, for: entry.id, at: now)
        }
        if let token = transaction.token {
            guard let entry = await journal[token] else {
                return try await journal.adopt(transaction, as: token, at: now)
            }
            // A second purchase under one token has an order of its own (DESIGN §1), and so has another plan that a
            // subscription was changed to with it.
            if entry.transactionID == nil, entry.productID == transaction.productID {
                return try await journal.save(transaction, for: token, at: now)
            }
        } else if let entry = await journal.candidate(for: transaction, paying: wish) {
            return try await journal.save(transaction, for: entry.id, at: now, isGuess: entry.id != wish)
        }
        return try await journal.adopt(transaction, as: UniqueID(random: effects.entropy(16)), at: now)
    }

    /// A proof worth sending (O4). A good one is never given up for a receipt that the device shows now: another
    /// customer of the store may be signed in there by now.
    private func prove(
        _ transaction: QueuedTransaction, _ entry: JournalEntry?
    ) async throws(StoreProblem) -> QueuedTransaction {
        guard case .receipt(let bytes) = transaction.proof else { return transaction }
        let isMissing = bytes.isEmpty
        guard isMissing || entry?.trouble?.code == Refusal.transactionNotInReceipt.rawValue else { return transaction }
        do throws(StoreProblem) {
            let proven = try await queue.proof(transaction)
            guard proven.proof != .receipt([]) else { throw .unknown }
            if let entry { _ = try? await journal.save(proven, for: entry.id, at: effects.clock()) }
            return proven
        } catch {
            if isMissing { throw error }
            return transaction
        }
    }

    /// The order's nonce goes along: a server that lost the order, or never heard of it, opens it on the spot.
    private func body(
        for transaction: QueuedTransaction, _ entry: JournalEntry?, as caller: UserID
    ) async -> SubmitProofBody {
        let order = entry.map { $0.isOpened ? $0.id : nil } ?? transaction.token
        var body = SubmitProofBody(orderId: order, deviceId: deviceID)
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

    /// The store obeys `finish`, and nothing else; the journal notes the outcome.
    private func obey(
        _ reply: SubmitProofReply, _ transaction: QueuedTransaction, _ entry: JournalEntry?
    ) async -> SubmitOutcome {
        // What this device could not write down stays in the queue: the next launch asks again and hears the same.
        if reply.finish, entry != nil { await queue.finish(transaction.id) }
        switch reply.outcome {
        case .granted, .alreadyGranted:
            return await settle(transaction, entry, as: .completed, reply, .completed(reply))
        case .revoked: return await settle(transaction, entry, as: .refunded, reply, .refunded)
        case .accepted:
            return await postpone(
                entry, because: Trouble(waitingFor: reply.outcome, reason: reply.reason), retryAfter: nil)
        case .quarantined:
            let trouble = Trouble(waitingFor: reply.outcome, reason: reply.reason)
            // Where its order is another's by now, the transaction waits for one of its own in the store's queue.
            if case .anotherPaid = await serverWord(on: entry, for: transaction) {
                return .willArrive(trouble, retryAt: nil)
            }
            return await postpone(entry, because: trouble, retryAfter: nil)
        }
    }

    private func settle(
        _ transaction: QueuedTransaction, _ entry: JournalEntry?, as status: OrderStatus, _ reply: SubmitProofReply,
        _ outcome: SubmitOutcome
    ) async -> SubmitOutcome {
        guard let entry else { return outcome }
        do throws(JournalFault) {
            if let current = await journal[entry.id], current.isGuessed, await isAnothers(reply, entry) {
                try await journal.takeBackGuess(entry.id)
                if reply.finish { ended[transaction.id] = outcome }
                return outcome
            }
            try await journal.settle(
                entry.id, as: status, at: effects.clock(), reason: reply.outcome.rawValue,
                owner: reply.userId.map(UserID.init))
            if reply.finish { ended[transaction.id] = outcome }
        } catch {
            // It stays ongoing with its proof, and the next attempt hears `alreadyGranted`.
        }
        return outcome
    }

    /// Whether the server speaks of another order than the one that this device took the transaction for. To whoever is
    /// not the owner of a transaction it names none (P8).
    private func isAnothers(_ reply: SubmitProofReply, _ entry: JournalEntry) async -> Bool {
        if let order = reply.orderId { return order != entry.id }
        guard let session = await server.session() else { return false }
        return session.userID == entry.userID
    }

    private func postpone(_ entry: JournalEntry?, because fault: ServerFault) async -> SubmitOutcome {
        var isFinal = false
        if case .refused(let refusal) = fault { isFinal = refusal.isFinalForProof }
        return await postpone(entry, because: Trouble(code: fault.code, isFinal: isFinal), retryAfter: fault.retryAfter)
    }

    private func postpone(
        _ entry: JournalEntry?, because trouble: Trouble, retryAfter: Int64?
    ) async -> SubmitOutcome {
        var retryAt: Instant?
        if !trouble.isFinal {
            retryAt = schedule.nextAttempt(
                after: (entry?.attempts ?? 0) + 1, now: effects.clock(), entropy: effects.entropy,
                retryAfter: retryAfter)
        }
        if let entry, entry.status == .ongoing {
            try? await journal.postpone(entry.id, because: trouble, until: retryAt)
        }
        return trouble.isFinal ? .refused(trouble) : .willArrive(trouble, retryAt: retryAt)
    }
}

import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

extension Server {
    /// `POST /v1/restores`: restores the purchases that a device submits. Every proof is verified and processed like a
    /// submitted transaction; the restore policy decides about purchases that another customer owns.
    func restorePurchases(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(RestoreBody.self)
        let restore = try await restore(body, call)
        var restored: [RestoredTransaction] = []
        switch (body.signedTransactions, body.receipt) {
        case (let tokens?, nil):
            for token in tokens { restored.append(try await restore.signedTransaction(token)) }
        case (nil, let text?): restored = try await restore.receipt(text)
        default:
            throw RefusalError(
                .invalidField, "exactly one of signedTransactions and receipt is required",
                zh: "signedTransactions 与 receipt 必须且只能提供其一")
        }
        return JSONText.response(200, RestoreReply(data: restored))
    }

    private func restore(_ body: RestoreBody, _ call: Call) async throws -> RestoreRun {
        let named = try call.credential.buyer(naming: body.userId)
        try await ledger.requireKnownForm(of: named, "userId")
        try await database.read { try CustomerTable($0).requireUnmerged(named) }
        let caller: Caller
        switch call.credential {
        // A backend's named user gets an unclaimed purchase only as `claimant`, under the restore policy.
        case .backend(let keyID): caller = .backend(keyID: keyID, naming: nil)
        case .user, .anonymous: caller = .user(named)
        }
        var origin = PurchaseOrigin(
            source: .restore, caller: caller,
            claimant: configuration.restore.policy == .ask ? nil : named)
        if case .user = call.credential { origin.network = call.request.clientNetwork }
        return RestoreRun(server: self, credential: call.credential, restorer: named, origin: origin)
    }
}

/// Restores one proof after the other for one customer. Each proof is processed in its own commit, and so is each move:
/// an interrupted restore continues when the client repeats it.
private struct RestoreRun {
    let server: Server
    let credential: Credential
    let restorer: UserID
    let origin: PurchaseOrigin

    private var terms: RestoreTerms { server.configuration.restore }

    // MARK: Proofs

    /// An invalid proof does not fail the others: it is logged and reported as refused.
    func signedTransaction(_ text: String) async throws -> RestoredTransaction {
        let token = Array(text.utf8)
        let purchase: VerifiedPurchase
        do {
            // An unknown certificate chain is verified on the executor for heavy work, where it delays no purchase.
            if server.verifier.knowsSigner(of: token) {
                purchase = try await server.ledger.intake.verify(token)
            } else {
                guard server.unknownSigners.mayVerify(token, for: credential, now: server.machineClock()) else {
                    server.log.write(
                        .limitReached, ["limit": "unknown_signers", "caller": .text(credential.name)])
                    throw HeavyWorkLimiter.refusal
                }
                purchase = try await server.heavy.run(for: credential) {
                    try await server.ledger.intake.verify(token)
                }
            }
        } catch let error as ProofError {
            try await server.ledger.intake.refusals.write(error, from: origin)
            return RestoredTransaction(
                transaction: nil, outcome: .refused, reason: error.refusal.rawValue, finish: false)
        }
        let outcome = try await server.ledger.intake.accept(purchase, from: origin)
        return try await decided(purchase.transaction, outcome)
    }

    func receipt(_ text: String) async throws -> [RestoredTransaction] {
        let (bytes, receipt): ([UInt8], Verified<VerifiedReceipt>)
        do {
            (bytes, receipt) = try await server.heavy.run(for: credential) {
                guard let bytes = Base64.decode(ignoringBlanks: text) else {
                    throw RefusalError(.malformed, "receipt: must be base64", zh: "receipt：应为 base64")
                }
                return (bytes, try await server.verifier.receipt(bytes))
            }
        } catch let error as ProofError {
            try await server.ledger.intake.refusals.write(error, from: origin)
            throw RefusalError(error)
        }
        let proof = PurchaseProof(kind: .receipt, bytes: bytes, isRevocationUnknown: receipt.isRevocationUnknown)
        var restored: [RestoredTransaction] = []
        for verified in newest(in: receipt.value) {
            let outcome = try await server.ledger.intake.accept(VerifiedPurchase(verified, proof), from: origin)
            restored.append(try await decided(verified, outcome))
        }
        return restored
    }

    /// The newest transaction of each chain that can be restored. Consumables stay in a receipt until they are
    /// finished; clients submit those through `POST /v1/transactions`.
    private func newest(in receipt: VerifiedReceipt) -> [VerifiedTransaction] {
        var newest: [TransactionID: VerifiedTransaction] = [:]
        for verified in receipt.transactions {
            guard let type = type(of: verified), type != .consumable else { continue }
            let known = newest[verified.originalID]
            if known.map({ ($0.purchaseDate, $0.id) < (verified.purchaseDate, verified.id) }) ?? true {
                newest[verified.originalID] = verified
            }
        }
        return Array(
            newest.values.sorted { ($1.purchaseDate, $1.id) < ($0.purchaseDate, $0.id) }
                .prefix(RestoreBody.maximumCount))
    }

    private func type(of verified: VerifiedTransaction) -> TillBilling.ProductType? {
        verified.type
            ?? server.configuration.catalog[verified.productID]?.type
    }

    // MARK: Decisions

    private func decided(
        _ verified: VerifiedTransaction, _ outcome: PurchaseIntake.Outcome
    ) async throws -> RestoredTransaction {
        var reason: String?
        let status: RestoreFacts.Status
        switch outcome {
        case .processed(.granted(let grant)): status = try await granted(grant, verified)
        case .processed(.alreadyGranted(let grant)), .processed(.moved(let grant)):
            status = .granted(to: grant.userID)
        case .processed(.contested(let grant, let why)):
            status = grant.userID == restorer ? .granted(to: restorer) : .quarantined
            reason = why.rawValue
        case .processed(.revoked), .processed(.revokedUnseen): status = .revoked
        case .processed(.quarantined(let why)):
            status = .quarantined
            reason = why.rawValue
        case .waiting, .saved:
            status = .waiting
            reason = PurchaseIntake.waitingReason
        }
        let facts = RestoreFacts(status: status, type: type(of: verified), restorer: restorer)
        var decision = RestoreDecision(facts, terms)
        if decision == .move { decision = try await move(verified) }
        return reply(verified, decision, reason)
    }

    private func reply(
        _ verified: VerifiedTransaction, _ decision: RestoreDecision, _ reason: String?
    ) -> RestoredTransaction {
        func told(
            _ outcome: RestoredTransaction.Outcome, _ reason: String? = nil, askBackend: Bool? = nil,
            finish: Bool = true
        ) -> RestoredTransaction {
            RestoredTransaction(
                transaction: (verified.id, verified.originalID, verified.productID), outcome: outcome, reason: reason,
                askBackend: askBackend, finish: finish)
        }
        switch decision {
        case .owned: return told(.owned)
        case .claimed: return told(.claimed)
        case .move: return told(.moved)
        case .kept(let why):
            return told(.kept, why.rawValue, askBackend: why == .askBackend ? true : nil)
        case .notRestorable: return told(.notRestorable)
        case .revoked: return told(.revoked)
        // Not finished: the transaction stays in the store's queue until it has an owner.
        case .quarantined: return told(.quarantined, reason, finish: false)
        case .waiting: return told(.accepted, reason, finish: false)
        }
    }

    /// A grant made just now: to the owner that Apple's data names, or to the restorer because the purchase was
    /// unclaimed.
    private func granted(_ grant: Grant, _ verified: VerifiedTransaction) async throws -> RestoreFacts.Status {
        guard grant.userID == restorer, origin.claimant != nil else { return .granted(to: grant.userID) }
        let ground = try await server.database.read { connection -> String? in
            guard let stored = try TransactionTable(connection).find(verified.id, in: verified.environment) else {
                return nil
            }
            return try EvidenceTable(connection).list(transaction: stored.rowID).last { $0.decision == "granted" }?
                .ground
        }
        return ground == OwnerMatch.claim.rawValue ? .claimed : .granted(to: grant.userID)
    }

    /// Decides again inside the write transaction, and moves the chain if the decision still allows it.
    private func move(_ verified: VerifiedTransaction) async throws -> RestoreDecision {
        let (chain, environment) = (verified.originalID, verified.environment)
        let (id, type, now) = (verified.id, type(of: verified), server.clock())
        let freshID = UniqueID(random: server.entropy(16))
        let (restorer, terms, actor) = (restorer, terms, origin.callerName)
        return try await server.database.write(locking: [.chain(chain, environment), .customer(restorer)]) {
            [server] connection in
            let transactions = TransactionTable(connection)
            guard let stored = try transactions.find(id, in: environment), stored.state == .granted,
                let grant = try GrantTable(connection).find(transaction: stored.rowID)
            else { return .revoked }
            let owner = try GrantOwnerTable(connection).present(grant, of: stored.rowID).userID
            let moves = try TransferTable(connection).moves(
                of: chain, in: environment, kind: .restore, since: now.adding(milliseconds: -RestoreTerms.year))
            let named = try TokenFacts.user(namedByTokenOf: stored.rowID, connection)
            let facts = RestoreFacts(
                status: .granted(to: owner), type: type, restorer: restorer, moves: moves,
                isNamed: named == restorer)
            let decision = RestoreDecision(facts, terms)
            if decision == .move {
                let recorder = TransferRecorder(
                    connection, actor: actor, now: now, freshID: freshID, reminders: server.ledger.reminders(connection)
                )
                _ = try recorder.move(
                    chain: chain, in: environment, from: owner, to: restorer, kind: .restore, reason: "restored",
                    under: server.configuration.guests)
            }
            return decision
        }
    }
}

import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

extension Server {
    /// `POST /v1/transactions`: the first door. Any valid proof is taken from any signed-in user, because the phone
    /// that delivers it may be another customer's (P8); who owns it is decided by what Apple signed.
    func submitTransaction(_ call: Call) async throws -> HTTPResponse {
        let brought = try await prove(
            try SubmitProofBody(json: call.request.body), from: call.credential, at: call.request.clientNetwork)
        try await openProvenOrder(of: brought)
        if try await save(brought) {
            // Durable, and granted by the server itself from here on (G4, order 2; G5).
            return JSONText.response(
                202,
                SubmitProofReply(
                    outcome: .accepted, transactionId: brought.transaction.id.text, finish: true,
                    reason: Self.savedReason
                ).json)
        }
        return reply(to: call, brought.transaction.id, try await settle(brought))
    }

    /// Why a purchase is accepted, finished and not yet granted; a stable code.
    static let savedReason = "granted_soon"

    /// A proof that was verified, and what came beside it.
    struct BroughtProof: Sendable {
        let transaction: VerifiedTransaction
        let proof: Settle.Proof
        let origin: Settle.Origin
    }

    /// What every address does that apps bring proofs to: verify, log what is refused.
    ///
    /// - Parameters:
    ///   - quantity: what was said beside the proof; nil if nothing was.
    ///   - network: `HTTPRequest.clientNetwork`.
    /// - Throws: `Refused` with what is wrong with the proof, or with what was said beside it.
    func prove(
        _ body: SubmitProofBody, quantity: Int? = nil, from credential: Credential, at network: String
    ) async throws -> BroughtProof {
        if let named = body.userId { try await requireKnownForm(of: UserID(named), "userId") }
        // With a nonce it may open an order for the caller.
        if body.idNonce != nil, case .user(let user) = credential { try await requireKnownForm(of: user, "sub") }
        var origin = Settle.Origin(
            door: .app, caller: try caller(credential, naming: body.userId), claimedOrder: body.orderId,
            device: try body.deviceId.map(Bounds.device))
        origin.tokenProof = try tokenProof(body, origin.caller)
        if case .user = credential { origin.network = network }
        do {
            let (verified, proof) = try await apart(body, credential) { try await verify(body) }
            if let quantity, quantity != verified.quantity {
                throw ProofRefusal(
                    .transactionMismatch, "the proof is of \(verified.quantity), not \(quantity)", proof: proof.bytes)
            }
            return BroughtProof(transaction: verified, proof: proof, origin: origin)
        } catch let error as ProofRefusal {
            try await log(error, origin: origin)
            throw Refused(error.refusal, error.detail)
        }
    }

    /// Receipts, and chains that were never judged before, are looked at where nobody else's purchase waits for them.
    private func apart<Value: Sendable>(
        _ body: SubmitProofBody, _ credential: Credential, _ verify: () async throws -> Value
    ) async throws -> Value {
        if body.receipt == nil, body.signedTransaction.map(verifier.knowsSigner(of:)) ?? true {
            return try await verify()
        }
        if let token = body.signedTransaction, !unknownSigners.mayJudge(token, for: credential, now: clock()) {
            throw HeavyDesk.refusal
        }
        return try await heavy.run(for: credential, verify)
    }

    func settle(_ brought: BroughtProof) async throws -> SettleReceipt.Outcome {
        let (verified, proof, origin) = (brought.transaction, brought.proof, brought.origin)
        return switch proof.kind {
        case .receipt: try await settleReceipt(verified, proof: proof, origin: origin)
        case .signedTransaction: .settled(try await settle(verified, proof: proof, origin: origin))
        }
    }

    /// Under order 2 (G4), what the ledger does not know yet is stored and granted by `SavedProofs`. What it knows, and
    /// what Apple took back, is settled at once: there is nothing to wait for.
    ///
    /// - Returns: whether it was stored; false also for one variant of a proof too many, which is settled at once.
    private func save(_ brought: BroughtProof) async throws -> Bool {
        let (verified, proof) = (brought.transaction, brought.proof)
        guard configuration.delivery.order == .saveThenFinish, verified.revocationDate == nil else { return false }
        let (id, environment) = (verified.id, verified.environment)
        let isKnown = try await database.read { try TransactionTable($0).find(id, in: environment) != nil }
        guard !isKnown else { return false }
        let now = clock()
        return try await database.write { session in
            try SavedProofTable(session).insert(
                id, in: environment, kind: proof.kind, body: proof.bytes, by: brought.origin.bearer, at: now)
        }
    }

    private func caller(_ credential: Credential, naming named: String?) throws -> Caller {
        switch credential {
        case .backend(let keyID): .backend(keyID: keyID, naming: try named.map(Bounds.user))
        case .user(let user): .user(user)
        case .nobody: throw Refused(.unauthorized)
        }
    }

    /// Proof, transaction id and product id must agree with each other (O3).
    private func verify(
        _ body: SubmitProofBody
    ) async throws(ProofRefusal) -> (VerifiedTransaction, Settle.Proof) {
        let verified: Believed<VerifiedTransaction>
        let proof: Settle.Proof
        switch (body.signedTransaction, body.receipt) {
        case (let token?, nil):
            verified = try await verifier.transaction(token)
            proof = Settle.Proof(
                kind: .signedTransaction, bytes: Array(token.utf8), isUnderDoubt: verified.isUnderDoubt)
            if let id = body.transactionId, TransactionID(id) != verified.value.id {
                throw ProofRefusal(.transactionMismatch, "the proof is of \(verified.value.id)", proof: proof.bytes)
            }
        case (nil, let text?):
            guard let id = body.transactionId, body.productId != nil else {
                throw ProofRefusal(.invalidField, "transactionId and productId: needed beside a receipt", proof: [])
            }
            guard let bytes = Base64.decode(ignoringBlanks: text) else {
                throw ProofRefusal(.malformed, "receipt: not base64", proof: Array(text.utf8))
            }
            verified = try await verifier.transaction(TransactionID(id), inReceipt: bytes)
            proof = Settle.Proof(kind: .receipt, bytes: bytes, isUnderDoubt: verified.isUnderDoubt)
        default:
            throw ProofRefusal(.invalidField, "one of signedTransaction and receipt", proof: [])
        }
        if let product = body.productId, ProductID(product) != verified.value.productID {
            throw ProofRefusal(.productMismatch, "the proof is of \(verified.value.productID)", proof: proof.bytes)
        }
        return (verified.value, proof)
    }

    /// Why a proof was refused can be read later (P9, U9). A request that carried no proof is not logged, and one that
    /// has to wait was not refused; of many in a row from one caller the first are (`RefusalPace`).
    func log(_ refused: ProofRefusal, origin: Settle.Origin) async throws {
        guard !refused.proof.isEmpty, !refused.refusal.isRetryable else { return }
        let now = clock()
        let keeping = refusalPace.keeping(of: origin.callerName, now: now)
        guard keeping != .nothing else { return }
        let entry = RefusedProofTable.Entry(
            at: now, door: origin.door.rawValue, caller: origin.callerName, claimedOrder: origin.claimedOrder,
            code: refused.refusal.rawValue, detail: refused.detail, digest: Digest.sha256.hash(refused.proof),
            record: keeping == .rowAndRecord ? refused.record : nil)
        try await database.write { try RefusedProofTable($0).insert(entry) }
    }

    private func reply(to call: Call, _ id: TransactionID, _ outcome: SettleReceipt.Outcome) -> HTTPResponse {
        var status = 200
        let body: SubmitProofReply
        switch outcome {
        case .settled(.granted(let grant)): body = reply(to: call, .granted, grant)
        case .settled(.alreadyGranted(let grant)): body = reply(to: call, .alreadyGranted, grant)
        case .settled(.moved(let grant)):
            let isOwner = (try? call.credential.mayActFor(grant.userID)) != nil
            body = reply(to: call, isOwner ? .granted : .alreadyGranted, grant)
        case .settled(.contested(let grant, _)) where call.credential == .user(grant.userID):
            body = reply(to: call, .alreadyGranted, grant)
        case .settled(.revoked(let grant)): body = reply(to: call, .revoked, grant)
        case .settled(.revokedUnseen(let order)):
            // As below: to anybody but the order's user only that it is done.
            let own = order.flatMap { order in (try? call.credential.mayActFor(order.userID)) == nil ? nil : order }
            body = SubmitProofReply(
                outcome: .revoked, transactionId: id.text, finish: true, orderId: own?.id, userId: own?.userID.text)
        case .waiting:
            // It stays in the store's queue too: what nobody was given yet is not finished (invariant 3).
            status = 202
            body = SubmitProofReply(
                outcome: .accepted, transactionId: id.text, finish: false, reason: SettleReceipt.waitingReason)
        case .settled(.quarantined(let reason)), .settled(.contested(_, let reason)):
            // Not finished: it stays in the store's queue until it has an owner (invariant 3).
            status = 202
            body = SubmitProofReply(
                outcome: .quarantined, transactionId: id.text, finish: false, reason: reason.rawValue)
        }
        return JSONText.response(status, body.json)
    }

    /// All of it for the owner and for backends; for anybody else only that it is done (P8).
    private func reply(to call: Call, _ outcome: SubmitProofReply.Outcome, _ grant: Grant) -> SubmitProofReply {
        guard (try? call.credential.mayActFor(grant.userID)) != nil else {
            return SubmitProofReply(outcome: outcome, transactionId: grant.transactionID.text, finish: true)
        }
        return SubmitProofReply(
            outcome: outcome, transactionId: grant.transactionID.text, finish: true, orderId: grant.orderID,
            userId: grant.userID.text, grant: GrantReply(grant), sandbox: grant.environment.sandboxMark)
    }
}

/// Why a proof was refused, with the proof for the log.
struct ProofRefusal: Error {
    let refusal: Refusal
    /// For operators and programmers, in English.
    let detail: String
    let proof: [UInt8]
    /// Who refused it as what; nil if the proof is good and something said beside it is not.
    var judge: (verifier: SignedDataVerifier, kind: ProofInspection.Kind)?

    init(_ refusal: Refusal, _ detail: String, proof: [UInt8]) {
        self.refusal = refusal
        self.detail = detail
        self.proof = proof
    }

    /// Each check that was made, as JSON; nil if no check failed. Made anew, so only when it is to be kept.
    var record: String? {
        judge.map { judge in judge.verifier.explain(proof, as: judge.kind).json.encoded() }
    }
}

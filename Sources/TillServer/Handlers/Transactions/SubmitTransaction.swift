import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    /// `POST /v1/transactions`: submits a proof. Every signed-in user may submit any valid proof, because the device
    /// that delivers it may be another customer's; the data that Apple signed decides the owner.
    func submitTransaction(_ call: Call) async throws -> HTTPResponse {
        let place = await purchases.enter()
        defer { place.leave() }
        return try await submit(call, in: place)
    }

    /// Not inlined: a request that waits for its place then does not hold the variables of this function.
    @inline(never)
    private func submit(_ call: Call, in place: TaskLimit.Place) async throws -> HTTPResponse {
        let submitted = try await verify(
            try SubmitProofBody(json: call.request.body), from: call.credential, at: call.request.clientNetwork,
            in: place)
        try await openProvenOrder(of: submitted)
        let outcome = try await ledger.intake.accept(submitted.purchase, from: submitted.origin, savesFirst: true)
        return reply(to: call, submitted.purchase.transaction, outcome)
    }

    /// A verified purchase, and what the request says about it.
    struct SubmittedPurchase: Sendable {
        let purchase: VerifiedPurchase
        let origin: PurchaseOrigin
    }

    /// The verification shared by every address that takes proofs from apps. Writes refused proofs to the log.
    ///
    /// - Parameters:
    ///   - quantity: the quantity that the request states; nil if it states none.
    ///   - proving: proves an order id of the sender; nil: the one of the body, if it has one.
    ///   - network: `HTTPRequest.clientNetwork`.
    ///   - place: heavy work, which has limits of its own, leaves this place, and so does a proof that waits for Apple.
    /// - Throws: `RefusalError` if the proof is invalid or contradicts the rest of the request.
    func verify(
        _ body: SubmitProofBody, quantity: Int? = nil, proving: TokenProof? = nil, from credential: Credential,
        at network: String, in place: TaskLimit.Place? = nil
    ) async throws -> SubmittedPurchase {
        if let named = body.userId { try await ledger.requireKnownForm(of: UserID(named), "userId") }
        // With a nonce or a number, the proof may open an order for the caller.
        if proving != nil || body.idNonce != nil, case .user(let user) = credential {
            try await ledger.requireKnownForm(of: user, "sub")
        }
        var origin = PurchaseOrigin(
            source: .app, caller: try caller(credential, naming: body.userId), claimedOrder: body.orderId,
            device: try (body.deviceId ?? body.phoneId).map(InputLimits.device))
        origin.phone = try body.phoneId.map(InputLimits.device)
        origin.tokenProof = try proving ?? tokenProof(body, origin.caller)
        if case .user = credential { origin.network = network }
        do {
            let token = body.signedTransaction.map { Array($0.utf8) }
            let purchase = try await runHeavyWork(token, body, credential, leaving: place) {
                try await verify(token, body, beforeAsking: { place?.leave() })
            }
            if let quantity, quantity != purchase.transaction.quantity {
                throw ProofError(
                    .transactionMismatch,
                    "the proof has quantity \(purchase.transaction.quantity), the request \(quantity)",
                    zh: "凭证中的数量为 \(purchase.transaction.quantity)，请求中为 \(quantity)",
                    proof: purchase.proof.bytes)
            }
            return SubmittedPurchase(purchase: purchase, origin: origin)
        } catch let error as ProofError {
            try await ledger.intake.refusals.write(error, from: origin)
            throw RefusalError(error)
        }
    }

    /// Verifies receipts and unknown certificate chains on the executor for heavy work, where they delay no other
    /// purchase.
    private func runHeavyWork<Value: Sendable>(
        _ token: [UInt8]?, _ body: SubmitProofBody, _ credential: Credential, leaving place: TaskLimit.Place?,
        _ verify: () async throws -> Value
    ) async throws -> Value {
        if body.receipt == nil, token.map(verifier.knowsSigner(of:)) ?? true { return try await verify() }
        place?.leave()
        if let token, !unknownSigners.mayVerify(token, for: credential, now: machineClock()) {
            log.write(.limitReached, ["limit": "unknown_signers", "caller": .text(credential.name)])
            throw HeavyWorkLimiter.refusal
        }
        return try await heavy.run(for: credential, verify)
    }

    private func caller(_ credential: Credential, naming named: String?) throws -> Caller {
        switch credential {
        case .backend(let keyID): .backend(keyID: keyID, naming: try named.map(InputLimits.user))
        case .user(let user): .user(user)
        case .anonymous: throw RefusalError(.unauthorized)
        }
    }

    /// Checks that the proof matches the transaction id and the product id of the request.
    private func verify(
        _ token: [UInt8]?, _ body: SubmitProofBody, beforeAsking: () -> Void
    ) async throws(ProofError) -> VerifiedPurchase {
        let purchase: VerifiedPurchase
        switch (token, body.receipt) {
        case (let token?, nil):
            purchase = try await ledger.intake.verify(token, beforeAsking: beforeAsking)
            if let id = body.transactionId, TransactionID(id) != purchase.transaction.id {
                throw ProofError(
                    .transactionMismatch, "the proof is for transaction \(purchase.transaction.id)",
                    zh: "凭证属于交易 \(purchase.transaction.id)",
                    proof: purchase.proof.bytes)
            }
        case (nil, let text?):
            guard let id = body.transactionId, body.productId != nil else {
                throw ProofError(
                    .invalidField, "transactionId and productId: required beside a receipt",
                    zh: "transactionId 和 productId：使用收据时必填", proof: [])
            }
            guard let bytes = Base64.decode(ignoringBlanks: text) else {
                throw ProofError(
                    .malformed, "receipt: must be base64", zh: "receipt：应为 base64", proof: Array(text.utf8))
            }
            purchase = try await ledger.intake.verify(TransactionID(id), inReceipt: bytes)
        default:
            throw ProofError(
                .invalidField, "exactly one of signedTransaction and receipt is required",
                zh: "signedTransaction 与 receipt 须恰好给出一项", proof: [])
        }
        if let product = body.productId, ProductID(product) != purchase.transaction.productID {
            throw ProofError(
                .productMismatch, "the proof is for product \(purchase.transaction.productID)",
                zh: "凭证属于商品 \(purchase.transaction.productID)",
                proof: purchase.proof.bytes)
        }
        return purchase
    }

    private func reply(to call: Call, _ verified: VerifiedTransaction, _ outcome: PurchaseIntake.Outcome)
        -> HTTPResponse
    {
        let (id, paid) = (verified.id, verified.signedPrice?.money)
        var status = 200
        let body: SubmitProofReply
        switch outcome {
        case .processed(.granted(let grant)): body = reply(to: call, .granted, grant, paid)
        case .processed(.alreadyGranted(let grant)): body = reply(to: call, .alreadyGranted, grant, paid)
        case .processed(.moved(let grant)):
            let isOwner = (try? call.credential.mayActFor(grant.userID)) != nil
            body = reply(to: call, isOwner ? .granted : .alreadyGranted, grant, paid)
        case .processed(.contested(let grant, _)) where call.credential == .user(grant.userID):
            body = reply(to: call, .alreadyGranted, grant, paid)
        case .processed(.revoked(let grant)): body = reply(to: call, .revoked, grant, paid)
        case .processed(.revokedUnseen(let order)):
            // As below: only the order's user and backends learn the order.
            let own = order.flatMap { order in (try? call.credential.mayActFor(order.userID)) == nil ? nil : order }
            body = SubmitProofReply(
                outcome: .revoked, transactionId: id.text, finish: true, orderId: own?.id, userId: own?.userID.text)
        case .saved:
            // The proof is stored and the server grants it later, so the device may finish.
            status = 202
            body = SubmitProofReply(
                outcome: .accepted, transactionId: id.text, finish: true, reason: PurchaseIntake.savedReason)
        case .waiting:
            // Not finished: the transaction stays in the store's queue until it is granted.
            status = 202
            body = SubmitProofReply(
                outcome: .accepted, transactionId: id.text, finish: false, reason: PurchaseIntake.waitingReason)
        case .processed(.quarantined(let reason)), .processed(.contested(_, let reason)):
            // Not finished: the transaction stays in the store's queue until it has an owner.
            status = 202
            body = SubmitProofReply(
                outcome: .quarantined, transactionId: id.text, finish: false, reason: reason.rawValue)
        }
        return JSONText.response(status, text: body.encoded)
    }

    /// The owner and backends get the whole reply; every other caller learns only that the proof is processed.
    private func reply(
        to call: Call, _ outcome: SubmitProofReply.Outcome, _ grant: Grant, _ paid: Money?
    ) -> SubmitProofReply {
        guard (try? call.credential.mayActFor(grant.userID)) != nil else {
            return SubmitProofReply(outcome: outcome, transactionId: grant.transactionID.text, finish: true)
        }
        return SubmitProofReply(
            outcome: outcome, transactionId: grant.transactionID.text, finish: true, orderId: grant.orderID,
            userId: grant.userID.text, grant: GrantReply(grant), sandbox: grant.environment.sandboxMark, paid: paid)
    }
}

/// The JSON of `POST /v1/transactions`, the one route whose speed counts. It has the members of the bodies' `Codable`
/// forms (a test compares them), and TillJSON reads and writes it in a fifth of the time.
extension SubmitProofBody {
    /// - Throws: `RefusalError` with the invalid member.
    init(json body: [UInt8]) throws {
        let members: JSONObject
        do {
            members = try JSONObject(body)
        } catch {
            // The slower reader tells another value from a text that is no JSON.
            guard (try? JSONValue(decoding: body)) != nil else { throw RefusalError(malformed: body) }
            throw RefusalError(.invalidField, "body: wrong type", zh: "body：类型不正确")
        }
        func text(_ name: StaticString) throws -> String? {
            do {
                return try members.string(name)
            } catch {
                throw RefusalError(.invalidField, "\(name): wrong type", zh: "\(name)：类型不正确")
            }
        }
        self.init(
            signedTransaction: try text("signedTransaction"), receipt: try text("receipt"),
            transactionId: try text("transactionId"), productId: try text("productId"),
            orderId: try text("orderId").map { text in
                guard let id = UniqueID(text) else {
                    throw RefusalError(.invalidField, "orderId: must be a UUID", zh: "orderId：应为 UUID")
                }
                return id
            },
            userId: try text("userId"), deviceId: try text("deviceId"),
            idNonce: try text("idNonce").map { text in
                guard let nonce = OrderIDNonce(text) else {
                    throw RefusalError(
                        .invalidField, "idNonce: must be 32 hexadecimal digits", zh: "idNonce：应为 32 个十六进制数字")
                }
                return nonce
            },
            idUserId: try text("idUserId"), phoneId: try text("phoneId"))
    }
}

extension SubmitProofReply {
    var encoded: [UInt8] {
        JSONWriter { json in
            json.bool("finish", finish)
            if let grant { json.object("grant", grant.write) }
            if let orderId { json.text("orderId", orderId.description) }
            json.text("outcome", outcome.rawValue)
            if let paid {
                json.object("paid") { json in
                    json.integer("amount", paid.amount)
                    json.text("currency", paid.currency.text)
                }
            }
            if let reason { json.text("reason", reason) }
            if let sandbox { json.bool("sandbox", sandbox) }
            json.text("transactionId", transactionId)
            if let userId { json.text("userId", userId) }
        }.bytes
    }
}

extension GrantReply {
    fileprivate func write(_ json: inout JSONWriter) {
        if let entitlement { json.text("entitlement", entitlement) }
        json.text("id", id.description)
        json.objects("postings", postings) { posting, json in
            json.text("account", posting.account)
            json.integer("amount", posting.amount)
            json.text("currency", posting.currency)
        }
        json.text("productId", productId)
        json.integer("quantity", Int64(quantity))
    }
}

import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

extension Server {
    /// `POST /appleReceipt/ios`: the receipt alone, from released apps that name neither transaction nor order. Such an
    /// app finishes the transaction whatever the answer is, so each purchase in the receipt is granted or kept.
    ///
    /// The signed-in user is no evidence of the owner: only Apple's data is.
    func postAppleReceipt(_ call: Call) async throws -> HTTPResponse {
        let request = call.request
        let user = try await receiptUser(request)
        let origin = PurchaseOrigin(source: .app, caller: .user(user)).from(request.clientNetwork)
        let (bytes, receipt) = try await verifyPosted(request, for: user, origin)
        let proof = PurchaseProof(kind: .receipt, bytes: bytes, isRevocationUnknown: receipt.isRevocationUnknown)
        let purchases = newPurchases(in: receipt.value)
        guard !purchases.isEmpty else { throw RefusalError(.transactionNotInReceipt) }
        var replies: [AppleReceiptReply.Purchase] = []
        var (isNewestOwn, isWaiting) = (false, false)
        for verified in purchases {
            let outcome = try await ledger.intake.accept(VerifiedPurchase(verified, proof), from: origin)
            let decided = PostedOutcome(outcome, for: user)
            if replies.isEmpty { isNewestOwn = decided.isGrantedToUser }
            isWaiting = isWaiting || decided.isWaiting
            replies.append(
                AppleReceiptReply.Purchase(
                    transactionId: verified.id.text, outcome: decided.outcome, reason: decided.reason,
                    sandbox: decided.isGrantedToUser ? verified.environment.sandboxMark : nil))
        }
        let isDone = isNewestOwn && !isWaiting
        return JSONText.response(
            isWaiting ? 202 : 200, AppleReceiptReply(flag: isDone ? 1 : 0, transactions: replies))
    }

    /// From the header, or from the body's `token` where the app's network code cannot set one.
    private func receiptUser(_ request: HTTPRequest) async throws -> UserID {
        guard request.headers["Authorization"] != nil else { return try await postedUser(request) }
        let bearer = try authentication.bearer(of: request)
        guard case .user(let user) = bearer.credential else {
            throw RefusalError(.unauthorized, "must be a user token", zh: "应为用户令牌")
        }
        RequestTrace.current?.note(caller: bearer.credential.name)
        try await record(bearer)
        return user
    }

    private func verifyPosted(
        _ request: HTTPRequest, for user: UserID, _ origin: PurchaseOrigin
    ) async throws -> ([UInt8], Verified<VerifiedReceipt>) {
        do {
            return try await heavy.run(for: .user(user)) {
                let fields = try PostedFields.read(request, ["apple_receipt"], base64: "apple_receipt")
                guard let text = fields["apple_receipt"], !text.isEmpty else {
                    throw RefusalError(.invalidField, "apple_receipt: missing", zh: "apple_receipt：缺失")
                }
                guard let bytes = Base64.decode(ignoringBlanks: text) else {
                    throw ProofError(
                        .malformed, "apple_receipt: must be base64", zh: "apple_receipt：应为 base64",
                        proof: Array(text.utf8))
                }
                return (bytes, try await verifier.receipt(bytes))
            }
        } catch let error as ProofError {
            try await ledger.intake.refusals.write(error, from: origin)
            throw RefusalError(error)
        }
    }

    /// How many purchases of one receipt are processed.
    private static let receiptPurchases = 20

    /// The newest purchase, and the consumables: those are in a receipt until they are finished. Older subscriptions
    /// and lasting purchases are restored, not bought again.
    private func newPurchases(in receipt: VerifiedReceipt) -> [VerifiedTransaction] {
        let newestFirst = receipt.transactions.sorted { ($1.purchaseDate, $1.id) < ($0.purchaseDate, $0.id) }
        let fresh = newestFirst.enumerated().filter { place, verified in
            place == 0 || (verified.type ?? configuration.catalog[verified.productID]?.type) == .consumable
        }
        return fresh.prefix(Self.receiptPurchases).map(\.element)
    }
}

/// The outcome of a purchase for the user whose app posted it.
private struct PostedOutcome {
    let outcome: SubmitProofReply.Outcome
    var reason: String?
    var isGrantedToUser = false
    /// Paid and not granted yet.
    var isWaiting = false

    init(_ outcome: PurchaseIntake.Outcome, for user: UserID) {
        switch outcome {
        case .processed(.granted(let grant)):
            self.outcome = .granted
            isGrantedToUser = grant.userID == user
        case .processed(.moved(let grant)):
            isGrantedToUser = grant.userID == user
            self.outcome = isGrantedToUser ? .granted : .alreadyGranted
        case .processed(.contested(let grant, let why)) where grant.userID != user:
            self.outcome = .quarantined
            reason = why.rawValue
            isWaiting = true
        case .processed(.alreadyGranted(let grant)), .processed(.contested(let grant, _)):
            self.outcome = .alreadyGranted
            isGrantedToUser = grant.userID == user
        case .processed(.revoked), .processed(.revokedUnseen): self.outcome = .revoked
        case .waiting, .saved:
            self.outcome = .accepted
            reason = PurchaseIntake.waitingReason
            isWaiting = true
        case .processed(.quarantined(let why)):
            self.outcome = .quarantined
            reason = why.rawValue
            isWaiting = true
        }
    }
}

extension PurchaseOrigin {
    /// With the network that the user's request came from.
    fileprivate func from(_ network: String) -> PurchaseOrigin {
        var origin = self
        origin.network = network
        return origin
    }
}

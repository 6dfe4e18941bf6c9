import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

/// Accepts a purchase that was paid under an order's id but differs from what was ordered. The order's user sees it and
/// may accept it. For every other caller the transaction is unknown.
extension Server {
    /// `GET /v1/users/{userId}/claimable?environment=&limit=&cursor=`: the purchases that the user may accept, newest
    /// first.
    func listClaimable(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let page = try await page(call)
        let found = try await database.read {
            try TransactionTable($0).claimable(by: user, in: environment, before: page.before, limit: page.rows)
        }
        return page.response(found, at: \.rowID) { ClaimableReply($0) }
    }

    /// `POST /v1/users/{userId}/claims` with a `transactionId`. Apple's token names the user, so Apple is not asked.
    func acceptPurchase(_ text: String, in named: String?, as user: UserID, _ call: Call) async throws -> HTTPResponse {
        let id = TransactionID(text)
        let environment =
            try named.map { try InputLimits.environment($0, on: configuration.ledger) }
            ?? call.environment(for: user, configuration)
        let (claimID, inputs, actor) = (
            UniqueID(random: entropy(16)), ledger.intake.processor.inputs(), call.credential.name
        )
        let terms = configuration.guests
        let reply = try await database.write(locking: [.customer(user)]) { [self] connection in
            try CustomerTable(connection).requireUnmerged(user)
            if case .backend = call.credential {
                try CustomerTable(connection).recordNamed(user, under: terms, at: inputs.now)
            }
            guard let stored = try TransactionTable(connection).find(id, in: environment) else {
                throw RefusalError(.unknownTransaction)
            }
            // A transaction that has returned to quarantine since can be accepted again.
            if stored.state != .quarantined,
                let known = try ClaimTable(connection).acceptance(of: stored.rowID, by: user)
            {
                return ClaimReply(known)
            }
            guard stored.quarantine == .contradictsOrder,
                try TokenFacts.user(namedByTokenOf: stored.rowID, connection) == user
            else { throw RefusalError(.unknownTransaction) }
            return ClaimReply(try accept(stored, claimID, as: user, actor: actor, inputs.begin(), connection))
        }
        inputs.finish()
        return JSONText.response(200, reply)
    }

    private func accept(
        _ stored: TransactionTable.Stored, _ id: UniqueID, as user: UserID, actor: String, _ inputs: CommitInputs,
        _ connection: any Connection
    ) throws -> ClaimTable.Stored {
        var origin = PurchaseOrigin(
            source: .claim, caller: Caller(name: actor, naming: nil) ?? .user(user))
        origin.claim = OwnershipClaim(user: user, ground: .order)
        let grant: Grant
        let outcome: ClaimedTransaction.Outcome
        switch try ledger.intake.processor.processClaimed(stored.rowID, from: origin, inputs, connection) {
        case .granted(let given), .alreadyGranted(let given), .moved(let given), .contested(let given, _):
            (grant, outcome) = (given, .granted)
        // Apple refunded part of the quantity: the rest is granted.
        case .revoked(let given): (grant, outcome) = (given, .revoked)
        case .quarantined(let reason): throw RefusalError(.notClaimable, verbatim: reason.rawValue)
        case .revokedUnseen, nil: throw RefusalError(.notInQuarantine)
        }
        // Processing the rest of the chain may have returned it to quarantine in the same commit.
        guard try TransactionTable(connection).find(rowID: stored.rowID)?.state != .quarantined else {
            throw RefusalError(.notClaimable, verbatim: QuarantineReason.noOwner.rawValue)
        }
        let told = ClaimedTransaction(
            outcome, transactionId: stored.id.text, productId: stored.productID.text, orderId: grant.orderID)
        return try ClaimTable(connection).insert(
            id, acceptanceOf: stored.rowID, by: user, actor: actor,
            answer: String(decoding: JSONText.encode([told]), as: UTF8.self), at: inputs.now)
    }
}

extension ClaimableReply {
    fileprivate init(_ purchase: ClaimablePurchase) {
        let order = purchase.order.order
        self.init(
            transactionId: purchase.id.text, productId: purchase.productID.text, quantity: purchase.quantity,
            purchasedAt: purchase.purchasedAt, orderId: order.id, orderedProductId: order.productID.text,
            orderedQuantity: order.quantity, reason: QuarantineReason.contradictsOrder.rawValue,
            sandbox: purchase.environment.sandboxMark)
    }
}

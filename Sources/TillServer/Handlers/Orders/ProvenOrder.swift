import TillAPI
import TillBilling
import TillLedger

/// Proofs that come with the nonce of their order's id, or with the app's own number of the order. Both prove that the
/// order is the caller's, even if the request that opened it never arrived or the ledger was restored from an earlier
/// backup.
extension Server {
    /// The proof that the order id commits to a user; nil without a nonce, or without a user it can apply to.
    func tokenProof(_ body: SubmitProofBody, _ caller: Caller) throws -> TokenProof? {
        guard let nonce = body.idNonce else { return nil }
        switch (try body.idUserId.map(InputLimits.user), caller) {
        case (let user?, _), (nil, .user(let user)), (nil, .backend(_, let user?)):
            return TokenProof(nonce: nonce, user: user)
        case (nil, .backend(_, nil)), (nil, .apple): return nil
        }
    }

    /// Opens the order of a receipt, and of a proof that is saved first, because nonce and number are not stored with
    /// the proof. A signed transaction that is processed at once opens its order in the same commit. A decided
    /// transaction needs no order. The new order counts towards the caller's limits.
    func openProvenOrder(of submitted: SubmittedPurchase) async throws {
        let (verified, origin) = (submitted.purchase.transaction, submitted.origin)
        guard let proof = origin.tokenProof, case .user(let caller) = origin.caller,
            let product = configuration.catalog[verified.productID]
        else { return }
        let id: OrderID
        switch submitted.purchase.proof.kind {
        case .receipt:
            guard let claimed = origin.claimedOrder else { return }
            id = claimed
        case .signedTransaction:
            guard configuration.delivery.order == .saveThenFinish, let token = verified.appAccountToken else { return }
            id = token
        }
        guard proof.proves(id) else { return }
        // A payment by a guest who signed in belongs to the account, and so does its order.
        let found = try await database.read { connection -> (needsOrder: Bool, owner: UserID) in
            let stored = try TransactionTable(connection).find(verified.id, in: verified.environment)
            let isDecided = stored.map { $0.state != .quarantined } ?? false
            return (
                try !isDecided && OrderTable(connection).find(id) == nil,
                try CustomerTable(connection).account(of: caller) ?? caller
            )
        }
        guard found.needsOrder else { return }
        let (amount, overflow) = product.price.amount.multipliedReportingOverflow(by: Int64(verified.quantity))
        guard !overflow, (1...10).contains(verified.quantity) else { return }
        let now = clock()
        try await checkQuota(of: found.owner, opening: id, at: now)
        let order = Order(
            id: id, userID: found.owner, productID: product.id, quantity: verified.quantity,
            price: Money(amount: amount, currency: product.price.currency),
            deviceID: Plan(soldBy: product)?.scope == .device ? origin.device : nil, createdAt: now, updatedAt: now,
            idSource: .proven)
        try await database.write(locking: [.order(id), .customer(found.owner)]) { connection in
            try CustomerTable(connection).requireUnmerged(found.owner)
            guard try proof.user == caller || CustomerTable(connection).account(of: proof.user) == caller,
                try OrderTable(connection).find(id) == nil, try AccountTokenTable(connection).find(id) == nil
            else { return }
            try OrderTable(connection).insert(order, reason: "opened_for_payment")
        }
    }
}

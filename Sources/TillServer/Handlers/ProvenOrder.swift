import TillAPI
import TillBilling
import TillStorage

/// Proofs that come with the nonce of their order's id (LEDGER R5): the order is the caller's, though the request that
/// opened it never arrived, or the ledger is one from before it.
extension Server {
    /// What a body says about the id of its order; nil without a nonce, or without a user that it can be about.
    func tokenProof(_ body: SubmitProofBody, _ caller: Caller) throws -> Settle.TokenProof? {
        guard let nonce = body.idNonce else { return nil }
        switch (try body.idUserId.map(Bounds.user), caller) {
        case (let user?, _), (nil, .user(let user)), (nil, .backend(_, let user?)):
            return Settle.TokenProof(nonce: nonce, user: user)
        case (nil, .backend(_, nil)), (nil, .apple): return nil
        }
    }

    /// Opens the order of a proof that is not processed at once: what waits does not keep the nonce. A signed
    /// transaction that is processed at once opens its order in the same commit.
    func openProvenOrder(of brought: BroughtProof) async throws {
        let (verified, origin) = (brought.transaction, brought.origin)
        guard let proof = origin.tokenProof, case .user(let caller) = origin.caller,
            let product = configuration.catalog[verified.productID]
        else { return }
        let id: OrderID
        switch brought.proof.kind {
        case .receipt:
            guard let claimed = origin.claimedOrder else { return }
            id = claimed
        case .signedTransaction:
            guard configuration.delivery.order == .saveThenFinish, let token = verified.appAccountToken else { return }
            id = token
        }
        guard proof.proves(id), try await !database.read({ try OrderTable($0).find(id) != nil }) else { return }
        let (amount, overflow) = product.price.amount.multipliedReportingOverflow(by: Int64(verified.quantity))
        guard !overflow, (1...10).contains(verified.quantity) else { return }
        let now = clock()
        let order = Order(
            id: id, userID: caller, productID: product.id, quantity: verified.quantity,
            price: Money(amount: amount, currency: product.price.currency), createdAt: now, updatedAt: now,
            idSource: .proven)
        try await database.write { session in
            guard try proof.user == caller || GuestTable(session).account(of: proof.user) == caller,
                try OrderTable(session).find(id) == nil, try AccountTokenTable(session).find(id) == nil
            else { return }
            try OrderTable(session).insert(order, reason: "opened_for_payment")
        }
    }
}

import TillBilling
import TillSQL

/// What the token that Apple signed names in the ledger.
package struct TokenFacts {
    /// The order with this id, if payments that carry the token belong to the order.
    var order: Order?
    /// The user for whom a backend registered it.
    var account: UserID?
    /// The caller, who proved that the token is one of their order ids.
    var provenUser: UserID?
    /// An order has the token as its id, but recorded payments carried it before the order was opened.
    var isOlderThanOrder = false
    /// The token itself, if it names no order and no account.
    var unmatched: OrderID?
    /// Whether an order id beside the proof is ignored.
    var decidesAlone = false
}

extension PurchaseReader {
    mutating func token(of transaction: PaidTransaction, from origin: PurchaseOrigin) throws -> TokenFacts {
        var named = TokenFacts()
        guard case .order(let token)? = transaction.token else { return named }
        let isShared = transaction.terms.isPaidByAnotherAccount
        named.decidesAlone = !isShared
        if let found = try order(token) {
            guard !isShared else { return named }
            let isSeenBefore = try isSeen(token, before: found, in: transaction.environment, connection)
            if found.mayBeMatched(tokenWasSeenBefore: isSeenBefore) {
                named.order = found
                return named
            }
            named.isOlderThanOrder = true
        }
        if let account = try AccountTokenTable(connection).find(token) {
            guard !isShared else { return named }
            named.account = account.user
            named.isOlderThanOrder = false
            named.decidesAlone = false
            return named
        }
        // A copy that somebody else pays for says nothing about the payments that carry the token.
        guard !isShared, !named.isOlderThanOrder else { return named }
        named.provenUser = try user(proving: token, from: origin)
        if named.provenUser == nil { named.unmatched = token }
        return named
    }

    /// The caller, if the proof's companion data shows that the token is an order id of theirs, or of a guest merged
    /// into their account.
    private func user(proving token: OrderID, from origin: PurchaseOrigin) throws -> UserID? {
        guard let proof = origin.tokenProof, proof.proves(token) else { return nil }
        switch origin.caller {
        case .user(let caller), .backend(_, let caller?):
            let isOwn = try proof.user == caller || customers.account(of: proof.user) == caller
            return isOwn ? try customers.account(of: caller) ?? caller : nil
        case .backend(_, nil), .apple: return nil
        }
    }

    /// Whether a purchase of another product than its token's order is a later purchase in that order's own chain: it
    /// renews a purchase under the same token that has an owner, the order pays for a part of the chain, or the last
    /// grant before it belongs to the same customer.
    func isInChain(ofTokenOrderIn shared: SharedFacts, _ chain: ChainFacts?) throws -> Bool {
        let transaction = shared.facts.transaction
        guard shared.contradictsTokenOrder, transaction.id != transaction.originalID,
            let order = shared.facts.tokenOrder
        else { return false }
        if let renewed = chain?.renewed, renewed.token == .ofPurchase, renewed.renewed.owner != nil { return true }
        if let paid = order.transactionID, order.environment == transaction.environment,
            try TransactionTable(connection).find(paid, in: transaction.environment)?.originalID
                == transaction.originalID
        {
            return true
        }
        guard let owner = chain?.previousOwner else { return false }
        return try owner == order.userID || account(of: owner) == account(of: order.userID)
    }

    /// The customer whom a token names, by their current account; nil if it names no known customer.
    func user(namedBy token: AppAccountToken?, in environment: StoreEnvironment) throws -> UserID? {
        guard case .order(let id)? = token else { return nil }
        return try TokenFacts.user(namedBy: id, in: environment, connection)
    }
}

extension TokenFacts {
    /// The customer whom the token of a recorded transaction names, by their current account; nil if Apple signed no
    /// token, or one that names no known customer.
    package static func user(
        namedByTokenOf rowID: Int64, _ connection: any Connection
    ) throws -> UserID? {
        guard let copy = try RecordedCopies(connection).find(rowID), case .order(let token)? = copy.signedToken
        else { return nil }
        return try user(namedBy: token, in: copy.environment, connection)
    }

    fileprivate static func user(
        namedBy token: OrderID, in environment: StoreEnvironment, _ connection: any Connection
    ) throws -> UserID? {
        let order = try OrderTable(connection).find(token)?.order
        let isSeenBefore = try order.map { try isSeen(token, before: $0, in: environment, connection) }
        let named =
            if let order, order.mayBeMatched(tokenWasSeenBefore: isSeenBefore ?? false) {
                order.userID
            } else {
                try AccountTokenTable(connection).find(token)?.user
            }
        return try named.map { try CustomerTable(connection).account(of: $0) ?? $0 }
    }
}

/// Whether recorded payments of an environment carried the token before the order with this id was opened. Always false
/// for ids that cannot be forged.
private func isSeen(
    _ token: OrderID, before order: Order, in environment: StoreEnvironment, _ connection: any Connection
) throws -> Bool {
    try !order.idSource.isUnforgeable && UnmatchedTokenTable(connection).contains(token, in: environment)
}

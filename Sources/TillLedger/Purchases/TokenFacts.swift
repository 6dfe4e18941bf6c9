import TillBilling
import TillSQL

/// What the token that Apple signed names, as the ledger has it.
package struct TokenFacts {
    /// The order whose id it is, if payments that carry it belong to the order.
    var order: Order?
    /// The user for whom a backend registered it.
    var account: UserID?
    /// The caller, who proved that it is an order id of theirs.
    var provenUser: UserID?
    /// An order has it as its id, but stored payments carried it before.
    var isOlderThanOrder = false
    /// The token itself, where it names no order and no account.
    var unmatched: OrderID?
    /// Whether an order id beside the proof is looked at.
    var decidesAlone = false
}

extension PurchaseReader {
    mutating func token(of transaction: PaidTransaction, from origin: PurchaseOrigin) throws -> TokenFacts {
        var named = TokenFacts()
        guard case .order(let token)? = transaction.token else { return named }
        let isShared = transaction.terms.isPaidBySomebodyElse
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

    /// The caller, if what came beside the proof shows that the token is an order id of theirs, or of a guest who has
    /// become part of their account.
    private func user(proving token: OrderID, from origin: PurchaseOrigin) throws -> UserID? {
        guard let proof = origin.tokenProof, proof.proves(token) else { return nil }
        switch origin.caller {
        case .user(let caller), .backend(_, let caller?):
            let isOwn = try proof.user == caller || customers.account(of: proof.user) == caller
            return isOwn ? try customers.account(of: caller) ?? caller : nil
        case .backend(_, nil), .apple: return nil
        }
    }

    /// Whether a purchase of something else than its token's order is a later one in that order's own chain: it renews
    /// a purchase under the same token that has an owner, the order pays for a part of the chain, or what was granted
    /// last before it is the same customer's.
    func isInChain(ofTokenOrderIn facts: PurchaseFacts, _ chain: ChainFacts?) throws -> Bool {
        let transaction = facts.transaction
        guard facts.contradictsTokenOrder, transaction.id != transaction.originalID, let order = facts.tokenOrder
        else { return false }
        if let renewed = chain?.renewed, renewed.token == .ofPurchase, renewed.renewed.owner != nil { return true }
        if let paid = order.transactionID, order.environment == transaction.environment,
            try TransactionTable(connection).find(paid, in: transaction.environment)?.originalID
                == transaction.originalID
        {
            return true
        }
        guard let holder = chain?.previousOwner else { return false }
        return try holder == order.userID || account(of: holder) == account(of: order.userID)
    }

    /// Which customer a token names, by their account of today; nil if it names no known customer.
    func user(namedBy token: AppAccountToken?, in environment: Environment) throws -> UserID? {
        guard case .order(let id)? = token else { return nil }
        return try TokenFacts.user(namedBy: id, in: environment, connection)
    }
}

extension TokenFacts {
    /// The customer whom the token of a recorded transaction names, who may be an account that a guest has become part
    /// of; nil if Apple signed none, or one that names no known customer.
    package static func user(
        namedByTokenOf sequence: Int64, _ connection: any Connection
    ) throws -> UserID? {
        guard let copy = try RecordedCopies(connection).find(sequence), case .order(let token)? = copy.signedToken
        else { return nil }
        return try user(namedBy: token, in: copy.environment, connection)
    }

    fileprivate static func user(
        namedBy token: OrderID, in environment: Environment, _ connection: any Connection
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

/// Whether stored payments of an environment carried a token before the order was opened whose id it is, as far as that
/// matters.
private func isSeen(
    _ token: OrderID, before order: Order, in environment: Environment, _ connection: any Connection
) throws -> Bool {
    try !order.idSource.isUnforgeable && UnmatchedTokenTable(connection).contains(token, in: environment)
}

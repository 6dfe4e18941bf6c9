/// Purchases that went from one customer to another, with what was left of their points. Never edited; taking it back
/// is a transfer of its own.
public struct Transfer: Hashable, Sendable, Identifiable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A guest signed in to an account: everything the guest had is the account's (P12).
        case guestMerge = "guest_merge"
        /// A customer restored what another one had, and the shop's policy lets it move (P10).
        case restore
        /// Somebody who answers for it decided so.
        case support
        /// Takes another transfer back.
        case reversal
        /// A receipt had granted it, and the copy that Apple signed names another customer.
        case signedBuyer = "signed_buyer"
    }

    public let id: UniqueID
    public let kind: Kind
    public let from: UserID
    public let to: UserID
    public let reason: String
    /// Whose request it was, as in evidence: `user:u1`, `key:backend`.
    public let actor: String
    /// The person who decided, as the backend names them.
    public let operatorName: String?
    public let at: Instant

    public init(
        id: UniqueID, kind: Kind, from: UserID, to: UserID, reason: String, actor: String, operatorName: String? = nil,
        at: Instant
    ) {
        self.id = id
        self.kind = kind
        self.from = from
        self.to = to
        self.reason = reason
        self.actor = actor
        self.operatorName = operatorName
        self.at = at
    }
}

/// One purchase in its chain: what a transfer moves.
public struct HeldGrant: Hashable, Sendable {
    /// Of the transaction.
    public let sequence: Int64
    public let environment: Environment
    public let originalID: TransactionID

    public init(sequence: Int64, environment: Environment, originalID: TransactionID) {
        self.sequence = sequence
        self.environment = environment
        self.originalID = originalID
    }
}

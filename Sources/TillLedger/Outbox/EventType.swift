/// All event types of the outbox. A test compares the list with the code that writes events.
public enum EventType: String, Sendable, CaseIterable {
    case grantCreated = "grant.created"
    case grantRevoked = "grant.revoked"
    case grantReinstated = "grant.reinstated"
    case grantMoved = "grant.moved"
    case grantWithdrawn = "grant.withdrawn"
    case grantContested = "grant.contested"
    case transferCreated = "transfer.created"
    case guestMerged = "guest.merged"
    case customerErased = "customer.erased"
    case transactionQuarantined = "transaction.quarantined"
    case subscriptionUpdated = "subscription.updated"
    case walletForgiven = "wallet.forgiven"
    case serviceExpiring = "service.expiring"
    case serviceExpired = "service.expired"
    case consumptionRequested = "consumption.requested"
    case consumptionAnswered = "consumption.answered"
    case consumptionUnanswered = "consumption.unanswered"
    case ledgerRestored = "ledger.restored"
    case ledgerCheckpoint = "ledger.checkpoint"

    /// Whether the event says that points or rights were given or taken.
    ///
    /// Such an event has an id of its key and its number alone. After a restore the same purchase is told with the same
    /// id, even if its order is another, so a receiver that drops repeated ids credits it once. Any other event states
    /// what holds now: the id includes its data, so that a new statement is never taken for a repetition.
    var movesValue: Bool {
        switch self {
        case .grantCreated, .grantRevoked, .grantReinstated, .grantWithdrawn, .walletForgiven: true
        case .grantMoved, .grantContested, .transferCreated, .guestMerged, .transactionQuarantined,
            .subscriptionUpdated, .serviceExpiring, .serviceExpired, .consumptionRequested, .consumptionAnswered,
            .consumptionUnanswered, .customerErased, .ledgerRestored, .ledgerCheckpoint:
            false
        }
    }

    /// Sent only when an operator tests an endpoint: it is not in the outbox, and every endpoint receives it.
    package static let test = "webhook.test"
}

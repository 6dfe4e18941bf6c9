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

    /// Sent only when an operator tests an endpoint: it is not in the outbox, and every endpoint receives it.
    package static let test = "webhook.test"
}

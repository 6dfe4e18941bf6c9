/// Everything the outbox tells of. A test holds the list to the code that writes events.
public enum EventType: String, Sendable, CaseIterable {
    case grantCreated = "grant.created"
    case grantRevoked = "grant.revoked"
    case grantReinstated = "grant.reinstated"
    case grantMoved = "grant.moved"
    case grantWithdrawn = "grant.withdrawn"
    case grantContested = "grant.contested"
    case transferCreated = "transfer.created"
    case guestMerged = "guest.merged"
    case transactionQuarantined = "transaction.quarantined"
    case subscriptionUpdated = "subscription.updated"
    case walletForgiven = "wallet.forgiven"
    case serviceExpiring = "service.expiring"
    case serviceExpired = "service.expired"
    case consumptionRequested = "consumption.requested"
    case consumptionAnswered = "consumption.answered"
    case consumptionUnanswered = "consumption.unanswered"

    /// Only what an operator had sent to try an endpoint: it stands in no outbox, and every endpoint takes it.
    package static let test = "webhook.test"
}

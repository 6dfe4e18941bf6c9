import TillBilling

/// A violated promise.
public struct Violation: Sendable, Hashable {
    /// Violations of the invariants, and of the conditions after all faults are over.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Invariant 1: paid, and never granted.
        case lost
        /// Invariant 1: granted more than once, or more than was paid for.
        case grantedTwice = "granted_twice"
        /// Invariant 1: granted to another customer than the one who ordered it.
        case misattributed
        /// Invariant 1: granted without a payment at Apple.
        case forgedGranted = "forged_granted"
        /// Invariant 2: a part of a purchase's records without the rest.
        case torn
        /// Invariant 3: finished at Apple before it was durable in the ledger.
        case finishedTooEarly = "finished_too_early"
        /// Invariant 4: a balance that is not the sum of its postings, or a refund that did not reverse them.
        case unbalanced
        /// Invariant 5: an illegal move of an order.
        case illegalMove = "illegal_move"
        /// Invariant 6: an unattributed purchase was dropped, or lost its proof.
        case dropped
        /// Invariant 7: data of an environment that the configuration does not accept.
        case wrongEnvironment = "wrong_environment"
        /// An answered commit was gone after a crash.
        case forgotten
        /// Work is still waiting, days after the faults were over.
        case stuck
        /// A thief read, changed or got another customer's data or purchase.
        case stolen
        /// In a world with thieves as the only disturbance, an honest buyer was told to wait.
        case delayedByThief = "delayed_by_thief"
        /// The app's backend missed an event, or received another one or another order.
        case eventMismatch = "event_mismatch"
        /// A row of the books has no seal, or is not as it was sealed.
        case badSeal = "bad_seal"
        /// The ledger differs from Apple's records: a repeated, old or late copy changed a processed purchase
        /// (invariant 8), or a purchase never arrived.
        case drift
    }

    public let kind: Kind
    public let seed: UInt64
    public let at: Instant
    /// The orders, transactions and users it is about, in the names of the trace.
    public let about: [String]
    public let text: String
}

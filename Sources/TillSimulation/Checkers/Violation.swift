import TillBilling

/// A promise that was not kept.
public struct Violation: Sendable, Hashable {
    /// DESIGN §4's invariants, and what has to have happened once all faults are over.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Invariant 1: paid, and never granted.
        case lost
        /// Invariant 1: granted more than once, or more than was paid for.
        case grantedTwice = "granted_twice"
        /// Invariant 1: granted to somebody who did not order it.
        case misattributed
        /// Invariant 1: granted without a payment that Apple knows.
        case forgedGranted = "forged_granted"
        /// Invariant 2: a part of a settlement without the rest.
        case torn
        /// Invariant 3: finished at Apple before it was durable here.
        case finishedTooEarly = "finished_too_early"
        /// Invariant 4: a balance that is not the sum of its postings, or a refund that did not reverse them.
        case unbalanced
        /// Invariant 5: an order made a move that there is not.
        case illegalMove = "illegal_move"
        /// Invariant 6: what can't be attributed was dropped, or lost its proof.
        case dropped
        /// Invariant 7: something of an environment that the configuration does not accept.
        case wrongEnvironment = "wrong_environment"
        /// A commit that had been answered was gone after a crash.
        case forgotten
        /// Faults are over and days have passed, and something still waits.
        case stuck
        /// A thief read, changed or got what is another customer's.
        case stolen
        /// Nothing goes wrong in a world but thieves, and an honest buyer is told to wait.
        case waitedOnThief = "waited_on_thief"
        /// The app's backend was not told, told otherwise, or in another order.
        case untold
        /// The books and Apple's differ: a repetition, an old copy or a late one changed what was settled (invariant
        /// 8), or something never came.
        case drift
    }

    public let kind: Kind
    public let seed: UInt64
    public let at: Instant
    /// Orders, transactions and users it is about, as the story has them.
    public let about: [String]
    public let text: String
}

import TillAppStore
import TillBilling
import TillStorage

/// What a catch-up found, as far as it came.
public struct CatchUpProgress: Sendable, Hashable {
    /// A customer's chain that Apple would not tell of, in Apple's words or ours.
    public struct Untold: Sendable, Hashable {
        public let chain: TransactionID
        public let reason: String
    }

    /// Notifications that Apple's history had.
    public var notifications = 0
    /// Those of ours that were not here yet.
    public var newNotifications = 0
    /// Whether all of them were looked at.
    public var hasAllNotifications = false
    /// Customers whose history was read to its end.
    public var customers = 0
    /// Copies of transactions that were settled, known ones among them.
    public var transactions = 0
    /// Those of them by which somebody got something.
    public var granted = 0
    /// Answers that are not believed; each is in the list of refused proofs.
    public var refused = 0
    /// Answers that count once Apple tells of its certificates: a later catch-up asks again.
    public var undecided = 0
    /// The first hundred of them.
    public private(set) var untold: [Untold] = []
    public private(set) var untoldCount = 0

    public init() {}

    mutating func note(untold chain: TransactionID, _ reason: String) {
        untoldCount += 1
        if untold.count < 100 { untold.append(Untold(chain: chain, reason: reason)) }
    }
}

/// A catch-up that had to stop. What it had settled stays settled, and to begin again does no harm.
public struct CatchUpInterruption: Error, Sendable {
    public enum Fault: Sendable {
        case apple(ServerAPIFault)
        case ledger(DatabaseFault)
    }

    public let fault: Fault
    /// How far it came.
    public let progress: CatchUpProgress

    public var isRetryable: Bool {
        switch fault {
        case .apple(let fault): fault.isRetryable
        case .ledger(let fault): fault.isRetryable
        }
    }
}

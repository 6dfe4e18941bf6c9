import TillBilling

/// What a StoreKit says went wrong, the same for both generations: a stable code with a sentence for the buyer (P3).
public enum StoreProblem: Error, Hashable, Sendable {
    // SKError, with its raw values (facts/storekit-client A7).
    case unknown
    case clientInvalid
    case cancelled
    case paymentInvalid
    case paymentNotAllowed
    case notAvailable
    /// The device can't reach Apple.
    case network(TransportFault.Kind)
}

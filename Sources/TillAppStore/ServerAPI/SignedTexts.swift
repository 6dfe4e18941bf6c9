import TillBilling

// What Apple answers is signed, and none of it is believed before a verifier has said so: these wrap the text, and
// give a verified value only to whoever brings the verifier (DESIGN §3).

/// A JWSTransaction that nobody has verified yet.
public struct SignedTransaction: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedTransaction {
        try verifier.transaction(jws)
    }
}

/// A JWSRenewalInfo that nobody has verified yet.
public struct SignedRenewalInfo: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    /// It names no app: believe it only beside its transaction (facts/jws §5).
    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedRenewalInfo {
        try verifier.renewalInfo(jws)
    }
}

/// An app transaction that nobody has verified yet.
public struct SignedAppTransaction: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedAppTransaction {
        try verifier.appTransaction(jws)
    }
}

/// A notification's `signedPayload` that nobody has verified yet.
public struct SignedNotification: Sendable, Hashable {
    /// Compact serialization.
    public let jws: String

    public init(jws: String) { self.jws = jws }

    public func verified(by verifier: SignedDataVerifier) throws(VerificationFailure) -> VerifiedNotification {
        try verifier.notification(jws)
    }
}

/// What was answered, and by which environment.
public struct Answered<Value: Sendable>: Sendable {
    public let environment: Environment
    public let value: Value

    public init(_ value: Value, from environment: Environment) {
        self.value = value
        self.environment = environment
    }
}

extension Answered: Equatable where Value: Equatable {}

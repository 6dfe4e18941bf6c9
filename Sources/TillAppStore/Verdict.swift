/// What a verification says, by the stable codes of CONTRACT §1, in the order of the checks.
public enum Verdict: String, Sendable, CaseIterable {
    case ok
    /// Not of the format, or without what the format demands.
    case malformed
    case missingX5C = "missing_x5c"
    case chainLength = "chain_length"
    /// A certificate of the proof cannot be read, or the signer's is not in it.
    case badCertificate = "bad_certificate"
    /// A configured root cannot be read.
    case badRoot = "bad_root"
    case chainUntrusted = "chain_untrusted"
    case chainExpired = "chain_expired"
    /// A certificate lacks Apple's marker extension for its place.
    case missingOID = "missing_oid"
    case badSignature = "bad_signature"
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"
    case wrongDevice = "wrong_device"
}

/// A refusal of a proof: the verdict decides, the detail explains to people.
public struct VerificationFailure: Error, Equatable, Sendable {
    public let verdict: Verdict
    public let detail: String

    public init(_ verdict: Verdict, _ detail: String = "") {
        self.verdict = verdict
        self.detail = detail
    }

    /// Trying again with the same proof cannot help; only another proof or another configuration can.
    public var isRetryable: Bool { false }

    /// The same verdict for a token that is nested in another, named.
    func nested(in name: String) -> VerificationFailure {
        VerificationFailure(verdict, detail.isEmpty ? name : "\(name): \(detail)")
    }
}

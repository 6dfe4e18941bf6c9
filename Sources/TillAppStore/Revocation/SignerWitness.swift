import TillBilling
import TillCrypto

/// A chain that a verification relied on.
public struct SignerSighting: Sendable {
    /// Each certificate below the root, with the one above it.
    public let questions: [OCSPQuestion]
    /// When the signer says that it signed.
    public let signedAt: Instant?

    public init(questions: [OCSPQuestion], signedAt: Instant?) {
        self.questions = questions
        self.signedAt = signedAt
    }
}

/// Told by one verification whom it relies on: a notification has up to four signatures.
final class SignerWitness: @unchecked Sendable {
    // Unchecked: one verification has it, on one thread, and it is read when that is over.
    private(set) var sightings: [SignerSighting] = []

    func saw(_ questions: [OCSPQuestion], signedAt: Instant?) {
        sightings.append(SignerSighting(questions: questions, signedAt: signedAt))
    }
}

extension SignedDataVerifier {
    /// A verification, and the chains of the signatures it relied on, each led to a configured root.
    ///
    /// - Parameter verify: gets a verifier of the same policy and memory, and uses it on the calling thread only.
    public func witnessed<Value>(
        _ verify: (SignedDataVerifier) throws(VerificationFailure) -> Value
    ) throws(VerificationFailure) -> (value: Value, sightings: [SignerSighting]) {
        let witness = SignerWitness()
        let value = try verify(SignedDataVerifier(self, telling: witness))
        return (value, witness.sightings)
    }
}

extension SigningChain {
    /// What there is to ask about a verified path, the root excepted: nobody stands above it.
    static func questions(along path: [Certificate]) -> [OCSPQuestion] {
        zip(path, path.dropFirst()).map(OCSPQuestion.init(certificate:issuer:))
    }
}

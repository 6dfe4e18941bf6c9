import TillCrypto

/// The path that makes a signature Apple's: [leaf, WWDR intermediate, root], each link verified (facts/jws §2).
struct SigningChain: Sendable {
    let certificates: [Certificate]
    /// The first second at which all of the chain is valid.
    let notBefore: Int64
    /// The first second at which some of it no longer is.
    let notAfter: Int64
    /// What its authorities can be asked about it.
    let questions: [OCSPQuestion]

    /// Marker of the certificate that may sign App Store proofs.
    static let leafMarker = "1.2.840.113635.100.6.11.1"
    /// Marker of the Worldwide Developer Relations intermediates.
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    var leaf: Certificate { certificates[0] }
    var root: Certificate { certificates[2] }

    /// Nil unless it is leaf, intermediate and root.
    init?(_ certificates: [Certificate]) {
        guard certificates.count == 3 else { return nil }
        self.certificates = certificates
        notBefore = certificates.map(\.notBefore).max() ?? .max
        notAfter = certificates.map(\.notAfter).min() ?? .min
        questions = Self.questions(along: certificates)
    }

    /// Whether OpenSSL's rule holds for every certificate: not before its first second, and before its last.
    func isValid(at seconds: Int64) -> Bool { notBefore <= seconds && seconds < notAfter }

    /// In OpenSSL's words, why the chain does not count at that second; nil if it does.
    func fault(at seconds: Int64) -> String? {
        if isValid(at: seconds) { return nil }
        return seconds < notBefore ? "certificate is not yet valid" : "certificate has expired"
    }

    /// The dates a certificate can name, the years 1 to 9999: OpenSSL has no answer for others, and a proof may state
    /// any.
    private static let dates: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    static func path(
        leaf: Certificate, others: [Certificate], trust: TrustStore, at seconds: Int64
    ) throws(VerificationFailure) -> [Certificate] {
        do {
            let date = min(max(seconds, dates.lowerBound), dates.upperBound)
            return try trust.chain(leaf: leaf, intermediates: others, at: date)
        } catch {
            throw VerificationFailure(error.isOutsideValidity ? .chainExpired : .chainUntrusted, error.reason)
        }
    }
}

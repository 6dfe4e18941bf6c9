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

    /// The chain of a JWS header's `x5c`, judged at `seconds` since 1970. The third certificate is not looked at: the
    /// root is one of ours, or there is none.
    ///
    /// - Parameter trust: nil if a configured root could not be read.
    init(x5c: [JSONValue], trust: TrustStore?, at seconds: Int64) throws(VerificationFailure) {
        guard x5c.count == 3 else { throw VerificationFailure(.chainLength, String(x5c.count)) }
        let texts = x5c.prefix(2).map { $0.string.flatMap { Base64.decode($0) } }
        guard let leafDER = texts[0], let intermediateDER = texts[1] else {
            throw VerificationFailure(.badCertificate, "x5c is not base64")
        }
        guard let trust else { throw VerificationFailure(.badRoot) }
        guard let leaf = Certificate(der: leafDER) else { throw VerificationFailure(.badCertificate, "leaf") }
        guard let intermediate = Certificate(der: intermediateDER) else {
            throw VerificationFailure(.badCertificate, "intermediate")
        }
        let chain = try Self.path(leaf: leaf, others: [intermediate], trust: trust, at: seconds)
        guard leaf.hasExtension(Self.leafMarker) else { throw VerificationFailure(.missingOID, "leaf") }
        guard chain.count > 1, chain[1].hasExtension(Self.intermediateMarker) else {
            throw VerificationFailure(.missingOID, "intermediate")
        }
        guard chain.count == 3 else { throw VerificationFailure(.chainUntrusted, "\(chain.count) certificates") }
        certificates = chain
        notBefore = chain.map(\.notBefore).max() ?? .max
        notAfter = chain.map(\.notAfter).min() ?? .min
        questions = Self.questions(along: chain)
    }

    /// Whether OpenSSL's rule holds for every certificate: not before its first second, and before its last.
    func isValid(at seconds: Int64) -> Bool { notBefore <= seconds && seconds < notAfter }

    static func path(
        leaf: Certificate, others: [Certificate], trust: TrustStore, at seconds: Int64
    ) throws(VerificationFailure) -> [Certificate] {
        do {
            return try trust.chain(leaf: leaf, intermediates: others, at: seconds)
        } catch {
            throw VerificationFailure(error.isOutsideValidity ? .chainExpired : .chainUntrusted, error.reason)
        }
    }
}

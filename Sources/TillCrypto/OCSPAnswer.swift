/// What an authority says about a certificate, after everything about the saying was checked.
public enum OCSPAnswer: Sendable, Hashable {
    /// Not revoked.
    ///
    /// - Parameter until: when newer information will be there (nextUpdate), in seconds since 1970; nil if the
    ///   responder says that it always is.
    case good(until: Int64?)
    /// - Parameters:
    ///   - at: when it was revoked, in seconds since 1970.
    ///   - reason: nil if none was given.
    case revoked(at: Int64, reason: CRLReason?)
    /// Nothing that could be relied on was said. It is no reason to distrust the certificate.
    case unknown(OCSPDoubt)
}

/// Why an answer says nothing.
public enum OCSPDoubt: String, Sendable, Hashable, CaseIterable {
    /// No OCSP response: a web page, something broken off, bytes after the end.
    case malformed
    case tooLarge = "too_large"
    // The responder's own excuses (RFC 6960 §2.3); they are not signed.
    case malformedRequest = "malformed_request"
    case responderFault = "internal_error"
    case tryLater = "try_later"
    case signatureRequired = "signature_required"
    case unauthorized
    /// Signed by somebody whom the issuer did not charge with it, or not signed at all.
    case untrustedResponder = "untrusted_responder"
    /// About other certificates only.
    case otherCertificate = "other_certificate"
    /// The responder does not know the certificate.
    case unknownCertificate = "unknown_certificate"
    /// Made for another request than ours.
    case otherNonce = "other_nonce"
    /// Newer information should be there by now.
    case stale
    /// From the future.
    case early

    /// By the number in OCSPResponseStatus.
    init(responseStatus: Int32) {
        self =
            switch responseStatus {
            case 1: .malformedRequest
            case 2: .responderFault
            case 3: .tryLater
            case 5: .signatureRequired
            case 6: .unauthorized
            default: .malformed
            }
    }
}

/// Why a certificate was revoked (RFC 5280 §5.3.1). Numbers that are not known survive.
public struct CRLReason: RawRepresentable, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let unspecified = CRLReason(rawValue: 0)
    public static let keyCompromise = CRLReason(rawValue: 1)
    public static let authorityCompromise = CRLReason(rawValue: 2)
    public static let affiliationChanged = CRLReason(rawValue: 3)
    public static let superseded = CRLReason(rawValue: 4)
    public static let cessationOfOperation = CRLReason(rawValue: 5)
    public static let certificateHold = CRLReason(rawValue: 6)
    public static let privilegeWithdrawn = CRLReason(rawValue: 9)
    public static let attributeAuthorityCompromise = CRLReason(rawValue: 10)

    /// As the RFC writes it, or the number.
    public var name: String {
        switch self {
        case .unspecified: "unspecified"
        case .keyCompromise: "keyCompromise"
        case .authorityCompromise: "cACompromise"
        case .affiliationChanged: "affiliationChanged"
        case .superseded: "superseded"
        case .cessationOfOperation: "cessationOfOperation"
        case .certificateHold: "certificateHold"
        case .privilegeWithdrawn: "privilegeWithdrawn"
        case .attributeAuthorityCompromise: "aACompromise"
        default: "reason \(rawValue)"
        }
    }
}

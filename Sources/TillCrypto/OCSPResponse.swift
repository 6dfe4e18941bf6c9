import CTillOpenSSL

extension OCSPRequest {
    /// The longest response that is parsed, in bytes; Apple's have two to four thousand.
    public static let responseLimit = 64 << 10
    /// The tolerated difference between the responder's clock and ours, in seconds.
    static let clockSkew: Int64 = 300
    /// The maximum age, in seconds, of an answer that names no next update.
    static let ageLimit: Int64 = 86_400

    /// The responder's answer about this certificate. Any defect in the bytes yields `unknown`: an attacker on the
    /// network cannot make a certificate look revoked, or valid.
    ///
    /// - Parameters:
    ///   - response: the body of the HTTP response.
    ///   - nonce: the nonce that was sent. A response without a nonce is accepted (prepared responses have none); a
    ///     response with a different nonce is refused.
    ///   - seconds: the current time, in seconds since 1970.
    public func result(in response: [UInt8], nonce: [UInt8]? = nil, at seconds: Int64) -> OCSPStatus {
        guard response.count <= Self.responseLimit else { return .unknown(.tooLarge) }
        return clearingErrors {
            do throws(OCSPFailure) {
                let basic = try Self.basicResponse(of: response)
                defer { OCSP_BASICRESP_free(basic) }
                guard isTrusted(basic, at: seconds) else { throw .untrustedResponder }
                if let nonce, !agrees(basic, with: nonce) { throw .otherNonce }
                return try status(in: basic, at: seconds)
            } catch {
                return .unknown(error)
            }
        }
    }

    private static func basicResponse(of bytes: [UInt8]) throws(OCSPFailure) -> OpaquePointer {
        let response: OpaquePointer? = bytes.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            guard let response = d2i_OCSP_RESPONSE(nil, &cursor, buffer.count) else { return nil }
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                OCSP_RESPONSE_free(response)
                return nil
            }
            return response
        }
        guard let response else { throw .malformed }
        defer { OCSP_RESPONSE_free(response) }
        let status = OCSP_response_status(response)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            throw OCSPFailure(responseStatus: status)
        }
        guard let basic = OCSP_response_get1_basic(response) else { throw .malformed }
        return basic
    }

    /// Whether the response is signed by the issuer, or by a responder whose certificate the issuer signed for that
    /// purpose (RFC 6960 §4.2.2.2). The issuer is the only anchor, and no certificate may stand between it and the
    /// responder.
    private func isTrusted(_ basic: OpaquePointer, at seconds: Int64) -> Bool {
        guard let store = X509_STORE_new() else { return false }
        defer { X509_STORE_free(store) }
        guard X509_STORE_add_cert(store, issuer.handle) == 1, let others = till_x509_stack_new() else { return false }
        defer { till_x509_stack_free(others) }
        till_x509_stack_push(others, issuer.handle)
        // The intermediate issuer serves as the anchor: its own chain was verified before.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        let parameters = X509_STORE_get0_param(store)
        X509_VERIFY_PARAM_set_time(parameters, time_t(seconds))
        X509_VERIFY_PARAM_set_depth(parameters, 0)
        return OCSP_basic_verify(basic, others, store, UInt(OCSP_NOEXPLICIT)) == 1
    }

    private func agrees(_ basic: OpaquePointer, with nonce: [UInt8]) -> Bool {
        guard let request = makeRequest(nonce: nonce) else { return false }
        defer { OCSP_REQUEST_free(request) }
        // 0: both have a nonce, and they differ. Negative: only the request has one.
        return OCSP_check_nonce(request, basic) != 0
    }

    private func status(in basic: OpaquePointer, at seconds: Int64) throws(OCSPFailure) -> OCSPStatus {
        guard let identifier = makeIdentifier() else { throw .malformed }
        defer { OCSP_CERTID_free(identifier) }
        var status: Int32 = -1
        var reason: Int32 = -1
        var revokedAt: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let isFound = OCSP_resp_find_status(
            basic, identifier, &status, &reason, &revokedAt, &thisUpdate, &nextUpdate)
        guard isFound == 1 else { throw .otherCertificate }
        let until = try Self.validity(thisUpdate, nextUpdate, at: seconds)
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: return .good(until: until)
        case V_OCSP_CERTSTATUS_REVOKED:
            guard let moment = ASN1Time.seconds(revokedAt) else { throw .malformed }
            return .revoked(at: moment, reason: reason < 0 ? nil : CRLReason(rawValue: Int(reason)))
        default: throw .unknownCertificate
        }
    }

    /// The end of the answer's validity; throws unless it is valid at `seconds`. OpenSSL's own check uses the system's
    /// clock.
    private static func validity(
        _ thisUpdate: UnsafePointer<ASN1_GENERALIZEDTIME>?, _ nextUpdate: UnsafePointer<ASN1_GENERALIZEDTIME>?,
        at seconds: Int64
    ) throws(OCSPFailure) -> Int64? {
        guard let first = ASN1Time.seconds(thisUpdate) else { throw .malformed }
        guard first <= seconds + clockSkew else { throw .early }
        guard nextUpdate != nil else {
            guard seconds - first <= ageLimit else { throw .stale }
            return nil
        }
        guard let last = ASN1Time.seconds(nextUpdate), first <= last else { throw .malformed }
        guard seconds <= last + clockSkew else { throw .stale }
        return last
    }
}

/// Thrown between the checks of a response. Callers receive it as `OCSPStatus.unknown`.
extension OCSPFailure: Error {}

/// An authority's statement about a certificate, after all checks of the response.
public enum OCSPStatus: Sendable, Hashable {
    /// Not revoked.
    ///
    /// - Parameter until: when newer information is due (nextUpdate), in seconds since 1970; nil if the responder
    ///   states none.
    case good(until: Int64?)
    /// Revoked.
    ///
    /// - Parameters:
    ///   - at: the time of revocation, in seconds since 1970.
    ///   - reason: nil if the response gives none.
    case revoked(at: Int64, reason: CRLReason?)
    /// The response contains no reliable statement. This is no reason to distrust the certificate.
    case unknown(OCSPFailure)
}

/// Why a response contains no reliable statement.
public enum OCSPFailure: String, Sendable, Hashable, CaseIterable {
    /// Not an OCSP response: a web page, a truncated response, or bytes after the end.
    case malformed
    case tooLarge = "too_large"
    // Errors that the responder reports itself (RFC 6960 §2.3); they are unsigned.
    case malformedRequest = "malformed_request"
    case responderFault = "internal_error"
    case tryLater = "try_later"
    case signatureRequired = "signature_required"
    case unauthorized
    /// Unsigned, or signed by a key that the issuer did not authorize.
    case untrustedResponder = "untrusted_responder"
    /// Concerns other certificates only.
    case otherCertificate = "other_certificate"
    /// The responder does not know the certificate.
    case unknownCertificate = "unknown_certificate"
    /// Answers another request.
    case otherNonce = "other_nonce"
    /// The time of the next update has passed.
    case stale
    /// Dated in the future.
    case early

    /// From the number in OCSPResponseStatus.
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

/// Why a certificate was revoked (RFC 5280 §5.3.1). Unknown numbers are preserved.
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

    /// The name in the RFC, or the number.
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

/// Asks an OCSP responder whether a certificate's issuer has revoked it (RFC 6960).
///
/// Use it only for certificates that a `TrustStore` has chained to a root: an unverified certificate would let an
/// attacker choose where the server sends requests.
public struct OCSPRequest: Sendable {
    public let certificate: Certificate
    /// The certificate's issuer, whose statement counts.
    public let issuer: Certificate
    /// 32 bytes that identify this certificate as issued by this authority.
    public let fingerprint: [UInt8]

    public init(certificate: Certificate, issuer: Certificate) {
        self.certificate = certificate
        self.issuer = issuer
        fingerprint = Digest.sha256.hash(certificate.sha256 + issuer.sha256)
    }

    /// The longest responder URL that is accepted, in bytes.
    static let urlLimit = 1_024

    /// The responder that the certificate names: an `http` URL in ASCII; nil if it names none.
    ///
    /// Plain HTTP, because the answer is signed and a check of the responder's own TLS certificate would need another
    /// OCSP request, without end (RFC 5280 §8).
    public var responderURL: String? {
        clearingErrors {
            let urls = till_ocsp_urls(certificate.handle)
            defer { till_ocsp_urls_free(urls) }
            return (0..<till_ocsp_url_count(urls)).lazy
                .compactMap { index in till_ocsp_url_item(urls, index).map { String(cString: $0) } }
                .first { url in
                    url.hasPrefix("http://") && url.utf8.count <= Self.urlLimit
                        && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
                }
        }
    }

    /// The request in DER, to be posted as `application/ocsp-request`.
    ///
    /// SHA-1 hashes name the certificate, as is usual: they serve as names, not signatures, and responders use them to
    /// find prepared answers.
    ///
    /// - Parameter nonce: 1 to 32 bytes (RFC 8954) that bind the answer to this request, if the responder repeats them;
    ///   nil sends none.
    public func request(nonce: [UInt8]? = nil) -> [UInt8]? {
        clearingErrors {
            guard let request = makeRequest(nonce: nonce) else { return nil }
            defer { OCSP_REQUEST_free(request) }
            return try? encoded("i2d_OCSP_REQUEST") { i2d_OCSP_REQUEST(request, $0) }
        }
    }

    func makeRequest(nonce: [UInt8]?) -> OpaquePointer? {
        guard let request = OCSP_REQUEST_new() else { return nil }
        guard let identifier = makeIdentifier(), OCSP_request_add0_id(request, identifier) != nil else {
            OCSP_REQUEST_free(request)
            return nil
        }
        if var nonce, OCSP_request_add1_nonce(request, &nonce, CInt(nonce.count)) != 1 {
            OCSP_REQUEST_free(request)
            return nil
        }
        return request
    }

    func makeIdentifier() -> OpaquePointer? { OCSP_cert_to_id(EVP_sha1(), certificate.handle, issuer.handle) }
}

import CTillOpenSSL

/// Whether an authority has revoked a certificate that it issued: what an OCSP responder is asked (RFC 6960).
///
/// The question says nothing about the chain. Ask only about certificates that a `TrustStore` has led to a root:
/// otherwise it is a stranger who says where our requests go.
public struct OCSPQuestion: Sendable {
    public let certificate: Certificate
    /// Who issued it, and so whose word counts.
    public let issuer: Certificate
    /// 32 bytes that stand for this certificate as issued by this authority.
    public let fingerprint: [UInt8]

    public init(certificate: Certificate, issuer: Certificate) {
        self.certificate = certificate
        self.issuer = issuer
        fingerprint = Digest.sha256.hash(certificate.sha256 + issuer.sha256)
    }

    /// Longest responder URL that is taken, in bytes.
    static let urlLimit = 1_024

    /// Where the certificate itself says it may be asked about: an `http` URL in ASCII; nil if it names none.
    ///
    /// Without TLS by intention: the answer is signed, and a certificate that had to be checked in order to ask about
    /// a certificate would never come to an end (RFC 5280 §8).
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
    /// The certificate is named by SHA-1 hashes, as everybody does: they are names here, not signatures, and responders
    /// look their ready-made answers up by them.
    ///
    /// - Parameter nonce: 1 to 32 bytes (RFC 8954) that bind the answer to this request, if the responder repeats
    ///   them; nil sends none.
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

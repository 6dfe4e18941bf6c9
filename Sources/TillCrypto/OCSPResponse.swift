import CTillOpenSSL

extension OCSPQuestion {
    /// Longest response that is looked at, in bytes; Apple's have two to four thousand.
    public static let responseLimit = 64 << 10
    /// How far the responder's clock and ours may disagree, in seconds.
    static let clockSkew: Int64 = 300
    /// The oldest answer that is taken from a responder which names no next update, in seconds.
    static let ageLimit: Int64 = 86_400

    /// What a responder's bytes say about this certificate. Whatever is wrong with them is `unknown`: nobody on the way
    /// can make a certificate look revoked, or not revoked.
    ///
    /// - Parameters:
    ///   - response: the body of the HTTP answer.
    ///   - nonce: as it was sent. A response without one is taken (ready-made responses have none), one with another
    ///     nonce is not.
    ///   - seconds: the time now, since 1970.
    public func answer(in response: [UInt8], nonce: [UInt8]? = nil, at seconds: Int64) -> OCSPAnswer {
        guard response.count <= Self.responseLimit else { return .unknown(.tooLarge) }
        return clearingErrors {
            do throws(OCSPDoubt.Found) {
                let basic = try Self.basicResponse(of: response)
                defer { OCSP_BASICRESP_free(basic) }
                guard isTrusted(basic, at: seconds) else { throw OCSPDoubt.Found(.untrustedResponder) }
                if let nonce, !agrees(basic, with: nonce) { throw OCSPDoubt.Found(.otherNonce) }
                return try status(in: basic, at: seconds)
            } catch {
                return .unknown(error.doubt)
            }
        }
    }

    private static func basicResponse(of bytes: [UInt8]) throws(OCSPDoubt.Found) -> OpaquePointer {
        let response: OpaquePointer? = bytes.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            guard let response = d2i_OCSP_RESPONSE(nil, &cursor, buffer.count) else { return nil }
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                OCSP_RESPONSE_free(response)
                return nil
            }
            return response
        }
        guard let response else { throw OCSPDoubt.Found(.malformed) }
        defer { OCSP_RESPONSE_free(response) }
        let status = OCSP_response_status(response)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            throw OCSPDoubt.Found(OCSPDoubt(responseStatus: status))
        }
        guard let basic = OCSP_response_get1_basic(response) else { throw OCSPDoubt.Found(.malformed) }
        return basic
    }

    /// Whether the issuer signed it, or somebody to whom the issuer gave a certificate for that purpose (RFC 6960
    /// §4.2.2.2). The issuer is the only anchor, and nothing may stand between it and the responder.
    private func isTrusted(_ basic: OpaquePointer, at seconds: Int64) -> Bool {
        guard let store = X509_STORE_new() else { return false }
        defer { X509_STORE_free(store) }
        guard X509_STORE_add_cert(store, issuer.handle) == 1, let others = till_x509_stack_new() else { return false }
        defer { till_x509_stack_free(others) }
        till_x509_stack_push(others, issuer.handle)
        // An intermediate is an anchor here although its own chain goes on: that chain was verified before.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        let parameters = X509_STORE_get0_param(store)
        X509_VERIFY_PARAM_set_time(parameters, time_t(seconds))
        X509_VERIFY_PARAM_set_depth(parameters, 0)
        return OCSP_basic_verify(basic, others, store, UInt(OCSP_NOEXPLICIT)) == 1
    }

    private func agrees(_ basic: OpaquePointer, with nonce: [UInt8]) -> Bool {
        guard let request = makeRequest(nonce: nonce) else { return false }
        defer { OCSP_REQUEST_free(request) }
        // 0: both have one, and they differ. Below: only the request has one.
        return OCSP_check_nonce(request, basic) != 0
    }

    private func status(in basic: OpaquePointer, at seconds: Int64) throws(OCSPDoubt.Found) -> OCSPAnswer {
        guard let identifier = makeIdentifier() else { throw OCSPDoubt.Found(.malformed) }
        defer { OCSP_CERTID_free(identifier) }
        var status: Int32 = -1
        var reason: Int32 = -1
        var revokedAt: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let isFound = OCSP_resp_find_status(
            basic, identifier, &status, &reason, &revokedAt, &thisUpdate, &nextUpdate)
        guard isFound == 1 else { throw OCSPDoubt.Found(.otherCertificate) }
        let until = try Self.validity(thisUpdate, nextUpdate, at: seconds)
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: return .good(until: until)
        case V_OCSP_CERTSTATUS_REVOKED:
            guard let moment = ASN1Time.seconds(revokedAt) else { throw OCSPDoubt.Found(.malformed) }
            return .revoked(at: moment, reason: reason < 0 ? nil : CRLReason(rawValue: Int(reason)))
        default: throw OCSPDoubt.Found(.unknownCertificate)
        }
    }

    /// The end of an answer's validity, if it is valid now. OpenSSL's own check reads the system's clock.
    private static func validity(
        _ thisUpdate: UnsafePointer<ASN1_GENERALIZEDTIME>?, _ nextUpdate: UnsafePointer<ASN1_GENERALIZEDTIME>?,
        at seconds: Int64
    ) throws(OCSPDoubt.Found) -> Int64? {
        guard let first = ASN1Time.seconds(thisUpdate) else { throw OCSPDoubt.Found(.malformed) }
        guard first <= seconds + clockSkew else { throw OCSPDoubt.Found(.early) }
        guard nextUpdate != nil else {
            guard seconds - first <= ageLimit else { throw OCSPDoubt.Found(.stale) }
            return nil
        }
        guard let last = ASN1Time.seconds(nextUpdate), first <= last else { throw OCSPDoubt.Found(.malformed) }
        guard seconds <= last + clockSkew else { throw OCSPDoubt.Found(.stale) }
        return last
    }
}

extension OCSPDoubt {
    /// A doubt on its way out of the checks; to callers it is an answer and no error.
    fileprivate struct Found: Error {
        let doubt: OCSPDoubt

        init(_ doubt: OCSPDoubt) { self.doubt = doubt }
    }
}

import CTillOpenSSL

/// Why no chain of certificates leads to a configured root.
public struct ChainFailure: Error, Equatable {
    /// The chain is there, but one of its certificates is expired, or not valid yet, at the time asked about.
    public let isOutsideValidity: Bool
    /// OpenSSL's words for people; nothing is decided by them.
    public let reason: String

    public init(isOutsideValidity: Bool, reason: String) {
        self.isOutsideValidity = isOutsideValidity
        self.reason = reason
    }
}

/// The roots that are trusted, and nothing else: no system store, no certificate that came with a message.
public final class TrustStore: @unchecked Sendable {
    // X509_STORE is reference-counted and locks itself; each verification has a context of its own.
    private let store: OpaquePointer
    public let roots: [Certificate]

    /// - Parameter strict: also holds certificates to RFC 5280's finer rules (OpenSSL's `X509_V_FLAG_X509_STRICT`).
    public init(roots: [Certificate], strict: Bool = false) {
        guard let store = X509_STORE_new() else { fatalError("out of memory for a trust store") }
        self.store = store
        self.roots = roots
        clearingErrors {
            for root in roots { X509_STORE_add_cert(store, root.handle) }
            if strict { X509_STORE_set_flags(store, UInt(X509_V_FLAG_X509_STRICT)) }
        }
    }

    deinit { X509_STORE_free(store) }

    /// 0001-01-01 to 9999-12-31, in seconds since 1970.
    private static let datesWithFourDigits: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// The chain from `leaf` over some of `intermediates` to one of the roots, leaf first, as RFC 5280 builds and
    /// judges it at `seconds` since 1970.
    ///
    /// Authentication level 0 and any purpose: Apple's old receipts are signed with SHA-1 (facts/pkcs7-receipt
    /// §5.1); which leaf may sign what is said by Apple's marker extensions, which the caller checks.
    public func chain(
        leaf: Certificate, intermediates: [Certificate], at seconds: Int64
    ) throws(ChainFailure) -> [Certificate] {
        // OpenSSL compares years of four digits, and calls any other date an error of the certificate.
        guard Self.datesWithFourDigits.contains(seconds) else {
            throw ChainFailure(isOutsideValidity: true, reason: "no certificate is valid in such a year")
        }
        return try clearingErrors { () throws(ChainFailure) in
            guard let context = X509_STORE_CTX_new(), let untrusted = till_x509_stack_new() else {
                fatalError("out of memory for a chain")
            }
            defer {
                X509_STORE_CTX_free(context)
                till_x509_stack_free(untrusted)
            }
            for certificate in intermediates { till_x509_stack_push(untrusted, certificate.handle) }
            guard X509_STORE_CTX_init(context, store, leaf.handle, untrusted) == 1 else {
                throw ChainFailure(isOutsideValidity: false, reason: "the chain cannot be examined")
            }
            let parameters = X509_STORE_CTX_get0_param(context)
            X509_VERIFY_PARAM_set_time(parameters, time_t(seconds))
            X509_VERIFY_PARAM_set_auth_level(parameters, 0)
            X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
            guard X509_verify_cert(context) == 1 else { throw Self.failure(of: context) }

            let stack = X509_STORE_CTX_get0_chain(context)
            let chain = (0..<till_x509_stack_count(stack)).compactMap { index -> Certificate? in
                guard let item = till_x509_stack_item(stack, index), X509_up_ref(item) == 1 else { return nil }
                return Certificate(owning: item)
            }
            // The anchor is one of ours by its bytes, not only by its name and key.
            guard let anchor = chain.last, roots.contains(anchor) else {
                throw ChainFailure(isOutsideValidity: false, reason: "the chain ends at no configured root")
            }
            return chain
        }
    }

    private static func failure(of context: OpaquePointer) -> ChainFailure {
        let code = X509_STORE_CTX_get_error(context)
        let reason = X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? ""
        let isOutsideValidity = code == X509_V_ERR_CERT_HAS_EXPIRED || code == X509_V_ERR_CERT_NOT_YET_VALID
        return ChainFailure(isOutsideValidity: isOutsideValidity, reason: reason)
    }
}

import CTillOpenSSL
import TillThreads

/// A CMS (PKCS#7) SignedData that contains its content, the format of Apple's app receipts: BER or DER, one signer.
///
/// Parsing establishes no trust. `isSignatureValid` checks the signer's key alone; a `TrustStore` decides whether that
/// key is trusted.
public final class SignedMessage: @unchecked Sendable {
    /// Why a message is refused before its signature is checked.
    public enum FormatError: String, Error {
        case notSignedData
        case trailingBytes
        case noContent
        case notData
        case notOneSigner
        case tooManyCertificates
        case unknownDigest
    }

    // Immutable after `init`, except inside CMS_SignerInfo_verify, which runs under the lock.
    private let message: Locked<OpaquePointer>

    /// The signed bytes.
    public let content: [UInt8]
    /// In the order of the message.
    public let certificates: [Certificate]
    /// The certificate that the signer information names; nil if the message does not contain it.
    public let signer: Certificate?
    /// Nil for any digest except SHA-1 and SHA-256, which the two generations of receipts use (facts/pkcs7-receipt §5).
    public let digest: Digest?
    /// Whether the signature covers attributes, and the content only through their messageDigest. Apple's receipts have
    /// none today; Apple does not guarantee it (facts/pkcs7-receipt §2).
    public let hasSignedAttributes: Bool
    /// Whether the signed attributes, if any, match the content's digest and type.
    public let attributesMatchContent: Bool

    private let signature: [UInt8]
    /// Whether the signature algorithm is RSA with PKCS#1 v1.5, as in all of Apple's receipts.
    private let isPKCS1: Bool

    /// Apple's receipts contain three; the limit keeps a hostile message from making us parse thousands.
    public static let certificateLimit = 32

    public init(_ bytes: [UInt8]) throws(FormatError) {
        let handle = try Self.parse(bytes)
        message = Locked(handle)
        do {
            let signerInfo = till_signer_item(handle, 0)
            content = try Self.content(of: handle)
            certificates = try Self.certificates(of: handle)
            signer = certificates.first { CMS_SignerInfo_cert_cmp(signerInfo, $0.handle) == 0 }
            digest = Self.digest(of: signerInfo)
            signature = Self.octets(of: CMS_SignerInfo_get0_signature(signerInfo)) ?? []
            isPKCS1 = Self.isPKCS1(signerInfo, digest)
            hasSignedAttributes = CMS_signed_get_attr_count(signerInfo) >= 0
            attributesMatchContent =
                hasSignedAttributes
                ? Self.attributesMatch(content: content, digest: digest, of: signerInfo, in: handle) : true
        } catch {
            CMS_ContentInfo_free(handle)
            throw error
        }
    }

    deinit { message.withLock { CMS_ContentInfo_free($0) } }

    /// Whether the signer's RSA key signed the content (or the attributes that match it).
    ///
    /// CMS_verify is not used: it creates one hash for each digest algorithm that a message lists, and walks past all
    /// earlier ones to find each, so a megabyte of algorithms would take hours.
    public func isSignatureValid() -> Bool {
        guard let signer, let digest, isPKCS1, attributesMatchContent, let key = signer.publicKey, key.isRSA else {
            return false
        }
        guard hasSignedAttributes else { return key.isValidRSA(signature: signature, of: content, digest: digest) }
        return message.withLock { handle in
            clearingErrors {
                let signerInfo = till_signer_item(handle, 0)
                CMS_SignerInfo_set1_signer_cert(signerInfo, signer.handle)
                return CMS_SignerInfo_verify(signerInfo) == 1
            }
        }
    }

    private static func parse(_ bytes: [UInt8]) throws(FormatError) -> OpaquePointer {
        try clearingErrors { () throws(FormatError) in
            var consumed = 0
            let handle: OpaquePointer? = bytes.withUnsafeBufferPointer { buffer in
                var cursor = buffer.baseAddress
                let parsed = d2i_CMS_ContentInfo(nil, &cursor, buffer.count)
                if let cursor, let start = buffer.baseAddress { consumed = cursor - start }
                return parsed
            }
            guard let handle else { throw .notSignedData }
            let malformation: FormatError? =
                if OBJ_obj2nid(CMS_get0_type(handle)) != NID_pkcs7_signed {
                    .notSignedData
                } else if consumed != bytes.count {
                    .trailingBytes
                } else if till_signer_count(handle) != 1 {
                    .notOneSigner
                } else if OBJ_obj2nid(CMS_get0_eContentType(handle)) != NID_pkcs7_data {
                    .notData
                } else {
                    nil
                }
            if let malformation {
                CMS_ContentInfo_free(handle)
                throw malformation
            }
            return handle
        }
    }

    private static func content(of handle: OpaquePointer) throws(FormatError) -> [UInt8] {
        guard let octets = octets(of: CMS_get0_content(handle)?.pointee) else { throw .noContent }
        return octets
    }

    private static func octets(of string: UnsafePointer<ASN1_OCTET_STRING>?) -> [UInt8]? {
        guard let string, let start = ASN1_STRING_get0_data(string) else { return nil }
        return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(string))))
    }

    private static func certificates(of handle: OpaquePointer) throws(FormatError) -> [Certificate] {
        guard let stack = clearingErrors({ CMS_get1_certs(handle) }) else { return [] }
        defer { till_x509_stack_release(stack) }
        let count = till_x509_stack_count(stack)
        guard count <= certificateLimit else { throw .tooManyCertificates }
        return (0..<count).compactMap { index in
            guard let item = till_x509_stack_item(stack, index), X509_up_ref(item) == 1 else { return nil }
            return Certificate(owning: item)
        }
    }

    private static func digest(of signer: OpaquePointer?) -> Digest? {
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        CMS_SignerInfo_get0_algs(signer, nil, nil, &algorithm, nil)
        guard let algorithm else { return nil }
        var object: OpaquePointer?
        X509_ALGOR_get0(&object, nil, nil, algorithm)
        switch OBJ_obj2nid(object) {
        case NID_sha1: return .sha1
        case NID_sha256: return .sha256
        default: return nil
        }
    }

    /// Plain RSA, or RSA with the digest in use (facts/pkcs7-receipt §2).
    private static func isPKCS1(_ signer: OpaquePointer?, _ digest: Digest?) -> Bool {
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        CMS_SignerInfo_get0_algs(signer, nil, nil, nil, &algorithm)
        guard let algorithm else { return false }
        var object: OpaquePointer?
        X509_ALGOR_get0(&object, nil, nil, algorithm)
        switch OBJ_obj2nid(object) {
        case NID_rsaEncryption: return true
        case NID_sha1WithRSAEncryption: return digest == .sha1
        case NID_sha256WithRSAEncryption: return digest == .sha256
        default: return false
        }
    }

    /// RFC 5652 §5.4 and §11: each of the two attributes occurs exactly once and matches the content.
    private static func attributesMatch(
        content: [UInt8], digest: Digest?, of signer: OpaquePointer?, in handle: OpaquePointer
    ) -> Bool {
        clearingErrors {
            // -3: requires exactly one attribute with exactly one value.
            guard let digest,
                let stated = CMS_signed_get0_data_by_OBJ(
                    signer, OBJ_nid2obj(NID_pkcs9_messageDigest), -3, V_ASN1_OCTET_STRING),
                let type = CMS_signed_get0_data_by_OBJ(
                    signer, OBJ_nid2obj(NID_pkcs9_contentType), -3, V_ASN1_OBJECT)
            else { return false }
            let octets = stated.assumingMemoryBound(to: ASN1_STRING.self)
            let value = UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(octets), count: Int(ASN1_STRING_length(octets)))
            return Array(value) == digest.hash(content)
                && OBJ_cmp(OpaquePointer(type), CMS_get0_eContentType(handle)) == 0
        }
    }
}

/// Writes CMS SignedData as Apple builds app receipts (facts/pkcs7-receipt §2): version 1, SHA-256, embedded content,
/// certificates in the order leaf, intermediate, root, one signer by issuer and serial number, and no signed
/// attributes, so the RSA signature covers the content itself.
///
/// OpenSSL's writer sorts the certificates as a DER SET, and existing readers take the first certificate for the leaf.
/// The container is therefore written here.
public enum SignedMessageWriter {
    private static let signedData: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    private static let data: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    private static let sha256: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    private static let rsaEncryption: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    /// - Parameter signer: has an RSA key; its whole chain goes into the message.
    /// - Returns: DER.
    public static func sign(_ content: [UInt8], by signer: SigningIdentity) throws(SigningError) -> [UInt8] {
        guard signer.key.kind == .rsa2048 else { throw SigningError("a receipt is signed with an RSA key") }
        let signature = try signer.key.signSHA256(content)
        let issuerName = X509_get_issuer_name(signer.x509)
        let issuer = try encoded("i2d_X509_NAME") { i2d_X509_NAME(issuerName, $0) }
        let number = X509_get_serialNumber(signer.x509)
        let serial = try encoded("i2d_ASN1_INTEGER") { i2d_ASN1_INTEGER(number, $0) }
        let digest = DERWriter.sequence(sha256, DERWriter.null)
        let signerInfo = DERWriter.sequence(
            DERWriter.integer(1), DERWriter.sequence(issuer, serial), digest,
            DERWriter.sequence(rsaEncryption, DERWriter.null), DERWriter.octetString(signature))
        let body = DERWriter.sequence(
            DERWriter.integer(1), DERWriter.setOf([digest]),
            DERWriter.sequence(data, DERWriter.value(tag: 0xA0, DERWriter.octetString(content))),
            DERWriter.value(tag: 0xA0, signer.chain.flatMap { $0 }), DERWriter.setOf([signerInfo]))
        return DERWriter.sequence(signedData, DERWriter.value(tag: 0xA0, body))
    }
}

import CTillOpenSSL
import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// A certificate authority that acts as Apple in tests, good or bad as they need: root → intermediate → leaf. It shares
/// only base64 and JSON text with the code under test.
struct TestAuthority: Sendable {
    /// The possible flaws of a chain.
    struct Flaws {
        var leafMarker: String? = "1.2.840.113635.100.6.11.1"
        var intermediateMarker: String? = "1.2.840.113635.100.6.2.1"
        var intermediateIsCA = true
        var leafValidity = TestAuthority.validity
        var intermediateValidity = TestAuthority.validity
        var leafKey = Key.p256
        /// The OCSP addresses that the certificates name.
        var leafOCSP: String?
        var intermediateOCSP: String?
    }

    enum Key {
        case p256, p384, rsa
    }

    /// 2024-01-01 to 2026-01-01.
    static let validity: ClosedRange<Int64> = 1_704_067_200...1_767_225_600
    /// A time within the validity.
    static let today = Instant(seconds: 1_748_736_000)

    let root: TestCertificate
    let intermediate: TestCertificate
    let leaf: TestCertificate

    init(keys: Key = .p256, _ flaws: Flaws = Flaws()) {
        // OpenSSL finds an issuer by its name, so authorities in one trust store need different names.
        let number = Int.random(in: 1...1_000_000_000)
        root = TestCertificate(name: "Test Root \(number)", key: keys, validity: Self.validity, isCA: true, issuer: nil)
        intermediate = TestCertificate(
            name: "Test Intermediate \(number)", key: keys, validity: flaws.intermediateValidity,
            isCA: flaws.intermediateIsCA, marker: flaws.intermediateMarker, ocsp: flaws.intermediateOCSP, issuer: root)
        leaf = TestCertificate(
            name: "Test Leaf", key: keys == .rsa ? .rsa : flaws.leafKey, validity: flaws.leafValidity, isCA: false,
            marker: flaws.leafMarker, ocsp: flaws.leafOCSP, issuer: intermediate)
    }

    var certificates: [[UInt8]] { [leaf.der, intermediate.der, root.der] }

    func policy(
        bundleID: String? = "com.example.learn", environments: Set<TillBilling.StoreEnvironment>? = [.production],
        now: Instant = TestAuthority.today
    ) -> TrustPolicy {
        var policy = TrustPolicy(bundleID: bundleID, environments: environments) { now }
        policy.roots = [root.der]
        return policy
    }

    func verifier(environments: Set<TillBilling.StoreEnvironment>? = [.production]) throws -> SignedDataVerifier {
        try SignedDataVerifier(policy: policy(environments: environments))
    }

    /// A compact JWS over `payload`, signed by the leaf.
    func sign(_ payload: JSONValue, alg: String = "ES256", x5c: [[UInt8]]? = nil) -> String {
        let chain = (x5c ?? certificates).map { JSONValue.string(Base64.encode($0)) }
        return sign(payload, header: ["alg": .string(alg), "x5c": .array(chain)])
    }

    func sign(_ payload: JSONValue, header: JSONValue) -> String {
        sign(payload: Array(payload.encoded().utf8), header: Array(header.encoded().utf8))
    }

    func sign(payload: [UInt8], header: [UInt8]) -> String {
        let input = Base64.encode(header, .url) + "." + Base64.encode(payload, .url)
        return input + "." + Base64.encode(leaf.signES256(Array(input.utf8)), .url)
    }

    /// A PKCS#7 container over `content`, signed by the leaf.
    func receipt(_ content: [UInt8], hasSignedAttributes: Bool = false, sha1: Bool = false) -> [UInt8] {
        leaf.signCMS(content, others: [intermediate, root], hasSignedAttributes: hasSignedAttributes, sha1: sha1)
    }
}

/// A certificate with its private key.
final class TestCertificate: @unchecked Sendable {
    // Only read after `init`.
    let certificate: OpaquePointer
    let key: OpaquePointer

    init(
        name: String, key kind: TestAuthority.Key, validity: ClosedRange<Int64>, isCA: Bool, marker: String? = nil,
        ocsp: String? = nil, issuer: TestCertificate?
    ) {
        key = Self.makeKey(kind)
        certificate = X509_new()
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...1_000_000_000))
        ASN1_TIME_set(X509_getm_notBefore(certificate), time_t(validity.lowerBound))
        ASN1_TIME_set(X509_getm_notAfter(certificate), time_t(validity.upperBound))
        X509_set_pubkey(certificate, key)
        let subject = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(subject, "C", utf8Text, "US", -1, -1, 0)
        X509_NAME_add_entry_by_txt(subject, "CN", utf8Text, name, -1, -1, 0)
        X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? subject)
        addExtension(NID_basic_constraints, isCA ? "critical,CA:TRUE" : "critical,CA:FALSE")
        addExtension(NID_key_usage, isCA ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature")
        if let marker { addMarker(marker) }
        if let ocsp { addExtension(NID_info_access, "OCSP;URI:\(ocsp)") }
        X509_sign(certificate, (issuer ?? self).key, EVP_sha256())
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// `MBSTRING_UTF8`, a macro that Swift does not see.
    private let utf8Text: Int32 = 0x1000

    private static func makeKey(_ kind: TestAuthority.Key) -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_id(kind == .rsa ? EVP_PKEY_RSA : EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        switch kind {
        case .p256: EVP_PKEY_CTX_set_group_name(context, "prime256v1")
        case .p384: EVP_PKEY_CTX_set_group_name(context, "secp384r1")
        case .rsa: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048)
        }
        var key: OpaquePointer?
        EVP_PKEY_generate(context, &key)
        return key!
    }

    private func addExtension(_ id: Int32, _ value: String) {
        let made = X509V3_EXT_conf_nid(nil, nil, id, value)
        X509_add_ext(certificate, made, -1)
        X509_EXTENSION_free(made)
    }

    private func addMarker(_ oid: String) {
        let object = OBJ_txt2obj(oid, 1)
        let octets = ASN1_OCTET_STRING_new()
        ASN1_OCTET_STRING_set(octets, [0x05, 0x00], 2)
        let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, octets)
        X509_add_ext(certificate, made, -1)
        X509_EXTENSION_free(made)
        ASN1_OCTET_STRING_free(octets)
        ASN1_OBJECT_free(object)
    }

    var der: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// The signature as OpenSSL makes it, ASN.1.
    func signDER(_ message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key)
        var count = 512
        var signature = [UInt8](repeating: 0, count: count)
        EVP_DigestSign(context, &signature, &count, message, message.count)
        return Array(signature.prefix(count))
    }

    /// r‖s: the two integers of the ASN.1, each padded or cut to half of 64 bytes (of 96 on P-384).
    func signES256(_ message: [UInt8]) -> [UInt8] {
        let der = signDER(message)
        guard der.first == 0x30 else { return der }
        let width = EVP_PKEY_get_bits(key) > 256 ? 48 : 32
        var raw: [UInt8] = []
        var cursor = der[1] & 0x80 == 0 ? 2 : 3
        for _ in 0..<2 {
            guard cursor + 1 < der.count else { return der }
            let count = Int(der[cursor + 1])
            let digits = der[(cursor + 2)..<(cursor + 2 + count)].drop { $0 == 0 }
            raw += [UInt8](repeating: 0, count: width - digits.count) + digits
            cursor += 2 + count
        }
        return raw
    }

    func signCMS(_ content: [UInt8], others: [TestCertificate], hasSignedAttributes: Bool, sha1: Bool) -> [UInt8] {
        let input = BIO_new_mem_buf(content, Int32(content.count))
        defer { BIO_free(input) }
        let partial = UInt32(CMS_PARTIAL | CMS_BINARY | CMS_NOSMIMECAP)
        let message = CMS_sign(nil, nil, nil, nil, partial)
        defer { CMS_ContentInfo_free(message) }
        let flags = UInt32(CMS_NOSMIMECAP) | (hasSignedAttributes ? 0 : UInt32(CMS_NOATTR))
        CMS_add1_signer(message, certificate, key, sha1 ? EVP_sha1() : EVP_sha256(), flags)
        for other in others { CMS_add1_cert(message, other.certificate) }
        CMS_final(message, input, nil, UInt32(CMS_BINARY))
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_CMS_ContentInfo(message, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}

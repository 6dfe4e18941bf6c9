import CTillOpenSSL
import TillCrypto

/// A private key derived from its label, with signatures derived from the message: OpenSSL's own keys and nonces come
/// from randomness that no seed controls, and one seed must make one corpus. For tests only: the label reveals the key.
final class SeededKey: @unchecked Sendable {
    enum Kind: String {
        case p256, p384, k256, rsa
    }

    // Only read after `init`.
    private let key: OpaquePointer
    private let group: OpaquePointer?
    private let secret: [UInt8]
    let kind: Kind

    init(_ kind: Kind, _ label: String) {
        self.kind = kind
        secret = Self.octets(32, of: label)
        switch kind {
        case .rsa:
            group = nil
            key = Self.loaded(Self.rsaKey(label))
        case .p256, .p384, .k256:
            group = EC_GROUP_new_by_curve_name(kind.curve)
            let curve = DERWriter.value(tag: 0xA0, kind.curveOID)
            key = Self.loaded(DERWriter.sequence(DERWriter.integer(1), DERWriter.octetString(secret), curve))
        }
    }

    deinit {
        EC_GROUP_free(group)
        EVP_PKEY_free(key)
    }

    private static func loaded(_ der: [UInt8]) -> OpaquePointer {
        var cursor: UnsafePointer<UInt8>?
        return der.withUnsafeBufferPointer { buffer in
            cursor = buffer.baseAddress
            return d2i_AutoPrivateKey(nil, &cursor, der.count)!
        }
    }

    /// DER SubjectPublicKeyInfo.
    var publicKey: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    // MARK: Signatures

    /// ECDSA over SHA-256 as two numbers, each as wide as the curve's order.
    func ecdsa(_ message: [UInt8]) -> (r: [UInt8], s: [UInt8]) {
        let digest = Digest.sha256.hash(message)
        let order = EC_GROUP_get0_order(group)
        let context = BN_CTX_new()
        defer { BN_CTX_free(context) }
        let nonce = BN_bin2bn(Digest.sha256.hash(secret + digest), 32, nil)
        let (r, s, x) = (BN_new(), BN_new(), BN_bin2bn(secret, 32, nil))
        let hash = BN_bin2bn(digest, 32, nil)
        let point = EC_POINT_new(group)
        defer {
            [nonce, r, s, x, hash].forEach { BN_free($0) }
            EC_POINT_free(point)
        }
        EC_POINT_mul(group, point, nonce, nil, nil, context)
        EC_POINT_get_affine_coordinates(group, point, r, nil, context)
        BN_nnmod(r, r, order, context)
        BN_mod_mul(s, r, x, order, context)
        BN_mod_add(s, s, hash, order, context)
        BN_mod_inverse(nonce, nonce, order, context)
        BN_mod_mul(s, s, nonce, order, context)
        let width = kind == .p384 ? 48 : 32
        return (Self.octets(of: r, width), Self.octets(of: s, width))
    }

    /// r‖s, as JOSE writes it.
    func es256(_ message: [UInt8]) -> [UInt8] {
        let (r, s) = ecdsa(message)
        return r + s
    }

    /// The signature format of certificates and CMS: an ECDSA-Sig-Value, or PKCS#1 v1.5 with the digest named.
    func signature(_ message: [UInt8], digest: OpaquePointer? = EVP_sha256(), isPSS: Bool = false) -> [UInt8] {
        guard kind == .rsa else {
            let (r, s) = ecdsa(message)
            return HandmadeDER.ecdsa(r, s)
        }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        EVP_DigestSignInit(context, &parameters, digest, nil, key)
        if isPSS {
            EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING)
            // A salt would be random; without one, the same seed gives the same corpus.
            EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, 0)
        }
        var count = 512
        var signature = [UInt8](repeating: 0, count: count)
        EVP_DigestSign(context, &signature, &count, message, message.count)
        return Array(signature.prefix(count))
    }

    // MARK: Numbers

    /// Any number of octets, derived from the label.
    static func octets(_ count: Int, of label: String) -> [UInt8] {
        var octets: [UInt8] = []
        var block: UInt8 = 0
        while octets.count < count {
            octets += Digest.sha256.hash(Array(label.utf8) + [block])
            block += 1
        }
        return Array(octets.prefix(count))
    }

    private static func octets(of number: OpaquePointer?, _ width: Int) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: width)
        BN_bn2binpad(number, &octets, Int32(width))
        return octets
    }

    /// The first prime of 1024 bits at or after the number derived from the label.
    private static func prime(_ label: String, _ context: OpaquePointer?) -> OpaquePointer? {
        var start = octets(128, of: label)
        start[0] |= 0xC0
        start[127] |= 1
        let candidate = BN_bin2bn(start, 128, nil)
        while BN_check_prime(candidate, context, nil) != 1 { BN_add_word(candidate, 2) }
        return candidate
    }

    /// A PKCS#1 RSAPrivateKey of 2048 bits.
    private static func rsaKey(_ label: String) -> [UInt8] {
        let context = BN_CTX_new()
        defer { BN_CTX_free(context) }
        let (p, q) = (prime("\(label) p", context), prime("\(label) q", context))
        let (p1, q1) = (BN_dup(p), BN_dup(q))
        BN_sub_word(p1, 1)
        BN_sub_word(q1, 1)
        let (n, phi, e, d) = (BN_new(), BN_new(), BN_new(), BN_new())
        let (dp, dq, inverse) = (BN_new(), BN_new(), BN_new())
        BN_mul(n, p, q, context)
        BN_mul(phi, p1, q1, context)
        BN_set_word(e, 65_537)
        BN_mod_inverse(d, e, phi, context)
        BN_div(nil, dp, d, p1, context)
        BN_div(nil, dq, d, q1, context)
        BN_mod_inverse(inverse, q, p, context)
        let numbers = [n, e, d, p, q, dp, dq, inverse]
        defer { (numbers + [p1, q1, phi]).forEach { BN_free($0) } }
        let fields = numbers.flatMap { HandmadeDER.unsigned(octets(of: $0, 256)) }
        return DERWriter.value(tag: 0x30, DERWriter.integer(0) + fields)
    }
}

extension SeededKey.Kind {
    fileprivate var curve: Int32 {
        switch self {
        case .p384: NID_secp384r1
        case .k256: NID_secp256k1
        default: NID_X9_62_prime256v1
        }
    }

    fileprivate var curveOID: [UInt8] {
        switch self {
        case .p384: HandmadeDER.oid("1.3.132.0.34")
        case .k256: HandmadeDER.oid("1.3.132.0.10")
        default: HandmadeDER.oid("1.2.840.10045.3.1.7")
        }
    }
}

/// The DER that handmade certificates and receipts need beyond `DERWriter`.
enum HandmadeDER {
    /// OBJECT IDENTIFIER from dotted decimal.
    static func oid(_ text: String) -> [UInt8] {
        let arcs = text.split(separator: ".").compactMap { UInt64($0) }
        var content: [UInt8] = []
        for arc in [arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2) {
            var digits = [UInt8(arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                digits.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
                rest >>= 7
            }
            content += digits
        }
        return DERWriter.value(tag: 0x06, content)
    }

    /// INTEGER of a non-negative number, most significant octet first.
    static func unsigned(_ octets: [UInt8]) -> [UInt8] {
        let digits = Array(octets.drop { $0 == 0 })
        return DERWriter.value(tag: 0x02, (digits.first ?? 0x80) & 0x80 == 0 ? digits : [0] + digits)
    }

    /// ECDSA-Sig-Value (RFC 3279 §2.2.3).
    static func ecdsa(_ r: [UInt8], _ s: [UInt8]) -> [UInt8] { DERWriter.sequence(unsigned(r), unsigned(s)) }

    static func bitString(_ octets: [UInt8]) -> [UInt8] { DERWriter.value(tag: 0x03, [0] + octets) }
    static func boolean(_ truth: Bool) -> [UInt8] { [0x01, 0x01, truth ? 0xFF : 0] }

    /// The content of an element at `start`, read leniently: definite lengths only.
    static func content(of bytes: [UInt8], at start: Int) -> Range<Int>? {
        guard start + 1 < bytes.count else { return nil }
        var cursor = start + 2
        var length = Int(bytes[start + 1])
        if length > 0x80 {
            let count = length & 0x7F
            guard count <= 4, cursor + count <= bytes.count else { return nil }
            length = bytes[cursor..<cursor + count].reduce(0) { $0 << 8 | Int($1) }
            cursor += count
        }
        return cursor + length <= bytes.count ? cursor..<cursor + length : nil
    }

    /// The elements in a range, in order: the start and the content of each.
    static func elements(of bytes: [UInt8], in range: Range<Int>) -> [(start: Int, content: Range<Int>)] {
        var found: [(Int, Range<Int>)] = []
        var cursor = range.lowerBound
        while cursor < range.upperBound, let content = content(of: bytes, at: cursor) {
            found.append((cursor, content))
            cursor = content.upperBound
        }
        return found
    }
}

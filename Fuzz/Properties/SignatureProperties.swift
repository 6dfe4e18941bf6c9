import TillBilling

@testable import TillCrypto

/// The properties of ES256 signatures: the check with a table of a key's multiples says what OpenSSL's own check says.
/// The first byte selects the key and the alteration, 64 bytes alter the signature, and the rest is the message.
enum SignatureProperties {
    static func check(_ input: [UInt8]) throws(PropertyError) {
        guard let selector = input.first, input.count >= 65 else { return }
        let signer = try held(Signer.all[Int(selector) % Signer.all.count], "the keys are keys")
        let (bytes, message) = (Array(input[1..<65]), Array(input[65...]))
        let signature = try held(try? signer.key.signES256(message), "every message can be signed")
        try signer.agree(bytes, message, "bytes")
        try hold(try signer.agree(signature, message, "a signature"), "a signature is accepted")
        try hold(!(try signer.agree(signature, message + [selector], "for another message")), "the message is signed")
        let altered = Array(zip(signature, bytes)).map { $0 ^ $1 }
        try signer.agree(altered, message, "an altered signature")
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        let edge = Number.edges[Int(selector / 8) % Number.edges.count]
        let sums = [(r, Number.order), (s, edge)].map { Number.combine($0.0, $0.1, 1).bytes }
        for pair in [edge + s, r + edge, edge + edge, sums[0] + s, sums[1] + r] {
            try signer.agree(pair, message, "a number out of place")
        }
        let negated = r + Number.combine(Number.order, s, -1).bytes
        try hold(try signer.agree(negated, message, "the negated s"), "the negated s is a signature too")
        if let made = signer.signatureWithOne(of: message) {
            try hold(try signer.agree(made, message, "k = 1"), "a signature whose secret number is 1 is accepted")
        }
    }

    /// Keys whose multiples meet those of the generator, and others.
    private struct Signer: Sendable {
        let key: PrivateKey
        /// The key as a small multiple of the generator; nil if it is none.
        let multiple: Int?
        private let publicKey: PublicKey
        private let multiples: KeyMultiples

        static let all: [Signer?] =
            [1, 2, 3, -1, -2].map { Signer(Number.modulo($0), $0) }
            + ["a", "b", "c"].map { Signer(Digest.sha256.hash(Array("key \($0)".utf8)), nil) }

        private init?(_ secret: [UInt8], _ multiple: Int?) {
            let curve: [UInt8] = [0xA0, 10, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
            let document = DERWriter.sequence([2, 1, 1], DERWriter.octetString(secret), curve)
            guard let key = try? PrivateKey(pem: PEM.encode(document, label: "EC PRIVATE KEY")),
                let info = try? key.publicKeyInfo(), let publicKey = PublicKey(der: info),
                let multiples = KeyMultiples(of: publicKey)
            else { return nil }
            (self.key, self.multiple, self.publicKey, self.multiples) = (key, multiple, publicKey, multiples)
        }

        /// Whether both checks accept.
        @discardableResult
        func agree(_ signature: [UInt8], _ message: [UInt8], _ name: String) throws(PropertyError) -> Bool {
            let scratch = try held(KeyMultiples.Scratch(for: multiples), "there is memory")
            let own = Digest.sha256.hash(message).withUnsafeBufferPointer { digest in
                digest.baseAddress.map { multiples.accepts(signature, of: $0, scratch) } ?? false
            }
            // A verifier that has checked less often has no table.
            let other = ES256Verifier(key: publicKey)?.isValid(signature: signature, message: message)
            try hold(
                own == other,
                "both checks say the same of \(name), key \(multiple ?? 0): "
                    + "\(Base64.encode(signature)) of \(Base64.encode(message))")
            return own
        }

        /// With k = 1, r is the generator's x, and s is the hash plus r times the key.
        func signatureWithOne(of message: [UInt8]) -> [UInt8]? {
            guard let multiple else { return nil }
            let r = Number.generatorX
            let step = multiple < 0 ? Number.combine(Number.order, r, -1).bytes : r
            let hash = Number.addModulo(Digest.sha256.hash(message), Number.modulo(0))
            return r + (0..<abs(multiple)).reduce(hash) { sum, _ in Number.addModulo(sum, step) }
        }
    }

    /// Numbers of 256 bits, the most significant byte first.
    private enum Number {
        static let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
            0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        static let generatorX: [UInt8] = [
            0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77, 0x03,
            0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
        ]
        static let edges: [[UInt8]] =
            [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32), order, generatorX]
            + [1, 2, -1, -2].map(modulo)

        static func modulo(_ small: Int) -> [UInt8] {
            let bytes = [UInt8](repeating: 0, count: 31) + [UInt8(abs(small))]
            return small < 0 ? combine(order, bytes, -1).bytes : bytes
        }

        /// The sum (`sign` is 1) or the difference (-1), without what does not fit.
        static func combine(_ left: [UInt8], _ right: [UInt8], _ sign: Int) -> (bytes: [UInt8], carry: Int) {
            var (bytes, carry) = (left, 0)
            for index in bytes.indices.reversed() {
                let value = Int(left[index]) + sign * Int(right[index]) + carry
                bytes[index] = UInt8(truncatingIfNeeded: value)
                carry = value >> 8
            }
            return (bytes, carry)
        }

        /// The sum modulo the order; at most one summand may be beyond it.
        static func addModulo(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
            let sum = combine(left, right, 1)
            let rest = combine(sum.bytes, order, -1)
            return sum.carry == 1 || rest.carry == 0 ? rest.bytes : sum.bytes
        }
    }
}

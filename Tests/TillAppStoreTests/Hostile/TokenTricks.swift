import Foundation
import TillAppStore
import TillCrypto
import TillJSON

extension HostileCorpus {
    /// New combinations of header, payload and signature of good tokens.
    mutating func addSwappedParts() {
        let second = authority.header([authority.secondLeaf.der, authority.intermediate.der, authority.root.der])
        let foreign = authority.header([
            authority.foreignLeaf.der, authority.foreignIntermediate.der, authority.foreignRoot.der,
        ])
        func payload(_ id: String) -> [UInt8] {
            Array(TestPayloads.transaction(["transactionId": .string(id)]).encoded().utf8)
        }
        var tokens = Self.tokenBases.map { (name: $0, parts: TokenParts(bytes($0))) }
        for id in ["2", "3"] { tokens.append(("transaction \(id)", TokenParts(authority.token(payload: payload(id))))) }
        let bySecond = authority.token(header: second, payload: payload("4"), by: authority.secondLeaf.key)
        let byForeign = authority.token(header: foreign, payload: payload("5"), by: authority.foreignLeaf.key)
        tokens += [("second leaf's", TokenParts(bySecond)), ("foreign", TokenParts(byForeign))]
        for head in tokens {
            for body in tokens {
                for seal in tokens where body.name != seal.name || head.parts.header != seal.parts.header {
                    let bytes = CorpusAuthority.join(head.parts.header, body.parts.payload, seal.parts.signature)
                    let base = Self.tokenBases.contains(body.name) ? body.name : "transaction"
                    let verdict: Verdict = head.name == "foreign" ? .chainUntrusted : .badSignature
                    add(
                        .swappedParts, base,
                        "header of \(head.name), payload of \(body.name), signature of \(seal.name)", bytes, verdict)
                }
            }
        }
        add(.swappedParts, "transaction", "all of a foreign chain", byForeign, .chainUntrusted)
    }

    /// The genuine certificates with a signature by another key.
    mutating func addForeignKeys() {
        let keys = [
            ("the second leaf's", authority.secondLeaf.key), ("the intermediate's", authority.intermediate.key),
            ("the root's", authority.root.key), ("a foreign leaf's", authority.foreignLeaf.key),
            ("a P-384", SeededKey(.p384, "foreign \(seed)")), ("a secp256k1", SeededKey(.k256, "foreign \(seed)")),
        ]
        for (name, key) in keys {
            for base in Self.tokenBases {
                let payload = TokenParts(bytes(base)).payload
                add(.foreignKey, base, "signed with \(name) key", authority.token(payload: payload, by: key))
            }
        }
        for quantity in 2..<20 {
            let payload = Array(TestPayloads.transaction(["quantity": .int(Int64(quantity))]).encoded().utf8)
            let token = authority.token(payload: payload, by: authority.foreignLeaf.key)
            add(.foreignKey, "transaction", "quantity \(quantity), signed with a foreign key", token)
        }
    }

    /// Values of the header's algorithm.
    private static let algorithms: [JSONValue] = [
        "none", "NONE", "nOnE", "None", "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "ES384", "ES512",
        "ES256K", "EdDSA", "es256", "Es256", "ES256 ", " ES256", "ES256\u{0}", "ES256\n", "ES\u{FF12}56", "ЕS256", "",
        "ES-256", "ECDSA", "SHA256withECDSA", "ES256,none", 256, 0, -7, true, false, nil, ["ES256"], ["ES256", "none"],
        [], [:], ["ES256": "ES256"], 1.5,
    ]

    /// Kinds of signatures that a header could trick a verifier into accepting.
    private func seals(_ input: [UInt8]) -> [(String, [UInt8])] {
        func code(_ key: [UInt8]) -> [UInt8] { HMACSHA256.code(for: input, key: key) }
        let leaf = authority.leaf
        return [
            ("the genuine signature", leaf.key.es256(input)), ("no signature", []),
            ("HMAC under the leaf's public key", code(leaf.key.publicKey)),
            ("HMAC under the leaf's point", code(Array(leaf.key.publicKey.suffix(65)))),
            ("HMAC under the leaf's DER", code(leaf.der)),
            ("HMAC under the leaf's base64", code(Array(Base64.encode(leaf.der).utf8))),
            ("HMAC under the leaf's PEM", code(Array(PEM.encode(leaf.der, label: "CERTIFICATE").utf8))),
            ("HMAC under the root's DER", code(authority.root.der)), ("HMAC under nothing", code([])),
            ("a foreign key's signature", authority.foreignLeaf.key.es256(input)),
            ("zeros", [UInt8](repeating: 0, count: 64)),
        ]
    }

    /// The algorithm is a constant (facts/jws §8): a header with any other algorithm is refused, and so is a different
    /// kind of signature under the right name.
    mutating func addAlgorithms() {
        let payload = TokenParts(bytes("transaction")).payload
        func add(_ header: [UInt8], _ name: String, isGood: Bool) {
            let input = Array((Base64.encode(header, .url) + "." + Base64.encode(payload, .url)).utf8)
            for (seal, signature) in seals(input) where !(isGood && seal == "the genuine signature") {
                let token = CorpusAuthority.join(header, payload, signature)
                self.add(
                    .algorithms, "transaction", "\(name), \(seal)", token, isGood ? .badSignature : .malformed)
            }
        }
        for algorithm in Self.algorithms {
            add(authority.header(alg: algorithm), "alg \(algorithm.encoded())", isGood: false)
        }
        add(authority.header(), "alg ES256", isGood: true)
        let text = String(decoding: authority.header(), as: UTF8.self)
        let missing = text.replacingOccurrences(of: #""alg":"ES256","#, with: "")
        add(Array(missing.utf8), "no alg", isGood: false)
        for other in [#""none""#, #""HS256""#, #""ES256""#, "null"] {
            for doubled in [#""alg":\#(other),"alg":"ES256","#, #""alg":"ES256","alg":\#(other),"#] {
                let harmed = text.replacingOccurrences(of: #""alg":"ES256","#, with: doubled)
                add(Array(harmed.utf8), "alg twice: \(doubled)", isGood: false)
            }
        }
        for key in ["ALG", "Alg", "alg ", "al\u{0}g"] {
            let harmed = text.replacingOccurrences(of: #""alg""#, with: JSONValue.string(key).encoded())
            add(Array(harmed.utf8), "alg under the name \(JSONValue.string(key).encoded())", isGood: false)
        }
    }

    /// Members of a header that point at keys, or that change the signed data.
    mutating func addHeaderExtensions() {
        let payload = TokenParts(bytes("transaction")).payload
        let foreign = authority.foreignLeaf
        let point = foreign.key.publicKey.suffix(64)
        let jwk: JSONValue = [
            "kty": "EC", "crv": "P-256", "x": .string(Base64.encode(point.prefix(32), .url)),
            "y": .string(Base64.encode(point.suffix(32), .url)),
        ]
        let pointers: [(String, [String: JSONValue])] = [
            ("jwk", ["jwk": jwk]), ("jku", ["jku": "https://keys.example.com/jwks.json"]),
            ("x5u", ["x5u": "https://keys.example.com/chain.pem"]), ("kid", ["kid": "../../../../dev/null"]),
            ("kid of Xcode", ["kid": "Apple_Xcode_Key", "typ": "JWT"]), ("x5t", ["x5t": "AAAA", "x5t#S256": "AAAA"]),
            ("typ and cty", ["typ": "JOSE+JSON", "cty": "JWT"]),
            ("zip", ["zip": "DEF"]), ("all", ["jwk": jwk, "jku": "http://127.0.0.1/", "x5u": "file:///etc/passwd"]),
        ]
        for (name, members) in pointers {
            let header = authority.header(nil, members)
            // The verifier follows no pointer: a genuine signature stays valid, and a foreign key is refused.
            add(.harmless, "transaction", "\(name) beside x5c", authority.token(header: header, payload: payload))
            add(
                .headerExtensions, "transaction", "\(name) beside x5c, signed with the key it names",
                authority.token(header: header, payload: payload, by: foreign.key), .badSignature)
            var alone = members
            alone["alg"] = "ES256"
            for key in [foreign.key, authority.leaf.key] {
                let token = authority.token(
                    header: Array(JSONValue.object(alone).encoded().utf8), payload: payload, by: key)
                add(.headerExtensions, "transaction", "\(name) instead of x5c", token, .missingX5C)
            }
        }
        // An extension marked as critical that is not understood (RFC 7515 §4.1.11); a payload that is not base64 (RFC
        // 7797).
        let critical: [(String, [String: JSONValue])] = [
            ("crit b64", ["crit": ["b64"], "b64": false]), ("crit b64 true", ["crit": ["b64"], "b64": true]),
            ("b64 false", ["b64": false]), ("crit exp", ["crit": ["exp"], "exp": 0]), ("crit empty", ["crit": []]),
            ("crit text", ["crit": "b64"]), ("crit null", ["crit": nil]), ("crit alg", ["crit": ["alg"]]),
            ("crit unknown", ["crit": ["https://example.com/must"]]), ("b64 text", ["b64": "false"]),
            ("b64 zero", ["b64": 0]),
        ]
        for (name, members) in critical {
            let header = authority.header(nil, members)
            add(
                .headerExtensions, "transaction", name, authority.token(header: header, payload: payload), .malformed)
            let input = Array((Base64.encode(header, .url) + ".").utf8) + payload
            let raw = input + Array(".".utf8) + Array(Base64.encode(authority.leaf.key.es256(input), .url).utf8)
            add(.headerExtensions, "transaction", "\(name), payload as it is", raw, .malformed)
        }
    }

    /// Numbers that ECDSA signatures must not contain. `n` is the order of P-256, `p` its field.
    mutating func addSignatures() {
        var generator = generator(.signatures)
        let order = Hexadecimal.bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let field = Hexadecimal.bytes("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        let parts = TokenParts(bytes("transaction"))
        let (r, s) = (Array(parts.signature[..<32]), Array(parts.signature[32...]))
        func put(_ signature: [UInt8]) -> [UInt8] {
            CorpusAuthority.join(parts.header, parts.payload, signature)
        }
        let numbers: [(String, [UInt8])] = [
            ("0", [UInt8](repeating: 0, count: 32)), ("1", Self.number(1)), ("2", Self.number(2)), ("n", order),
            ("n - 1", Self.plus(order, -1)), ("n + 1", Self.plus(order, 1)), ("p", field),
            ("p - 1", Self.plus(field, -1)),
            ("all ones", [UInt8](repeating: 0xFF, count: 32)), ("high bit", [0x80] + [UInt8](repeating: 0, count: 31)),
            ("r", r), ("s", s), ("n - r", Self.minus(order, r)), ("n - s", Self.minus(order, s)),
            ("r with its high bit", [r[0] ^ 0x80] + r.dropFirst()),
            ("s with its high bit", [s[0] ^ 0x80] + s.dropFirst()),
            ("r reversed", r.reversed()), ("s reversed", s.reversed()),
        ]
        for (first, left) in numbers {
            for (second, right) in numbers where !(first == "r" && (second == "s" || second == "n - s")) {
                add(.signatures, "transaction", "r is \(first), s is \(second)", put(left + right), .badSignature)
            }
        }
        for length in Array(0..<64) + Array(65...132) {
            let signature = Array((parts.signature + parts.signature + parts.signature).prefix(length))
            add(.signatures, "transaction", "\(length) octets of signature", put(signature), .badSignature)
        }
        let wide: [(String, [UInt8])] = [
            ("DER", HandmadeDER.ecdsa(r, s)), ("DER with n - s", HandmadeDER.ecdsa(r, Self.minus(order, s))),
            ("a leading zero each", [0] + r + [0] + s), ("48 octets each", Self.zeros(16) + r + Self.zeros(16) + s),
            ("r + n in 33 octets", Self.sum(r, order) + [0] + s), ("s + n in 33 octets", [0] + r + Self.sum(s, order)),
            ("s before r", s + r), ("trailing zero", parts.signature + [0]),
            ("hexadecimal", Array(Hexadecimal.text(parts.signature).utf8)),
            ("base64 twice", Array(Base64.encode(parts.signature, .url).utf8)),
        ]
        for (name, signature) in wide { add(.signatures, "transaction", name, put(signature), .badSignature) }
        for _ in 0..<60 * scale {
            let random = (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
            add(.signatures, "transaction", "random numbers", put(random), .badSignature)
        }
        // ES256 is malleable: (r, n - s) is valid where (r, s) is. The token has another text with the same content,
        // and a grant depends on the transaction's id, so a transaction is never granted twice (O8).
        for base in Self.tokenBases {
            let parts = TokenParts(bytes(base))
            let negated = Array(parts.signature[..<32]) + Self.minus(order, Array(parts.signature[32...]))
            let token = CorpusAuthority.join(parts.header, parts.payload, negated)
            add(.harmless, base, "s negated", token)
        }
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    private static func number(_ value: UInt8) -> [UInt8] { zeros(31) + [value] }

    /// 33 octets.
    private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var carry = 0
        var digits: [UInt8] = []
        for index in left.indices.reversed() {
            let sum = Int(left[index]) + Int(right[index]) + carry
            digits.insert(UInt8(sum & 0xFF), at: 0)
            carry = sum >> 8
        }
        return [UInt8(carry)] + digits
    }

    private static func minus(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var borrow = 0
        var digits: [UInt8] = []
        for index in left.indices.reversed() {
            let difference = Int(left[index]) - Int(right[index]) - borrow
            digits.insert(UInt8(difference & 0xFF), at: 0)
            borrow = difference < 0 ? 1 : 0
        }
        return digits
    }

    private static func plus(_ number: [UInt8], _ step: Int) -> [UInt8] {
        step < 0 ? minus(number, self.number(1)) : Array(sum(number, self.number(1)).suffix(32))
    }
}

/// Two digits per octet.
enum Hexadecimal {
    static func bytes(_ text: String) -> [UInt8] { bytesOfHexadecimal(text) }

    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}

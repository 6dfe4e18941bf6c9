import TillBilling
import TillCrypto
import TillJSON

/// A token that has been split and decoded; its signature is not yet verified.
struct TokenReading<Payload> {
    let token: CompactToken
    let payload: Payload
    let claims: ProofClaims
}

extension ProofChecks {
    /// Splits a token into its parts.
    func parse(_ bytes: [UInt8], limit: Int) throws(VerificationFailure) -> CompactToken {
        try check(.parse) { () throws(VerificationFailure) in
            journal?.look(at: bytes)
            guard bytes.count <= limit else { throw VerificationFailure(.malformed, "longer than \(limit) bytes") }
            guard let token = CompactToken(bytes) else { throw VerificationFailure(.malformed, "not a compact JWS") }
            return token
        }
    }

    /// Decodes a token as one kind of payload. A valid proof of another kind is refused.
    func read<Payload>(
        _ bytes: [UInt8], limit: Int = SignedDataVerifier.tokenLimit, as kind: TokenKind,
        _ make: (JSONObject) throws(JSONError) -> Payload,
        _ claims: (Payload) throws(VerificationFailure) -> ProofClaims
    ) throws(VerificationFailure) -> TokenReading<Payload> {
        let token = try parse(bytes, limit: limit)
        let json = try check(.payload) { () throws(VerificationFailure) in
            journal?.look(at: token.payload)
            return try Self.decoding { () throws(JSONError) in try JSONObject(token.payload) }
        }
        try check(TokenKind { key in json.has(key) }, is: kind)
        return try check(.fields) { () throws(VerificationFailure) in
            let payload = try Self.decoding { () throws(JSONError) in try make(json) }
            return TokenReading(token: token, payload: payload, claims: try claims(payload))
        }
    }

    func check(_ found: TokenKind, is expected: TokenKind) throws(VerificationFailure) {
        try check(.kind) { () throws(VerificationFailure) in
            journal?.compare(expected: expected.rawValue, found: found.rawValue)
            guard found == expected else {
                throw VerificationFailure(.malformed, "\(found.rawValue) instead of \(expected.rawValue)")
            }
        }
    }

    private static func decoding<Result>(
        _ read: () throws(JSONError) -> Result
    ) throws(VerificationFailure) -> Result {
        do { return try read() } catch { throw VerificationFailure(.malformed, "payload: \(error.rawValue)") }
    }

    // MARK: - Chain and signature

    /// Verifies that Apple signed a token. The date is read from the unverified payload, because it determines when the
    /// certificates must be valid.
    func authenticate(_ token: CompactToken, _ claims: ProofClaims) throws(VerificationFailure) {
        let now = demands.now()
        let date = date(of: claims, now: now)
        if let known = chains?.verifier(for: token, now: now) {
            // A new verification would fail in the same way, at thirty times the cost, and a sender can state any date.
            if let fault = known.chain.fault(at: date.seconds) { throw VerificationFailure(.chainExpired, fault) }
            guard token.isSigned(accordingTo: known.verifier) else { throw VerificationFailure(.badSignature) }
            witness?.saw(known.chain.questions, signedAt: claims.date)
            return
        }
        let chain = try chain(of: header(of: token), at: date)
        let verifier = try signatureVerifier(of: token, chain)
        chains?.remember(chain, verifier, of: token, now: now)
        witness?.saw(chain.questions, signedAt: claims.date)
    }

    func header(of token: CompactToken) throws(VerificationFailure) -> JWSHeader {
        try check(.header) { () throws(VerificationFailure) in
            let bytes = token.header
            if let journal, let bytes { journal.look(at: bytes) }
            guard let header = JWSHeader(bytes) else { throw VerificationFailure(.malformed, "header") }
            return header
        }
    }

    /// The verified chain of a header, whose algorithm must be Apple's.
    func chain(of header: JWSHeader, at date: Instant) throws(VerificationFailure) -> SigningChain {
        try check(.certificateList) { () throws(VerificationFailure) in
            guard !header.certificates.isEmpty else { throw VerificationFailure(.missingX5C) }
        }
        try check(.algorithm) { () throws(VerificationFailure) in
            journal?.compare(expected: JWSHeader.algorithm, found: header.json["alg"]?.encoded())
            guard header.json["alg"] == .string(JWSHeader.algorithm) else {
                throw VerificationFailure(.malformed, "alg")
            }
        }
        return try chain(x5c: header.certificates, at: date)
    }

    /// The verifier that found the signature to be the leaf's.
    @discardableResult
    func signatureVerifier(
        of token: CompactToken, _ chain: SigningChain
    ) throws(VerificationFailure) -> ES256Verifier {
        try check(.signature) { () throws(VerificationFailure) in
            journal?.look(at: token.bytes[..<(token.bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0)])
            guard token.signature.count == 64 else { throw VerificationFailure(.badSignature, "length") }
            guard let key = chain.leaf.publicKey,
                let verifier = ES256Verifier(key: key, messagePrefix: Array(token.headerPrefix)),
                token.isSigned(accordingTo: verifier)
            else { throw VerificationFailure(.badSignature) }
            return verifier
        }
    }
}

/// The kind of a JWS, recognized by the keys of its payload; the format does not state it.
enum TokenKind: String {
    case notification
    case appTransaction = "apptransaction"
    case transaction
    case renewal

    init(having has: (StaticString) -> Bool) {
        self =
            has("notificationType")
            ? .notification : has("receiptType") ? .appTransaction : has("bundleId") ? .transaction : .renewal
    }

    var proof: ProofInspection.Kind {
        switch self {
        case .notification: .notification
        case .appTransaction: .appTransaction
        case .transaction: .transaction
        case .renewal: .renewal
        }
    }
}

/// The unverified header of a JWS. The algorithm must equal a constant, and the certificates count only if they lead to
/// a configured root (facts/jws §8).
struct JWSHeader {
    /// The only algorithm that Apple signs with.
    static let algorithm = "ES256"

    /// The whole header.
    let json: JSONValue
    /// The raw `x5c`; empty if it is missing or not a list.
    let certificates: [JSONValue]

    /// Nil if the bytes are not a JSON object, if the header names a critical extension, none of which is supported
    /// (RFC 7515 §4.1.11), or if it declares an unencoded payload (RFC 7797).
    init?(_ bytes: [UInt8]?) {
        guard let bytes, let json = try? JSONValue(decoding: bytes), json.object != nil else { return nil }
        guard json["crit"] == nil, json["b64"] == nil else { return nil }
        self.json = json
        certificates = json["x5c"]?.array ?? []
    }
}

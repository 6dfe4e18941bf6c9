import TillBilling
import TillCrypto
import TillJSON

/// A token taken apart and read, its signature not yet asked about.
struct TokenReading<Payload> {
    let token: CompactToken
    let payload: Payload
    let claims: ProofClaims
}

extension ProofChecks {
    /// Takes a token apart.
    func parse(_ bytes: [UInt8], limit: Int) throws(VerificationFailure) -> CompactToken {
        try check(.parse) { () throws(VerificationFailure) in
            journal?.look(at: bytes)
            guard bytes.count <= limit else { throw VerificationFailure(.malformed, "longer than \(limit) bytes") }
            guard let token = CompactToken(bytes) else { throw VerificationFailure(.malformed, "not a compact JWS") }
            return token
        }
    }

    /// Reads a token as one kind of payload. A proof of one kind is not taken for another, whoever signed it.
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

    /// Whether Apple signed a token. The date is the payload's own, read before it is believed, to know when the
    /// certificates had to be valid.
    func authenticate(_ token: CompactToken, _ claims: ProofClaims) throws(VerificationFailure) {
        let now = demands.now()
        let date = date(of: claims, now: now)
        if let known = chains?.verifier(for: token, now: now) {
            // Judged anew it would be found the same, at thirty times the cost: anybody may name any date.
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

    /// The chain a header brings, if its algorithm is Apple's.
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

    /// What found the token's signature to be the leaf's.
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

/// What a JWS of Apple's is, told by the keys of its payload; the format itself does not say.
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

/// What a JWS says of its own signature. Nothing in it is believed: the algorithm is a constant of ours, and its
/// certificates count only as far as they lead to a configured root (facts/jws §8).
struct JWSHeader {
    /// The only algorithm Apple signs with.
    static let algorithm = "ES256"

    /// All of the header.
    let json: JSONValue
    /// `x5c` as it is; empty if there is none, or if it is no list.
    let certificates: [JSONValue]

    /// Nil if the bytes are no JSON object, or name an extension that must be understood: we understand none
    /// (RFC 7515 §4.1.11), nor a payload that is not base64 (RFC 7797).
    init?(_ bytes: [UInt8]?) {
        guard let bytes, let json = try? JSONValue(decoding: bytes), json.object != nil else { return nil }
        guard json["crit"] == nil, json["b64"] == nil else { return nil }
        self.json = json
        certificates = json["x5c"]?.array ?? []
    }
}

import TillBilling
import TillCrypto
import TillJSON

/// A token that has been split and decoded; its signature is not yet verified.
struct ParsedToken<Payload> {
    let token: CompactToken
    let payload: Payload
    let unverified: UnverifiedPayload
}

extension ProofChecks {
    /// Splits a token into its parts.
    func parse(_ bytes: [UInt8], limit: Int) throws(VerificationError) -> CompactToken {
        try check(.parse) { () throws(VerificationError) in
            recorder?.look(at: bytes)
            guard bytes.count <= limit else {
                throw VerificationError(.malformed, "longer than \(limit) bytes", zh: "长度超过 \(limit) 字节")
            }
            guard let token = CompactToken(bytes) else {
                throw VerificationError(.malformed, "not a compact JWS", zh: "不是紧凑格式的 JWS")
            }
            return token
        }
    }

    /// Decodes a token as one kind of payload. A valid proof of another kind is refused.
    func read<Payload>(
        _ bytes: [UInt8], limit: Int = SignedDataVerifier.tokenLimit, as kind: TokenKind,
        _ make: (JSONObject) throws(JSONError) -> Payload,
        _ unverified: (Payload) throws(VerificationError) -> UnverifiedPayload
    ) throws(VerificationError) -> ParsedToken<Payload> {
        let token = try parse(bytes, limit: limit)
        let json = try check(.payload) { () throws(VerificationError) in
            recorder?.look(at: token.payload)
            return try Self.decoding { () throws(JSONError) in try JSONObject(token.payload) }
        }
        try check(TokenKind { key in json.has(key) }, is: kind)
        return try check(.fields) { () throws(VerificationError) in
            let payload = try Self.decoding { () throws(JSONError) in try make(json) }
            return ParsedToken(token: token, payload: payload, unverified: try unverified(payload))
        }
    }

    func check(_ found: TokenKind, is expected: TokenKind) throws(VerificationError) {
        try check(.kind) { () throws(VerificationError) in
            recorder?.compare(expected: expected.rawValue, found: found.rawValue)
            guard found == expected else {
                throw VerificationError(
                    .malformed, "\(found.rawValue) instead of \(expected.rawValue)",
                    zh: "应为 \(expected.rawValue)，实为 \(found.rawValue)")
            }
        }
    }

    private static func decoding<Result>(
        _ read: () throws(JSONError) -> Result
    ) throws(VerificationError) -> Result {
        do { return try read() } catch { throw VerificationError(.malformed, "payload: \(error.rawValue)") }
    }

    // MARK: - Chain and signature

    /// Verifies that Apple signed a token. The date is read from the unverified payload, because it determines when the
    /// certificates must be valid.
    func authenticate(_ token: CompactToken, _ unverified: UnverifiedPayload) throws(VerificationError) {
        let now = verificationPolicy.now()
        let date = date(of: unverified, now: now)
        if let known = chains?.verifier(for: token, now: now) {
            // A new verification would fail in the same way, at thirty times the cost, and a sender can state any date.
            if let error = known.chain.error(at: date.seconds) { throw error }
            guard token.isSigned(accordingTo: known.verifier) else { throw VerificationError(.badSignature) }
            observer?.observe(known.chain.questions, signedAt: unverified.date)
            return
        }
        let chain = try chain(of: header(of: token), at: date)
        let verifier = try signatureVerifier(of: token, chain)
        chains?.remember(chain, verifier, of: token, now: now)
        observer?.observe(chain.questions, signedAt: unverified.date)
    }

    func header(of token: CompactToken) throws(VerificationError) -> JWSHeader {
        try check(.header) { () throws(VerificationError) in
            let bytes = token.header
            if let recorder, let bytes { recorder.look(at: bytes) }
            guard let header = JWSHeader(bytes) else { throw VerificationError(.malformed, "header") }
            return header
        }
    }

    /// The verified chain of a header, whose algorithm must be Apple's.
    func chain(of header: JWSHeader, at date: Instant) throws(VerificationError) -> SigningChain {
        try check(.certificateList) { () throws(VerificationError) in
            guard !header.certificates.isEmpty else { throw VerificationError(.missingX5C) }
        }
        try check(.algorithm) { () throws(VerificationError) in
            recorder?.compare(expected: JWSHeader.algorithm, found: header.json["alg"]?.encoded())
            guard header.json["alg"] == .string(JWSHeader.algorithm) else {
                throw VerificationError(.malformed, "alg")
            }
        }
        return try chain(x5c: header.certificates, at: date)
    }

    /// The verifier that found the signature to be the leaf's.
    @discardableResult
    func signatureVerifier(
        of token: CompactToken, _ chain: SigningChain
    ) throws(VerificationError) -> ES256Verifier {
        try check(.signature) { () throws(VerificationError) in
            recorder?.look(at: token.bytes[..<(token.bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0)])
            guard token.signature.count == 64 else {
                throw VerificationError(.badSignature, "length", zh: "签名长度")
            }
            guard let key = chain.leaf.publicKey,
                let verifier = ES256Verifier(key: key, messagePrefix: Array(token.headerPrefix)),
                token.isSigned(accordingTo: verifier)
            else { throw VerificationError(.badSignature) }
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

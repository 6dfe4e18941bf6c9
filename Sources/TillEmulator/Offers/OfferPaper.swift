import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// The key that the developer signs offers with: the store's own In-App Purchase key, which `GET /emulator/api-key`
/// gives away.
struct DeveloperKey {
    let issuerID: String
    let keyID: String
    let publicKey: PublicKey

    init(_ session: any Connection) throws {
        guard let key = try IdentityTable.apiKey(session), let publicKey = PublicKey(der: try key.publicKeyInfo()),
            let keyID = try SettingTable.value(.apiKeyID, session),
            let issuerID = try SettingTable.value(.apiIssuerID, session)
        else { throw DatabaseError(.corrupt, "the emulator's database has no API key") }
        self.issuerID = issuerID
        self.keyID = keyID
        self.publicKey = publicKey
    }
}

/// What the developer signed for one attempt to buy, in either of its forms (facts/business-rules §9).
struct OfferPaper {
    let request: PurchaseRequest
    let developer: DeveloperKey
    let turn: Turn

    /// Signatures are good for a day (facts/limits §4).
    private static let lifetime: Int64 = 24 * 3_600
    /// A developer's clock may run so many seconds ahead. Ours: Apple names no figure.
    private static let skew: Int64 = 300
    /// Longer tokens are nobody's offer.
    private static let tokenLimit = 16 << 10

    func check(_ signature: OfferSignature, offer identifier: String) throws -> StoreRefusal? {
        switch signature {
        case .classic(let keyID, let nonce, let timestamp, let text):
            guard !keyID.isEmpty else { return .missingOfferParameters("keyIdentifier") }
            guard !text.isEmpty else { return .missingOfferParameters("signature") }
            let message = [
                request.bundleID, keyID, request.productID.text, identifier,
                request.appAccountToken?.description ?? "", nonce.description, String(timestamp),
            ].joined(separator: "\u{2063}")
            guard keyID == developer.keyID, let bytes = Base64.decode(text),
                developer.publicKey.isValidECDSA(signature: bytes, of: Array(message.utf8))
            else { return .wrongSignature }
            return try use(nonce, signed: Instant(milliseconds: timestamp))
        case .jws(let token):
            guard let claims = claims(of: token, for: "promotional-offer"),
                claims["productId"]?.string == request.productID.text,
                claims["offerIdentifier"]?.string == identifier,
                let nonce = claims["nonce"]?.string.flatMap({ UniqueID($0) }), let issued = claims["iat"]?.int
            else { return .wrongSignature }
            if let transaction = claims["transactionId"], try !isOfCustomer(transaction) { return .offerOfAnother }
            return try use(nonce, signed: Instant(seconds: issued))
        }
    }

    func introductoryEligibility(_ token: String) throws -> Result<Bool, StoreRefusal> {
        guard let claims = claims(of: token, for: "introductory-offer-eligibility"),
            claims["productId"]?.string == request.productID.text,
            case .bool(let isAllowed)? = claims["allowIntroductoryOffer"], let transaction = claims["transactionId"],
            let nonce = claims["nonce"]?.string.flatMap({ UniqueID($0) }), let issued = claims["iat"]?.int
        else { return .failure(.wrongSignature) }
        guard try isOfCustomer(transaction) else { return .failure(.offerOfAnother) }
        if let refusal = try use(nonce, signed: Instant(seconds: issued)) { return .failure(refusal) }
        return .success(isAllowed)
    }

    /// What a token claims that the developer's key signed for this app; nil if it did not.
    private func claims(of text: String, for audience: String) -> JSONValue? {
        guard text.utf8.count <= Self.tokenLimit, let token = CompactToken(text), let bytes = token.header,
            let header = try? JSONValue(decoding: bytes), header["alg"]?.string == "ES256",
            header["kid"]?.string == developer.keyID, token.isSigned(by: developer.publicKey),
            let claims = try? JSONValue(decoding: token.payload), claims["aud"]?.string == audience,
            claims["iss"]?.string?.lowercased() == developer.issuerID, claims["bid"]?.string == request.bundleID
        else { return nil }
        return claims
    }

    /// Whether the signed id is one of the customer's: any transaction in this app, or the `appTransactionId`.
    private func isOfCustomer(_ id: JSONValue) throws -> Bool {
        guard let text = id.string, let number = Int64(text) else { return false }
        if let transaction = try TransactionTable.find(number, turn.session) {
            return transaction.account == request.account && transaction.bundleID == request.bundleID
                && transaction.state == .purchased
        }
        let download = try DownloadTable.find(appTransaction: number, turn.session)
        return download?.account == request.account && download?.bundleID == request.bundleID
    }

    /// One attempt to buy has one nonce. Only a genuine signature uses one up: anybody can write down a nonce.
    private func use(_ nonce: UniqueID, signed: Instant) throws -> StoreRefusal? {
        guard turn.now < signed.adding(seconds: Self.lifetime), signed <= turn.now.adding(seconds: Self.skew) else {
            return .signatureExpired
        }
        let forgotten = turn.now.adding(seconds: -(Self.lifetime + 2 * Self.skew))
        return try OfferNonceTable.use(nonce, at: turn.now, forgetting: forgotten, turn.session)
            ? nil : .nonceUsed
    }
}

/// The nonces of offers that were used, as long as their signatures could come again.
enum OfferNonceTable {
    /// - Returns: false if it was used before.
    static func use(
        _ nonce: UniqueID, at now: Instant, forgetting old: Instant, _ session: any Connection
    ) throws -> Bool {
        try session.execute("DELETE FROM offer_nonces WHERE used_at < ?", [.integer(old.milliseconds)])
        let inserted = try session.execute(
            "INSERT INTO offer_nonces (nonce, used_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(nonce.description), .integer(now.milliseconds)])
        return inserted == 1
    }
}

import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// Verifies offer signatures and offer codes (facts/business-rules §9). A customer's eligibility is checked with the
/// subscription; here only authenticity is.
enum OfferChecks {
    /// Verifies the developer's signature of a promotional offer: authentic, for this purchase, less than 24 hours old
    /// and not used before. The signature is used up, whatever the purchase's outcome.
    /// - Returns: the refusal; nil if the signature is valid.
    static func check(
        _ signature: OfferSignature, offer identifier: String, of request: PurchaseRequest, _ change: StoreChange
    ) throws -> StoreRefusal? {
        guard !identifier.isEmpty else { return .missingOfferParameters("identifier") }
        let offers = try ProductTable.find(request.productID, change.connection)?.offers(.promotional) ?? []
        guard offers.contains(where: { $0.identifier == identifier }) else {
            return .unknownOffer(identifier, product: request.productID.text)
        }
        let signedOffer = SignedOffer(request: request, developer: try DeveloperKey(change.connection), change: change)
        return try signedOffer.check(signature, offer: identifier)
    }

    /// The code and its offer, if the code belongs to this app and may still be redeemed. Nothing is used up.
    static func find(
        _ text: String, of purchase: Purchase, _ change: StoreChange
    ) throws -> Result<(code: OfferCode, offer: ProductOffer), StoreRefusal> {
        let found = try OfferCodeIssuer.find(text, for: purchase.product, account: purchase.account.name, change)
        if case .success(let value) = found, value.code.batch.bundleID != purchase.request.bundleID {
            return .failure(.unknownCode(text))
        }
        return found
    }

    /// The introductory eligibility in the developer's signed token: true or false; or a refusal if the token is not
    /// authentic.
    static func introductoryEligibility(
        _ token: String, of request: PurchaseRequest, _ change: StoreChange
    ) throws -> Result<Bool, StoreRefusal> {
        let signedOffer = SignedOffer(request: request, developer: try DeveloperKey(change.connection), change: change)
        return try signedOffer.introductoryEligibility(token)
    }

    /// The offer of a one-time purchase: an offer code with a lower price, and no other kind.
    static func offer(
        _ offer: PurchaseRequest.Offer, of purchase: Purchase, _ change: StoreChange
    ) throws -> Result<ProductOffer, StoreRefusal> {
        let product = purchase.product
        let text: String
        switch offer {
        case .code(let code): text = code
        case .promotional(let identifier, _), .winBack(let identifier):
            return .failure(.unknownOffer(identifier, product: product.id.text))
        }
        let found: (code: OfferCode, offer: ProductOffer)
        switch try find(text, of: purchase, change) {
        case .success(let value): found = value
        case .failure(let refusal): return .failure(refusal)
        }
        // Checked before the code is used up, so a customer who can't use it here keeps it.
        guard let price = found.offer.prices[purchase.storefront] else {
            return .failure(.notForSale(product: product.id.text, storefront: purchase.storefront))
        }
        guard found.offer.discount == .oneTime, price.currency == purchase.price.currency,
            price.amount >= 0, price.amount < purchase.price.amount
        else { return .failure(.wrongOfferPrice(product: product.id.text)) }
        try OfferCodeIssuer.use(found.code, account: purchase.account.name, change)
        return .success(found.offer)
    }

    /// Redeems a code outside the app, in the App Store, where no `appAccountToken` exists.
    static func redeemOutside(
        _ code: String, account: String, bundleID: String, _ change: StoreChange
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard let found = try OfferCodeTable.find(code, change.connection), found.batch.bundleID == bundleID else {
            return .failure(.unknownCode(code))
        }
        var request = PurchaseRequest(bundleID: bundleID, productID: found.batch.productID)
        request.account = account
        request.offer = .code(found.text)
        request.outcome = .purchased
        return try PaymentSheet.pay(request, change)
    }
}

/// The key with which the developer signs offers: the store's own In-App Purchase Key from `GET /emulator/api-key`.
struct DeveloperKey {
    let issuerID: String
    let keyID: String
    let publicKey: PublicKey

    init(_ connection: any Connection) throws {
        guard let key = try IdentityTable.apiKey(connection), let publicKey = PublicKey(der: try key.publicKeyInfo()),
            let keyID = try SettingTable.value(.apiKeyID, connection),
            let issuerID = try SettingTable.value(.apiIssuerID, connection)
        else { throw DatabaseError(.corrupt, "the emulator's database has no API key") }
        self.issuerID = issuerID
        self.keyID = keyID
        self.publicKey = publicKey
    }
}

/// The developer's signature for one purchase attempt, in either form (facts/business-rules §9).
struct SignedOffer {
    let request: PurchaseRequest
    let developer: DeveloperKey
    let change: StoreChange

    /// Seconds. Signatures are valid for a day (facts/limits §4).
    private static let lifetime: Int64 = 24 * 3_600
    /// Seconds that a developer's clock may run ahead (our choice; Apple documents none).
    private static let skew: Int64 = 300
    /// Larger tokens, in bytes, are refused.
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

    /// The claims of a token that the developer's key signed for this app; nil for any other token.
    private func claims(of text: String, for audience: String) -> JSONValue? {
        guard text.utf8.count <= Self.tokenLimit, let token = CompactToken(text), let bytes = token.header,
            let header = try? JSONValue(decoding: bytes), header["alg"]?.string == "ES256",
            header["kid"]?.string == developer.keyID, token.isSigned(by: developer.publicKey),
            let claims = try? JSONValue(decoding: token.payload), claims["aud"]?.string == audience,
            claims["iss"]?.string?.lowercased() == developer.issuerID, claims["bid"]?.string == request.bundleID
        else { return nil }
        return claims
    }

    /// Whether the signed id belongs to the customer: any transaction in this app, or the `appTransactionId`.
    private func isOfCustomer(_ id: JSONValue) throws -> Bool {
        guard let text = id.string, let number = Int64(text) else { return false }
        if let transaction = try TransactionTable.find(number, change.connection) {
            return transaction.account == request.account && transaction.bundleID == request.bundleID
                && transaction.state == .purchased
        }
        let download = try DownloadTable.find(appTransaction: number, change.connection)
        return download?.account == request.account && download?.bundleID == request.bundleID
    }

    /// One purchase attempt has one nonce. Only an authentic signature uses it up, because any caller can send a nonce.
    private func use(_ nonce: UniqueID, signed: Instant) throws -> StoreRefusal? {
        guard change.now < signed.adding(seconds: Self.lifetime), signed <= change.now.adding(seconds: Self.skew) else {
            return .signatureExpired
        }
        let forgotten = change.now.adding(seconds: -(Self.lifetime + 2 * Self.skew))
        return try OfferNonceTable.use(nonce, at: change.now, forgetting: forgotten, change.connection)
            ? nil : .nonceUsed
    }
}

/// Used nonces, kept as long as their signatures are valid.
enum OfferNonceTable {
    /// - Returns: false if the nonce was used before.
    static func use(
        _ nonce: UniqueID, at now: Instant, forgetting old: Instant, _ connection: any Connection
    ) throws -> Bool {
        try connection.execute("DELETE FROM offer_nonces WHERE used_at < ?", [.integer(old.milliseconds)])
        let inserted = try connection.execute(
            "INSERT INTO offer_nonces (nonce, used_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(nonce.description), .integer(now.milliseconds)])
        return inserted == 1
    }
}

/// Each refusal names the corresponding SKError of StoreKit (facts/storekit-client).
extension StoreRefusal {
    /// SKError 11, `invalidOfferIdentifier`.
    static func unknownOffer(_ identifier: String, product: String) -> StoreRefusal {
        StoreRefusal(
            "invalid_offer_identifier", status: 422, "\(product) has no offer \(identifier.prefix(100)).",
            "\(product) 没有优惠 \(identifier.prefix(100))。")
    }

    /// SKError 12, `invalidSignature`.
    static let wrongSignature = StoreRefusal(
        "invalid_signature", status: 422,
        "The offer's signature is not valid for this app, product, offer, account, nonce and time.",
        "优惠签名对此 App、商品、优惠、账户、随机数和时间无效。")

    /// SKError 12 as well.
    static let signatureExpired = StoreRefusal(
        "offer_signature_expired", status: 422,
        "The offer's signature is older than 24 hours. Create a new signature for each purchase attempt.",
        "优惠签名已超过 24 小时。每次购买请重新签名。")

    /// SKError 12 as well.
    static let nonceUsed = StoreRefusal(
        "offer_nonce_used", status: 422,
        "The offer's nonce was used before. A signature is valid for one purchase attempt, even if it fails.",
        "优惠的随机数已用过。一个签名只能用于一次购买，购买失败也不能再用。")

    /// SKError 13, `missingOfferParams`.
    static func missingOfferParameters(_ name: String) -> StoreRefusal {
        StoreRefusal(
            "missing_offer_params", status: 422, "The offer lacks \(name).", "优惠缺少 \(name)。")
    }

    /// SKError 14, `invalidOfferPrice`.
    static func wrongOfferPrice(product: String) -> StoreRefusal {
        StoreRefusal(
            "invalid_offer_price", status: 422, "The offer's price is not below that of \(product).",
            "优惠价格不低于 \(product) 的价格。")
    }

    /// SKError 18, `ineligibleForOffer`.
    static let offerOfAnother = StoreRefusal(
        "ineligible_for_offer", status: 422, "The offer was signed for another customer.", "该优惠是为另一位客户签发的。")

    static func unknownCode(_ code: String) -> StoreRefusal {
        StoreRefusal(
            "unknown_code", status: 404, "There is no offer code \(code.prefix(64)).",
            "没有优惠代码 \(code.prefix(64))。")
    }

    static func codeUsedUp(_ code: String) -> StoreRefusal {
        StoreRefusal(
            "code_used_up", status: 409, "The offer code \(code) has no redemptions left.", "优惠代码 \(code) 已用完。")
    }

    static func codeExpired(_ code: String) -> StoreRefusal {
        StoreRefusal("code_expired", status: 409, "The offer code \(code) has expired.", "优惠代码 \(code) 已过期。")
    }

    static func codeRedeemed(_ code: String) -> StoreRefusal {
        StoreRefusal(
            "code_already_redeemed", status: 409, "This customer has already redeemed the offer code \(code).",
            "该客户已兑换过优惠代码 \(code)。")
    }

    static func codeOfAnotherProduct(_ code: String, product: String) -> StoreRefusal {
        StoreRefusal(
            "code_of_another_product", status: 409, "The offer code \(code) is for \(product).",
            "优惠代码 \(code) 属于商品 \(product)。")
    }

    static func tooManyRedemptions(_ limit: Int64) -> StoreRefusal {
        StoreRefusal(
            "redemption_limit", status: 409, "An app's offer codes can be redeemed at most \(limit) times per quarter.",
            "每个 App 的优惠代码每季度最多兑换 \(limit) 次。")
    }

    static func codeTaken(_ code: String) -> StoreRefusal {
        StoreRefusal("code_taken", status: 409, "The offer code \(code) already exists.", "优惠代码 \(code) 已存在。")
    }
}

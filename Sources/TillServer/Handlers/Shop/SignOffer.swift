import TillAPI
import TillAppStore
import TillBilling
import TillHTTP
import TillLedger

/// Only backends get signed offers: the backend decides which customer deserves one, and an app that could request a
/// signature would decide it for its user. A repeated `Idempotency-Key` returns the same signature and nonce. A nonce
/// is valid for one attempt to buy, so every attempt needs a key of its own.
extension Server {
    /// `POST /v1/offers/promotional`: signs a promotional offer, in the classic form or as JWS.
    func signPromotionalOffer(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(PromotionalOfferBody.self)
        let signer = try offerSigner()
        let product = try subscription(body.productId)
        let form = try Self.form(of: body)
        let account = try await account(for: body)
        let offer = try Self.checked { () throws(InvalidRequestError) in
            try PromotionalOffer(
                productID: product.id, offerID: body.offerId, account: account,
                transactionID: body.transactionId.map(TransactionID.init))
        }
        var reply = PromotionalOfferReply(form: form, productId: offer.productID.text, offerId: offer.offerID)
        switch form {
        case .classic:
            let signed = try signer.signature(for: offer)
            reply.keyId = signed.keyID
            reply.nonce = signed.nonce
            reply.timestamp = signed.timestamp.milliseconds
            reply.signature = signed.signature
            reply.account = offer.account
            reply.expiresAt = signed.expiresAt
        case .jws:
            reply.compactJWS = try signer.token(for: offer)
        }
        return JSONText.response(200, reply)
    }

    /// `POST /v1/offers/introductory`: signs whether a customer may use the introductory offer, overriding StoreKit's
    /// check.
    func signIntroductoryOffer(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(IntroductoryOfferBody.self)
        let signer = try offerSigner()
        let product = try subscription(body.productId)
        let eligibility = try Self.checked { () throws(InvalidRequestError) in
            try IntroductoryEligibility(
                productID: product.id, isAllowed: body.allowed, transactionID: TransactionID(body.transactionId))
        }
        return JSONText.response(
            200,
            IntroductoryOfferReply(
                productId: product.id.text, allowed: body.allowed, transactionId: body.transactionId,
                compactJWS: try signer.token(for: eligibility)))
    }

    private func offerSigner() throws -> OfferSigner {
        guard let key = configuration.inAppPurchaseKey else { throw RefusalError(.noInAppPurchaseKey) }
        return OfferSigner(key: key, bundleID: configuration.apple.bundleID, clock: clock, entropy: entropy)
    }

    private func subscription(_ id: String) throws -> CatalogProduct {
        guard let product = configuration.catalog[ProductID(id)] else { throw RefusalError(.unknownProduct) }
        guard product.type == .autoRenewable else { throw RefusalError(.notAutoRenewable) }
        return product
    }

    /// Refuses members that the form does not sign, because the caller would rely on them.
    private static func form(of body: PromotionalOfferBody) throws -> OfferForm {
        let form = body.form ?? .classic
        switch form {
        case .classic:
            guard body.transactionId == nil else {
                throw RefusalError(
                    .invalidField, "transactionId: not allowed in the form classic", zh: "transactionId：classic 形式不能使用")
            }
        case .jws:
            guard body.appAccountToken == nil else {
                throw RefusalError(
                    .invalidField, "appAccountToken: not allowed in the form jws", zh: "appAccountToken：jws 形式不能使用")
            }
            guard body.applicationUsername == nil else {
                throw RefusalError(
                    .invalidField, "applicationUsername: not allowed in the form jws",
                    zh: "applicationUsername：jws 形式不能使用")
            }
        }
        return form
    }

    /// The account that the purchase will carry. A named order must exist, be for this product and belong to the named
    /// user.
    private func account(for body: PromotionalOfferBody) async throws -> String {
        let token = body.appAccountToken?.description
        let named = [body.orderId?.description, token, body.applicationUsername].compactMap { $0 }
        guard named.count <= 1 else {
            throw RefusalError(
                .invalidField, "orderId, appAccountToken, applicationUsername: at most one of them",
                zh: "orderId、appAccountToken、applicationUsername：最多提供其一")
        }
        guard let id = body.orderId else {
            guard body.userId == nil else {
                throw RefusalError(.invalidField, "userId: allowed only beside orderId", zh: "userId：只能与 orderId 同时使用")
            }
            return named.first ?? ""
        }
        let user = try body.userId.map { try InputLimits.user($0) }
        let order = try await database.read { try OrderTable($0).find(id)?.order }
        guard let order, user == nil || user == order.userID else { throw RefusalError(.unknownOrder) }
        guard order.productID == ProductID(body.productId) else {
            throw RefusalError(.invalidField, "orderId: the order is for another product", zh: "orderId：此订单的商品不同")
        }
        return order.id.description
    }

    private static func checked<Value>(_ make: () throws(InvalidRequestError) -> Value) throws -> Value {
        do throws(InvalidRequestError) {
            return try make()
        } catch {
            let field = error.field == "account" ? "applicationUsername" : error.field
            let explanation = explanation(of: error.rule)
            throw RefusalError(.invalidField, "\(field): \(explanation.en)", zh: "\(field)：\(explanation.zh)")
        }
    }

    private static func explanation(of rule: InvalidRequestError.Rule) -> LocalizedText {
        switch rule {
        case .missing: LocalizedText(en: "missing", zh: "缺失")
        case .tooLong: LocalizedText(en: "too long", zh: "过长")
        case .badText: LocalizedText(en: "holds a character that is not allowed", zh: "含有不允许的字符")
        case .ambiguousCase:
            LocalizedText(en: "holds a letter whose lower case differs between systems", zh: "含有小写形式因系统而异的字母")
        case .notJSON: LocalizedText(en: "must be a JSON object", zh: "应为 JSON 对象")
        case .outOfRange, .contradiction, .noConsent, .environmentNotAsked:
            LocalizedText(en: "invalid", zh: "无效")
        }
    }
}

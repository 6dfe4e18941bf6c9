import TillAPI
import TillAppStore
import TillBilling
import TillHTTP
import TillLedger

/// The backend decides which customer deserves an offer. A user may request only the offers that the catalogue opens,
/// for an unpaid order of the user's own. A repeated `Idempotency-Key` returns the same signature and nonce, which are
/// valid for one attempt to buy, so every attempt needs a key of its own.
extension Server {
    /// `POST /v1/offers/promotional`: signs a promotional offer, in the classic form or as JWS.
    func signPromotionalOffer(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(PromotionalOfferBody.self)
        let signer = try offerSigner()
        let product = try subscription(body.productId)
        if case .user = call.credential { try Self.requireOpen(body, of: product) }
        let form = try Self.form(of: body)
        let account: String
        switch call.credential {
        case .user(let user): account = try await self.account(for: body, of: user)
        case .backend: account = try await self.account(for: body)
        case .anonymous: throw RefusalError(.unauthorized)
        }
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

    /// What a user may request: an offer that the catalogue opens, for an order, in the form that names the order. The
    /// form jws names no order, so any purchase could use its signature.
    private static func requireOpen(_ body: PromotionalOfferBody, of product: CatalogProduct) throws {
        guard product.promotionalOffers.contains(where: { $0.hasSameBytes(as: body.offerId) }) else {
            throw RefusalError(
                .offerNotOpen, "offerId: not in the product's promotionalOffers",
                zh: "offerId：不在该商品的 promotionalOffers 中")
        }
        guard body.orderId != nil else {
            throw RefusalError(.offerNotOpen, "orderId: required with a user token", zh: "orderId：使用用户令牌时必填")
        }
        guard body.form ?? .classic == .classic else {
            throw RefusalError(.offerNotOpen, "form: classic with a user token", zh: "form：使用用户令牌时应为 classic")
        }
        let others: [(name: String, isPresent: Bool)] = [
            ("userId", body.userId != nil), ("appAccountToken", body.appAccountToken != nil),
            ("applicationUsername", body.applicationUsername != nil), ("transactionId", body.transactionId != nil),
        ]
        if let other = others.first(where: { $0.isPresent })?.name {
            throw RefusalError(
                .offerNotOpen, "\(other): not allowed with a user token", zh: "\(other)：使用用户令牌时不能使用")
        }
    }

    /// The order that a user is about to pay. A merged guest's order is the account's.
    private func account(for body: PromotionalOfferBody, of user: UserID) async throws -> String {
        guard let id = body.orderId else { throw RefusalError(.offerNotOpen) }
        let found = try await database.read { connection -> (order: Order, owner: UserID)? in
            guard let order = try OrderTable(connection).find(id)?.order else { return nil }
            return (order, try CustomerTable(connection).account(of: order.userID) ?? order.userID)
        }
        guard let found, found.owner == user || found.order.userID == user else { throw RefusalError(.unknownOrder) }
        guard found.owner == user else { throw RefusalError(.guestMerged) }
        try Self.require(found.order, isFor: body)
        guard found.order.transactionID == nil,
            [OrderStatus.prepared, .cancelled, .failed].contains(found.order.status)
        else {
            throw RefusalError(
                .offerNotOpen, "orderId: the order is paid, or its payment is under way", zh: "orderId：此订单已付款或正在付款")
        }
        guard offerRateLimit.take(user.text, now: machineClock()) else {
            throw RefusalError(.tooManyRequests, retryAfter: 30)
        }
        return found.order.id.description
    }

    private static func require(_ order: Order, isFor body: PromotionalOfferBody) throws {
        guard order.productID == ProductID(body.productId) else {
            throw RefusalError(.invalidField, "orderId: the order is for another product", zh: "orderId：此订单的商品不同")
        }
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
        try Self.require(order, isFor: body)
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
        case .outOfRange, .contradiction, .noConsent, .environmentNotAsked, .productionOnly:
            LocalizedText(en: "invalid", zh: "无效")
        }
    }
}

import TillBilling
import TillHTTP
import TillJSON

/// Offer codes and their redemption.
extension ControlEndpoint {
    func addOffers(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/offer-codes",
            LocalizedText(
                en: "Creates offer codes: a number of one-time codes, or one custom code for many customers.",
                zh: "创建优惠代码：若干一次性代码，或一个可供多位客户使用的自定义代码。"),
            body: Self.codeRequestMembers,
            answer: ControlResponse(
                "OfferCodes",
                [ControlMember("codes", .texts, required: true, LocalizedText(en: "the created codes", zh: "所创建的代码"))])
        ) { call in try await makeCodes(call.body) }
        routes.on(
            .get, "/emulator/offer-codes/{id}",
            LocalizedText(en: "An offer code and the number of its redemptions.", zh: "优惠代码及其兑换次数。"),
            answer: ControlResponse("OfferCode", Self.codeMembers)
        ) { call in
            guard let code = try await store.offerCode(call.id) else { throw ControlError(.unknownCode(call.id)) }
            return .json(Self.json(code))
        }
        routes.on(
            .post, "/emulator/offer-codes/{id}/redeem",
            LocalizedText(
                en: "Redeems the code outside the app, so the transaction has no appAccountToken.",
                zh: "在 App 之外兑换代码，因此交易不带 appAccountToken。"),
            body: [.account, .bundleID], answer: Self.purchaseAnswer
        ) { call in
            let result = try await store.redeem(
                call.id, account: try call.body.text("account") ?? Emulator.defaultAccount,
                bundleID: try call.body.text("bundleId") ?? configuration.app.bundleID)
            return try await answer(to: result.answered(), on: nil, wantsReceipt: false)
        }
    }

    private static let codeRequestMembers: [ControlMember] = [
        .bundleID,
        ControlMember(
            "productId", .text(limit: 200), required: true,
            LocalizedText(en: "the product id of the offer", zh: "优惠对应的商品 ID")),
        ControlMember(
            "offerId", .text(limit: 200), required: true,
            LocalizedText(en: "the id of an offer of kind code of the product", zh: "该商品的代码类优惠的标识")),
        ControlMember(
            "count", .integer(1...OfferCodeIssuer.batchLimit),
            LocalizedText(en: "the number of one-time codes; 1 if absent", zh: "一次性代码的个数，省略则为 1")),
        ControlMember(
            "code", .text(limit: 64),
            LocalizedText(en: "the custom code, letters and digits; excludes count", zh: "自定义代码，由字母与数字组成；不与 count 同用")),
        ControlMember(
            "limit", .integer(1...OfferCodeIssuer.quarterlyLimit),
            LocalizedText(
                en: "the number of customers who may redeem the custom code; 1000000 if absent",
                zh: "可兑换自定义代码的客户数，省略则为 1000000"
            )),
        ControlMember(
            "expiresAt", .instant, LocalizedText(en: "the expiration time; never if absent", zh: "到期时间，省略则永不过期")),
    ]

    private static var codeMembers: [ControlMember] { codeObject.members }
    private static func json(_ code: OfferCode) -> JSONValue { codeObject.json(code) }

    private static let codeObject = ControlObject<OfferCode> {
        $0.add("code", .text(limit: 64), required: true, LocalizedText(en: "the code", zh: "代码")) { .string($0.text) }
        $0.add(.bundleID) { .string($0.batch.bundleID) }
        $0.add(
            "productId", .text(limit: 200), required: true,
            LocalizedText(en: "the product id of the offer", zh: "优惠对应的商品 ID")
        ) {
            .string($0.batch.productID.text)
        }
        $0.add("offerId", .text(limit: 200), required: true, LocalizedText(en: "the offer id", zh: "优惠的标识")) {
            .string($0.batch.offer)
        }
        $0.add(
            "custom", .bool, required: true,
            LocalizedText(en: "whether it is a custom code for many customers", zh: "是否为可供多位客户使用的自定义代码")
        ) {
            .bool($0.batch.isCustom)
        }
        $0.add(
            "remaining", .integer(0...OfferCodeIssuer.quarterlyLimit), required: true,
            LocalizedText(en: "the number of remaining redemptions", zh: "剩余兑换次数")
        ) { .int($0.remaining) }
        $0.add(
            "redeemed", .integer(0...OfferCodeIssuer.quarterlyLimit), required: true,
            LocalizedText(en: "the number of redemptions so far", zh: "已兑换次数")
        ) { .int($0.redeemed) }
        $0.add("expiresAt", .instant, LocalizedText(en: "the expiration time", zh: "到期时间")) {
            $0.batch.expires.map { .string($0.rfc3339) }
        }
    }

    private func makeCodes(_ body: RequestBody) async throws -> HTTPResponse {
        let count = try body.integer("count", in: 1...OfferCodeIssuer.batchLimit)
        let limit = try body.integer("limit", in: 1...OfferCodeIssuer.quarterlyLimit)
        let text = try body.text("code", upTo: 64)
        let request: OfferCodeIssuer.CodeRequest
        if let text {
            let isWellFormed = text.utf8.allSatisfy { unit in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(unit)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(unit & 0xDF)
            }
            guard isWellFormed else {
                throw RequestBody.wrong("code", "letters and digits, at most 64", "不超过 64 个字母与数字")
            }
            guard count == nil else { throw RequestBody.wrong("count", "omitted when code is given", "不与 code 同用") }
            request = .custom(text, limit: limit ?? OfferCodeIssuer.quarterlyLimit)
        } else {
            guard limit == nil else { throw RequestBody.wrong("limit", "omitted when code is not given", "只与 code 同用") }
            request = .oneTime(count: count ?? 1)
        }
        let codes = try await store.makeOfferCodes(
            request, offer: try body.requiredText("offerId"), productID: ProductID(try body.requiredText("productId")),
            bundleID: try body.text("bundleId") ?? configuration.app.bundleID, expires: try body.instant("expiresAt"))
        return .json(["codes": .array(try codes.answered().map { .string($0) })])
    }
}

/// The offer of a purchase, as `POST /emulator/purchases` takes it: `{"type": "promotional", "identifier", "signature":
/// {"keyIdentifier", "nonce", "timestamp", "signature"}}`, or with `"jws"` instead of the signature; `{"type": "code",
/// "code"}`; `{"type": "winBack", "identifier"}`.
enum OfferText {
    static let members: [ControlMember] = [
        ControlMember(
            "type", .choice(["promotional", "code", "winBack"]), required: true,
            LocalizedText(en: "the kind of offer", zh: "优惠种类")),
        ControlMember(
            "identifier", .text(limit: 200),
            LocalizedText(en: "the id of a promotional or win-back offer", zh: "促销优惠或赢回优惠的标识")),
        ControlMember(
            "signature",
            .object([
                ControlMember(
                    "keyIdentifier", .text(limit: 64), required: true,
                    LocalizedText(en: "the keyId from GET /emulator/api-key", zh: "GET /emulator/api-key 给出的 keyId")),
                ControlMember(
                    "nonce", .uuid, required: true,
                    LocalizedText(en: "a nonce, unique for each signature", zh: "随机数，每次签名各不相同")),
                ControlMember(
                    "timestamp", .integer(0...Int64.max), required: true,
                    LocalizedText(en: "the time of signing in milliseconds", zh: "签名时间（毫秒）")),
                ControlMember(
                    "signature", .text(limit: 1_000), required: true,
                    LocalizedText(en: "the signature, base64 of DER", zh: "签名，DER 的 base64")),
            ]), LocalizedText(en: "the developer's signature in the original format", zh: "开发者的签名（原格式）")),
        ControlMember(
            "jws", .text(limit: 16_384),
            LocalizedText(en: "the developer's signature in the JWS format", zh: "开发者的签名（JWS 格式）")),
        ControlMember("code", .text(limit: 64), LocalizedText(en: "an offer code", zh: "优惠代码")),
    ]

    /// A missing member is refused by the store, as StoreKit does; a malformed one makes the request invalid.
    static func offer(_ value: JSONValue?) throws(ControlError) -> Result<PurchaseRequest.Offer, StoreRefusal>? {
        guard let value else { return .none }
        let body = try RequestBody(value, knowing: members.map(\.name))
        let identifier = try body.text("identifier")
        switch try body.requiredText("type") {
        case "code":
            guard let code = try body.text("code", upTo: 64) else { return .failure(.missingOfferParameters("code")) }
            return .success(.code(code))
        case "winBack":
            guard let identifier else { return .failure(.missingOfferParameters("identifier")) }
            return .success(.winBack(identifier: identifier))
        case "promotional":
            guard let identifier else { return .failure(.missingOfferParameters("identifier")) }
            if let token = try body.text("jws", upTo: 16_384) {
                return .success(.promotional(identifier: identifier, signature: .jws(token)))
            }
            guard let signature = body.value("signature") else { return .failure(.missingOfferParameters("signature")) }
            switch try classic(signature) {
            case .success(let signature):
                return .success(.promotional(identifier: identifier, signature: signature))
            case .failure(let refusal): return .failure(refusal)
            }
        default:
            throw RequestBody.wrong("type", "promotional, code or winBack", "promotional、code 或 winBack")
        }
    }

    private static func classic(_ value: JSONValue) throws(ControlError) -> Result<OfferSignature, StoreRefusal> {
        let body = try RequestBody(value, knowing: ["keyIdentifier", "nonce", "timestamp", "signature"])
        guard let key = try body.text("keyIdentifier", upTo: 64) else {
            return .failure(.missingOfferParameters("keyIdentifier"))
        }
        guard let nonce = try body.uniqueID("nonce") else { return .failure(.missingOfferParameters("nonce")) }
        guard let timestamp = try body.integer("timestamp", in: 0...Int64.max) else {
            return .failure(.missingOfferParameters("timestamp"))
        }
        guard let signature = try body.text("signature", upTo: 1_000) else {
            return .failure(.missingOfferParameters("signature"))
        }
        return .success(.classic(keyIdentifier: key, nonce: nonce, timestamp: timestamp, signature: signature))
    }
}

import TillBilling
import TillHTTP
import TillJSON

/// Offer codes and their redemption.
extension ControlEndpoint {
    func addOffers(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/offer-codes",
            Text(
                en: "Makes codes for an offer: so many for one customer each, or one text for many.",
                zh: "为优惠制作代码：若干一次性代码，或一个供多人使用的自定义代码。"),
            body: Self.codeWishMembers,
            answer: ControlAnswer(
                "OfferCodes",
                [ControlMember("codes", .texts, required: true, Text(en: "all that were made", zh: "所制作的代码"))])
        ) { call in try await makeCodes(call.body) }
        routes.on(
            .get, "/emulator/offer-codes/{id}", Text(en: "A code, and how often it was redeemed.", zh: "代码及其兑换次数。"),
            answer: ControlAnswer("OfferCode", Self.codeMembers)
        ) { call in
            guard let code = try await store.offerCode(call.id) else { throw Problem(.unknownCode(call.id)) }
            return .json(Self.json(code))
        }
        routes.on(
            .post, "/emulator/offer-codes/{id}/redeem",
            Text(
                en: "A customer redeems the code outside the app, where nobody gives an appAccountToken.",
                zh: "顾客在 App 之外兑换代码，没有 appAccountToken。"),
            body: [.account, .bundleID], answer: Self.purchaseAnswer
        ) { call in
            let result = try await store.redeem(
                call.id, account: try call.body.text("account") ?? Emulator.defaultAccount,
                bundleID: try call.body.text("bundleId") ?? configuration.app.bundleID)
            return try await answer(to: result.answered(), on: nil, wantsReceipt: false)
        }
    }

    private static let codeWishMembers: [ControlMember] = [
        .bundleID,
        ControlMember("productId", .text(limit: 200), required: true, Text(en: "what is offered", zh: "优惠的商品")),
        ControlMember(
            "offerId", .text(limit: 200), required: true,
            Text(en: "an offer of kind code of the product", zh: "该商品的代码优惠")),
        ControlMember(
            "count", .integer(1...CodeCounter.batchLimit),
            Text(en: "how many codes for one customer each; 1 if absent", zh: "一次性代码的个数，省略则为 1")),
        ControlMember(
            "code", .text(limit: 64),
            Text(en: "in place of count: the text of a custom code, letters and digits", zh: "代替 count：自定义代码，字母与数字")),
        ControlMember(
            "limit", .integer(1...CodeCounter.quarterlyLimit),
            Text(
                en: "how many customers may redeem the custom code; 1000000 if absent", zh: "自定义代码可供多少顾客兑换；省略则为 1000000"
            )),
        ControlMember("expiresAt", .instant, Text(en: "until when; for ever if absent", zh: "有效期至；省略则永久")),
    ]

    private static var codeMembers: [ControlMember] { codeObject.members }
    private static func json(_ code: OfferCode) -> JSONValue { codeObject.json(code) }

    private static let codeObject = ControlObject<OfferCode> {
        $0.add("code", .text(limit: 64), required: true, Text(en: "its text", zh: "代码")) { .string($0.text) }
        $0.add(.bundleID) { .string($0.batch.bundleID) }
        $0.add("productId", .text(limit: 200), required: true, Text(en: "what is offered", zh: "优惠的商品")) {
            .string($0.batch.productID.text)
        }
        $0.add("offerId", .text(limit: 200), required: true, Text(en: "which offer", zh: "哪个优惠")) {
            .string($0.batch.offer)
        }
        $0.add("custom", .bool, required: true, Text(en: "one text for many customers", zh: "供多人使用")) {
            .bool($0.batch.isCustom)
        }
        $0.add(
            "remaining", .integer(0...CodeCounter.quarterlyLimit), required: true,
            Text(en: "how often it may be redeemed yet", zh: "剩余次数")
        ) { .int($0.remaining) }
        $0.add(
            "redeemed", .integer(0...CodeCounter.quarterlyLimit), required: true,
            Text(en: "how often it was", zh: "已兑换次数")
        ) { .int($0.redeemed) }
        $0.add("expiresAt", .instant, Text(en: "until when", zh: "有效期至")) {
            $0.batch.expires.map { .string($0.rfc3339) }
        }
    }

    private func makeCodes(_ body: RequestBody) async throws -> HTTPResponse {
        let count = try body.integer("count", in: 1...CodeCounter.batchLimit)
        let limit = try body.integer("limit", in: 1...CodeCounter.quarterlyLimit)
        let text = try body.text("code", upTo: 64)
        let wish: CodeCounter.Wish
        if let text {
            let isWellFormed = text.utf8.allSatisfy { unit in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(unit)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(unit & 0xDF)
            }
            guard isWellFormed else {
                throw RequestBody.wrong("code", "letters and digits, at most 64", "不超过 64 个字母与数字")
            }
            guard count == nil else { throw RequestBody.wrong("count", "absent beside code", "不与 code 同用") }
            wish = .custom(text, limit: limit ?? CodeCounter.quarterlyLimit)
        } else {
            guard limit == nil else { throw RequestBody.wrong("limit", "absent without code", "只与 code 同用") }
            wish = .oneTime(count: count ?? 1)
        }
        let codes = try await store.makeOfferCodes(
            wish, offer: try body.requiredText("offerId"), productID: ProductID(try body.requiredText("productId")),
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
            "type", .choice(["promotional", "code", "winBack"]), required: true, Text(en: "its kind", zh: "优惠种类")),
        ControlMember(
            "identifier", .text(limit: 200),
            Text(en: "of a promotional or win-back offer", zh: "促销优惠或赢回优惠的标识")),
        ControlMember(
            "signature",
            .object([
                ControlMember(
                    "keyIdentifier", .text(limit: 64), required: true,
                    Text(en: "keyId of GET /emulator/api-key", zh: "GET /emulator/api-key 的 keyId")),
                ControlMember("nonce", .uuid, required: true, Text(en: "a new one each time", zh: "每次不同")),
                ControlMember(
                    "timestamp", .integer(0...Int64.max), required: true,
                    Text(en: "milliseconds, when it was signed", zh: "签名时间，毫秒")),
                ControlMember(
                    "signature", .text(limit: 1_000), required: true, Text(en: "base64 of DER", zh: "DER 的 base64")),
            ]), Text(en: "the developer's, in the classic form", zh: "开发者的经典形式签名")),
        ControlMember(
            "jws", .text(limit: 16_384), Text(en: "the developer's, as a token", zh: "开发者的令牌形式签名")),
        ControlMember("code", .text(limit: 64), Text(en: "an offer code", zh: "优惠代码")),
    ]

    /// A missing member is refused by the store, as StoreKit does; a malformed one makes the request invalid.
    static func offer(_ value: JSONValue?) throws(Problem) -> Result<PurchaseRequest.Offer, StoreRefusal>? {
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

    private static func classic(_ value: JSONValue) throws(Problem) -> Result<OfferSignature, StoreRefusal> {
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

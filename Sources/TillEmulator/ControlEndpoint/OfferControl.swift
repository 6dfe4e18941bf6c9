import TillBilling
import TillHTTP
import TillJSON

/// Offer codes, and who redeems them.
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

    private static let codeMembers: [ControlMember] = [
        ControlMember("code", .text(limit: 64), required: true, Text(en: "its text", zh: "代码")),
        .bundleID,
        ControlMember("productId", .text(limit: 200), required: true, Text(en: "what is offered", zh: "优惠的商品")),
        ControlMember("offerId", .text(limit: 200), required: true, Text(en: "which offer", zh: "哪个优惠")),
        ControlMember("custom", .bool, required: true, Text(en: "one text for many customers", zh: "供多人使用")),
        ControlMember(
            "remaining", .integer(0...CodeCounter.quarterlyLimit), required: true,
            Text(en: "how often it may be redeemed yet", zh: "剩余次数")),
        ControlMember(
            "redeemed", .integer(0...CodeCounter.quarterlyLimit), required: true,
            Text(en: "how often it was", zh: "已兑换次数")),
        ControlMember("expiresAt", .instant, Text(en: "until when", zh: "有效期至")),
    ]

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

    private static func json(_ code: OfferCode) -> JSONValue {
        var members: [String: JSONValue] = [
            "code": .string(code.text), "bundleId": .string(code.batch.bundleID),
            "productId": .string(code.batch.productID.text), "offerId": .string(code.batch.offer),
            "custom": .bool(code.batch.isCustom), "remaining": .int(code.remaining), "redeemed": .int(code.redeemed),
        ]
        members["expiresAt"] = code.batch.expires.map { .string($0.rfc3339) }
        return .object(members)
    }
}

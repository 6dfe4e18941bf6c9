import TillAPI
import TillBilling

extension Flag {
    fileprivate static let price = Flag(
        "price", .text("AMOUNT"),
        summary: LocalizedText(en: "the customer's price, like 6 or 0.99", zh: "客户支付的价格，如 6 或 0.99"))
    fileprivate static let currency = Flag(
        "currency", .text("CODE"), summary: LocalizedText(en: "its currency, like CNY", zh: "货币，如 CNY"))
    fileprivate static let storefront = Flag(
        "storefront", .text("CODE"),
        summary: LocalizedText(en: "the storefront of the sale, like CHN", zh: "销售的店面，如 CHN"))
    fileprivate static let at = Flag(
        "at", .text("DATE"),
        summary: LocalizedText(
            en: "the day of the sale, like 2026-03-15 (default: today)", zh: "销售日期，如 2026-03-15（默认今天）"))
    fileprivate static let type = Flag(
        "type", .choice(["consumable", "non-consumable", "auto-renewable", "non-renewing"]),
        summary: LocalizedText(en: "the product type (default: consumable)", zh: "商品类型（默认 consumable）"))
    fileprivate static let paidDays = Flag(
        "paid-days", .integer("N", 0...36_500),
        summary: LocalizedText(
            en: "days of paid service the subscriber had in the group before (auto-renewable only)",
            zh: "该客户此前在订阅组内的付费天数（仅自动续期订阅）"))
    fileprivate static let smallBusiness = Flag(
        "small-business",
        summary: LocalizedText(en: "the developer is in the Small Business Program", zh: "开发者参加了小型企业计划"))
}

extension Command {
    /// `till proceeds`: the developer's proceeds of a price.
    static let proceeds = Command(
        "proceeds",
        summary: LocalizedText(
            en: "split a price into tax, commission and the developer's proceeds", zh: "计算一个价格的税、佣金和开发者收入"),
        discussion: LocalizedText(
            en: """
                proceeds = price ÷ tax divisor × rate, exact, rounded half up once at the end. A classic price in US
                dollars counts as the next whole dollar. Rates and taxes are those of the day; if the tax is not
                known, the output says so and counts no tax.
                --json: {"price", "storefront", "at", "type", "taxDivisor": "1.0203", "taxUnknown": false,
                "rate": "0.7", "rateClass": "standard|afterOneYear|smallBusiness", "roundedUpPrice": null or money,
                "gross", "tax", "net", "commission", "proceeds"}; money is {"amount", "currency"} in minor units,
                gross = tax + commission + proceeds, net = gross − tax.
                """,
            zh: """
                收入 = 价格 ÷ 税除数 × 分成比例，全程精确，只在最后四舍五入一次。美元经典价格按进位到整数的美元计。
                分成比例和税率取当日的；税率未知时会说明，并按无税计算。
                --json：{"price", "storefront", "at", "type", "taxDivisor": "1.0203", "taxUnknown": false,
                "rate": "0.7", "rateClass": "standard|afterOneYear|smallBusiness", "roundedUpPrice": null 或金额,
                "gross", "tax", "net", "commission", "proceeds"}；金额为 {"amount", "currency"}，以最小货币单位计，
                gross = tax + commission + proceeds，net = gross − tax。
                """),
        flags: [.price, .currency, .storefront, .at, .type, .paidDays, .smallBusiness]
    ) { call in
        let query = try ProceedsQuery(call)
        if call.wantsJSON {
            try call.print(ProceedsResult(query))
        } else {
            let (proceeds, day) = (query.proceeds, query.day)
            call.say(
                LocalizedText(
                    en: "\(proceeds.gross) in \(query.storefront) on \(day): \(proceeds.proceeds) for the developer",
                    zh: "\(day) 在 \(query.storefront) 售价 \(proceeds.gross)：开发者得 \(proceeds.proceeds)"))
            for line in proceeds.explanation { call.say(line) }
        }
        return .done
    }
}

/// The arguments of one call of `till proceeds`, and the result.
private struct ProceedsQuery {
    let storefront: String
    let day: CivilDate
    let type: ProductType
    let proceeds: Proceeds

    init(_ call: Invocation) throws {
        func need(_ flag: Flag) throws -> String {
            guard let text = call.text(flag) else {
                throw UsageError(
                    LocalizedText(en: "--\(flag.name) is missing", zh: "缺少 --\(flag.name)"), command: "proceeds")
            }
            return text
        }
        let price = try call.money(need(.price), need(.currency), of: "--price", command: "proceeds")
        storefront = try Self.storefront(need(.storefront))
        day = try call.day(.at, storefront: storefront, command: "proceeds")
        type =
            switch call.text(.type) {
            case "non-consumable": .nonConsumable
            case "auto-renewable": .autoRenewable
            case "non-renewing": .nonRenewing
            default: .consumable
            }
        let paidDays = call.integer(.paidDays)
        guard paidDays == nil || type == .autoRenewable else {
            throw UsageError(
                LocalizedText(
                    en: "--paid-days counts for --type auto-renewable only",
                    zh: "--paid-days 只用于 --type auto-renewable"), command: "proceeds")
        }
        guard
            let proceeds = Proceeds(
                price: price, storefront: storefront, at: day, type: type, paidDays: Int(paidDays ?? 0),
                isSmallBusiness: call.isSet(.smallBusiness))
        else { throw CommandError(LocalizedText(en: "the price is negative", zh: "价格为负")) }
        self.proceeds = proceeds
    }

    private static func storefront(_ code: String) throws -> String {
        let capitals = code.uppercased()
        if capitals.utf8.count == 3, let territory = Territory(code: capitals) { return territory.alpha3 }
        let near = Territory(code: capitals)?.alpha3 ?? nearestName(to: capitals, among: Territory.all.map(\.alpha3))
        let query = near.map { LocalizedText(en: ". Did you mean \($0)?", zh: "。是否想写 \($0)？") }
        throw CommandError(
            LocalizedText(
                en: "there is no storefront \(shown(code))\(query?.en ?? ": three letters, like CHN")",
                zh: "没有“\(shown(code))”这个店面\(query?.zh ?? "：三个字母，如 CHN")"))
    }
}

/// The API's answer, with `roundedUpPrice` as null if it has no value.
private struct ProceedsResult: Encodable {
    let reply: ProceedsReply

    init(_ query: ProceedsQuery) {
        reply = ProceedsReply(
            query.proceeds, storefront: query.storefront, at: query.day, type: query.type)
    }

    private enum CodingKeys: CodingKey { case roundedUpPrice }

    func encode(to encoder: any Encoder) throws {
        try reply.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        if reply.roundedUpPrice == nil { try container.encodeNil(forKey: .roundedUpPrice) }
    }
}

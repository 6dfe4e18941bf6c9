import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// The products that an app requests, in the storefront of the device's account.
extension ControlEndpoint {
    func addDeviceProducts(to routes: inout ControlRoutes) {
        let summary = LocalizedText(
            en: "Products in the account's storefront. Ids of products not sold there are listed in `invalid`.",
            zh: "账户所在店面的商品；该店面未出售的商品 ID 列入 invalid。")
        routes.on(
            .get, "/emulator/devices/{id}/products", summary,
            query: [
                .bundleID,
                ControlMember(
                    "ids", .text(limit: Self.idsLimit), required: true,
                    LocalizedText(
                        en: "the product ids, separated by commas, at most 1,000", zh: "商品 ID，以逗号分隔，最多 1,000 个")),
            ], answer: OfferedProductText.answer
        ) { call in
            let ids = (call.query("ids") ?? "").split(separator: ",").map(String.init)
            return try await offeredProducts(ids, call)
        }
        routes.on(
            .post, "/emulator/devices/{id}/products", summary,
            body: [
                .bundleID,
                ControlMember(
                    "ids", .texts, required: true,
                    LocalizedText(en: "the product ids, at most 1,000", zh: "商品 ID，最多 1,000 个")),
            ], answer: OfferedProductText.answer
        ) { call in
            let ids = (call.body.value("ids")?.array ?? []).map(\.string)
            return try await offeredProducts(ids.map { $0 ?? "" }, call)
        }
    }

    /// The length of a thousand ids of a hundred letters, with commas.
    private static let idsLimit = 101_000

    private func offeredProducts(_ ids: [String], _ call: ControlCall) async throws -> HTTPResponse {
        guard ids.count <= OfferedProducts.limit, ids.allSatisfy({ (1...200).contains($0.utf8.count) }) else {
            throw RequestBody.wrong(
                "ids", "at most \(OfferedProducts.limit) texts of 1 to 200 bytes",
                "最多 \(OfferedProducts.limit) 个 1 到 200 字节的文本")
        }
        let offered = try await store.offeredProducts(ids, on: deviceID(call)).answered()
        return .json([
            "storefront": DeviceText.json(storefront: offered.storefront),
            "data": .array(offered.products.map(OfferedProductText.json)),
            "invalid": .array(offered.invalid.map { .string($0) }),
        ])
    }
}

/// A product as a device receives it.
enum OfferedProductText {
    static let answer = ControlResponse(
        "OfferedProducts",
        [
            DeviceText.storefront,
            ControlMember(
                "data", .list(product.members), required: true,
                LocalizedText(en: "the products in the requested order", zh: "商品，按请求的次序")),
            ControlMember(
                "invalid", .texts, required: true,
                LocalizedText(en: "the ids that are unknown or not sold in the storefront", zh: "不存在或未在该店面出售的商品 ID")),
        ])

    private static let offer = ControlObject<OfferedProduct.PricedOffer> {
        $0.add(
            "id", .text(limit: 64),
            LocalizedText(en: "the offer id; introductory offers have none", zh: "优惠标识；推介促销优惠没有")
        ) {
            $0.offer.identifier.map { .string($0) }
        }
        $0.add(
            "kind", .choice(["introductory", "promotional", "winBack"]), required: true,
            LocalizedText(en: "the kind of offer", zh: "优惠种类")
        ) { .string($0.offer.kind.rawValue) }
        $0.add(
            "discount", .choice(["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT"]), required: true,
            LocalizedText(en: "the payment mode", zh: "付款方式")
        ) { .string($0.offer.discount.rawValue) }
        $0.add(
            "price", .object(ControlMember.money), required: true,
            LocalizedText(en: "the price of one charge", zh: "每次扣款的金额")
        ) {
            $0.price.json
        }
        $0.add(
            "period", .text(limit: 6), required: true,
            LocalizedText(en: "the period of one charge: P3D, P1M", zh: "每次扣款的时长：P3D、P1M")
        ) {
            $0.offer.period.map { .string($0.text) }
        }
        $0.add("periods", .integer(1...100), required: true, LocalizedText(en: "the number of charges", zh: "扣款次数")) {
            .int($0.offer.periods)
        }
    }

    private static let subscription = ControlObject<(offered: OfferedProduct, terms: SubscriptionTerms)> {
        $0.add(
            "groupId", .text(limit: 64), required: true, LocalizedText(en: "the subscription group id", zh: "订阅组 ID")
        ) {
            .string($0.terms.groupID)
        }
        $0.add(
            "groupName", .text(limit: ProductText.copyLimit), required: true,
            LocalizedText(en: "the display name of the group", zh: "客户看到的订阅组名称")
        ) { .string($0.terms.groupName ?? $0.terms.groupID) }
        $0.add(
            "level", .integer(1...1_000), required: true,
            LocalizedText(en: "rank in the group, 1 the highest", zh: "组内等级，1 最高")
        ) { .int($0.terms.level) }
        $0.add(
            "period", .choice(of: SubscriptionPeriod.self), required: true,
            LocalizedText(en: "the subscription period", zh: "订阅周期")
        ) { .string($0.terms.period.rawValue) }
        $0.add(
            "introductoryOffer", .object(offer.members),
            LocalizedText(
                en: "the introductory offer, regardless of this customer's eligibility", zh: "推介促销优惠，不论此客户是否符合条件")
        ) {
            $0.offered.introductory.map(offer.json)
        }
        $0.add(
            "promotionalOffers", .list(offer.members), required: true,
            LocalizedText(en: "the promotional offers, which need a signature", zh: "促销优惠，须签名")
        ) { .array($0.offered.promotional.map(offer.json)) }
        $0.add(
            "winBackOffers", .list(offer.members), required: true, LocalizedText(en: "the win-back offers", zh: "赢回优惠")
        ) {
            .array($0.offered.winBacks.map(offer.json))
        }
        $0.add(
            "allowsMonthlyBilling", .bool,
            LocalizedText(en: "whether a yearly subscription can be paid monthly", zh: "年度订阅是否可按月付款")
        ) {
            $0.terms.hasBothPlans ? true : nil
        }
        $0.add(
            "monthlyPrice", .object(ControlMember.money),
            LocalizedText(en: "the price of a month of a year that is paid monthly", zh: "年度订阅按月付款时每月的价格")
        ) {
            guard $0.terms.hasBothPlans else { return nil }
            return $0.terms.price(ofYear: $0.offered.price, storefront: $0.offered.storefront, byTheMonth: true).json
        }
    }

    static func json(_ offered: OfferedProduct) -> JSONValue { product.json(offered) }

    private static let product = ControlObject<OfferedProduct> {
        $0.add("id", .text(limit: 100), required: true, LocalizedText(en: "the product id", zh: "商品 ID")) {
            .string($0.product.id.text)
        }
        $0.add(
            "type", .choice(ProductType.sold.map(\.rawValue)), required: true,
            LocalizedText(en: "the product type, as Apple names it", zh: "商品类型（采用 Apple 的名称）")
        ) { .string($0.product.kind.rawValue) }
        $0.add(
            "displayName", .text(limit: ProductText.copyLimit), required: true,
            LocalizedText(en: "the display name", zh: "显示名称")
        ) {
            .string($0.text.displayName)
        }
        $0.add(
            "description", .text(limit: ProductText.copyLimit), required: true,
            LocalizedText(en: "the description; empty if the product has none", zh: "描述，没有则为空")
        ) { .string($0.text.description) }
        $0.add(
            "locale", .text(limit: 20), required: true,
            LocalizedText(
                en: "the locale of the name and description: the storefront's, or the closest available",
                zh: "名称和描述的语言：店面的语言，或最接近的语言")
        ) { .string($0.text.locale) }
        $0.add(
            "price", .object(ControlMember.money), required: true,
            LocalizedText(en: "the price of one unit, without offers", zh: "单价，不含优惠")
        ) { $0.price.json }
        $0.add(
            "familyShareable", .bool, required: true,
            LocalizedText(en: "whether Family Sharing is allowed", zh: "是否支持家人共享")
        ) {
            .bool($0.product.isFamilyShareable)
        }
        $0.add(
            "subscription", .object(subscription.members),
            LocalizedText(en: "for auto-renewable subscriptions only", zh: "仅自动续期订阅")
        ) {
            offered in offered.product.subscription.map { subscription.json((offered, $0)) }
        }
    }
}

import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// The products that an app requests, in the storefront of the device's account.
extension ControlEndpoint {
    func addDeviceProducts(to routes: inout ControlRoutes) {
        let summary = Text(
            en: "Products as the account's storefront sees them; what is not on sale there is invalid.",
            zh: "账户所在地区看到的商品；该地区未出售的列入 invalid。")
        routes.on(
            .get, "/emulator/devices/{id}/products", summary,
            query: [
                .bundleID,
                ControlMember(
                    "ids", .text(limit: Self.idsLimit), required: true,
                    Text(en: "at most 1,000, with commas between them", zh: "最多 1,000 个，以逗号分隔")),
            ], answer: OfferedProductText.answer
        ) { call in
            let ids = (call.query("ids") ?? "").split(separator: ",").map(String.init)
            return try await offeredProducts(ids, call)
        }
        routes.on(
            .post, "/emulator/devices/{id}/products", summary,
            body: [
                .bundleID,
                ControlMember("ids", .texts, required: true, Text(en: "at most 1,000", zh: "最多 1,000 个")),
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
    static let answer = ControlAnswer(
        "OfferedProducts",
        [
            DeviceText.storefront,
            ControlMember(
                "data", .list(product.members), required: true, Text(en: "in the order asked for", zh: "按询问的次序")),
            ControlMember(
                "invalid", .texts, required: true, Text(en: "not on sale there, or unknown", zh: "未出售或不存在的商品")),
        ])

    private static let offer = ControlObject<OfferedProduct.PricedOffer> {
        $0.add("id", .text(limit: 64), Text(en: "of all but introductory ones", zh: "推介促销优惠以外都有")) {
            $0.offer.identifier.map { .string($0) }
        }
        $0.add(
            "kind", .choice(["introductory", "promotional", "winBack"]), required: true,
            Text(en: "for whom it is", zh: "给谁")
        ) { .string($0.offer.kind.rawValue) }
        $0.add(
            "discount", .choice(["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT"]), required: true,
            Text(en: "how it is paid", zh: "付款方式")
        ) { .string($0.offer.discount.rawValue) }
        $0.add("price", .object(ControlMember.money), required: true, Text(en: "of one charge", zh: "每次扣款的金额")) {
            $0.price.json
        }
        $0.add("period", .text(limit: 6), required: true, Text(en: "of one charge: P3D, P1M", zh: "每次扣款的时长：P3D、P1M")) {
            $0.offer.period.map { .string($0.text) }
        }
        $0.add("periods", .integer(1...100), required: true, Text(en: "how many charges", zh: "扣款次数")) {
            .int($0.offer.periods)
        }
    }

    private static let subscription = ControlObject<(offered: OfferedProduct, terms: SubscriptionTerms)> {
        $0.add("groupId", .text(limit: 64), required: true, Text(en: "the group", zh: "订阅组")) {
            .string($0.terms.groupID)
        }
        $0.add(
            "groupName", .text(limit: ProductText.copyLimit), required: true,
            Text(en: "what customers see it called", zh: "顾客看到的订阅组名称")
        ) { .string($0.terms.groupName ?? $0.terms.groupID) }
        $0.add(
            "level", .integer(1...1_000), required: true, Text(en: "rank in the group, 1 the highest", zh: "组内等级，1 最高")
        ) { .int($0.terms.level) }
        $0.add(
            "period", .choice(of: SubscriptionPeriod.self), required: true,
            Text(en: "of one charge", zh: "订阅周期")
        ) { .string($0.terms.period.rawValue) }
        $0.add("introductoryOffer", .object(offer.members), Text(en: "whoever may have it", zh: "推介促销优惠，不论此顾客能否享受")) {
            $0.offered.introductory.map(offer.json)
        }
        $0.add("promotionalOffers", .list(offer.members), required: true, Text(en: "with a signature", zh: "促销优惠，须签名"))
        { .array($0.offered.promotional.map(offer.json)) }
        $0.add("winBackOffers", .list(offer.members), required: true, Text(en: "for who left", zh: "赢回优惠")) {
            .array($0.offered.winBacks.map(offer.json))
        }
        $0.add("allowsMonthlyBilling", .bool, Text(en: "a year may be paid by the month", zh: "年度订阅可按月付款")) {
            $0.terms.hasBothPlans ? true : nil
        }
    }

    static func json(_ offered: OfferedProduct) -> JSONValue { product.json(offered) }

    private static let product = ControlObject<OfferedProduct> {
        $0.add("id", .text(limit: 100), required: true, Text(en: "its id", zh: "商品 id")) { .string($0.product.id.text) }
        $0.add(
            "type", .choice(ProductType.sold.map(\.rawValue)), required: true,
            Text(en: "in Apple's words", zh: "商品类型（Apple 的叫法）")
        ) { .string($0.product.kind.rawValue) }
        $0.add("displayName", .text(limit: ProductText.copyLimit), required: true, Text(en: "shown", zh: "显示名称")) {
            .string($0.text.displayName)
        }
        $0.add(
            "description", .text(limit: ProductText.copyLimit), required: true,
            Text(en: "shown; empty where it has none", zh: "描述，没有则为空")
        ) { .string($0.text.description) }
        $0.add(
            "locale", .text(limit: 20), required: true,
            Text(en: "of these two: the storefront's, or the nearest there is", zh: "这两项的语言：地区的语言或最接近者")
        ) { .string($0.text.locale) }
        $0.add("price", .object(ControlMember.money), required: true, Text(en: "of one, without offers", zh: "单价，不含优惠"))
        { $0.price.json }
        $0.add("familyShareable", .bool, required: true, Text(en: "whether a family gets it too", zh: "是否可家庭共享")) {
            .bool($0.product.isFamilyShareable)
        }
        $0.add("subscription", .object(subscription.members), Text(en: "of auto-renewables only", zh: "仅自动续期订阅")) {
            offered in offered.product.subscription.map { subscription.json((offered, $0)) }
        }
    }
}

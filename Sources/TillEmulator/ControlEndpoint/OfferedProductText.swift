import TillBilling
import TillJSON

/// A product in the words in which a phone is told of it.
enum OfferedProductText {
    static let answer = ControlAnswer(
        "OfferedProducts",
        [
            DeviceText.storefront,
            ControlMember("data", .list(members), required: true, Text(en: "in the order asked for", zh: "按询问的次序")),
            ControlMember(
                "invalid", .texts, required: true, Text(en: "not on sale there, or unknown", zh: "未出售或不存在的商品")),
        ])

    private static let offerMembers: [ControlMember] = [
        ControlMember("id", .text(limit: 64), Text(en: "of all but introductory ones", zh: "推介促销优惠以外都有")),
        ControlMember(
            "kind", .choice(["introductory", "promotional", "winBack"]), required: true,
            Text(en: "for whom it is", zh: "给谁")),
        ControlMember(
            "discount", .choice(["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT"]), required: true,
            Text(en: "how it is paid", zh: "付款方式")),
        ControlMember(
            "price", .object(ControlMember.money), required: true, Text(en: "of one charge", zh: "每次扣款的金额")),
        ControlMember(
            "period", .text(limit: 6), required: true, Text(en: "of one charge: P3D, P1M", zh: "每次扣款的时长：P3D、P1M")),
        ControlMember("periods", .integer(1...100), required: true, Text(en: "how many charges", zh: "扣款次数")),
    ]

    private static let subscriptionMembers: [ControlMember] = [
        ControlMember("groupId", .text(limit: 64), required: true, Text(en: "the group", zh: "订阅组")),
        ControlMember(
            "groupName", .text(limit: ProductText.copyLimit), required: true,
            Text(en: "what customers see it called", zh: "顾客看到的订阅组名称")),
        ControlMember(
            "level", .integer(1...1_000), required: true,
            Text(en: "rank in the group, 1 the highest", zh: "组内等级，1 最高")),
        ControlMember(
            "period", .choice(SubscriptionPeriod.allCases.map(\.rawValue)), required: true,
            Text(en: "of one charge", zh: "订阅周期")),
        ControlMember(
            "introductoryOffer", .object(offerMembers),
            Text(en: "whoever may have it", zh: "推介促销优惠，不论此顾客能否享受")),
        ControlMember(
            "promotionalOffers", .list(offerMembers), required: true, Text(en: "with a signature", zh: "促销优惠，须签名")),
        ControlMember(
            "winBackOffers", .list(offerMembers), required: true, Text(en: "for who left", zh: "赢回优惠")),
        ControlMember(
            "allowsMonthlyBilling", .bool, Text(en: "a year may be paid by the month", zh: "年度订阅可按月付款")),
    ]

    private static let members: [ControlMember] = [
        ControlMember("id", .text(limit: 100), required: true, Text(en: "its id", zh: "商品 id")),
        ControlMember(
            "type", .choice(ProductType.sold.map(\.rawValue)), required: true,
            Text(en: "in Apple's words", zh: "商品类型（Apple 的叫法）")),
        ControlMember(
            "displayName", .text(limit: ProductText.copyLimit), required: true, Text(en: "shown", zh: "显示名称")),
        ControlMember(
            "description", .text(limit: ProductText.copyLimit), required: true,
            Text(en: "shown; empty where it has none", zh: "描述，没有则为空")),
        ControlMember(
            "locale", .text(limit: 20), required: true,
            Text(en: "of these two: the storefront's, or the nearest there is", zh: "这两项的语言：地区的语言或最接近者")),
        ControlMember(
            "price", .object(ControlMember.money), required: true, Text(en: "of one, without offers", zh: "单价，不含优惠")),
        ControlMember(
            "familyShareable", .bool, required: true, Text(en: "whether a family gets it too", zh: "是否可家庭共享")),
        ControlMember(
            "subscription", .object(subscriptionMembers), Text(en: "of auto-renewables only", zh: "仅自动续期订阅")),
    ]

    static func json(_ offered: OfferedProduct) -> JSONValue {
        let product = offered.product
        var members: [String: JSONValue] = [
            "id": .string(product.id.text), "type": .string(product.kind.rawValue),
            "displayName": .string(offered.text.displayName), "description": .string(offered.text.description),
            "locale": .string(offered.text.locale), "price": offered.price.json,
            "familyShareable": .bool(product.isFamilyShareable),
        ]
        if let terms = product.subscription {
            var subscription: [String: JSONValue] = [
                "groupId": .string(terms.groupID), "groupName": .string(terms.groupName ?? terms.groupID),
                "level": .int(terms.level), "period": .string(terms.period.rawValue),
                "promotionalOffers": .array(offered.promotional.map(json)),
                "winBackOffers": .array(offered.winBacks.map(json)),
            ]
            subscription["introductoryOffer"] = offered.introductory.map(json)
            if terms.hasBothPlans { subscription["allowsMonthlyBilling"] = true }
            members["subscription"] = .object(subscription)
        }
        return .object(members)
    }

    private static func json(_ priced: OfferedProduct.PricedOffer) -> JSONValue {
        var members: [String: JSONValue] = [
            "kind": .string(priced.offer.kind.rawValue), "discount": .string(priced.offer.discount.rawValue),
            "price": priced.price.json, "periods": .int(priced.offer.periods),
        ]
        members["id"] = priced.offer.identifier.map { .string($0) }
        members["period"] = priced.offer.period.map { .string($0.text) }
        return .object(members)
    }
}

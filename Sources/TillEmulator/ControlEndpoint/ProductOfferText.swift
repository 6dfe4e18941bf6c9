import TillBilling
import TillJSON

/// An offer as the control API takes and gives it.
enum ProductOfferText {
    static let members: [ControlMember] = [
        ControlMember(
            "kind", .choice(ProductOffer.Kind.allCases.map(\.rawValue)), required: true,
            Text(en: "for whom it is", zh: "给谁")),
        ControlMember("identifier", .text(limit: 64), Text(en: "of all but introductory ones", zh: "推介促销优惠以外必填")),
        ControlMember(
            "discount", .choice(ProductOffer.Discount.allCases.map(\.rawValue)), required: true,
            Text(en: "how it is paid", zh: "付款方式")),
        ControlMember(
            "period", .text(limit: 6),
            Text(en: "P3D, P1W, P1M, P1Y; the subscription's if absent", zh: "P3D、P1W、P1M、P1Y，省略则同订阅周期")),
        ControlMember(
            "periods", .integer(1...100), Text(en: "more than 1 only for pay as you go", zh: "仅随用随付可大于 1")),
        ControlMember("prices", .map, Text(en: "by storefront, of one charge", zh: "按地区，每次扣款")),
        ControlMember(
            "customers", .texts,
            Text(
                en: "of a subscription's codes: NEW, EXISTING, EXPIRED; all three if absent",
                zh: "仅订阅的优惠代码：NEW、EXISTING、EXPIRED，省略则全部")),
    ]

    static func offer(_ item: FileMember) throws(Problem) -> ProductOffer {
        try item.knows(members.map(\.name))
        let kind = try item.choice("kind", of: ProductOffer.Kind.self)
        let discount = try item.choice("discount", of: ProductOffer.Discount.self)
        guard let kind, let discount else {
            _ = try item.required("kind")
            _ = try item.required("discount")
            throw item.wrong("an offer", "一项优惠")
        }
        var period: OfferPeriod?
        if let member = try item.member("period") {
            period = OfferPeriod(try member.text(upTo: 6))
            if period == nil { throw member.wrong("a period such as P3D, P1W, P1M or P1Y", "周期，例如 P3D、P1W、P1M、P1Y") }
        }
        return ProductOffer(
            kind: kind, identifier: try item.text("identifier", upTo: 64), discount: discount, period: period,
            periods: try item.integer("periods", in: 1...100) ?? 1,
            prices: try item.member("prices").map { prices throws(Problem) in try ProductText.prices(in: prices) }
                ?? [:],
            customers: try customers(item))
    }

    private static func customers(_ item: FileMember) throws(Problem) -> [ProductOffer.Customer]? {
        guard let list = try item.member("customers") else { return nil }
        var customers: [ProductOffer.Customer] = []
        for member in try list.items(upTo: 3) {
            guard let customer = ProductOffer.Customer(rawValue: try member.text(upTo: 10)) else {
                throw member.wrong("NEW, EXISTING or EXPIRED", "NEW、EXISTING 或 EXPIRED")
            }
            customers.append(customer)
        }
        return customers
    }

    static func json(_ offer: ProductOffer) -> JSONValue {
        var members: [String: JSONValue] = [
            "kind": .string(offer.kind.rawValue), "discount": .string(offer.discount.rawValue),
            "periods": .int(offer.periods), "prices": .object(offer.prices.mapValues(\.json)),
        ]
        members["identifier"] = offer.identifier.map { .string($0) }
        members["period"] = offer.period.map { .string($0.text) }
        members["customers"] = offer.customers.map { .array($0.map { .string($0.rawValue) }) }
        return .object(members)
    }
}

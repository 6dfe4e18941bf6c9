/// The id of a plan, the same for all products that sell it: `basic_monthly`.
public typealias PlanID = Identifier<IdentifierKind.Plan>

/// The length of a plan: an ISO 8601 duration of one unit, `P1M`, `P1Y`, `P2W`, `P7D`. A month has 30 days and a year
/// 365, independent of the calendar, so that the same price buys the same time on every day.
public struct PlanLength: Hashable, Sendable {
    /// The ISO 8601 duration.
    public let text: String
    /// 1 to 3,650.
    public let days: Int

    /// Nil unless the text is such a duration of at most 3,650 days.
    public init?(_ text: String) {
        let units = Array(text.utf8)
        guard (3...6).contains(units.count), units[0] == UInt8(ascii: "P") else { return nil }
        var count = 0
        for unit in units[1..<(units.count - 1)] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(unit) else { return nil }
            count = count * 10 + Int(unit - UInt8(ascii: "0"))
        }
        let each: Int
        switch units[units.count - 1] {
        case UInt8(ascii: "D"): each = 1
        case UInt8(ascii: "W"): each = 7
        case UInt8(ascii: "M"): each = 30
        case UInt8(ascii: "Y"): each = 365
        default: return nil
        }
        guard (1...3_650).contains(count * each) else { return nil }
        self.text = text
        days = count * each
    }

    public var seconds: Int64 { Int64(days) * 86_400 }
}

extension PlanLength: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let length = PlanLength(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a length like P1M or P1Y")
        }
        self = length
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// What one purchase of a plan covers.
public enum PlanScope: String, Hashable, Sendable, Codable, CaseIterable {
    /// All devices of the account.
    case account
    /// The device that the order names. If it is bought for several devices, the plan runs on each separately, and a
    /// purchase converts only the service of its own device.
    case device
}

/// The plan that a product sells, in the catalogue: `{"id": "basic_monthly", "length": "P1M", "rank": "basic"}`.
public struct PlanTerms: Hashable, Sendable, Codable {
    public let id: PlanID
    public let length: PlanLength
    /// The service level, independent of price and length: `basic`, `premium`. The plan's own id if absent.
    public let rank: String?
    /// `account` if absent.
    public let scope: PlanScope?

    public init(id: PlanID, length: PlanLength, rank: String? = nil, scope: PlanScope? = nil) {
        self.id = id
        self.length = length
        self.rank = rank
        self.scope = scope
    }
}

/// A plan that a shop sells: service for a time, at a list price in the catalogue's base currency.
public struct Plan: Hashable, Sendable, Identifiable {
    public let id: PlanID
    /// The product that sells it.
    public let productID: ProductID
    public let names: LocalizedText
    /// The entitlement while the plan lasts: the product's, or the plan's rank.
    public let entitlement: String
    public let rank: String
    /// The price of one length, in the base currency.
    public private(set) var price: Money
    public let length: PlanLength
    public let scope: PlanScope

    /// The plan of a product whose time the server keeps. Nil for a product without a plan, and for an auto-renewable
    /// subscription: Apple keeps its periods, and refunds the unused time after an upgrade (facts/business-rules §8.2).
    ///
    /// - Parameter price: the list price of one at the time of purchase, if it differs from today's.
    /// - Parameter sold: the plan in the catalogue of the purchase's day. Its length and scope apply, because a later
    ///   catalogue does not change what was bought.
    public init?(soldBy product: CatalogProduct, at price: Money? = nil, as sold: PlanTerms? = nil) {
        guard let terms = product.plan, product.type == .consumable || product.type == .nonRenewing else { return nil }
        id = terms.id
        productID = product.id
        names = product.names.bilingual
        rank = terms.rank ?? terms.id.text
        entitlement = product.entitlement ?? rank
        self.price = price ?? product.price
        length = (sold ?? terms).length
        scope = (sold ?? terms).scope ?? .account
    }

    /// The plan at another list price.
    func priced(at price: Money) -> Plan {
        var plan = self
        plan.price = price
        return plan
    }

    /// Whether the plan is a free trial: it has no value, and no service is converted into it.
    public var isFree: Bool { price.amount <= 0 }

    /// The price of a day in minor units.
    public var dailyPrice: Fraction { Fraction(UInt64(max(0, price.amount)), over: UInt64(length.days)) }
}

/// The list price of one product in one catalogue: in the base currency of balances, and in the other storefronts'
/// currencies that the catalogue lists.
public struct ListPrice: Hashable, Sendable {
    public let base: Money
    /// In minor units.
    private let others: [Currency: Int64]

    /// - Parameters:
    ///   - product: the product in the catalogue of that day.
    ///   - usual: its price today. It determines the base currency, and is used itself if that day's catalogue had no
    ///     price in this currency.
    public init(of product: CatalogProduct, orElse usual: Money) {
        var prices = Dictionary(
            product.prices.map { (Currency($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
        prices[product.price.currency] = product.price.amount
        base = Money(amount: max(0, prices[usual.currency] ?? usual.amount), currency: usual.currency)
        others = prices
    }

    /// The price of a plan for which no other currency is known.
    init(of plan: Plan) {
        base = plan.price
        others = [:]
    }

    /// The value of a purchase in a conversion: the price paid, limited to the list price.
    ///
    /// - A price paid in the base currency counts in full.
    /// - A price paid in another currency of the catalogue counts as a part of the list price: the paid price divided
    ///   by the listed price in that currency, at most the whole. The result is rounded down to the minor unit.
    /// - A price in a currency that the catalogue does not list counts as the list price, because storefront prices are
    ///   not exchange rates; if an offer made the price, it counts as nothing, because the offer's part of the list
    ///   price is unknown.
    /// - Without a signed price, as in a receipt, the list price counts.
    ///
    /// - Parameters:
    ///   - paid: the price that Apple signed, for the whole quantity.
    ///   - isOffer: whether Apple signed that an offer made the price.
    public func worth(of paid: Money?, quantity: Int, isOffer: Bool) -> Money {
        let listed = Self.times(base.amount, quantity)
        guard let paid else { return Money(amount: listed, currency: base.currency) }
        guard paid.amount > 0, paid.currency != base.currency else {
            return Money(amount: max(0, paid.amount), currency: base.currency)
        }
        guard let one = others[paid.currency], one > 0 else {
            return Money(amount: isOffer ? 0 : listed, currency: base.currency)
        }
        let full = Self.times(one, quantity)
        let part = paid.amount < full ? full.dividingFullWidth(listed.multipliedFullWidth(by: paid.amount)) : nil
        return Money(amount: part?.quotient ?? listed, currency: base.currency)
    }

    private static func times(_ amount: Int64, _ quantity: Int) -> Int64 {
        let (product, overflow) = amount.multipliedReportingOverflow(by: Int64(quantity))
        return overflow ? .max : max(0, product)
    }
}

extension Catalog {
    /// The faults of a catalogue's plans. They are found at start, not when a customer's balance is converted.
    var planFindings: [Finding] {
        let sold = products.compactMap { product in product.plan.map { (product, $0) } }
        var terms: [PlanID: PlanTerms] = [:]
        var found: [Finding] = []
        for (product, plan) in sold {
            found += Self.unusable(product, plan)
            let first = terms[plan.id] ?? plan
            terms[plan.id] = first
            if !first.agrees(with: plan) {
                found.append(
                    Finding(
                        code: .planDiffers, product: product.id,
                        sentence: LocalizedText(
                            en: "Plan \(plan.id) of \(product.id) has another length, rank or scope elsewhere. Make "
                                + "them the same.",
                            zh: "商品 \(product.id) 的套餐 \(plan.id) 在别处的时长、等级或适用范围不同。请统一。")))
            }
        }
        return found + Self.currencies(sold.compactMap { Plan(soldBy: $0.0) })
    }

    private static func unusable(_ product: CatalogProduct, _ plan: PlanTerms) -> [Finding] {
        let isNamed = [plan.id.text, plan.rank ?? plan.id.text].allSatisfy { ProductID($0).isWellFormed }
        let isSoldForATime = [.consumable, .nonRenewing, .autoRenewable].contains(product.type)
        guard !isNamed || !isSoldForATime else { return [] }
        return [
            Finding(
                code: .badPlan, product: product.id,
                sentence: LocalizedText(
                    en: "The plan of \(product.id) is not usable: its id and rank are like product ids, and it is "
                        + "sold as a consumable, a non-renewing or an auto-renewable subscription.",
                    zh: "商品 \(product.id) 的套餐不可用：套餐 id 和等级的写法同商品 ID，"
                        + "商品类型须为消耗型、非续期订阅或自动续期订阅。"))
        ]
    }

    /// Balances are computed from list prices in one currency.
    private static func currencies(_ plans: [Plan]) -> [Finding] {
        let all = Set(plans.map(\.price.currency)).sorted().map(\.text)
        guard all.count > 1 else { return [] }
        return [
            Finding(
                code: .planCurrencies, product: nil,
                sentence: LocalizedText(
                    en: "Plans are priced in \(all.joined(separator: ", ")). Use one currency for all of them.",
                    zh: "套餐的价格用了多种货币：\(all.joined(separator: "、"))。请统一为一种。"))
        ]
    }
}

extension PlanTerms {
    fileprivate func agrees(with other: PlanTerms) -> Bool {
        length.days == other.length.days && (rank ?? id.text) == (other.rank ?? other.id.text)
            && (scope ?? .account) == (other.scope ?? .account)
    }
}

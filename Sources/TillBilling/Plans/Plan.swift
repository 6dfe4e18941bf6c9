/// A plan's own name, the same for all products that sell it: `basic_monthly`.
public typealias PlanID = Identifier<Identified.Plan>

/// How long a plan lasts: an ISO 8601 duration of one unit, `P1M`, `P1Y`, `P2W`, `P7D`. A month of plan has 30 days and
/// a year 365, whatever the calendar says, so that the same price buys the same time on every day (C5).
public struct PlanLength: Hashable, Sendable {
    /// As it was written.
    public let text: String
    /// 1 to 3,650.
    public let days: Int

    /// Nil for anything else than such a duration of at most 3,650 days.
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

/// Whom one purchase of a plan is for.
public enum PlanScope: String, Hashable, Sendable, Codable, CaseIterable {
    /// All of the account's devices.
    case account
    /// The device that the order names; bought for several, the plan runs on each by itself. What one of them has is
    /// converted for that one.
    case device
}

/// What the catalogue says of a product that sells a plan: `{"id": "basic_monthly", "length": "P1M", "rank": "basic"}`.
public struct PlanTerms: Hashable, Sendable, Codable {
    public let id: PlanID
    public let length: PlanLength
    /// What service the plan gives, whatever it costs and however long it lasts: `basic`, `premium`. The plan's own id
    /// if absent.
    public let rank: String?
    /// For the account if absent.
    public let scope: PlanScope?

    public init(id: PlanID, length: PlanLength, rank: String? = nil, scope: PlanScope? = nil) {
        self.id = id
        self.length = length
        self.rank = rank
        self.scope = scope
    }
}

/// A plan as a shop sells it: service for a time, at a list price in the catalogue's base currency.
public struct Plan: Hashable, Sendable, Identifiable {
    public let id: PlanID
    /// The product that sells it.
    public let productID: ProductID
    public let names: Text
    /// The right it gives while it lasts: the product's entitlement, or the plan's rank.
    public let entitlement: String
    public let rank: String
    /// For one length of it, in the base currency.
    public private(set) var price: Money
    public let length: PlanLength
    public let scope: PlanScope

    /// The plan of a product whose time the server keeps. Nil for a product without a plan, and for an auto-renewable
    /// subscription: Apple keeps its periods, and refunds what an upgrade leaves of them (C5, facts/business-rules
    /// §8.2).
    ///
    /// - Parameter price: what one of it cost in the list when it was bought, if that was another price than now.
    /// - Parameter sold: what the catalogue of the purchase's day said of it. Its length and scope count, because a
    ///   later catalogue changes nothing about what was bought.
    public init?(soldBy product: Product, at price: Money? = nil, as sold: PlanTerms? = nil) {
        guard let terms = product.plan, product.type == .consumable || product.type == .nonRenewing else { return nil }
        id = terms.id
        productID = product.id
        names = product.names
        rank = terms.rank ?? terms.id.text
        entitlement = product.entitlement ?? rank
        self.price = price ?? product.price
        length = (sold ?? terms).length
        scope = (sold ?? terms).scope ?? .account
    }

    /// The same plan at another list price.
    func priced(at price: Money) -> Plan {
        var plan = self
        plan.price = price
        return plan
    }

    /// A plan that costs nothing is a trial: it is worth nothing, and nothing can be converted into it.
    public var isFree: Bool { price.amount <= 0 }

    /// In minor units.
    public var dailyPrice: Fraction { Fraction(UInt64(max(0, price.amount)), over: UInt64(length.days)) }
}

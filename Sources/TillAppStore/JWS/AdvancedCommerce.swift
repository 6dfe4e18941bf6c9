import TillBilling
import TillJSON

/// `advancedCommerceInfo` of a transaction (facts/jws §4): only for products sold through Apple's Advanced Commerce.
/// Amounts are thousandths of the currency's unit.
public struct AdvancedCommerceTransaction: JSONPayload {
    package var source: JSONObject?
    public var descriptors: AdvancedCommerceDescriptors?
    public var estimatedTax: Int64?
    public var items: [Item]?
    public var period: String?
    public var requestReferenceID: String?
    public var taxCode: String?
    public var taxExclusivePrice: Int64?
    /// Decimal text, as Apple writes it.
    public var taxRate: String?

    package init() {}

    public struct Item: JSONPayload {
        package var source: JSONObject?
        public var sku: String?
        public var descriptors = AdvancedCommerceDescriptors()
        public var offer: AdvancedCommerceOffer?
        public var price: Int64?
        public var refunds: [Refund]?
        public var revocationDate: Instant?

        package init() {}
    }

    public struct Refund: JSONPayload {
        package var source: JSONObject?
        public var amount: Int64?
        public var date: Instant?
        public var reason: String?
        public var type: String?

        package init() {}
    }

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("descriptors", &descriptors)
        try visitor.visit("estimatedTax", &estimatedTax)
        try visitor.visit("items", &items)
        try visitor.visit("period", &period)
        try visitor.visit("requestReferenceId", &requestReferenceID)
        try visitor.visit("taxCode", &taxCode)
        try visitor.visit("taxExclusivePrice", &taxExclusivePrice)
        try visitor.visit("taxRate", &taxRate)
    }
}

extension AdvancedCommerceTransaction.Item {
    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("SKU", &sku)
        try descriptors.visitMembers(&visitor)
        try visitor.visit("offer", &offer)
        try visitor.visit("price", &price)
        try visitor.visit("refunds", &refunds)
        try visitor.visit("revocationDate", &revocationDate)
    }
}

extension AdvancedCommerceTransaction.Refund {
    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("refundAmount", &amount)
        try visitor.visit("refundDate", &date)
        try visitor.visit("refundReason", &reason)
        try visitor.visit("refundType", &type)
    }
}

/// `advancedCommerceInfo` of a renewal info (facts/jws §5).
public struct AdvancedCommerceRenewal: JSONPayload {
    package var source: JSONObject?
    public var consistencyToken: String?
    public var descriptors: AdvancedCommerceDescriptors?
    public var items: [Item]?
    public var period: String?
    public var requestReferenceID: String?
    public var taxCode: String?

    package init() {}

    public struct Item: JSONPayload {
        package var source: JSONObject?
        public var sku: String?
        public var descriptors = AdvancedCommerceDescriptors()
        public var offer: AdvancedCommerceOffer?
        public var price: Int64?
        public var priceIncrease: PriceIncrease?

        package init() {}
    }

    public struct PriceIncrease: JSONPayload {
        package var source: JSONObject?
        public var dependentSKUs: [String]?
        public var price: Int64?
        public var status: AdvancedCommercePriceIncreaseStatus?

        package init() {}
    }

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("consistencyToken", &consistencyToken)
        try visitor.visit("descriptors", &descriptors)
        try visitor.visit("items", &items)
        try visitor.visit("period", &period)
        try visitor.visit("requestReferenceId", &requestReferenceID)
        try visitor.visit("taxCode", &taxCode)
    }
}

extension AdvancedCommerceRenewal.Item {
    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("SKU", &sku)
        try descriptors.visitMembers(&visitor)
        try visitor.visit("offer", &offer)
        try visitor.visit("price", &price)
        try visitor.visit("priceIncreaseInfo", &priceIncrease)
    }
}

extension AdvancedCommerceRenewal.PriceIncrease {
    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("dependentSKUs", &dependentSKUs)
        try visitor.visit("price", &price)
        try visitor.visit("status", &status)
    }
}

public struct AdvancedCommerceDescriptors: JSONPayload {
    package var source: JSONObject?
    public var text: String?
    public var displayName: String?

    package init() {}

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("description", &text)
        try visitor.visit("displayName", &displayName)
    }
}

public struct AdvancedCommerceOffer: JSONPayload {
    package var source: JSONObject?
    public var period: String?
    public var periodCount: Int?
    public var price: Int64?
    public var reason: String?

    package init() {}

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("period", &period)
        try visitor.visit("periodCount", &periodCount)
        try visitor.visit("price", &price)
        try visitor.visit("reason", &reason)
    }
}

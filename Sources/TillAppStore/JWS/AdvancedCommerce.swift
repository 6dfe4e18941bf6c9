import TillBilling

/// `advancedCommerceInfo` of a transaction (facts/jws §4): only for products sold through Apple's Advanced Commerce.
/// Amounts are thousandths of the currency's unit.
public struct AdvancedCommerceTransaction: Sendable {
    public let descriptors: AdvancedCommerceDescriptors?
    public let estimatedTax: Int64?
    public let items: [Item]?
    public let period: String?
    public let requestReferenceID: String?
    public let taxCode: String?
    public let taxExclusivePrice: Int64?
    /// Decimal text, as Apple writes it.
    public let taxRate: String?

    public struct Item: Sendable {
        public let sku: String?
        public let descriptors: AdvancedCommerceDescriptors
        public let offer: AdvancedCommerceOffer?
        public let price: Int64?
        public let refunds: [Refund]?
        public let revocationDate: Instant?
    }

    public struct Refund: Sendable {
        public let amount: Int64?
        public let date: Instant?
        public let reason: String?
        public let type: String?
    }

    init(_ json: JSONObject) throws(JSONError) {
        descriptors = try json.object("descriptors").map(AdvancedCommerceDescriptors.init)
        estimatedTax = try json.int64("estimatedTax")
        items = try json.objects("items")?.map(Item.init)
        period = try json.string("period")
        requestReferenceID = try json.string("requestReferenceId")
        taxCode = try json.string("taxCode")
        taxExclusivePrice = try json.int64("taxExclusivePrice")
        taxRate = try json.string("taxRate")
    }
}

extension AdvancedCommerceTransaction.Item {
    init(_ json: JSONObject) throws(JSONError) {
        sku = try json.string("SKU")
        descriptors = try AdvancedCommerceDescriptors(json)
        offer = try json.object("offer").map(AdvancedCommerceOffer.init)
        price = try json.int64("price")
        refunds = try json.objects("refunds")?.map(AdvancedCommerceTransaction.Refund.init)
        revocationDate = try json.instant("revocationDate")
    }
}

extension AdvancedCommerceTransaction.Refund {
    init(_ json: JSONObject) throws(JSONError) {
        amount = try json.int64("refundAmount")
        date = try json.instant("refundDate")
        reason = try json.string("refundReason")
        type = try json.string("refundType")
    }
}

/// `advancedCommerceInfo` of a renewal info (facts/jws §5).
public struct AdvancedCommerceRenewal: Sendable {
    public let consistencyToken: String?
    public let descriptors: AdvancedCommerceDescriptors?
    public let items: [Item]?
    public let period: String?
    public let requestReferenceID: String?
    public let taxCode: String?

    public struct Item: Sendable {
        public let sku: String?
        public let descriptors: AdvancedCommerceDescriptors
        public let offer: AdvancedCommerceOffer?
        public let price: Int64?
        public let priceIncrease: PriceIncrease?
    }

    public struct PriceIncrease: Sendable {
        public let dependentSKUs: [String]?
        public let price: Int64?
        /// `SCHEDULED`, `PENDING`, `ACCEPTED`, or what Apple adds.
        public let status: String?
    }

    init(_ json: JSONObject) throws(JSONError) {
        consistencyToken = try json.string("consistencyToken")
        descriptors = try json.object("descriptors").map(AdvancedCommerceDescriptors.init)
        items = try json.objects("items")?.map(Item.init)
        period = try json.string("period")
        requestReferenceID = try json.string("requestReferenceId")
        taxCode = try json.string("taxCode")
    }
}

extension AdvancedCommerceRenewal.Item {
    init(_ json: JSONObject) throws(JSONError) {
        sku = try json.string("SKU")
        descriptors = try AdvancedCommerceDescriptors(json)
        offer = try json.object("offer").map(AdvancedCommerceOffer.init)
        price = try json.int64("price")
        priceIncrease = try json.object("priceIncreaseInfo").map(AdvancedCommerceRenewal.PriceIncrease.init)
    }
}

extension AdvancedCommerceRenewal.PriceIncrease {
    init(_ json: JSONObject) throws(JSONError) {
        dependentSKUs = try json.strings("dependentSKUs")
        price = try json.int64("price")
        status = try json.string("status")
    }
}

public struct AdvancedCommerceDescriptors: Equatable, Sendable {
    public let text: String?
    public let displayName: String?

    init(_ json: JSONObject) throws(JSONError) {
        text = try json.string("description")
        displayName = try json.string("displayName")
    }
}

public struct AdvancedCommerceOffer: Equatable, Sendable {
    public let period: String?
    public let periodCount: Int?
    public let price: Int64?
    public let reason: String?

    init(_ json: JSONObject) throws(JSONError) {
        period = try json.string("period")
        periodCount = try json.int("periodCount")
        price = try json.int64("price")
        reason = try json.string("reason")
    }
}

import TillBilling
import TillJSON

/// `advancedCommerceInfo` of a transaction (facts/jws §4): only for products sold through Apple's Advanced Commerce.
/// Amounts are thousandths of the currency's unit.
public struct AdvancedCommerceTransaction: Equatable, Sendable, WrittenPayload {
    let source: JSONObject?
    public let descriptors: AdvancedCommerceDescriptors?
    public let estimatedTax: Int64?
    public let items: [Item]?
    public let period: String?
    public let requestReferenceID: String?
    public let taxCode: String?
    public let taxExclusivePrice: Int64?
    /// Decimal text, as Apple writes it.
    public let taxRate: String?

    public struct Item: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let sku: String?
        public let descriptors: AdvancedCommerceDescriptors
        public let offer: AdvancedCommerceOffer?
        public let price: Int64?
        public let refunds: [Refund]?
        public let revocationDate: Instant?
    }

    public struct Refund: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let amount: Int64?
        public let date: Instant?
        public let reason: String?
        public let type: String?
    }

    init(_ json: JSONObject) throws(JSONError) {
        source = json
        descriptors = try json.object("descriptors").map(AdvancedCommerceDescriptors.init)
        estimatedTax = try json.int64("estimatedTax")
        items = try json.objects("items")?.map(Item.init)
        period = try json.string("period")
        requestReferenceID = try json.string("requestReferenceId")
        taxCode = try json.string("taxCode")
        taxExclusivePrice = try json.int64("taxExclusivePrice")
        taxRate = try json.string("taxRate")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("descriptors", descriptors)
        members.add("estimatedTax", estimatedTax)
        members.add("items", items)
        members.add("period", period)
        members.add("requestReferenceId", requestReferenceID)
        members.add("taxCode", taxCode)
        members.add("taxExclusivePrice", taxExclusivePrice)
        members.add("taxRate", taxRate)
        return members
    }
}

extension AdvancedCommerceTransaction.Item {
    init(_ json: JSONObject) throws(JSONError) {
        source = json
        sku = try json.string("SKU")
        descriptors = try AdvancedCommerceDescriptors(json)
        offer = try json.object("offer").map(AdvancedCommerceOffer.init)
        price = try json.int64("price")
        refunds = try json.objects("refunds")?.map(AdvancedCommerceTransaction.Refund.init)
        revocationDate = try json.instant("revocationDate")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("SKU", sku)
        members.add(contentsOf: descriptors.members)
        members.add("offer", offer)
        members.add("price", price)
        members.add("refunds", refunds)
        members.add("revocationDate", revocationDate)
        return members
    }
}

extension AdvancedCommerceTransaction.Refund {
    init(_ json: JSONObject) throws(JSONError) {
        source = json
        amount = try json.int64("refundAmount")
        date = try json.instant("refundDate")
        reason = try json.string("refundReason")
        type = try json.string("refundType")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("refundAmount", amount)
        members.add("refundDate", date)
        members.add("refundReason", reason)
        members.add("refundType", type)
        return members
    }
}

/// `advancedCommerceInfo` of a renewal info (facts/jws §5).
public struct AdvancedCommerceRenewal: Equatable, Sendable, WrittenPayload {
    let source: JSONObject?
    public let consistencyToken: String?
    public let descriptors: AdvancedCommerceDescriptors?
    public let items: [Item]?
    public let period: String?
    public let requestReferenceID: String?
    public let taxCode: String?

    public struct Item: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let sku: String?
        public let descriptors: AdvancedCommerceDescriptors
        public let offer: AdvancedCommerceOffer?
        public let price: Int64?
        public let priceIncrease: PriceIncrease?
    }

    public struct PriceIncrease: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let dependentSKUs: [String]?
        public let price: Int64?
        public let status: AdvancedCommercePriceIncreaseStatus?
    }

    init(_ json: JSONObject) throws(JSONError) {
        source = json
        consistencyToken = try json.string("consistencyToken")
        descriptors = try json.object("descriptors").map(AdvancedCommerceDescriptors.init)
        items = try json.objects("items")?.map(Item.init)
        period = try json.string("period")
        requestReferenceID = try json.string("requestReferenceId")
        taxCode = try json.string("taxCode")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("consistencyToken", consistencyToken)
        members.add("descriptors", descriptors)
        members.add("items", items)
        members.add("period", period)
        members.add("requestReferenceId", requestReferenceID)
        members.add("taxCode", taxCode)
        return members
    }
}

extension AdvancedCommerceRenewal.Item {
    init(_ json: JSONObject) throws(JSONError) {
        source = json
        sku = try json.string("SKU")
        descriptors = try AdvancedCommerceDescriptors(json)
        offer = try json.object("offer").map(AdvancedCommerceOffer.init)
        price = try json.int64("price")
        priceIncrease = try json.object("priceIncreaseInfo").map(AdvancedCommerceRenewal.PriceIncrease.init)
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("SKU", sku)
        members.add(contentsOf: descriptors.members)
        members.add("offer", offer)
        members.add("price", price)
        members.add("priceIncreaseInfo", priceIncrease)
        return members
    }
}

extension AdvancedCommerceRenewal.PriceIncrease {
    init(_ json: JSONObject) throws(JSONError) {
        source = json
        dependentSKUs = try json.strings("dependentSKUs")
        price = try json.int64("price")
        status = try json.string("status").map(AdvancedCommercePriceIncreaseStatus.init(rawValue:))
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("dependentSKUs", dependentSKUs)
        members.add("price", price)
        members.add("status", status)
        return members
    }
}

public struct AdvancedCommerceDescriptors: Equatable, Sendable, WrittenPayload {
    let source: JSONObject?
    public let text: String?
    public let displayName: String?

    init(_ json: JSONObject) throws(JSONError) {
        source = json
        text = try json.string("description")
        displayName = try json.string("displayName")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("description", text)
        members.add("displayName", displayName)
        return members
    }
}

public struct AdvancedCommerceOffer: Equatable, Sendable, WrittenPayload {
    let source: JSONObject?
    public let period: String?
    public let periodCount: Int?
    public let price: Int64?
    public let reason: String?

    init(_ json: JSONObject) throws(JSONError) {
        source = json
        period = try json.string("period")
        periodCount = try json.int("periodCount")
        price = try json.int64("price")
        reason = try json.string("reason")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("period", period)
        members.add("periodCount", periodCount)
        members.add("price", price)
        members.add("reason", reason)
        return members
    }
}

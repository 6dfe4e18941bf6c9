import TillBilling
import TillJSON

/// The developer's own word on whether a customer may have the introductory offer of a subscription, in place of what
/// StoreKit would decide (facts/business-rules §9).
public struct IntroductoryEligibility: Sendable, Hashable {
    public let productID: ProductID
    public let isAllowed: Bool
    /// Any transaction of the customer; for one who never bought anything, the `appTransactionId`.
    public let transactionID: TransactionID

    /// - Throws: which text can't be part of it, and why.
    public init(productID: ProductID, isAllowed: Bool, transactionID: TransactionID) throws(OfferRefusal) {
        self.productID = try OfferText.product(productID)
        self.isAllowed = isAllowed
        self.transactionID = try OfferText.transaction(transactionID)
    }
}

/// A request of the Advanced Commerce API that an app hands to StoreKit (facts/business-rules §9). What stands in it is
/// between the developer and Apple; here it is JSON, and signed as it is.
public struct AdvancedCommerceRequest: Sendable, Hashable {
    /// An object, in UTF-8.
    public let json: [UInt8]

    /// Of ours: Apple names none.
    public static let limit = 64 << 10

    /// - Throws: if it is no JSON object, or longer than 64 KiB.
    public init(json: [UInt8]) throws(OfferRefusal) {
        guard json.count <= Self.limit else { throw OfferRefusal(.request, .tooLong) }
        guard let value = try? JSONValue(decoding: json), value.object != nil else {
            throw OfferRefusal(.request, .notJSON)
        }
        self.json = json
    }
}

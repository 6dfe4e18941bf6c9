import TillBilling

/// The result of a purchase at the end of the call. Later changes arrive through `TillStore.updates`.
public enum PurchaseResult: Hashable, Sendable {
    /// The purchase is paid and granted.
    case completed(StoreOrder)
    /// The purchase is paid, and the server hasn't granted it yet. The kit sends the proof again by itself; the reason
    /// states what it waits for. Offer no second purchase.
    case deliveryPending(StoreOrder, reason: TillError)
    /// Another person must approve the purchase (Ask to Buy), which may take days.
    case deferred(StoreOrder)
    /// The customer closed the payment sheet. Nothing was charged.
    case cancelled(StoreOrder)
    /// A purchase of this product is already in progress; this call began no second one.
    case inProgress

    /// The order of the purchase, if this call began one.
    public var order: StoreOrder? {
        switch self {
        case .completed(let order), .deliveryPending(let order, _), .deferred(let order), .cancelled(let order): order
        case .inProgress: nil
        }
    }
}

/// What a purchase adds to the product.
public struct PurchaseOptions: Hashable, Sendable {
    /// 1 to 10; more than 1 for consumables only.
    public var quantity = 1
    /// The device that a plan is for, by the app's own name, at most 128 bytes. Nil for a plan of the whole account.
    /// It may be another device than this phone: a camera, for example.
    public var device: String?
    /// The order that the app's backend opened for this purchase. The customer pays that order instead of a new one.
    public var order: String?
    /// The app's own data for the order, which the server stores unchanged.
    public var metadata: [String: String]?
    /// The preview of the plan that the customer was shown. The purchase has exactly that result, or nothing is charged
    /// and the error's code is `previewChanged`.
    public var preview: PlanPreview?
    /// The identifier of a promotional offer. The kit asks the server for its signature.
    public var promotionalOffer: String?

    /// Options for one unit, for the account or this phone, at the regular price.
    public init() {}

    /// Options for a plan exactly as previewed.
    public init(_ preview: PlanPreview) {
        self.preview = preview
        quantity = preview.quantity
        device = preview.deviceIDs?.first
    }
}

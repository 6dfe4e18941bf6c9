#if canImport(UIKit) && !os(watchOS)
    import UIKit
#elseif canImport(AppKit)
    import AppKit
#endif

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a purchase adds to the product.
public struct PurchaseOptions: Hashable, Sendable {
    /// How the App Store charges a subscription of one year.
    public enum BillingPlan: Hashable, Sendable {
        /// The whole year at once.
        case upFront
        /// Every month, with a commitment to twelve months.
        case monthly
    }

    /// 1 to 10; more than 1 for consumables only.
    public var quantity = 1
    /// The device that a plan is for, by the app's own name, at most 128 bytes. It may be another device than this
    /// phone: a camera, for example. If nil, a plan for one device is for this phone, and every other purchase names no
    /// device.
    public var device: String?
    /// The order that the app's backend opened for this purchase. The customer pays that order instead of a new one.
    public var order: String?
    /// The app's own data for the order, which the server stores unchanged.
    public var metadata: [String: String]?
    /// The preview of the plan that the customer was shown. The purchase has exactly that result, or nothing is charged
    /// and the error's code is `previewChanged`.
    public var preview: PlanPreview?
    /// The identifier of a promotional offer that the server's catalogue opens to users. The kit asks the server for
    /// its signature. For any other offer the error's code is `offerNotOpen`.
    public var promotionalOffer: String?
    /// A promotional offer that the app's backend requested for `order`: the body of the server's reply to
    /// `POST /v1/offers/promotional`, unchanged. It is valid for one attempt to buy. The form `jws` needs StoreKit 2.
    public var signedOffer: Data?
    /// The app's backend's decision about the introductory offer: `compactJWS` of the server's reply to
    /// `POST /v1/offers/introductory`. It needs StoreKit 2.
    public var introductoryEligibility: String?
    /// How a subscription of one year is charged; nil for the App Store's default. `monthly` needs StoreKit 2 and iOS
    /// 26.4 or later, and a storefront that sells it.
    public var billingPlan: BillingPlan?

    #if canImport(UIKit) && !os(watchOS)
        /// The scene in which the App Store confirms the purchase (iOS 17, tvOS 17); nil lets the system choose one.
        /// visionOS requires it.
        public var confirmIn: UIScene?
    #elseif canImport(AppKit)
        /// The window in which the App Store confirms the purchase (macOS 15.2); nil lets the system choose one.
        public var confirmIn: NSWindow?
    #endif

    /// Options for one unit, for the account or this phone, at the regular price.
    public init() {}

    /// Options for a plan exactly as previewed.
    public init(_ preview: PlanPreview) {
        self.preview = preview
        quantity = preview.quantity
        device = preview.deviceIDs?.first
    }
}

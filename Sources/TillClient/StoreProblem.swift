import TillBilling

/// What a StoreKit says went wrong, the same for both generations: a stable code with a sentence for the buyer that
/// says what to do (P3). Made from the errors themselves in `StoreProblem+StoreKit.swift`.
public enum StoreProblem: Error, Hashable, Sendable {
    // SKError, in the order of its raw values (facts/storekit-client A7); what StoreKit 2 calls otherwise is the same.
    /// 0: nobody knows. It may be paid all the same (T12).
    case unknown
    case clientInvalid
    /// The buyer cancelled. Also the first answer of an interrupted purchase, which may be paid later (T3).
    case cancelled
    case paymentInvalid
    case paymentNotAllowed
    /// Not sold in this storefront.
    case notAvailable
    case cloudServicePermissionDenied
    case cloudServiceNetworkConnectionFailed
    case cloudServiceRevoked
    case privacyAcknowledgementRequired
    case unauthorizedRequestData
    case invalidOfferIdentifier
    case invalidOfferSignature
    case missingOfferParameters
    case invalidOfferPrice
    case overlayCancelled
    case overlayInvalidConfiguration
    case overlayTimeout
    case ineligibleForOffer
    case unsupportedPlatform
    case overlayPresentedInBackgroundScene

    // StoreKit 2 only.
    case invalidQuantity
    /// The app lacks an entitlement in its signature.
    case notEntitled
    /// This system does not have what was asked for.
    case unsupported
    /// The device says that the store's own signature is not good.
    case unverified

    /// The device can't reach Apple.
    case network(TransportFault.Kind)
    /// An `SKError` of a later system, by its raw value.
    case laterCode(Int)
    /// An error from below StoreKit (AMSErrorDomain, ASDErrorDomain and others): for logs and support.
    case system(domain: String, code: Int)

    /// Stable: what programs decide by and logs are searched for.
    public var code: String {
        switch self {
        case .unknown: "store_unknown"
        case .clientInvalid: "store_client_invalid"
        case .cancelled: "store_cancelled"
        case .paymentInvalid: "store_payment_invalid"
        case .paymentNotAllowed: "store_payment_not_allowed"
        case .notAvailable: "store_product_not_available"
        case .cloudServicePermissionDenied: "store_cloud_permission_denied"
        case .cloudServiceNetworkConnectionFailed: "store_cloud_network_failed"
        case .cloudServiceRevoked: "store_cloud_revoked"
        case .privacyAcknowledgementRequired: "store_privacy_acknowledgement_required"
        case .unauthorizedRequestData: "store_unauthorized_request_data"
        case .invalidOfferIdentifier: "store_invalid_offer_identifier"
        case .invalidOfferSignature: "store_invalid_offer_signature"
        case .missingOfferParameters: "store_missing_offer_parameters"
        case .invalidOfferPrice: "store_invalid_offer_price"
        case .overlayCancelled: "store_overlay_cancelled"
        case .overlayInvalidConfiguration: "store_overlay_invalid_configuration"
        case .overlayTimeout: "store_overlay_timeout"
        case .ineligibleForOffer: "store_ineligible_for_offer"
        case .unsupportedPlatform: "store_unsupported_platform"
        case .overlayPresentedInBackgroundScene: "store_overlay_in_background"
        case .invalidQuantity: "store_invalid_quantity"
        case .notEntitled: "store_not_entitled"
        case .unsupported: "store_unsupported"
        case .unverified: "store_unverified"
        case .network(let kind): "store_\(kind.rawValue)"
        case .laterCode: "store_later_code"
        case .system: "store_system"
        }
    }

    /// Whether the same request may go better later without anybody changing anything. Of a purchase that `mayBePaid`
    /// the outcome is waited for first.
    public var isRetryable: Bool {
        switch self {
        case .unknown, .cloudServiceNetworkConnectionFailed, .overlayTimeout, .network, .laterCode, .system: true
        default: false
        }
    }

    /// Whether it was the buyer who ended it, so that an alert would only annoy.
    public var isCancellation: Bool { self == .cancelled || self == .overlayCancelled }

    /// Whether a purchase that ended so may turn out paid: then the app says “checking” and offers no second
    /// payment (T3, T12). A cancelled one may too, after an interruption, but its buyer is free to choose again.
    public var mayBePaid: Bool {
        switch self {
        case .unknown, .laterCode, .system, .unverified: true
        // Refused before anything was sent to the store.
        case .network(let kind): kind == .timedOut || kind == .connectionLost || kind == .other
        default: false
        }
    }
}

import Foundation
import StoreKit

extension AppStoreError {
    /// Converts any error that StoreKit threw or stored in a transaction. For nil, which `SKPaymentTransaction.error`
    /// may be, the problem is unknown.
    package init(_ error: (any Error)?) {
        if let known = error as? AppStoreError {
            self = known
        } else {
            self.init(Kind(error), underlying: error)
        }
    }

    /// Converts a domain and code, which errors of both StoreKit generations have, wrapped or not
    /// (facts/storekit-client A7).
    init(domain: String, code: Int) { self.init(Kind(domain: domain, code: code)) }
}

extension AppStoreError.Kind {
    fileprivate init(_ error: (any Error)?) {
        switch error {
        case nil: self = .unknown
        case let error as AppStoreError: self = error.kind
        case let error as URLError: self.init(domain: NSURLErrorDomain, code: error.errorCode)
        case let error as StoreKit.Product.PurchaseError: self = Self.byPurchaseError[error] ?? .unknown
        case let error as StoreKitError: self.init(error)
        case let error?:
            // This includes `SKError`: its number is read directly, because its own `code` does not know later values.
            let plain = error as NSError
            self.init(domain: plain.domain, code: plain.code)
        }
    }

    fileprivate init(domain: String, code: Int) {
        switch domain {
        case "SKErrorDomain": self = code >= 0 && code < Self.byCode.count ? Self.byCode[code] : .laterCode(code)
        // -1012: the buyer closed the sign-in sheet of the store.
        case NSURLErrorDomain: self = code == -1012 ? .cancelled : .network(TransportError.Kind(urlErrorCode: code))
        default: self = .system(domain: String(domain.prefix(100)), code: code)
        }
    }

    /// In the order of the raw values of `SKError.Code`.
    static let byCode: [AppStoreError.Kind] = [
        .unknown, .clientInvalid, .cancelled, .paymentInvalid, .paymentNotAllowed, .notAvailable,
        .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked,
        .privacyAcknowledgementRequired, .unauthorizedRequestData, .invalidOfferIdentifier, .invalidOfferSignature,
        .missingOfferParameters, .invalidOfferPrice, .overlayCancelled, .overlayInvalidConfiguration, .overlayTimeout,
        .ineligibleForOffer, .unsupportedPlatform, .overlayPresentedInBackgroundScene,
    ]

    private static let byPurchaseError: [StoreKit.Product.PurchaseError: AppStoreError.Kind] = [
        .invalidQuantity: .invalidQuantity, .productUnavailable: .notAvailable,
        .purchaseNotAllowed: .paymentNotAllowed, .ineligibleForOffer: .ineligibleForOffer,
        .invalidOfferIdentifier: .invalidOfferIdentifier, .invalidOfferPrice: .invalidOfferPrice,
        .invalidOfferSignature: .invalidOfferSignature, .missingOfferParameters: .missingOfferParameters,
    ]

    private init(_ error: StoreKitError) {
        switch error {
        case .unknown: self = .unknown
        case .userCancelled: self = .cancelled
        case .networkError(let error): self.init(error as (any Error)?)
        // The underlying error has its own name, or a domain and a code. Nested `StoreKitError`s end here, because
        // nesting has no guaranteed end.
        case .systemError(let error) where !(error is StoreKitError): self.init(error as (any Error)?)
        case .notAvailableInStorefront: self = .notAvailable
        default: self.init(later: error)
        }
    }

    private init(later error: StoreKitError) {
        if #available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *), case .notEntitled = error {
            self = .notEntitled
            return
        }
        if #available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *), case .unsupported = error {
            self = .unsupported
            return
        }
        self = .unknown
    }
}

extension TransportError.Kind {
    /// Converts a code of NSURLErrorDomain (facts/storekit-client A7, Foundation's `NSURLError.h`).
    init(urlErrorCode code: Int) {
        self =
            switch code {
            case -1009, -1018, -1020: .offline
            case -1003, -1006: .cannotFindServer
            case -1004: .cannotConnect
            case -1001: .timedOut
            case -1005: .connectionLost
            case -1022, -1206 ... -1200: .insecure
            default: .other
            }
    }
}

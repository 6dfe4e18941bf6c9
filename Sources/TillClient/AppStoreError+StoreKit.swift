import Foundation
import StoreKit

extension AppStoreError {
    /// Converts a domain and code, which errors of both StoreKit generations have, wrapped or not
    /// (facts/storekit-client A7).
    init(domain: String, code: Int) {
        switch domain {
        case "SKErrorDomain": self.init(storeCode: code)
        // -1012: the buyer closed the sign-in sheet of the store.
        case NSURLErrorDomain: self = code == -1012 ? .cancelled : .network(TransportError.Kind(urlErrorCode: code))
        default: self = .system(domain: String(domain.prefix(100)), code: code)
        }
    }

    private init(storeCode: Int) {
        self =
            storeCode >= 0 && storeCode < Self.byStoreCode.count ? Self.byStoreCode[storeCode] : .laterCode(storeCode)
    }

    /// In the order of the raw values of `SKError.Code`.
    static let byStoreCode: [AppStoreError] = [
        .unknown, .clientInvalid, .cancelled, .paymentInvalid, .paymentNotAllowed, .notAvailable,
        .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked,
        .privacyAcknowledgementRequired, .unauthorizedRequestData, .invalidOfferIdentifier, .invalidOfferSignature,
        .missingOfferParameters, .invalidOfferPrice, .overlayCancelled, .overlayInvalidConfiguration, .overlayTimeout,
        .ineligibleForOffer, .unsupportedPlatform, .overlayPresentedInBackgroundScene,
    ]

    /// Converts any error that StoreKit threw or stored in a transaction. For nil, which `SKPaymentTransaction.error`
    /// may be, the problem is unknown.
    package init(_ error: (any Error)?) {
        guard let error else {
            self = .unknown
            return
        }
        if let problem = error as? AppStoreError {
            self = problem
            return
        }
        if let fault = error as? URLError {
            self.init(domain: NSURLErrorDomain, code: fault.errorCode)
            return
        }
        if let error = error as? StoreKit.Product.PurchaseError {
            self = Self.byPurchaseError[error] ?? .unknown
            return
        }
        if let error = error as? StoreKitError {
            self.init(error)
            return
        }
        // This includes `SKError`: its number is read directly, because its own `code` does not know later values.
        let plain = error as NSError
        self.init(domain: plain.domain, code: plain.code)
    }

    private static let byPurchaseError: [StoreKit.Product.PurchaseError: AppStoreError] = [
        .invalidQuantity: .invalidQuantity, .productUnavailable: .notAvailable,
        .purchaseNotAllowed: .paymentNotAllowed, .ineligibleForOffer: .ineligibleForOffer,
        .invalidOfferIdentifier: .invalidOfferIdentifier, .invalidOfferPrice: .invalidOfferPrice,
        .invalidOfferSignature: .invalidOfferSignature, .missingOfferParameters: .missingOfferParameters,
    ]

    private init(_ error: StoreKitError) {
        switch error {
        case .unknown: self = .unknown
        case .userCancelled: self = .cancelled
        case .networkError(let error): self.init(error)
        // The underlying error has its own name, or a domain and a code. Nested `StoreKitError`s end here, because
        // nesting has no guaranteed end.
        case .systemError(let error) where !(error is StoreKitError): self.init(error)
        case .notAvailableInStorefront: self = .notAvailable
        default: self.init(later: error)
        }
    }

    private init(later error: StoreKitError) {
        if #available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *), case .notEntitled = error {
            self = .notEntitled
            return
        }
        if #available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *), case .unsupported = error {
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

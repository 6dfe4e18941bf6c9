import Foundation

extension StoreProblem {
    /// By domain and code, which errors of either generation have, wrapped or not (facts/storekit-client A7).
    init(domain: String, code: Int) {
        switch domain {
        case "SKErrorDomain": self.init(storeCode: code)
        // -1012: the buyer closed the sign-in that the store asked for.
        case NSURLErrorDomain: self = code == -1012 ? .cancelled : .network(TransportFault.Kind(urlErrorCode: code))
        default: self = .system(domain: String(domain.prefix(100)), code: code)
        }
    }

    private init(storeCode: Int) {
        self =
            storeCode >= 0 && storeCode < Self.byStoreCode.count ? Self.byStoreCode[storeCode] : .laterCode(storeCode)
    }

    /// In the order of `SKError.Code`'s raw values.
    static let byStoreCode: [StoreProblem] = [
        .unknown, .clientInvalid, .cancelled, .paymentInvalid, .paymentNotAllowed, .notAvailable,
        .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked,
        .privacyAcknowledgementRequired, .unauthorizedRequestData, .invalidOfferIdentifier, .invalidOfferSignature,
        .missingOfferParameters, .invalidOfferPrice, .overlayCancelled, .overlayInvalidConfiguration, .overlayTimeout,
        .ineligibleForOffer, .unsupportedPlatform, .overlayPresentedInBackgroundScene,
    ]

    /// Whatever a StoreKit threw or left in a transaction. Nil is what `SKPaymentTransaction.error` may be: nobody knows.
    package init(_ error: (any Error)?) {
        guard let error else {
            self = .unknown
            return
        }
        if let problem = error as? StoreProblem {
            self = problem
            return
        }
        if let fault = error as? URLError {
            self.init(domain: NSURLErrorDomain, code: fault.errorCode)
            return
        }
        let plain = error as NSError
        self.init(domain: plain.domain, code: plain.code)
    }
}

extension TransportFault.Kind {
    /// NSURLErrorDomain's codes (facts/storekit-client A7, Foundation's `NSURLError.h`).
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

import TillBilling

extension StoreProblem {
    /// The problem of a code that was written down; of those that carry a number, without it.
    init?(code: String) {
        guard let problem = Self.told.first(where: { $0.code == code }) else { return nil }
        self = problem
    }

    private static let told: [StoreProblem] =
        [
            .unknown, .clientInvalid, .cancelled, .paymentInvalid, .paymentNotAllowed, .notAvailable,
            .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked,
            .privacyAcknowledgementRequired, .unauthorizedRequestData, .invalidOfferIdentifier,
            .invalidOfferSignature, .missingOfferParameters, .invalidOfferPrice, .overlayCancelled,
            .overlayInvalidConfiguration, .overlayTimeout, .ineligibleForOffer, .unsupportedPlatform,
            .overlayPresentedInBackgroundScene, .invalidQuantity, .notEntitled, .unsupported, .unverified,
            .laterCode(0), .system(domain: "", code: 0),
        ] + TransportFault.Kind.allCases.map(StoreProblem.network)
}

extension Trouble {
    /// What a buyer reads of the reason in an order's history; nil for one that is no code of ours.
    static func sentence(ofReason code: String) -> Text? {
        if let problem = StoreProblem(code: code) { return problem.sentence }
        if let refusal = Refusal(rawValue: code) { return refusal.sentence }
        return TransportFault.Kind(rawValue: code)?.sentence
    }
}

import Foundation

extension StoreFault {
    /// As StoreKit 1 tells an app of it: a `URLError` of the network, or an `SKError`.
    var error: any Error {
        guard case .refused(let code, let status, let title) = self else {
            return networkError ?? URLError(.unknown)
        }
        // The store's own words are for who debugs, not for the user.
        return SKError(Self.code(of: code, status: status), userInfo: ["NSDebugDescription": "\(code): \(title)"])
    }

    /// The refusals of `POST /emulator/purchases` by the codes of facts/storekit-client A7.
    private static func code(of refusal: String, status: Int) -> SKError.Code {
        switch refusal {
        case "payment_not_allowed": .paymentNotAllowed
        case "account_deleted", "unknown_account", "unknown_device", "device_of_another_account": .clientInvalid
        case "unknown_product", "quantity_not_allowed": .paymentInvalid
        case "not_for_sale", "not_on_sale", "no_longer_sold": .storeProductNotAvailable
        case "invalid_offer_identifier": .invalidOfferIdentifier
        case "invalid_signature", "offer_signature_expired", "offer_nonce_used": .invalidSignature
        case "missing_offer_params": .missingOfferParams
        case "invalid_offer_price": .invalidOfferPrice
        case "ineligible_for_offer", "not_eligible", "code_not_for_customer": .ineligibleForOffer
        // What the store could not read was no payment.
        default: status == 400 ? .paymentInvalid : .unknown
        }
    }
}

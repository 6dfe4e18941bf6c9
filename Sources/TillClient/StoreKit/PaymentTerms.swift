import TillAPI
import TillBilling

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

/// What the App Store is asked for besides the product and the quantity.
package struct PaymentTerms: Hashable, Sendable {
    /// A promotional offer with its signature, which is valid for one attempt.
    package var offer: SignedOffer?
    /// A compact JWS.
    package var introductoryEligibility: String?
    package var billingPlan: PurchaseOptions.BillingPlan?

    #if canImport(UIKit) && !os(watchOS)
        package var confirmIn: UIScene?
    #elseif canImport(AppKit)
        package var confirmIn: NSWindow?
    #endif

    package init() {}

    /// - Throws: `invalidOfferSignature` for a signed text that can't be for this purchase, which the App Store would
    ///   refuse after the customer's confirmation.
    init(_ options: PurchaseOptions, for product: ProductID) throws(StoreError) {
        if let reply = options.signedOffer {
            guard let offer = SignedOffer(reply, for: product, order: options.order),
                options.promotionalOffer == nil || options.promotionalOffer == offer.id
            else { throw .store(.invalidOfferSignature) }
            self.offer = offer
        }
        if let token = options.introductoryEligibility {
            guard token.isCompactJWS else { throw .store(.invalidOfferSignature) }
            introductoryEligibility = token
        }
        billingPlan = options.billingPlan
        #if canImport(UIKit) && !os(watchOS) || canImport(AppKit)
            confirmIn = options.confirmIn
        #endif
    }
}

/// An option that this device's StoreKit lacks.
package enum UnsupportedOption: Hashable, Sendable {
    /// A promotional offer as a JWS.
    case offerToken
    case introductoryEligibility
    case billingPlan
    /// Purchases need a scene here, and the app named none.
    case missingScene
}

/// A promotional offer in a form that StoreKit accepts.
package struct SignedOffer: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        /// For both generations: milliseconds since 1970, and base64.
        case classic(keyID: String, nonce: UniqueID, timestamp: Int64, signature: String)
        /// For StoreKit 2 alone.
        case jws(String)
    }

    package let id: String
    package let form: Form

    package init(id: String, form: Form) {
        self.id = id
        self.form = form
    }

    /// Nil if the reply is incomplete.
    init?(_ reply: PromotionalOfferReply) {
        switch reply.form {
        case .classic:
            guard let keyID = reply.keyId, let nonce = reply.nonce, let timestamp = reply.timestamp,
                let signature = reply.signature
            else { return nil }
            form = .classic(keyID: keyID, nonce: nonce, timestamp: timestamp, signature: signature)
        case .jws:
            guard let token = reply.compactJWS, token.isCompactJWS else { return nil }
            form = .jws(token)
        }
        id = reply.offerId
    }

    /// The reply that the app's backend got. The classic form signs the purchase's order, so it must be this one.
    fileprivate init?(_ data: Data, for product: ProductID, order: String?) {
        guard let reply = try? JSONDecoder().decode(PromotionalOfferReply.self, from: data),
            ProductID(reply.productId) == product
        else { return nil }
        if reply.form == .classic {
            guard let signed = reply.account.flatMap({ OrderID($0) }), order.flatMap({ OrderID($0) }) == signed else {
                return nil
            }
        }
        self.init(reply)
    }
}

extension String {
    /// Three parts in base64url (RFC 7515 §3.1).
    fileprivate var isCompactJWS: Bool {
        let parts = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3 && utf8.count <= 1 << 16
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }
}

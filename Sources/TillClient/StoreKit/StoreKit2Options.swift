import Foundation
import StoreKit

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#elseif canImport(AppKit)
    import AppKit
#endif

// Options that are newer than StoreKit 2 itself. Those that Apple back-deploys need only the SDK. An SDK is recognized
// by its compiler, and by StoreKit's version where an older SDK may be used with a newer compiler: 813 is that of iOS
// 17, 814 of iOS 18, 815 of iOS 26.

extension PaymentTerms {
    /// What this app was built without, or this system requires.
    var missing: UnsupportedOption? {
        #if os(visionOS)
            if confirmIn == nil { return .missingScene }
        #endif
        if case .jws(let token) = offer?.form, offerOptions(id: "", token: token) == nil { return .offerToken }
        if let introductoryEligibility, eligibilityOption(introductoryEligibility) == nil {
            return .introductoryEligibility
        }
        return nil
    }

    /// Nil if an option can't be expressed.
    var storeKitOptions: Set<StoreKit.Product.PurchaseOption>? {
        var options: Set<StoreKit.Product.PurchaseOption> = []
        if let offer {
            guard let more = self.options(of: offer) else { return nil }
            options.formUnion(more)
        }
        if let introductoryEligibility {
            guard let option = eligibilityOption(introductoryEligibility) else { return nil }
            options.insert(option)
        }
        if let option = billingOption { options.insert(option) }
        return options
    }

    private func options(of offer: SignedOffer) -> [StoreKit.Product.PurchaseOption]? {
        switch offer.form {
        case .classic(let keyID, let nonce, let timestamp, let signature):
            guard let nonce = UUID(uuidString: nonce.description), let signature = Data(base64Encoded: signature) else {
                return nil
            }
            return [
                .promotionalOffer(
                    offerID: offer.id, keyID: keyID, nonce: nonce, signature: signature, timestamp: Int(timestamp))
            ]
        case .jws(let token): return offerOptions(id: offer.id, token: token)
        }
    }

    /// Xcode 26.
    private func offerOptions(id: String, token: String) -> [StoreKit.Product.PurchaseOption]? {
        #if os(Linux)
            return StoreKit.Product.PurchaseOption.promotionalOffer(id, compactJWS: token)
        #elseif !os(Linux) && compiler(>=6.2) && canImport(StoreKit, _version: 815)
            return StoreKit.Product.PurchaseOption.promotionalOffer(id, compactJWS: token)
        #else
            return nil
        #endif
    }

    /// Xcode 16.3.
    private func eligibilityOption(_ token: String) -> StoreKit.Product.PurchaseOption? {
        #if os(Linux)
            return .introductoryOfferEligibility(compactJWS: token)
        #elseif !os(Linux) && compiler(>=6.1) && canImport(StoreKit, _version: 814)
            return .introductoryOfferEligibility(compactJWS: token)
        #else
            return nil
        #endif
    }

    /// Xcode 26.5. Paying up front is the default, which needs no option.
    private var billingOption: StoreKit.Product.PurchaseOption? {
        guard billingPlan == .monthly else { return nil }
        #if os(Linux)
            guard #available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return nil }
            return .billingPlanType(.monthly)
        #elseif !os(Linux) && compiler(>=6.3.2) && canImport(StoreKit, _version: 815)
            guard #available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return nil }
            return .billingPlanType(.monthly)
        #else
            return nil
        #endif
    }
}

extension StoreKit.Product {
    /// Whether the App Store sells the product with a commitment here. Some storefronts don't.
    var isSoldMonthly: Bool {
        #if os(Linux)
            guard #available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return false }
            return subscription?.pricingTerms.contains { $0.billingPlanType == .monthly } ?? false
        #elseif !os(Linux) && compiler(>=6.3.2) && canImport(StoreKit, _version: 815)
            guard #available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return false }
            return subscription?.pricingTerms.contains { $0.billingPlanType == .monthly } ?? false
        #else
            return false
        #endif
    }

    /// Shows the payment sheet, in the app's scene or window if it named one and the system takes it.
    func purchase(_ options: Set<PurchaseOption>, _ terms: PaymentTerms) async throws -> PurchaseResult {
        #if os(visionOS)
            guard let scene = terms.confirmIn else { throw AppStoreError.unsupported }
            return try await purchase(confirmIn: scene, options: options)
        #else
            #if canImport(UIKit) && !os(watchOS) && canImport(StoreKit, _version: 813)
                if let scene = terms.confirmIn, #available(iOS 17, tvOS 17, *) {
                    return try await purchase(confirmIn: scene, options: options)
                }
            #elseif os(macOS) && compiler(>=6.0.3)
                if let window = terms.confirmIn, #available(macOS 15.2, *) {
                    return try await purchase(confirmIn: window, options: options)
                }
            #endif
            return try await purchase(options: options)
        #endif
    }
}

#if os(iOS) || os(visionOS)
    import StoreKit
    import UIKit

    extension TillStore {
        /// Shows Apple's sheet for offer codes. What the customer redeems arrives as an update, like any purchase.
        @MainActor
        public func presentOfferCodeRedeemSheet() {
            #if os(iOS)
                SKPaymentQueue.default().presentCodeRedemptionSheet()
            #endif
        }

        /// Shows Apple's sheet for the customer's subscriptions. Changes arrive as updates.
        @MainActor
        public func showManageSubscriptions(in scene: UIWindowScene) async throws(TillError) {
            do {
                try await AppStore.showManageSubscriptions(in: scene)
            } catch {
                throw TillError(.store(AppStoreError(error)))
            }
        }
    }
#endif

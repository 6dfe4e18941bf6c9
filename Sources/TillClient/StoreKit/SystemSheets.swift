#if os(iOS) || os(visionOS)
    import StoreKit
    import UIKit

    extension TillStore {
        /// Shows Apple's sheet for offer codes. A redeemed purchase names no user: call `restore()` afterwards, which
        /// claims it for the signed-in user.
        @MainActor
        public func presentOfferCodeRedeemSheet(in scene: UIWindowScene) async throws(TillError) {
            do {
                #if os(iOS)
                    guard #available(iOS 16, *) else { return SKPaymentQueue.default().presentCodeRedemptionSheet() }
                #endif
                try await AppStore.presentOfferCodeRedeemSheet(in: scene)
            } catch {
                throw TillError(.store(AppStoreError(error)))
            }
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

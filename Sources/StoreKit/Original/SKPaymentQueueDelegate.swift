import Foundation

/// Has a say in a payment that is under way (iOS 13). All of it is optional.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
    /// The storefront changed since the product was shown: whether to go on. No answer within a second is no.
    func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool

    /// Whether the App Store asks for consent to a higher price now. Who says no calls `showPriceConsentIfNeeded()`
    /// later.
    func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
    public func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool { true }

    public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}

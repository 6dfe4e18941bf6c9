import Foundation

/// Consent to a higher price of a subscription (iOS 13.4). Nothing is shown here: that it was shown is what the store
/// is told.
extension SKPaymentQueue {
    /// Without a delegate the message is left to `Message.messages`.
    func askForConsent(_ message: MessageWords) async {
        guard delegate != nil else { return }
        let isShown = await ask { queue in queue.delegate?.paymentQueueShouldShowPriceConsent(queue) ?? false }
        if isShown { try? await session.line.shown(message: message.id) }
    }

    func showPriceConsent() {
        session.effects.spawn { [session] in
            guard let news = try? await session.status() else { return }
            for message in news.messages where message.isPriceConsent {
                try? await session.line.shown(message: message.id)
            }
        }
    }
}

extension MessageWords {
    var isPriceConsent: Bool { reason == "priceIncreaseConsent" }
}

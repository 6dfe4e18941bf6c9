import TillAPI
import TillBilling
import TillJSON

extension OpenAPITests {
    /// Reply bodies about rights and subscriptions, once with every member and once with the required members only.
    static var rightSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let at = Instant(seconds: 1_790_000_000)
            var right = EntitlementReply(
                entitlement: "premium", productId: ProductID("p"), kind: .subscription, state: .grace,
                why: .gracePeriod, since: at, expiresAt: at, transactionId: TransactionID("1"))
            right.plan = "p"
            right.deviceId = "d"
            right.deviceIds = ["d"]
            right.willRenew = true
            right.originalTransactionId = "1"
            let lasting = EntitlementReply(
                entitlement: "pro", productId: ProductID("p"), kind: .lasting, state: .active, why: .bought,
                since: at, transactionId: TransactionID("1"))
            let offer = TransactionTerms.Offer(type: 3, id: "code", discount: "PAY_UP_FRONT")
            var full = try subscription(offer: offer, state: .grace, at: at)
            full.entitlement = "premium"
            full.plan = "p"
            // No single subscription has all of these members.
            full.renewsAt = at
            full.priceIncrease = "pending"
            full.reason = "other"
            let least = try subscription(offer: nil, state: .active, at: at)
            return [
                "Entitlements": try both(
                    EntitlementsReply(data: [lasting], sandbox: true), EntitlementsReply(data: [lasting])),
                "Entitlement": try both(right, lasting),
                "EntitlementAccess": try both(
                    EntitlementAccessReply(
                        entitlement: "premium", until: at, why: .gracePeriod, sources: [right], sandbox: true),
                    EntitlementAccessReply(entitlement: "premium", until: nil, why: .neverHad, sources: [])),
                "Subscriptions": try both(
                    SubscriptionsReply(data: [least], sandbox: true), SubscriptionsReply(data: [least])),
                "Subscription": try both(full, least),
                "SubscriptionOffer": try both(
                    SubscriptionOfferReply(offer), SubscriptionOfferReply(TransactionTerms.Offer(type: 1))),
            ]
        }
    }

    private static func subscription(
        offer: TransactionTerms.Offer?, state: Subscription.State, at: Instant
    ) throws -> SubscriptionReply {
        var terms = TransactionTerms(
            type: .autoRenewable, expiresAt: state == .grace ? at : at.adding(seconds: 1),
            groupID: state == .grace ? "1" : nil)
        terms.offer = offer
        let period = PaidPeriod(
            transactionID: TransactionID("1"), productID: ProductID("p"), purchasedAt: at, signedAt: at,
            isRenewal: false, terms: terms)
        var word = RenewalTerms(signedAt: at)
        word.autoRenews = true
        word.graceUntil = at.adding(seconds: 9)
        word.price = Money(amount: 1, currency: Currency("USD"))
        word.offer = offer
        guard
            let subscription = Subscription([period], renewal: state == .grace ? word : nil, at: at),
            subscription.state == state
        else { throw CancellationError() }
        return SubscriptionReply(TransactionID("1"), subscription, title: LocalizedText(en: "a", zh: "b"))
    }
}

import TillAppStore
import TillBilling
import TillJSON

/// What goes into Apple's signed payloads, before it is signed (facts/jws §4, §5, §7). A member without a value is
/// left out, never null.
enum SignedContent {
    /// JWSTransactionDecodedPayload.
    static func transaction(_ transaction: StoreTransaction, signed now: Instant) -> [String: JSONValue] {
        var payload: [String: JSONValue] = [
            "transactionId": .string(transaction.id.text),
            "originalTransactionId": .string(transaction.originalID.text),
            "bundleId": .string(transaction.bundleID),
            "productId": .string(transaction.productID.text),
            "purchaseDate": .int(transaction.purchased.milliseconds),
            "originalPurchaseDate": .int(transaction.firstPurchased.milliseconds),
            "quantity": .int(transaction.quantity),
            "type": .string(transaction.kind.rawValue),
            "inAppOwnershipType": .string(transaction.ownership),
            "signedDate": .int(now.milliseconds),
            "environment": .string(transaction.environment.rawValue),
            "transactionReason": .string(transaction.reason),
            "storefront": .string(transaction.storefront),
            "price": .int(transaction.price.milliunits),
            "currency": .string(transaction.price.currency.text),
            "appTransactionId": .string(String(transaction.appTransaction)),
        ]
        payload["storefrontId"] = Storefront.numbers[transaction.storefront].map { .string($0) }
        payload["appAccountToken"] = transaction.appAccountToken.map { .string($0.description) }
        if let subscription = transaction.subscription {
            payload["webOrderLineItemId"] = .string(String(subscription.lineItem))
            payload["subscriptionGroupIdentifier"] = .string(subscription.groupID)
            payload["expiresDate"] = .int(subscription.expires.milliseconds)
        }
        if let revocation = transaction.revocation {
            payload["revocationDate"] = .int(revocation.date.milliseconds)
            payload["revocationReason"] = .int(revocation.reason)
            payload["revocationType"] = .string(revocation.type)
            payload["revocationPercentage"] = revocation.percentage.map { .int($0) }
        }
        if transaction.isUpgraded { payload["isUpgraded"] = true }
        if let offer = transaction.offer { payload.merge(members(of: offer)) { _, new in new } }
        if let commitment = transaction.commitment {
            payload["billingPlanType"] = .string(BillingPlanType.monthly.rawValue)
            payload["commitmentInfo"] = [
                "billingPeriodNumber": .int(commitment.billingPeriod),
                "totalBillingPeriods": .int(commitment.billingPeriods),
                "commitmentExpiresDate": .int(commitment.expires.milliseconds),
                "commitmentPrice": .int(commitment.price.milliunits),
            ]
        } else if transaction.isBilledUpFront {
            payload["billingPlanType"] = .string(BillingPlanType.billedUpFront.rawValue)
        }
        return payload
    }

    /// JWSRenewalInfoDecodedPayload of a subscription whose newest transaction is `current`.
    static func renewal(
        _ subscription: StoreSubscription, current: StoreTransaction, signed now: Instant
    ) -> [String: JSONValue] {
        var payload: [String: JSONValue] = [
            "originalTransactionId": .string(String(subscription.original)),
            "productId": .string(subscription.productID.text),
            "autoRenewProductId": .string(subscription.nextProductID.text),
            "autoRenewStatus": subscription.renewsNext ? 1 : 0,
            "renewalDate": .int(subscription.expires.milliseconds),
            "recentSubscriptionStartDate": .int(subscription.recentStart.milliseconds),
            "appTransactionId": .string(String(current.appTransaction)),
            "environment": .string(current.environment.rawValue),
            "signedDate": .int(now.milliseconds),
        ]
        payload["expirationIntent"] = subscription.expirationIntent.map { .int($0) }
        // True while Apple tries to charge, in grace too; false once it has given up.
        if subscription.isFailing || subscription.expirationIntent == SubscriptionEnd.billingError.intent {
            payload["isInBillingRetryPeriod"] = .bool(subscription.isFailing)
        }
        payload["gracePeriodExpiresDate"] = subscription.graceExpires.map { .int($0.milliseconds) }
        payload["priceIncreaseStatus"] = subscription.priceIncrease.map { $0.isAccepted ? 1 : 0 }
        if subscription.renewsNext, let price = subscription.nextPrice {
            payload["renewalPrice"] = .int(price.milliunits)
            payload["currency"] = .string(price.currency.text)
        }
        if subscription.owedMonth == nil, let offer = subscription.runningOffer?.offer {
            payload.merge(members(of: offer)) { _, new in new }
        }
        if !subscription.eligibleWinBacks.isEmpty {
            payload["eligibleWinBackOfferIds"] = .array(subscription.eligibleWinBacks.map { .string($0) })
        }
        payload["appAccountToken"] = subscription.appAccountToken.map { .string($0.description) }
        payload.merge(plan(of: subscription, current)) { _, new in new }
        return payload
    }

    /// How the next period is paid, and what follows a commitment. Apple's pages name the members and no more: that
    /// `autoRenewStatus` speaks of the next month, which is owed, and the commitment's of its end is our reading.
    private static func plan(of subscription: StoreSubscription, _ current: StoreTransaction) -> [String: JSONValue] {
        guard subscription.monthlyBilling || current.commitment != nil || current.isBilledUpFront else { return [:] }
        func type(_ isMonthly: Bool) -> JSONValue {
            .string((isMonthly ? BillingPlanType.monthly : .billedUpFront).rawValue)
        }
        var members = ["renewalBillingPlanType": type(subscription.owedMonth != nil || subscription.monthlyBilling)]
        guard let commitment = subscription.commitment, subscription.isGoingOn else { return members }
        var info: [String: JSONValue] = [
            "commitmentAutoRenewProductId": .string(subscription.renewalProductID.text),
            "commitmentAutoRenewStatus": subscription.renews ? 1 : 0,
            "commitmentRenewalBillingPlanType": type(subscription.monthlyBilling),
            "commitmentRenewalDate": .int(commitment.expires.milliseconds),
        ]
        // Of the whole, as `commitmentPrice` is; what is paid up front is the whole at once.
        if subscription.renews, let price = subscription.priceAfterCommitment {
            let charges = subscription.monthlyBilling ? Commitment.periods : 1
            info["commitmentRenewalPrice"] = .int(price.milliunits * charges)
        }
        members["commitmentInfo"] = .object(info)
        return members
    }

    /// The four members that an offer has in transactions and in renewal infos.
    private static func members(of offer: StoreTransaction.Offer) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "offerType": .int(Int64(offer.kind.type.rawValue)), "offerDiscountType": .string(offer.discount.rawValue),
        ]
        members["offerIdentifier"] = offer.identifier.map { .string($0) }
        members["offerPeriod"] = offer.period.map { .string($0) }
        return members
    }
}

extension Issuer {
    func sign(_ members: [String: JSONValue]) throws -> String {
        let dated = (clock ?? SkewedClock.current)?.dated(members) ?? members
        return try sign(payload: Array(JSONValue.object(dated).encoded().utf8))
    }

    /// The transaction as Apple would sign it now: each signing has a newer `signedDate` (facts/jws §4).
    public func signedTransaction(_ transaction: StoreTransaction, at now: Instant) throws -> String {
        try sign(SignedContent.transaction(transaction, signed: now))
    }
}

import TillAppStore
import TillBilling

// What the store knows, in the members of Apple's answer (facts/verify-receipt §6, §7).

extension AnsweredPurchase {
    /// As a receipt lists it: as it was when the receipt was made.
    ///
    /// - Parameter known: the store's own record, for what Apple tells beside its receipts' attributes.
    init(_ purchase: ReceiptPurchase, known: StoreTransaction?) {
        self.init(purchase)
        ownership = Ownership(rawValue: known?.ownership ?? "PURCHASED")
        if cancellationDate != nil {
            cancellationReason = RevocationReason(rawValue: Int(known?.revocation?.reason ?? 0))
        }
        if expiresDate == nil { webOrderLineItemID = nil }
        offerCodeReferenceName = known?.offer?.identifier(of: .code)
        appAccountToken = known?.appAccountToken?.description
    }

    /// As the store knows it now. Receipts count whole seconds, and so does this: one purchase has one date.
    init(_ listed: ListedPurchase) {
        func whole(_ instant: Instant?) -> Instant? { instant.map { Instant(seconds: $0.seconds) } }
        let transaction = listed.transaction
        self.init()
        quantity = transaction.quantity
        productID = transaction.productID.text
        transactionID = transaction.id.text
        originalTransactionID = transaction.originalID.text
        isTrialPeriod = listed.isTrial
        ownership = Ownership(rawValue: transaction.ownership)
        purchaseDate = whole(transaction.purchased)
        originalPurchaseDate = whole(transaction.firstPurchased)
        cancellationDate = whole(listed.cancelled)
        cancellationReason = listed.cancellationReason.map { RevocationReason(rawValue: Int($0)) }
        if let subscription = transaction.subscription {
            expiresDate = whole(subscription.expires)
            isInIntroOfferPeriod = listed.isIntroductory
            webOrderLineItemID = String(subscription.lineItem)
            subscriptionGroupID = subscription.groupID
        }
        if transaction.isUpgraded { isUpgraded = true }
        promotionalOfferID = listed.promotionalOfferID
        offerCodeReferenceName = listed.offerCodeName
        appAccountToken = transaction.appAccountToken?.description
    }
}

extension AnsweredRenewal {
    init(_ subscription: StoreSubscription) {
        self.init()
        productID = subscription.productID.text
        originalTransactionID = String(subscription.original)
        autoRenewProductID = subscription.nextProductID.text
        autoRenewStatus = subscription.renewsNext ? .on : .off
        expirationIntent = subscription.answeredExpirationIntent
        isInBillingRetryPeriod = subscription.answeredBillingRetry
        if subscription.isFailing { gracePeriodExpiresDate = subscription.graceExpires }
        if let increase = subscription.priceIncrease {
            // Consent that was not asked for has no status; that an increase was announced has one.
            if increase.needsConsent { priceConsentStatus = increase.isAccepted }
            priceIncreaseStatus = increase.isAccepted ? .consentedOrTold : .unanswered
        }
        let offer = subscription.runningOffer?.offer
        promotionalOfferID = offer?.identifier(of: .promotional)
        offerCodeReferenceName = offer?.identifier(of: .code)
    }
}

extension StoreSubscription {
    /// Only once the service stopped: in its grace period a subscription has not expired.
    var answeredExpirationIntent: ExpirationIntent? {
        switch state {
        case .expired, .billingRetry: expirationIntent.map { ExpirationIntent(rawValue: Int($0)) }
        case .active, .gracePeriod, .revoked: nil
        }
    }

    /// Whether Apple still tries; nil for a subscription whose billing never failed, or works again.
    var answeredBillingRetry: Bool? {
        if isFailing { return true }
        return state == .expired && expirationIntent == 2 ? false : nil
    }
}

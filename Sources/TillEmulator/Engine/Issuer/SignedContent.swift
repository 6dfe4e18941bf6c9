import TillAppStore
import TillBilling
import TillJSON

/// The content of Apple's signed payloads (facts/jws §4, §5, §7). A member without a value is omitted, never null.
enum SignedContent {
    /// JWSTransactionDecodedPayload.
    static func transaction(_ transaction: StoreTransaction, signed now: Instant) -> TransactionPayload {
        var payload = TransactionPayload()
        payload.transactionID = transaction.id.text
        payload.originalTransactionID = transaction.originalID.text
        payload.bundleID = transaction.bundleID
        payload.productID = transaction.productID.text
        payload.purchaseDate = transaction.purchased
        payload.originalPurchaseDate = transaction.firstPurchased
        payload.quantity = Int(transaction.quantity)
        payload.typeText = transaction.kind.rawValue
        payload.ownership = Ownership(rawValue: transaction.ownership)
        payload.signedDate = now
        payload.environment = transaction.environment.rawValue
        payload.transactionReason = TransactionReason(rawValue: transaction.reason)
        payload.storefront = transaction.storefront
        payload.storefrontID = Storefront.numbers[transaction.storefront]
        payload.priceMilliunits = transaction.price.milliunits
        payload.currency = transaction.price.currency.text
        payload.appTransactionID = String(transaction.appTransaction)
        payload.appAccountToken = transaction.appAccountToken?.description
        if let subscription = transaction.subscription {
            payload.webOrderLineItemID = String(subscription.lineItem)
            payload.subscriptionGroupID = subscription.groupID
            payload.expiresDate = subscription.expires
        }
        if let revocation = transaction.revocation {
            payload.revocationDate = revocation.date
            payload.revocationReason = RevocationReason(rawValue: Int(revocation.reason))
            payload.revocationType = RevocationType(rawValue: revocation.type)
            payload.revocationPercentage = revocation.percentage.map { Int($0) }
        }
        if transaction.isUpgraded { payload.isUpgraded = true }
        payload.offer = transaction.offer.map(TransactionPayload.Offer.init)
        if let commitment = transaction.commitment {
            payload.billingPlanType = .monthly
            payload.commitment = TransactionPayload.Commitment(commitment)
        } else if transaction.isBilledUpFront {
            payload.billingPlanType = .billedUpFront
        }
        return payload
    }

    /// JWSRenewalInfoDecodedPayload of a subscription whose newest transaction is `current`.
    static func renewal(
        _ subscription: StoreSubscription, current: StoreTransaction, signed now: Instant
    ) -> RenewalInfoPayload {
        var payload = RenewalInfoPayload()
        payload.originalTransactionID = String(subscription.original)
        payload.productID = subscription.productID.text
        payload.autoRenewProductID = subscription.nextProductID.text
        payload.autoRenewStatus = subscription.renewsNext ? .on : .off
        payload.renewalDate = subscription.expires
        payload.recentSubscriptionStartDate = subscription.recentStart
        payload.appTransactionID = String(current.appTransaction)
        payload.environment = current.environment.rawValue
        payload.signedDate = now
        payload.expirationIntent = subscription.expirationIntent.map { ExpirationIntent(rawValue: Int($0)) }
        // True while Apple retries billing, in a grace period too; false once it has stopped.
        if subscription.isFailing || subscription.expirationIntent == SubscriptionEnd.billingError.intent {
            payload.isInBillingRetryPeriod = subscription.isFailing
        }
        payload.gracePeriodExpiresDate = subscription.graceExpires
        payload.priceIncreaseStatus = subscription.priceIncrease.map { $0.isAccepted ? .consentedOrTold : .unanswered }
        if subscription.renewsNext, let price = subscription.nextPrice {
            payload.renewalPriceMilliunits = price.milliunits
            payload.currency = price.currency.text
        }
        if subscription.owedMonth == nil {
            payload.offer = (subscription.runningOffer?.offer).map(TransactionPayload.Offer.init)
        }
        if !subscription.eligibleWinBacks.isEmpty {
            payload.eligibleWinBackOfferIDs = subscription.eligibleWinBacks
        }
        payload.appAccountToken = subscription.appAccountToken?.description
        addPlan(of: subscription, current, to: &payload)
        return payload
    }

    /// The billing plan of the next period and of the time after a commitment. Apple's pages name the members only. Our
    /// reading: `autoRenewStatus` concerns the next month, which is owed, and the commitment's status concerns its end.
    private static func addPlan(
        of subscription: StoreSubscription, _ current: StoreTransaction, to payload: inout RenewalInfoPayload
    ) {
        guard subscription.monthlyBilling || current.commitment != nil || current.isBilledUpFront else { return }
        func type(_ isMonthly: Bool) -> BillingPlanType { isMonthly ? .monthly : .billedUpFront }
        payload.renewalBillingPlanType = type(subscription.owedMonth != nil || subscription.monthlyBilling)
        guard let commitment = subscription.commitment, subscription.isGoingOn else { return }
        var next = RenewalInfoPayload.Commitment()
        next.autoRenewProductID = subscription.renewalProductID.text
        next.autoRenewStatus = subscription.renews ? .on : .off
        next.renewalBillingPlanType = type(subscription.monthlyBilling)
        next.renewalDate = commitment.expires
        // The price of a whole commitment, like `commitmentPrice`; a plan paid up front is charged as a whole.
        if subscription.renews, let price = subscription.priceAfterCommitment {
            next.renewalPriceMilliunits = price.milliunits * (subscription.monthlyBilling ? Commitment.periods : 1)
        }
        payload.commitment = next
    }
}

extension TransactionPayload.Offer {
    fileprivate init(_ offer: StoreTransaction.Offer) {
        self.init()
        type = offer.kind.type
        identifier = offer.identifier
        discountType = OfferDiscountType(rawValue: offer.discount.rawValue)
        period = offer.period
    }
}

extension TransactionPayload.Commitment {
    fileprivate init(_ commitment: StoreTransaction.Commitment) {
        self.init()
        billingPeriodNumber = Int(commitment.billingPeriod)
        totalBillingPeriods = Int(commitment.billingPeriods)
        expiresDate = commitment.expires
        priceMilliunits = commitment.price.milliunits
    }
}

extension Issuer {
    func sign(_ payload: some JSONPayload, for proof: DeviceProof? = nil) throws -> String {
        let skew = (clock ?? SkewedClock.current)?.skew() ?? 0
        guard proof != nil || skew != 0 else { return try sign(payload: payload.encoded()) }
        return try sign((payload.json.object ?? [:]).merging(proof?.payload.json.object ?? [:]) { _, new in new })
    }

    func sign(_ members: [String: JSONValue]) throws -> String {
        let dated = (clock ?? SkewedClock.current)?.dated(members) ?? members
        return try sign(payload: JSONValue.object(dated).encodedBytes())
    }

    /// The transaction signed now: each signing has a newer `signedDate` (facts/jws §4).
    public func signedTransaction(_ transaction: StoreTransaction, at now: Instant) throws -> String {
        try sign(SignedContent.transaction(transaction, signed: now))
    }
}

/// A customer's download of an app: the AppTransaction payload (facts/jws §6).
public struct AppTransactionContent: Sendable {
    public var download: AppDownload
    public var app: EmulatedApp
    public var environment: StoreEnvironment
    /// For the requesting device, if there is one.
    var proof: DeviceProof?

    public init(download: AppDownload, app: EmulatedApp, environment: StoreEnvironment) {
        self.download = download
        self.app = app
        self.environment = environment
    }

    func payload(signed now: Instant) -> AppTransactionPayload {
        let isProduction = environment == .production
        var payload = AppTransactionPayload()
        payload.receiptType = environment.rawValue
        payload.bundleID = download.bundleID
        payload.applicationVersion = app.version
        payload.originalApplicationVersion = isProduction ? download.originalVersion ?? app.originalVersion : "1.0"
        payload.receiptCreationDate = now
        // In sandbox every account bought every app at the same moment, in version 1.0, as its receipts say.
        payload.originalPurchaseDate = isProduction ? download.downloaded : EmulatedApp.sandboxFirstPurchase
        payload.preorderDate = download.preordered
        payload.appTransactionID = String(download.appTransaction)
        payload.originalPlatform = Platform(rawValue: download.platform)
        if isProduction {
            payload.appAppleID = app.appleID
            payload.versionExternalIdentifier = app.versionID
        }
        return payload
    }
}

extension Issuer {
    /// JWS of an AppTransaction, whose `receiptCreationDate` is `now`.
    public func signedAppTransaction(_ content: AppTransactionContent, at now: Instant) throws -> String {
        try sign(content.payload(signed: now), for: content.proof)
    }
}

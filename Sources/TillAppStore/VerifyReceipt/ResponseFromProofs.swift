import TillBilling

// verifyReceipt responses built from verified proofs, for the server's own `POST /verifyReceipt`.

extension ResponseReceipt {
    /// All fields that the receipt itself contains.
    public init(_ receipt: VerifiedReceipt, requestedAt now: Instant) {
        let payload = receipt.payload
        receiptType = payload.receiptType
        adamID = payload.appAppleID ?? 0
        appItemID = payload.appAppleID ?? 0
        bundleID = receipt.bundleID
        applicationVersion = payload.applicationVersion
        originalApplicationVersion = payload.originalApplicationVersion
        downloadID = payload.downloadID ?? 0
        versionExternalIdentifier = payload.versionExternalIdentifier ?? 0
        creationDate = receipt.creationDate
        requestDate = now
        originalPurchaseDate = payload.originalPurchaseDate
        expirationDate = payload.expirationDate
        inApp = payload.purchases.map(ResponsePurchase.init)
    }
}

extension ResponsePurchase {
    /// The record as in the receipt. Receipts contain neither the ownership type nor the account token.
    public init(_ purchase: ReceiptPurchase) {
        quantity = purchase.quantity ?? 1
        productID = purchase.productID
        transactionID = purchase.transactionID
        originalTransactionID = purchase.originalTransactionID.flatMap { $0.isEmpty ? nil : $0 }
        purchaseDate = purchase.purchaseDate
        originalPurchaseDate = purchase.originalPurchaseDate
        expiresDate = purchase.expiresDate
        isTrialPeriod = purchase.isTrialPeriod == 1
        if purchase.expiresDate != nil { isInIntroOfferPeriod = purchase.isInIntroductoryOfferPeriod == 1 }
        webOrderLineItemID = purchase.webOrderLineItemID.flatMap { $0 == 0 ? nil : String($0) }
        cancellationDate = purchase.cancellationDate
        promotionalOfferID = purchase.promotionalOfferID.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A signed transaction in verifyReceipt's format. Dates are in whole seconds, so that a purchase has the same date
    /// from either kind of proof.
    public init(_ transaction: VerifiedTransaction) {
        func whole(_ instant: Instant?) -> Instant? { instant.map { Instant(seconds: $0.seconds) } }
        let payload = transaction.payload
        quantity = Int64(transaction.quantity)
        productID = transaction.productID.text
        transactionID = transaction.id.text
        originalTransactionID = transaction.originalID.text
        purchaseDate = whole(transaction.purchaseDate)
        originalPurchaseDate = whole(payload.originalPurchaseDate)
        expiresDate = whole(payload.expiresDate)
        let isIntroductory = payload.offer?.type == .introductory
        let isFree = payload.offer?.discountType == .freeTrial
        isTrialPeriod = isIntroductory && isFree
        if payload.expiresDate != nil { isInIntroOfferPeriod = isIntroductory && !isFree }
        webOrderLineItemID = payload.webOrderLineItemID
        if transaction.showsItsRefund {
            cancellationDate = whole(payload.revocationDate)
            cancellationReason = payload.revocationDate.map { _ in payload.revocationReason ?? .other }
        }
        switch payload.offer?.type {
        case .promotional?: promotionalOfferID = payload.offer?.identifier
        case .offerCode?: offerCodeReferenceName = payload.offer?.identifier
        default: break
        }
        if payload.isUpgraded == true { isUpgraded = true }
        subscriptionGroupID = payload.subscriptionGroupID
        ownership = payload.ownership
        appAccountToken = payload.appAccountToken
    }
}

extension ReceiptPurchase {
    /// Nil in old receipts, which do not state it, and for a number that Apple has added since.
    public var type: ProductType? { productType.flatMap { ProductType(receiptNumber: $0) } }
    /// Auto-renewable by its type, or by an expiry date, which no other type has.
    public var isSubscription: Bool { type == .autoRenewable || expiresDate != nil }
}

extension VerifiedTransaction {
    /// verifyReceipt never shows the refund of a consumable (facts/verify-receipt §6).
    var showsItsRefund: Bool { type != .consumable }
}

extension ResponseRenewal {
    /// A renewal info in verifyReceipt's format.
    public init(_ renewal: VerifiedRenewalInfo) {
        let payload = renewal.payload
        productID = payload.productID
        originalTransactionID = payload.originalTransactionID
        autoRenewProductID = payload.autoRenewProductID
        autoRenewStatus = payload.autoRenewStatus
        expirationIntent = payload.expirationIntent
        isInBillingRetryPeriod = payload.isInBillingRetryPeriod
        gracePeriodExpiresDate = payload.gracePeriodExpiresDate
        priceIncreaseStatus = payload.priceIncreaseStatus
        switch payload.offer?.type {
        case .promotional?: promotionalOfferID = payload.offer?.identifier
        case .offerCode?: offerCodeReferenceName = payload.offer?.identifier
        default: break
        }
    }
}

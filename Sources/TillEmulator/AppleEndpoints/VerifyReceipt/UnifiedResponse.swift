import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// The answer to an app receipt: the receipt's content and, if it lists auto-renewables, the customer's current state
/// in the store (facts/verify-receipt §4 to §7).
struct UnifiedResponse: Sendable {
    let receipt: VerifiedReceipt
    let excludesOldTransactions: Bool
    let store: Store
    let receipts: ReceiptBuilder

    /// Whether the receipt lists an auto-renewable.
    var isSubscriber: Bool {
        receipt.payload.purchases.contains { $0.type == .autoRenewable }
    }

    /// The store's record of the receipt's customer.
    private struct Customer: Sendable {
        var download: AppDownload
        var isDeleted: Bool
        /// The transactions that the receipt lists, by number; finished consumables included.
        var listed: [Int64: StoreTransaction]
        /// The purchases that a new receipt would list.
        var purchases: [ListedPurchase] = []
        var subscriptions: [StoreSubscription] = []
    }

    func answer() async throws -> JSONValue {
        let now = store.now
        let customer = try await customer()
        guard customer?.isDeleted != true else { throw VerifyReceiptStatus.accountNotFound }
        var answer = VerifyReceiptResponse(status: .genuine)
        answer.environment = receipt.environment.rawValue
        answer.receipt = answered(customer, at: now)
        if isSubscriber, let customer {
            let renewed = try await receipts.appReceipt(
                account: customer.download.account, bundleID: customer.download.bundleID, device: nil)
            answer.latestReceipt = Base64.encode(renewed)
            answer.latestReceiptInfo = latest(customer.purchases)
            answer.pendingRenewalInfo = customer.subscriptions.map(ResponseRenewal.init)
        }
        return answer.json
    }

    /// Nil for a receipt whose account never downloaded the app.
    private func customer() async throws -> Customer? {
        guard let number = ReceiptContent.appTransaction(of: receipt.payload) else { return nil }
        let numbers = receipt.payload.purchases.compactMap { $0.transactionID.flatMap { Int64($0) } }
        let wantsUpdates = isSubscriber
        return try await store.ask { connection in
            guard let download = try DownloadTable.find(appTransaction: number, connection) else { return nil }
            var customer = Customer(
                download: download,
                isDeleted: try AccountTable.find(download.account, connection)?.isDeleted ?? true,
                listed: try TransactionTable.listed(numbers, connection))
            guard wantsUpdates, !customer.isDeleted else { return customer }
            let (account, bundleID) = (download.account, download.bundleID)
            customer.purchases = ListedPurchase.all(
                try TransactionTable.inReceipt(
                    account: account, bundleID: bundleID, limit: Store.receiptLimit, connection))
            customer.subscriptions = try SubscriptionTable.ofAccount(account, bundleID: bundleID, connection)
            return customer
        }
    }

    /// The `receipt` object (facts/verify-receipt §5). Its purchases keep the receipt's order, which is DER's and not
    /// chronological: a longer record stands after a shorter one, however old it is (§6).
    private func answered(_ customer: Customer?, at now: Instant) -> ResponseReceipt {
        var answered = ResponseReceipt(receipt, requestedAt: now)
        answered.preorderDate = customer?.download.preordered
        answered.inApp = receipt.payload.purchases.map { purchase in
            let known = purchase.transactionID.flatMap { Int64($0) }.flatMap { customer?.listed[$0] }
            return ResponsePurchase(purchase, known: known)
        }
        return answered
    }

    /// `latest_receipt_info`, oldest first; only the newest of each subscription if the request excludes old
    /// transactions.
    private func latest(_ purchases: [ListedPurchase]) -> [ResponsePurchase] {
        var seen: Set<Int64> = []
        let shown = purchases.reversed().filter { listed in
            guard excludesOldTransactions else { return true }
            return listed.transaction.subscription != nil && seen.insert(listed.transaction.original).inserted
        }
        return shown.reversed().map { ResponsePurchase($0) }
    }
}

extension TransactionTable {
    /// The existing transactions with these numbers, by number.
    static func listed(_ numbers: [Int64], _ connection: any Connection) throws -> [Int64: StoreTransaction] {
        let list = "[" + numbers.map { String($0) }.joined(separator: ",") + "]"
        let found = try connection.query(
            "SELECT \(columns) FROM transactions WHERE number IN (SELECT value FROM json_each(?))", [.text(list)], read
        ).compactMap { $0 }
        return Dictionary(found.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

// The store's records as members of Apple's answer (facts/verify-receipt §6, §7).

extension ResponsePurchase {
    /// The purchase as the receipt lists it: in its state when the receipt was made.
    ///
    /// - Parameter known: the store's own record, for members that Apple adds to the receipt's attributes.
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

    /// The purchase in its current state. Receipts count whole seconds, and so does this answer: one purchase has one
    /// date.
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

extension ResponseRenewal {
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
            // An increase that needs no consent has no consent status; its announcement still has a price increase
            // status.
            if increase.needsConsent { priceConsentStatus = increase.isAccepted }
            priceIncreaseStatus = increase.isAccepted ? .consentedOrTold : .unanswered
        }
        let offer = subscription.runningOffer?.offer
        promotionalOfferID = offer?.identifier(of: .promotional)
        offerCodeReferenceName = offer?.identifier(of: .code)
    }
}

extension StoreSubscription {
    /// Set only after the service stopped: a subscription in its grace period has not expired.
    var answeredExpirationIntent: ExpirationIntent? {
        switch state {
        case .expired, .billingRetry: expirationIntent.map { ExpirationIntent(rawValue: Int($0)) }
        case .active, .gracePeriod, .revoked: nil
        }
    }

    /// Whether Apple still tries to charge; nil for a subscription whose billing never failed or has recovered.
    var answeredBillingRetry: Bool? {
        if isFailing { return true }
        return state == .expired && expirationIntent == 2 ? false : nil
    }
}

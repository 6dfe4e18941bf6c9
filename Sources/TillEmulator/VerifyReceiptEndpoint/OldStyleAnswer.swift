import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// What is answered about an old-style receipt: its purchase, flat, and beside it what became of the subscription, with
/// status 21006 once that is over (facts/verify-receipt §9).
struct OldStyleAnswer: Sendable {
    let store: Store
    let receipts: ReceiptPrinter

    private static let expired: Int64 = 21006

    private struct Customer: Sendable {
        var isDeleted: Bool
        var listed: ListedPurchase
        var subscription: StoreSubscription?
        /// The subscription's newest transaction.
        var newest: ListedPurchase?
    }

    func answer(_ receipt: OldStyleReceipt) async throws -> JSONValue {
        let now = store.now
        guard let number = receipt.purchase.transactionID.flatMap({ Int64($0) }),
            let customer = try await customer(number)
        else { throw VerifyReceiptEndpoint.Status.notAuthentic }
        guard !customer.isDeleted else { throw VerifyReceiptEndpoint.Status.accountNotFound }
        var purchase = OldStyleReceiptContent.members(receipt.purchase.lines.map { ($0.key, $0.value) })
        purchase.addCancellation(customer.listed)
        var answer: [String: JSONValue] = ["status": 0, "receipt": .object(purchase)]
        guard let subscription = customer.subscription, let newest = customer.newest else { return .object(answer) }

        let device = receipt.purchase.uniqueVendorIdentifier.flatMap { UniqueID($0) }?.bytes
        let renewed = try await receipts.transactionReceipt(newest.transaction, device: device)
        var latest = OldStyleReceiptContent.members(
            OldStyleReceipt(renewed)?.purchase.lines.map { ($0.key, $0.value) } ?? [])
        latest.addCancellation(newest)
        // A number here, text beside an app receipt.
        answer["auto_renew_status"] = subscription.renewsNext ? 1 : 0
        answer["auto_renew_product_id"] = .string(subscription.nextProductID.text)
        let runs = newest.cancelled == nil && (now < subscription.expires || subscription.state == .gracePeriod)
        if runs {
            answer["latest_receipt"] = .string(Base64.encode(renewed))
            answer["latest_receipt_info"] = .object(latest)
        } else {
            answer["status"] = .int(Self.expired)
            answer["latest_expired_receipt_info"] = .object(latest)
            answer["cancellation_reason"] = newest.cancellationReason.map { .string(String($0)) }
        }
        answer["expiration_intent"] = PendingRenewal.expirationIntent(of: subscription).map { .string(String($0)) }
        answer["is_in_billing_retry_period"] = PendingRenewal.isInBillingRetry(subscription).map { $0 ? "1" : "0" }
        return .object(answer)
    }

    /// Nil if the store has no such purchase.
    private func customer(_ number: Int64) async throws -> Customer? {
        try await store.ask { session in
            guard let transaction = try TransactionTable.find(number, session), transaction.state == .purchased else {
                return nil
            }
            var customer = Customer(
                isDeleted: try AccountTable.find(transaction.account, session)?.isDeleted ?? true,
                listed: ListedPurchase.all([transaction])[0])
            guard transaction.subscription != nil,
                let subscription = try SubscriptionTable.find(transaction.original, session)
            else { return customer }
            let all = ListedPurchase.all(
                try TransactionTable.inReceipt(
                    account: transaction.account, bundleID: transaction.bundleID, limit: Store.receiptLimit, session))
            customer.listed = all.first { $0.transaction.number == number } ?? customer.listed
            customer.subscription = subscription
            customer.newest = all.first { $0.transaction.number == subscription.current } ?? customer.listed
            return customer
        }
    }
}

extension [String: JSONValue] {
    fileprivate mutating func addCancellation(_ listed: ListedPurchase) {
        addDate("cancellation_date", listed.cancelled)
        self["cancellation_reason"] = listed.cancellationReason.map { .string(String($0)) }
    }
}

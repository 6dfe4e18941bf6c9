import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// The answer to an old-style receipt: its purchase, flat, and the current state of its subscription, with status 21006
/// once the subscription has ended (facts/verify-receipt §9).
struct OldStyleResponse: Sendable {
    let store: Store
    let receipts: ReceiptBuilder

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
        else { throw VerifyReceiptStatus.notAuthentic }
        guard !customer.isDeleted else { throw VerifyReceiptStatus.accountNotFound }
        var answer = VerifyReceiptResponse(status: .genuine)
        var legacy = LegacyResponse()
        legacy.receipt = try LegacyPurchase(receipt.purchase, listed: customer.listed)
        if let subscription = customer.subscription, let newest = customer.newest {
            let device = receipt.purchase.uniqueVendorIdentifier.flatMap { UniqueID($0) }?.bytes
            let renewed = try await receipts.transactionReceipt(newest.transaction, device: device)
            let latest = try OldStyleReceipt(renewed).map { try LegacyPurchase($0.purchase, listed: newest) }
            legacy.autoRenewStatus = subscription.renewsNext ? .on : .off
            legacy.autoRenewProductID = subscription.nextProductID.text
            let runs = newest.cancelled == nil && (now < subscription.expires || subscription.state == .gracePeriod)
            if runs {
                answer.latestReceipt = Base64.encode(renewed)
                legacy.latest = latest
            } else {
                answer.status = .expired
                legacy.latestExpired = latest
                legacy.cancellationReason = newest.cancellationReason.map { RevocationReason(rawValue: Int($0)) }
            }
            legacy.expirationIntent = subscription.answeredExpirationIntent
            legacy.isInBillingRetryPeriod = subscription.answeredBillingRetry
        }
        answer.legacy = legacy
        return answer.json
    }

    /// Nil if the store has no such purchase.
    private func customer(_ number: Int64) async throws -> Customer? {
        try await store.ask { connection in
            guard let transaction = try TransactionTable.find(number, connection), transaction.state == .purchased
            else {
                return nil
            }
            var customer = Customer(
                isDeleted: try AccountTable.find(transaction.account, connection)?.isDeleted ?? true,
                listed: ListedPurchase.all([transaction])[0])
            guard transaction.subscription != nil,
                let subscription = try SubscriptionTable.find(transaction.original, connection)
            else { return customer }
            let all = ListedPurchase.all(
                try TransactionTable.inReceipt(
                    account: transaction.account, bundleID: transaction.bundleID, limit: Store.receiptLimit, connection)
            )
            customer.listed = all.first { $0.transaction.number == number } ?? customer.listed
            customer.subscription = subscription
            customer.newest = all.first { $0.transaction.number == subscription.current } ?? customer.listed
            return customer
        }
    }
}

extension LegacyPurchase {
    /// The receipt's own members, and the purchase's later refund.
    fileprivate init(_ purchase: OldStylePurchase, listed: ListedPurchase) throws {
        try self.init(OldStyleReceiptContent.members(purchase.lines.map { ($0.key, $0.value) }))
        cancellationDate = listed.cancelled
        cancellationReason = listed.cancellationReason.map { RevocationReason(rawValue: Int($0)) }
    }
}

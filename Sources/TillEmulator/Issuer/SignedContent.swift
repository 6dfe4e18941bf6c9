import TillAppStore
import TillBilling

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
            "inAppOwnershipType": "PURCHASED",
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
            payload["revocationPercentage"] = .int(revocation.percentage)
        }
        return payload
    }

    /// JWSRenewalInfoDecodedPayload of a subscription; nil for anything else. Subscriptions have one period on this
    /// floor: a running one means to renew, one that has ended did so for "other" reasons.
    static func renewal(_ transaction: StoreTransaction, signed now: Instant) -> [String: JSONValue]? {
        guard let subscription = transaction.subscription else { return nil }
        let product = JSONValue.string(transaction.productID.text)
        let goesOn = transaction.revocation == nil && now < subscription.expires
        var payload: [String: JSONValue] = [
            "originalTransactionId": .string(transaction.originalID.text),
            "productId": product,
            "autoRenewProductId": product,
            "autoRenewStatus": goesOn ? 1 : 0,
            "renewalDate": .int(subscription.expires.milliseconds),
            "recentSubscriptionStartDate": .int(transaction.purchased.milliseconds),
            "appTransactionId": .string(String(transaction.appTransaction)),
            "environment": .string(transaction.environment.rawValue),
            "signedDate": .int(now.milliseconds),
        ]
        if transaction.revocation == nil, !goesOn { payload["expirationIntent"] = 5 }
        if goesOn {
            payload["renewalPrice"] = .int(transaction.price.milliunits)
            payload["currency"] = .string(transaction.price.currency.text)
        }
        payload["appAccountToken"] = transaction.appAccountToken.map { .string($0.description) }
        return payload
    }

    /// `status` of a notification about a subscription: 1 active, 2 expired, 5 revoked.
    static func status(_ transaction: StoreTransaction, at now: Instant) -> Int64? {
        guard let subscription = transaction.subscription else { return nil }
        return transaction.revocation != nil ? 5 : now < subscription.expires ? 1 : 2
    }
}

extension Issuer {
    func sign(_ members: [String: JSONValue]) throws -> String {
        try sign(payload: Array(JSONValue.object(members).encoded().utf8))
    }

    /// The transaction as Apple would sign it now: each signing has a newer `signedDate` (facts/jws §4).
    public func signedTransaction(_ transaction: StoreTransaction, at now: Instant) throws -> String {
        try sign(SignedContent.transaction(transaction, signed: now))
    }
}

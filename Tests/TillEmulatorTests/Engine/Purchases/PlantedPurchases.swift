import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillEmulator

/// Transactions and subscriptions written directly into a store: any combination, whatever would lead to it.
extension EmulatedWorld {
    /// Bought now by `account`; `shape` changes it from a plain consumable.
    @discardableResult
    func plant(
        _ product: String = "points60", kind: ProductType = .consumable, account: String = Emulator.defaultAccount,
        _ shape: @escaping @Sendable (inout StoreTransaction) -> Void = { _ in }
    ) async throws -> StoreTransaction {
        try await emulator.store.change { change in
            _ = try AccountTable.account(account, openingIn: "CHN", change.connection)
            let download = try DownloadTable.download(
                account: account, bundleID: Self.bundleID, at: change.now, change.connection)
            let number = try Counter.transaction.take(change.connection)
            var transaction = StoreTransaction(
                price: Money(amount: 600, currency: Currency("CNY")), number: number, original: number,
                state: .purchased, isFinished: false, environment: change.configuration.environment, account: account,
                bundleID: Self.bundleID, productID: ProductID("\(Self.bundleID).\(product)"), kind: kind, quantity: 1,
                storefront: "CHN", appAccountToken: nil, appTransaction: download.appTransaction, reason: "PURCHASE",
                purchased: change.now, firstPurchased: change.now, subscription: nil, revocation: nil)
            if kind == .autoRenewable {
                transaction.subscription = StoreTransaction.Subscription(
                    groupID: "21000001", expires: change.now.adding(seconds: 30 * 86_400),
                    lineItem: try Counter.lineItem.take(change.connection))
            }
            shape(&transaction)
            return try TransactionTable.insert(transaction, change.connection)
        }
    }

    /// The subscription whose newest transaction is `newest`.
    @discardableResult
    func plantSubscription(
        _ newest: StoreTransaction, _ shape: @escaping @Sendable (inout StoreSubscription) -> Void = { _ in }
    ) async throws -> StoreSubscription {
        var subscription = StoreSubscription(
            original: newest.original, account: newest.account, bundleID: newest.bundleID,
            groupID: newest.subscription?.groupID ?? "", state: .active, productID: newest.productID,
            current: newest.number, expires: newest.subscription?.expires ?? newest.purchased, billingDay: 1,
            renews: true, renewalProductID: newest.productID, renewalPrice: newest.price,
            recentStart: newest.firstPurchased, eligibleWinBacks: [], renewals: 0, extensions: [], billingFails: false,
            monthlyBilling: false)
        shape(&subscription)
        let planted = subscription
        try await emulator.store.change { try SubscriptionTable.save(planted, $0.connection) }
        return planted
    }

    /// The answer of `/verifyReceipt` for the account's current receipt.
    func verified(
        account: String = Emulator.defaultAccount, path: String = "/verifyReceipt", _ more: [String: JSONValue] = [:]
    ) async throws -> JSONValue {
        let receipt = try await emulator.receipt(account: account, bundleID: Self.bundleID)
        let body = more.merging(["receipt-data": .string(Base64.encode(receipt))]) { given, _ in given }
        let answer = await ask(.post, path, .object(body))
        try #require(answer.status == 200)
        return answer.json
    }

    /// The old-style receipt of one transaction, in base64.
    func transactionReceipt(_ id: String) async throws -> String {
        let answer = await ask(.get, "/emulator/transactions/\(id)/receipt")
        return try #require(answer.json["receipt"]?.string, "\(answer.json.encoded())")
    }
}

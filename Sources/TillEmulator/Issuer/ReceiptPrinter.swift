import TillBilling
import TillCrypto
import TillSQL

/// Makes receipts of what the store knows now.
struct ReceiptPrinter: Sendable {
    let store: Store
    let issuer: Issuer
    let configuration: EmulatorConfiguration
    let entropy: @Sendable (Int) -> [UInt8]

    /// The app receipt of an account, DER.
    ///
    /// - Parameter device: 16 bytes of identifierForVendor, which the receipt's hash binds it to; nil: some device.
    func appReceipt(account: String, bundleID: String, device: [UInt8]?) async throws -> [UInt8] {
        let (transactions, download) = try await store.ask { session in
            (
                try TransactionTable.inReceipt(
                    account: account, bundleID: bundleID, limit: Store.receiptLimit, session),
                try DownloadTable.find(account: account, bundleID: bundleID, session)
            )
        }
        let content = ReceiptContent(
            app: configuration.app(bundleID), environment: configuration.environment,
            purchases: ListedPurchase.all(transactions),
            created: SkewedClock.current?.time(store.now) ?? store.now, download: download,
            device: device ?? entropy(16), noise: entropy(200))
        return try issuer.receipt(payload: content.encoded())
    }

    /// The old-style receipt of one paid transaction: property-list text (facts/verify-receipt §9).
    func transactionReceipt(_ transaction: StoreTransaction, device: [UInt8]?) async throws -> [UInt8] {
        let product = try await store.ask { try ProductTable.find(transaction.productID, $0) }
        let content = OldStyleReceiptContent(
            transaction, app: configuration.app(transaction.bundleID), itemID: product?.appleID ?? 0,
            device: device ?? entropy(16))
        return try issuer.transactionReceipt(
            purchaseInfo: content.purchaseInfo, environment: configuration.environment)
    }
}

import TillBilling

/// An app receipt that Apple vouches for. Only a `SignedDataVerifier` makes one.
public struct VerifiedReceipt: Sendable {
    public let payload: ReceiptPayload
    public let environment: Environment
    public let bundleID: String
    /// When Apple made the receipt.
    public let creationDate: Instant

    init(payload: ReceiptPayload, environment: Environment, bundleID: String, creationDate: Instant) {
        self.payload = payload
        self.environment = environment
        self.bundleID = bundleID
        self.creationDate = creationDate
    }

    /// The receipt's record of one transaction; nil if it has none, or one without product or date.
    ///
    /// Should a receipt name a transaction twice, the record that says it was taken back counts.
    public func transaction(_ id: TransactionID) -> VerifiedTransaction? {
        let records = payload.purchases.filter { $0.transactionID == id.text }
        return (records.first { $0.cancellationDate != nil } ?? records.first).flatMap(transaction(of:))
    }

    /// Every purchase of the receipt that has an id, product and date. Their order means nothing, and finished
    /// consumables are missing from receipts (facts/pkcs7-receipt §3.2).
    public var transactions: [VerifiedTransaction] { payload.purchases.compactMap(transaction(of:)) }

    private func transaction(of record: ReceiptPurchase) -> VerifiedTransaction? {
        var payload = TransactionPayload()
        payload.transactionID = record.transactionID
        payload.originalTransactionID = record.originalTransactionID.flatMap { $0.isEmpty ? nil : $0 }
        payload.productID = record.productID
        payload.bundleID = bundleID
        payload.purchaseDate = record.purchaseDate
        payload.originalPurchaseDate = record.originalPurchaseDate
        payload.expiresDate = record.expiresDate
        payload.quantity = record.quantity.map { Int($0) }
        payload.typeText = record.productType.map { ProductType(receiptNumber: $0)?.rawValue ?? String($0) }
        payload.revocationDate = record.cancellationDate
        payload.webOrderLineItemID = record.webOrderLineItemID.flatMap { $0 == 0 ? nil : String($0) }
        payload.offer = record.promotionalOfferID.flatMap {
            $0.isEmpty ? nil : TransactionPayload.Offer(promotionalIdentifier: $0)
        }
        payload.environment = environment.rawValue
        payload.signedDate = creationDate
        guard let essentials = try? VerifiedTransaction.Essentials(payload) else { return nil }
        return VerifiedTransaction(essentials, payload: payload, environment: environment, source: .receipt)
    }
}

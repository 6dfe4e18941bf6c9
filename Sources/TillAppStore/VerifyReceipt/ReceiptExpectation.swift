import TillBilling

/// A client's statement of what a receipt proves, to be compared with Apple's response (facts/verify-receipt §8).
/// Status 0 means that the receipt is genuine. It does not mean that this product was bought, in this app, for this
/// order.
///
/// Whether the transaction was granted before is decided by the ledger.
public struct ReceiptExpectation: Sendable {
    public var bundleID: String
    public var transactionID: TransactionID
    public var productID: ProductID
    public var quantity: Int
    /// The environments whose purchases count.
    public var environments: Set<StoreEnvironment>
    /// When the order was opened; nil without an order.
    public var orderOpened: Instant?
    public var now: Instant

    public init(
        bundleID: String, transactionID: TransactionID, productID: ProductID, quantity: Int,
        environments: Set<StoreEnvironment>, orderOpened: Instant? = nil, now: Instant
    ) {
        self.bundleID = bundleID
        self.transactionID = transactionID
        self.productID = productID
        self.quantity = quantity
        self.environments = environments
        self.orderOpened = orderOpened
        self.now = now
    }

    /// A difference between the claim and the response. The raw value is stable.
    public enum Finding: String, Sendable, CaseIterable {
        case notGenuine = "not_genuine"
        case wrongApp = "wrong_app"
        case wrongEnvironment = "wrong_environment"
        case transactionNotInReceipt = "transaction_not_in_receipt"
        case productMismatch = "product_mismatch"
        case quantityMismatch = "quantity_mismatch"
        /// Apple has refunded or revoked the purchase.
        case cancelled
        /// The subscription's period has ended.
        case expired
        /// Purchased before the order was opened, which suggests another customer's old receipt.
        case olderThanOrder = "older_than_order"
    }

    /// All differences, in the order of the cases; empty if the response confirms the claim.
    ///
    /// - Parameter environment: the environment of the host that answered.
    public func findings(in answer: VerifyReceiptResponse, from environment: StoreEnvironment) -> [Finding] {
        var found: [Finding] = []
        if answer.status != .genuine, answer.status != .expired { found.append(.notGenuine) }
        if (answer.receipt?.bundleID ?? answer.legacy?.receipt?.bundleID) != bundleID { found.append(.wrongApp) }
        if !environments.contains(environment) || !Self.agrees(answer, with: environment) {
            found.append(.wrongEnvironment)
        }
        let records = Self.records(of: answer).filter { $0.transactionID == transactionID.text }
        guard let first = records.first else { return found + [.transactionNotInReceipt] }
        if records.contains(where: { $0.productID != productID.text }) { found.append(.productMismatch) }
        if records.contains(where: { $0.quantity != Int64(quantity) }) { found.append(.quantityMismatch) }
        if records.contains(where: { $0.cancelled != nil }) { found.append(.cancelled) }
        let expires = records.compactMap(\.expires).max()
        if answer.status == .expired || expires.map({ $0 <= now }) ?? false { found.append(.expired) }
        // Old-style responses have whole seconds.
        if let orderOpened, first.purchased.map({ $0.seconds < orderOpened.seconds }) ?? true {
            found.append(.olderThanOrder)
        }
        return found
    }

    /// The host decides, because each host refuses the other's receipts (21007, 21008). The response states its
    /// environment in two members, which old-style responses may omit; a stated one must agree.
    private static func agrees(_ answer: VerifyReceiptResponse, with environment: StoreEnvironment) -> Bool {
        let stated = answer.environment.map { $0 == environment.rawValue } ?? (answer.legacy != nil)
        let type = answer.receipt?.receiptType.map { $0.hasSuffix("Sandbox") == (environment == .sandbox) }
        return stated && (type ?? true)
    }

    /// The common fields of the purchases in both kinds of response.
    private struct Record {
        let transactionID: String?
        let productID: String?
        let quantity: Int64?
        let purchased: Instant?
        let expires: Instant?
        let cancelled: Instant?

        init(_ purchase: ResponsePurchase) {
            transactionID = purchase.transactionID
            productID = purchase.productID
            quantity = purchase.quantity
            purchased = purchase.purchaseDate
            expires = purchase.expiresDate
            cancelled = purchase.cancellationDate
        }

        init(_ purchase: LegacyPurchase) {
            transactionID = purchase.transactionID
            productID = purchase.productID
            quantity = purchase.quantity
            purchased = purchase.purchaseDate
            expires = purchase.expiresDate
            cancelled = purchase.cancellationDate
        }
    }

    private static func records(of answer: VerifyReceiptResponse) -> [Record] {
        let unified = (answer.receipt?.inApp ?? []) + (answer.latestReceiptInfo ?? [])
        let legacy = [answer.legacy?.receipt, answer.legacy?.latest, answer.legacy?.latestExpired].compactMap { $0 }
        return unified.map(Record.init) + legacy.map(Record.init)
    }
}

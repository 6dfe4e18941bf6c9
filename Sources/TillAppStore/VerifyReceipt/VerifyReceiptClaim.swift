import TillBilling

/// What somebody says that a receipt proves, to be held against Apple's answer (facts/verify-receipt §8). Status 0
/// means that the receipt is genuine: not that this was bought, or here, or just now.
///
/// Whether the transaction was granted before is the ledger's to say.
public struct VerifyReceiptClaim: Sendable {
    public var bundleID: String
    public var transactionID: TransactionID
    public var productID: ProductID
    public var quantity: Int
    /// Those whose purchases count here.
    public var environments: Set<Environment>
    /// When the order was opened; nil if none was.
    public var orderOpened: Instant?
    public var now: Instant

    public init(
        bundleID: String, transactionID: TransactionID, productID: ProductID, quantity: Int,
        environments: Set<Environment>, orderOpened: Instant? = nil, now: Instant
    ) {
        self.bundleID = bundleID
        self.transactionID = transactionID
        self.productID = productID
        self.quantity = quantity
        self.environments = environments
        self.orderOpened = orderOpened
        self.now = now
    }

    /// One thing that is not as claimed. The raw value is stable.
    public enum Finding: String, Sendable, CaseIterable {
        case notGenuine = "not_genuine"
        case wrongApp = "wrong_app"
        case wrongEnvironment = "wrong_environment"
        case transactionNotInReceipt = "transaction_not_in_receipt"
        case productMismatch = "product_mismatch"
        case quantityMismatch = "quantity_mismatch"
        /// Apple took the purchase back.
        case cancelled
        /// The subscription's period is over.
        case expired
        /// Bought before the order was opened: somebody else's old receipt, perhaps.
        case olderThanOrder = "older_than_order"
    }

    /// Everything that is not as claimed, in the order of the cases; empty if all is.
    ///
    /// - Parameter environment: whose host gave the answer.
    public func findings(in answer: VerifyReceiptAnswer, from environment: Environment) -> [Finding] {
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
        // Old-style answers tell whole seconds.
        if let orderOpened, first.purchased.map({ $0.seconds < orderOpened.seconds }) ?? true {
            found.append(.olderThanOrder)
        }
        return found
    }

    /// The host decides: each refuses the other's receipts (21007, 21008). What the answer says itself, in two places,
    /// may be missing in old-style ones and must not contradict.
    private static func agrees(_ answer: VerifyReceiptAnswer, with environment: Environment) -> Bool {
        let stated = answer.environment.map { $0 == environment.rawValue } ?? (answer.legacy != nil)
        let type = answer.receipt?.receiptType.map { $0.hasSuffix("Sandbox") == (environment == .sandbox) }
        return stated && (type ?? true)
    }

    /// What the purchases of either kind of answer have in common.
    private struct Record {
        let transactionID: String?
        let productID: String?
        let quantity: Int64?
        let purchased: Instant?
        let expires: Instant?
        let cancelled: Instant?

        init(_ purchase: AnsweredPurchase) {
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

    private static func records(of answer: VerifyReceiptAnswer) -> [Record] {
        let unified = (answer.receipt?.inApp ?? []) + (answer.latestReceiptInfo ?? [])
        let legacy = [answer.legacy?.receipt, answer.legacy?.latest, answer.legacy?.latestExpired].compactMap { $0 }
        return unified.map(Record.init) + legacy.map(Record.init)
    }
}

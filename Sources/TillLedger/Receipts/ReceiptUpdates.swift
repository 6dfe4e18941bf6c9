import TillAppStore
import TillBilling
import TillSQL

/// The updates that Apple signed since the receipt was made, for the purchases in the receipt and the renewals of its
/// subscriptions: refunds, new periods, tokens. Purchases that are neither in the receipt nor in its chains are
/// excluded, because any caller may hold the receipt.
package struct ReceiptUpdates: Sendable {
    private let receipt: VerifiedReceipt
    private let known: [String: Known]
    /// The receipt's own purchases by id. Of two with one id, the revoked one.
    private let stated: [String: ReceiptPurchase]

    /// The maximum number of purchases looked up, newest first; older ones are returned as in the receipt. Most
    /// receipts have a few; the largest reported ones have thousands.
    static let purchaseLimit = 1_000
    static let subscriptionLimit = 20
    /// The maximum for each subscription, newest first.
    static let renewalLimit = 200

    /// A transaction in the ledger.
    private struct Known: Sendable {
        let row: TransactionTable.Stored
        /// Nil if the ledger has only a receipt for it.
        let signed: VerifiedTransaction?
    }

    package init(of receipt: VerifiedReceipt, in database: any Database, verifier: SignedDataVerifier) async throws {
        let purchases = receipt.payload.purchases.sorted { Self.isNewer($0.purchaseDate, than: $1.purchaseDate) }
            .prefix(Self.purchaseLimit)
        let environment = receipt.environment
        let found = try await database.read { connection in
            try Self.load(Array(purchases), in: environment, connection)
        }
        // Every returned proof is verified again, even if it was verified before it was stored.
        var known: [String: Known] = [:]
        for (row, token) in found {
            let signed = token.flatMap { try? verifier.transaction($0) }
            let isThis = signed.map { $0.id == row.id && $0.environment == environment } ?? false
            known[row.id.text] = Known(row: row, signed: isThis ? signed : nil)
        }
        self.receipt = receipt
        self.known = known
        stated = Dictionary(receipt.payload.purchases.map { ($0.transactionID ?? "", $0) }) { first, second in
            first.cancellationDate == nil ? second : first
        }
    }

    // MARK: The ledger

    private typealias Found = (row: TransactionTable.Stored, token: [UInt8]?)

    private static func load(
        _ purchases: [ReceiptPurchase], in environment: StoreEnvironment, _ connection: any Connection
    ) throws -> [Found] {
        let transactions = TransactionTable(connection)
        var rows: [String: TransactionTable.Stored] = [:]
        var orders: [TransactionID: Int64] = [:]
        var subscriptions: [TransactionID] = []
        for purchase in purchases {
            guard let id = purchase.transactionID, rows[id] == nil else { continue }
            let row = try transactions.find(TransactionID(id), in: environment)
            rows[id] = row
            guard purchase.isSubscription else { continue }
            let stated = purchase.originalTransactionID ?? ""
            let original = TransactionID(stated.isEmpty ? id : stated)
            if !subscriptions.contains(original), subscriptions.count < subscriptionLimit {
                subscriptions.append(original)
            }
            // A purchase without an owner has no order, and its renewals cannot be found by one. The newest purchase
            // decides.
            if let order = row?.orderRowID, row?.originalID == original, orders[original] == nil {
                orders[original] = order
            }
        }
        for original in subscriptions {
            if orders[original] == nil {
                orders[original] = try transactions.find(original, in: environment)?.orderRowID
            }
            guard let order = orders[original] else { continue }
            let chain = try transactions.chain(
                of: original, in: environment, orderRowID: order, limit: renewalLimit)
            // Other customers' purchases in the chain are excluded.
            let grantOwners = try GrantOwnerTable(connection).users(of: original, in: environment)
            let newest = rows.values.filter { $0.originalID == original }.max { $0.purchasedAt < $1.purchasedAt }
            func owner(_ transaction: Int64?, under order: Int64?) throws -> UserID? {
                let ordered = try order.flatMap { try OrderTable(connection).find(rowID: $0)?.order.userID }
                return try (transaction.flatMap { grantOwners[$0] } ?? ordered).map {
                    try CustomerTable(connection).account(of: $0) ?? $0
                }
            }
            let asked =
                if let newest { try owner(newest.rowID, under: newest.orderRowID) } else {
                    try owner(nil, under: order)
                }
            for row in chain {
                let isAskers = try asked != nil && owner(row.rowID, under: row.orderRowID) == asked
                if isAskers || rows[row.id.text] != nil { rows[row.id.text] = row }
            }
        }
        let proofs = ProofTable(connection)
        return try rows.values.map { row in
            let proof = try proofs.find(transaction: row.rowID)
            return (row, proof?.kind == .signedTransaction ? proof?.body : nil)
        }
    }

    // MARK: Records

    /// A purchase as the receipt states it, with the revocation or reversal that Apple signed since.
    func inApp(_ purchase: ReceiptPurchase) -> ResponsePurchase {
        var record = ResponsePurchase(purchase)
        update(&record, isConsumable: purchase.type == .consumable)
        return record
    }

    /// A record of `latest_receipt_info`.
    struct Latest: Sendable {
        var record: ResponsePurchase
        let isSubscription: Bool
    }

    /// Everything in the receipt and in its chains, oldest first.
    ///
    /// - Parameter withTokens: whether account tokens, which are order ids, are included.
    func latest(withTokens: Bool) -> [Latest] {
        var all = purchases()
        if !withTokens {
            for place in all.indices { all[place].record.appAccountToken = nil }
        }
        return all.sorted { Self.isNewer($1.record, than: $0.record) }
    }

    private func purchases() -> [Latest] {
        var all: [Latest] = []
        var listed: Set<String> = []
        for purchase in receipt.payload.purchases {
            let id = purchase.transactionID ?? ""
            guard listed.insert(id).inserted, let purchase = stated[id] else { continue }
            all.append(
                Latest(record: known[id].flatMap(chained) ?? inApp(purchase), isSubscription: purchase.isSubscription))
        }
        for (id, entry) in known where !listed.contains(id) {
            // Only renewals can be missing in the receipt; without a signed copy their details are unknown.
            if let record = chained(entry) { all.append(Latest(record: record, isSubscription: true)) }
        }
        return all
    }

    /// The newest record of each subscription, oldest first.
    static func newest(of all: [Latest]) -> [ResponsePurchase] {
        var newest: [String: ResponsePurchase] = [:]
        for latest in all where latest.isSubscription {
            guard let chain = latest.record.originalTransactionID ?? latest.record.transactionID else { continue }
            newest[chain] = latest.record
        }
        return newest.values.sorted { isNewer($1, than: $0) }
    }

    /// The record from the signed copy, which has more details than the receipt.
    private func chained(_ entry: Known) -> ResponsePurchase? {
        guard let signed = entry.signed else { return nil }
        var record = ResponsePurchase(signed)
        // If the receipt is newer than the signed copy, its revocation state counts.
        if signed.signedDate.seconds < receipt.creationDate.seconds, let purchase = stated[entry.row.id.text] {
            record.cancellationDate = purchase.cancellationDate
            if purchase.cancellationDate == nil { record.cancellationReason = nil }
        }
        return record
    }

    /// The newer of the receipt and the ledger's copy decides about the revocation.
    private func update(_ record: inout ResponsePurchase, isConsumable: Bool) {
        guard let entry = record.transactionID.flatMap({ known[$0] }), !isConsumable,
            entry.signed?.type != .consumable, entry.row.signedAt.seconds >= receipt.creationDate.seconds
        else { return }
        record.cancellationDate = entry.row.revokedAt.map { Instant(seconds: $0.seconds) }
        record.cancellationReason = entry.row.revokedAt.map { _ in entry.signed?.revocationReason ?? .other }
    }

    private static func isNewer(_ left: Instant?, than right: Instant?) -> Bool {
        (left?.milliseconds ?? .min) > (right?.milliseconds ?? .min)
    }

    /// Records of the same second are ordered by id, so that repeated requests get the same answer.
    private static func isNewer(_ left: ResponsePurchase, than right: ResponsePurchase) -> Bool {
        let (first, second) = (left.purchaseDate?.milliseconds ?? .min, right.purchaseDate?.milliseconds ?? .min)
        return first == second ? left.transactionID ?? "" > right.transactionID ?? "" : first > second
    }
}

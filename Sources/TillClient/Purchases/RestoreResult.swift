import TillAPI
import TillBilling

/// The result of restoring purchases through the server. Consumables can't be restored.
public struct RestoreResult: Hashable, Sendable {
    /// The result for each purchase that the store returned.
    public internal(set) var purchases: [RestoredPurchase] = []
    /// The product ids that the signed-in user owns now, each once: restored now or owned before.
    public internal(set) var restored: [String] = []
    /// The product ids that the server couldn't decide yet. Restoring again asks again.
    public internal(set) var waiting: [String] = []
    /// The number of returned purchases that belong to another of the app's users. They stay theirs.
    public internal(set) var ownedByOthers = 0
    /// Why not everything was restored; nil if nothing failed, waits or was refused.
    public var error: TillError? { failure.map { TillError($0) } }

    package internal(set) var failure: StoreError?

    init(failure: StoreError? = nil) { self.failure = failure }

    mutating func add(_ purchase: RestoredPurchase) {
        purchases.append(purchase)
        let product = purchase.productID
        switch purchase.status {
        case .owned, .moved, .claimed:
            if let product, !restored.contains(product) { restored.append(product) }
        case .ownedByAnother, .contactSupport: ownedByOthers += 1
        case .waiting:
            if let product, !waiting.contains(product) { waiting.append(product) }
            failure = failure ?? .undelivered(purchase.pendingReason)
        case .refused: failure = failure ?? .undelivered(PendingReason(code: purchase.code ?? "", isFinal: true))
        case .notRestorable, .refunded: break
        }
    }

    /// Adds transactions that the server's answer doesn't contain.
    mutating func add(_ transactions: [QueuedTransaction], waitingFor fault: StoreError) {
        for transaction in transactions {
            purchases.append(RestoredPurchase(transaction, fault))
            if !waiting.contains(transaction.productID.text) { waiting.append(transaction.productID.text) }
            failure = failure ?? fault
        }
    }
}

/// The result of restoring one purchase.
public struct RestoredPurchase: Hashable, Sendable {
    /// The owner of the purchase, as far as the signed-in user may know.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The signed-in user already owned it.
        case owned
        /// Another of the app's users owned it; it belongs to the signed-in user now.
        case moved = "moved_to_you"
        /// It had no owner; it belongs to the signed-in user now.
        case claimed
        /// Another of the app's users owns it and keeps it.
        case ownedByAnother = "of_another"
        /// Another of the app's users owns it, and the app's support may move it.
        case contactSupport = "ask_support"
        /// A consumable, or a plan of another of the app's users, can't be restored.
        case notRestorable = "not_restorable"
        /// Apple refunded or revoked it.
        case refunded
        /// The server hasn't decided, or couldn't be reached. Restoring again asks again.
        case waiting
        /// The server refused the proof.
        case refused
    }

    /// Apple's transaction id; nil if the proof is invalid.
    public let transactionID: String?
    /// The product id of App Store Connect; nil if the proof is invalid.
    public let productID: String?
    /// The owner of the purchase now.
    public let status: Status
    /// Why it waits, stays or was refused: a stable code for programs and logs, if there is one.
    public let code: String?
    /// The server's reason for waiting, if it gave one.
    private let reason: String?

    fileprivate var pendingReason: PendingReason {
        PendingReason(code: code ?? PendingReason.accepted.code, isFinal: false, reason: reason)
    }

    /// A message for the buyer.
    package var sentence: LocalizedText {
        switch status {
        case .owned: LocalizedText(en: "This purchase is yours and is active here.", zh: "此项购买属于您，已恢复。")
        case .moved:
            LocalizedText(
                en: "This purchase was in another account and is in this one now.", zh: "此项购买原在其他账户，现已转入当前账户。")
        case .claimed: LocalizedText(en: "This purchase is in your account now.", zh: "此项购买已归入您的账户。")
        case .ownedByAnother:
            LocalizedText(
                en: "This purchase belongs to another account. Sign in with the account that bought it.",
                zh: "此项购买属于其他账户，请登录购买时使用的账户。")
        case .contactSupport:
            LocalizedText(
                en: "This purchase belongs to another account. If that is yours too, ask support to move it.",
                zh: "此项购买属于其他账户。如果那也是您的账户，请联系客服转移。")
        case .notRestorable:
            LocalizedText(en: "What is used up can't be restored.", zh: "消耗型商品无法恢复。")
        case .refunded: LocalizedText(en: "This purchase was refunded.", zh: "此项购买已退款。")
        case .waiting, .refused: pendingReason.sentence
        }
    }

    /// The message in a language.
    ///
    /// - Parameter language: as in `TillError.message(in:)`.
    public func message(in language: String? = nil) -> String { sentence.text(in: language) }
}

extension RestoredPurchase {
    /// - Parameter transaction: the transaction that the store returned.
    init(_ reply: RestoredTransaction, of transaction: QueuedTransaction?) {
        transactionID = reply.transactionId ?? transaction?.id.text
        productID = reply.productId ?? transaction?.productID.text
        let waits = reply.outcome == .quarantined || reply.outcome == .accepted
        code = reply.outcome == .quarantined ? PendingReason.quarantined.code : reply.reason
        reason = waits ? reply.reason : nil
        status =
            switch reply.outcome {
            case .owned: .owned
            case .moved: .moved
            case .claimed: .claimed
            case .kept: reply.askBackend == true ? .contactSupport : .ownedByAnother
            case .notRestorable: .notRestorable
            case .revoked: .refunded
            case .quarantined, .accepted: .waiting
            case .refused: reply.reason.flatMap(Refusal.init(rawValue:))?.isRetryable == true ? .waiting : .refused
            }
    }

    init(_ transaction: QueuedTransaction, _ fault: StoreError) {
        transactionID = transaction.id.text
        productID = transaction.productID.text
        status = .waiting
        code = fault.code
        reason = nil
    }
}

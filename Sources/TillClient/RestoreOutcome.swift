import TillAPI
import TillBilling

/// What came back from the store, through the server (P10, T11). Consumables don't come back.
public struct RestoreOutcome: Hashable, Sendable {
    /// What became of each purchase that the store showed.
    public internal(set) var purchases: [RestoredPurchase] = []
    /// Product ids of whoever is signed in, each once: theirs now, or before already.
    public internal(set) var restored: [String] = []
    /// Product ids that the server could not speak about yet. Restoring again asks again.
    public internal(set) var waiting: [String] = []
    /// How many purchases the store showed that belong to another of the app's users. They stay theirs (P8).
    public internal(set) var ofOthers = 0
    /// Why nothing, or not everything, came back.
    public internal(set) var error: StoreError?

    init(error: StoreError? = nil) { self.error = error }

    mutating func add(_ purchase: RestoredPurchase) {
        purchases.append(purchase)
        let product = purchase.productID
        switch purchase.fate {
        case .yours, .movedToYou, .claimed:
            if let product, !restored.contains(product) { restored.append(product) }
        case .ofAnother, .askSupport: ofOthers += 1
        case .waiting:
            if let product, !waiting.contains(product) { waiting.append(product) }
            error = error ?? .undelivered(purchase.trouble)
        case .refused: error = error ?? .undelivered(Trouble(code: purchase.code ?? "", isFinal: true))
        case .notRestorable, .refunded: break
        }
    }

    /// The server said nothing of these.
    mutating func add(_ transactions: [QueuedTransaction], waitingFor fault: StoreError) {
        for transaction in transactions {
            purchases.append(RestoredPurchase(transaction, fault))
            if !waiting.contains(transaction.productID.text) { waiting.append(transaction.productID.text) }
            error = error ?? fault
        }
    }
}

/// What became of one purchase that was restored.
public struct RestoredPurchase: Hashable, Sendable {
    /// Whose it is, as far as the one who is signed in may know.
    public enum Fate: String, Hashable, Sendable, CaseIterable {
        /// It was theirs, and is.
        case yours
        /// Another of the app's users had it; from now on it is theirs.
        case movedToYou = "moved_to_you"
        /// Nobody had it; from now on it is theirs.
        case claimed
        /// Another of the app's users has it, and keeps it.
        case ofAnother = "of_another"
        /// The same, and the app's support may move it.
        case askSupport = "ask_support"
        /// Consumables never come back.
        case notRestorable = "not_restorable"
        /// Apple gave the money back.
        case refunded
        /// The server has not decided, or was not heard. Restoring again asks again.
        case waiting
        /// The server takes the proof for none.
        case refused
    }

    /// Apple's id; nil where the proof is none.
    public let transactionID: String?
    /// As in App Store Connect; nil where the proof is none.
    public let productID: String?
    /// Whose it is now.
    public let fate: Fate
    /// Why it waits, stays or was refused: stable, for programs and logs.
    public let code: String?
    /// What the server waits for, if it said so.
    private let reason: String?

    fileprivate var trouble: Trouble {
        Trouble(code: code ?? Trouble.accepted.code, isFinal: false, reason: reason)
    }

    /// What the buyer is told.
    public var sentence: Text {
        switch fate {
        case .yours: Text(en: "This purchase is yours and is active here.", zh: "此项购买属于您，已恢复。")
        case .movedToYou:
            Text(
                en: "This purchase was in another account and is in this one now.", zh: "此项购买原在其他账户，现已转入当前账户。")
        case .claimed: Text(en: "This purchase is in your account now.", zh: "此项购买已归入您的账户。")
        case .ofAnother:
            Text(
                en: "This purchase belongs to another account. Sign in with the account that bought it.",
                zh: "此项购买属于其他账户，请登录购买时使用的账户。")
        case .askSupport:
            Text(
                en: "This purchase belongs to another account. If that is yours too, ask support to move it.",
                zh: "此项购买属于其他账户。如果那也是您的账户，请联系客服转移。")
        case .notRestorable:
            Text(en: "What is used up can't be restored.", zh: "消耗型商品无法恢复。")
        case .refunded: Text(en: "This purchase was refunded.", zh: "此项购买已退款。")
        case .waiting, .refused: trouble.sentence
        }
    }

    /// The sentence in a reader's language.
    ///
    /// - Parameter language: as in `StoreError.message(in:)`.
    public func message(in language: String? = nil) -> String {
        sentence[language.map(Language.init(preference:)) ?? .ofDevice]
    }
}

extension RestoredPurchase {
    /// - Parameter transaction: the one that the store showed.
    init(_ told: RestoredTransaction, of transaction: QueuedTransaction?) {
        transactionID = told.transactionId ?? transaction?.id.text
        productID = told.productId ?? transaction?.productID.text
        let waits = told.outcome == .quarantined || told.outcome == .accepted
        code = told.outcome == .quarantined ? Trouble.quarantined.code : told.reason
        reason = waits ? told.reason : nil
        fate =
            switch told.outcome {
            case .owned: .yours
            case .moved: .movedToYou
            case .claimed: .claimed
            case .kept: told.askBackend == true ? .askSupport : .ofAnother
            case .notRestorable: .notRestorable
            case .revoked: .refunded
            case .quarantined, .accepted: .waiting
            case .refused: told.reason.flatMap(Refusal.init(rawValue:))?.isRetryable == true ? .waiting : .refused
            }
    }

    init(_ transaction: QueuedTransaction, _ fault: StoreError) {
        transactionID = transaction.id.text
        productID = transaction.productID.text
        fate = .waiting
        code = fault.code
        reason = nil
    }
}

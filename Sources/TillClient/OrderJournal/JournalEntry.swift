import TillBilling

/// One purchase in the device's journal.
package struct JournalEntry: Hashable, Sendable, Identifiable {
    package let id: OrderID
    package let productID: ProductID
    package let quantity: Int
    /// The total price that the buyer was shown; nil for a purchase that this device did not begin.
    package let price: Money?
    /// What Apple charged, once the server has stated it. A receipt states no price.
    package internal(set) var paid: Money?
    /// The device that a plan was bought for, by the app's own name; nil for none in particular.
    package internal(set) var device: String?
    /// The product's name and kind when the purchase began; nil if they were unknown.
    package internal(set) var label: ProductLabel?
    /// The nonce that proves to the server that the id is a commitment to `idUserID`; it is sent on behalf of that user
    /// only. Nil for an order that this device did not begin, or that an older version of the app began.
    package internal(set) var idNonce: OrderIDNonce?
    /// The user that the id commits to, who was signed in when the purchase began. When a guest is merged into an
    /// account, the orders move to the account but the ids still commit to the guest.
    package internal(set) var idUserID: UserID?
    /// The user who was signed in when the purchase began; nil for a purchase that this device did not begin, until the
    /// server names its owner. It serves the list of orders; the actual owner follows from Apple's signature.
    package internal(set) var userID: UserID?
    /// Oldest first, never empty. The last entry is the status.
    package private(set) var history: [OrderMove]
    /// Whether the server has an order with this id, according to the server or to Apple's token. The payment is
    /// requested only after that.
    package internal(set) var isOpened: Bool
    /// Set once the store has reported a paid transaction.
    package internal(set) var transactionID: TransactionID?
    /// The number of submissions without a final answer.
    package internal(set) var attempts: Int
    /// The time of the next automatic submission.
    package internal(set) var retryAt: Instant?
    /// Why the purchase is not completed yet.
    package internal(set) var pendingReason: PendingReason?
    /// Whether the receipt was refreshed for this purchase, which may ask for the Apple Account's password.
    package internal(set) var hasRefreshedReceipt = false

    /// A purchase that begins on this device, with an id that commits to its buyer.
    package init(
        preparing nonce: OrderIDNonce, productID: ProductID, quantity: Int, price: Money?,
        label: ProductLabel? = nil, userID: UserID, at: Instant
    ) {
        self.init(
            preparing: OrderIDCommitment(user: userID, nonce: nonce).id, productID: productID, quantity: quantity,
            price: price, userID: userID, at: at)
        idNonce = nonce
        idUserID = userID
        self.label = label
    }

    /// A purchase whose id is not a commitment, as in older versions.
    package init(
        preparing id: OrderID, productID: ProductID, quantity: Int, price: Money?, userID: UserID, at: Instant
    ) {
        self.init(
            id: id, productID: productID, quantity: quantity, price: price, userID: userID,
            history: [OrderMove(status: .prepared, at: at, reason: "")])
    }

    /// A paid transaction that this device did not begin: the app was reinstalled, or the purchase was made elsewhere.
    init(adopting transaction: QueuedTransaction, as id: OrderID, label: ProductLabel? = nil, at: Instant) {
        self.init(
            id: id, productID: transaction.productID, quantity: transaction.quantity, price: nil, userID: nil,
            history: [OrderMove(status: .ongoing, at: at, reason: "adopted")])
        isOpened = transaction.token == id
        transactionID = transaction.id
        self.label = label
    }

    init(
        id: OrderID, productID: ProductID, quantity: Int, price: Money?, userID: UserID?, history: [OrderMove],
        isOpened: Bool = false, transactionID: TransactionID? = nil, attempts: Int = 0, retryAt: Instant? = nil,
        pendingReason: PendingReason? = nil
    ) {
        self.id = id
        self.productID = productID
        self.quantity = quantity
        self.price = price
        self.userID = userID
        self.history = history
        self.isOpened = isOpened
        self.transactionID = transactionID
        self.attempts = attempts
        self.retryAt = retryAt
        self.pendingReason = pendingReason
    }

    /// The proof to the server that the caller may use this order id.
    struct IDProof {
        let nonce: OrderIDNonce
        /// The user that the id commits to, if it is not the caller but a guest of this installation.
        let user: UserID?
    }

    /// Nil if nothing can be proved: the order is another user's, or was begun without a nonce.
    func idProof(for caller: UserID) -> IDProof? {
        guard let idNonce, let idUserID else { return nil }
        if idUserID == caller { return IDProof(nonce: idNonce, user: nil) }
        // The server decides whether the guest has been merged into the caller's account.
        return userID == caller || idUserID.isGuest ? IDProof(nonce: idNonce, user: idUserID) : nil
    }

    package var status: OrderStatus { history.last?.status ?? .prepared }
    package var createdAt: Instant { history.first?.at ?? Instant(milliseconds: 0) }
    package var updatedAt: Instant { history.last?.at ?? Instant(milliseconds: 0) }

    /// Makes legal moves only. A move to the current status changes nothing.
    mutating func move(to status: OrderStatus, at: Instant, reason: String) throws(JournalError) {
        if self.status == status { return }
        guard let way = self.status.way(to: status) else { throw .illegalMove(from: self.status, to: status) }
        for step in way {
            assert(self.status.mayMove(to: step), "an order only makes legal moves (invariant 5)")
            history.append(OrderMove(status: step, at: at, reason: step == status ? reason : ""))
        }
        assert(self.status == status, "a way ends where it leads")
        // Refunds and reversals may repeat without limit; the beginning and the end of a history are its important
        // parts.
        while history.count > Self.longestHistory { history.remove(at: 4) }
    }

    static let longestHistory = 64

    /// Whether the device assigned the transaction only because it matches the order, without a statement of the store
    /// or a token.
    var isGuessed: Bool { history.last { $0.status == .ongoing }?.reason == Self.guess }

    static let guess = "matched"

    /// Reverses a wrong assignment: the order returns to its previous status.
    mutating func undoGuess() {
        guard isGuessed, let last = history.lastIndex(where: { $0.status == .ongoing }) else { return }
        var before = history[..<last]
        // Intermediate steps that the assignment added.
        while before.count > 1, before.last?.reason == "", before.last?.at == history[last].at { before.removeLast() }
        guard !before.isEmpty else { return }
        history = Array(before)
        (transactionID, pendingReason, retryAt, attempts) = (nil, nil, nil, 0)
        hasRefreshedReceipt = false
    }
}

/// The part of a product that the list of orders shows.
package struct ProductLabel: Hashable, Sendable {
    package let name: String
    /// Nil until the server has stated it.
    package let kind: PurchaseKind?

    /// - Parameter name: bounded, because the journal is held in memory.
    package init(name: String, kind: PurchaseKind?) {
        self.name = String(name.prefix(200))
        self.kind = kind
    }
}

/// The reason why a paid purchase is not completed yet: a stable code, with a sentence for the buyer.
package struct PendingReason: Hashable, Sendable {
    /// The code: a `Refusal`, a `TransportError.Kind`, or a code of this type.
    package let code: String
    /// A Boolean value that indicates whether sending the same proof again automatically is pointless. At launch, and
    /// at the buyer's request, it is sent nevertheless, because a wrong configuration of the server may have been
    /// corrected.
    package let isFinal: Bool
    /// The server's reason for waiting, if it gave one: a stable code. A later server may send codes that this version
    /// doesn't know.
    package let reason: String?

    package init(code: String, isFinal: Bool, reason: String? = nil) {
        self.code = code
        self.isFinal = isFinal
        self.reason = reason
    }

    package static let signedOut = PendingReason(code: "signed_out", isFinal: false)
    package static let unreadableResponse = PendingReason(code: "unreadable_answer", isFinal: false)
    /// The connection to the server failed, so sending again helps when the network is better.
    var isOfNetwork: Bool { TransportError.Kind(rawValue: code) != nil || self == .unreadableResponse }

    /// Not paid yet: another person must approve the purchase first.
    static let deferred = PendingReason(code: "deferred", isFinal: false)
    /// The other person declined, or did not answer in time.
    static let notApproved = PendingReason(code: "not_approved", isFinal: true)
    /// The App Store changes the subscription at its next renewal, and charges nothing now.
    static let startsAtRenewal = PendingReason(code: "starts_at_renewal", isFinal: true)
    /// The customer has this subscription already.
    static let alreadySubscribed = PendingReason(code: "already_subscribed", isFinal: true)
    /// The server has stored the proof and is requesting missing information.
    package static let accepted = PendingReason(code: "accepted", isFinal: false)
    /// The server has stored the proof and does not know the owner yet.
    package static let quarantined = PendingReason(code: "quarantined", isFinal: false)
    /// The transaction was finished for another order, and can't be proved on this device any more.
    package static let completedElsewhere = PendingReason(code: "completed_elsewhere", isFinal: true)

    /// A message for the buyer.
    package var sentence: LocalizedText {
        if let reason, let sentence = Self.sentence(ofWaiting: reason) { return sentence }
        if let refusal = Refusal(rawValue: code) { return refusal.advice }
        if let kind = TransportError.Kind(rawValue: code) { return kind.sentence }
        if let problem = AppStoreError(code: code) { return problem.sentence }
        return switch code {
        case PendingReason.signedOut.code:
            LocalizedText(en: "Sign in, and the purchase is delivered to its owner.", zh: "请登录，登录后购买的内容将发放给其所有者。")
        case PendingReason.unreadableResponse.code:
            LocalizedText(
                en: "The server's answer can't be read right now. It is tried again by itself; if it takes long, tell "
                    + "support the order number.",
                zh: "目前无法与服务器正常通信，系统会自动重试；如长时间未到账，请将订单号告知客服。")
        case PendingReason.deferred.code:
            LocalizedText(
                en: "Another person must approve this purchase first. It then arrives automatically.",
                zh: "此次购买需他人批准，批准后会自动到账。")
        case PendingReason.notApproved.code:
            LocalizedText(
                en: "The purchase was not approved, and nothing was charged.", zh: "此次购买未获批准，没有扣款。")
        case PendingReason.startsAtRenewal.code:
            LocalizedText(
                en: "The change takes effect at the next renewal. Nothing was charged now.", zh: "变更将在下次续订时生效，本次未扣款。")
        case PendingReason.alreadySubscribed.code:
            LocalizedText(en: "This subscription is already active. Nothing was charged.", zh: "此订阅已生效，本次未扣款。")
        case PendingReason.accepted.code:
            LocalizedText(en: "The payment is being checked.", zh: "正在核对付款。")
        case PendingReason.quarantined.code:
            LocalizedText(
                en: "The payment arrived, but its owner is not known yet. Tell support the order number.",
                zh: "付款已收到，但尚未确认归属。请将订单号告知客服。")
        case PendingReason.completedElsewhere.code:
            LocalizedText(
                en: "The App Store no longer shows this payment, and it did not arrive here: somebody else who uses "
                    + "this Apple Account may have received it. Tell support the order number.",
                zh: "App Store 已不再显示这笔付款，而它没有到账：可能已发放给使用同一 Apple 账户的其他用户。请将订单号告知客服。")
        default:
            LocalizedText(
                en: "The server gave a reason this version of the app doesn't know (\(code)).",
                zh: "服务器给出了此版本 App 未知的原因（\(code)）。")
        }
    }
}

/// The reason why the journal did not accept a change. Nothing has changed in memory or on disk.
package enum JournalError: Error, Hashable, Sendable {
    /// The disk reported an error.
    case disk(DiskError)
    /// Another version of the app wrote the file, which is left unchanged.
    case otherVersion(UInt32)
    /// The journal has no order with this id.
    case unknownOrder(OrderID)
    /// The journal already has an order with this id.
    case knownOrder(OrderID)
    /// The order can't change from the one status to the other.
    case illegalMove(from: OrderStatus, to: OrderStatus)

    /// A Boolean value that indicates whether the same change may succeed later without a repair of the device.
    package var isRetryable: Bool {
        switch self {
        case .disk(let error): error.isRetryable
        default: false
        }
    }

    /// A stable code.
    package var code: String {
        switch self {
        case .disk(let error): error.kind.rawValue
        case .otherVersion: "journal_version"
        case .unknownOrder: "unknown_order"
        case .knownOrder: "known_order"
        case .illegalMove: "illegal_move"
        }
    }

    /// A message for the buyer.
    package var sentence: LocalizedText {
        switch self {
        case .disk(let error): error.sentence
        case .otherVersion:
            LocalizedText(
                en: "The list of purchases was written by another version of the app. Update the app.",
                zh: "购买记录由另一版本的 App 写入，请更新 App。")
        case .unknownOrder: Refusal.unknownOrder.sentence
        case .knownOrder: Refusal.orderConflict.sentence
        case .illegalMove: Refusal.illegalMove.sentence
        }
    }
}

/// The state of the journal when it was opened.
package struct JournalRecovery: Hashable, Sendable {
    /// The number of orders.
    package let orders: Int
    /// The number of bytes removed at the end: an interrupted write, or later damage.
    package let cutTail: Int
    /// The number of unreadable bytes between valid changes. All valid changes are preserved.
    package let damaged: Int

    /// A Boolean value that indicates whether the file was intact.
    package var isClean: Bool { cutTail == 0 && damaged == 0 }
}

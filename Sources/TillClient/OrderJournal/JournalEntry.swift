import TillBilling

/// What the device knows about one purchase.
package struct JournalEntry: Hashable, Sendable, Identifiable {
    package let id: OrderID
    package let productID: ProductID
    package let quantity: Int
    /// What the buyer was shown for all of the quantity; nil for a purchase this device did not begin.
    package let price: Money?
    /// What proves to the server that the id is a commitment to `idUserID`: it never leaves for anybody else. Nil for
    /// an order that this device did not begin, or that an older version of the app began.
    package internal(set) var idNonce: OrderIDNonce?
    /// Whom the id commits to: who was signed in when the purchase began. A guest's orders become an account's, and
    /// their ids stay the guest's.
    package internal(set) var idUserID: UserID?
    /// Who was signed in when the purchase began; nil for a purchase this device did not begin, until the server
    /// names its owner. Whose purchase it is, is decided by what Apple signed (P8); this is for the list of orders.
    package internal(set) var userID: UserID?
    /// Oldest first, never empty. The last one is the status.
    package private(set) var history: [OrderMove]
    /// Whether the id is that of an order at the server: the server said so, or Apple's token did. Nothing is paid
    /// before that (O1, U1).
    package internal(set) var isOpened: Bool
    /// Known once the store has shown a paid transaction.
    package internal(set) var transactionID: TransactionID?
    /// How often the proof was sent without a final answer.
    package internal(set) var attempts: Int
    /// When the proof is sent again by itself.
    package internal(set) var retryAt: Instant?
    /// Why the purchase is not completed yet.
    package internal(set) var trouble: Trouble?

    /// A purchase that begins here, under an id that is its buyer's and nobody else's.
    package init(
        preparing nonce: OrderIDNonce, productID: ProductID, quantity: Int, price: Money?, userID: UserID, at: Instant
    ) {
        self.init(
            preparing: OrderIDCommitment(user: userID, nonce: nonce).id, productID: productID, quantity: quantity,
            price: price, userID: userID, at: at)
        idNonce = nonce
        idUserID = userID
    }

    /// A purchase whose id proves nothing, as older versions began them.
    package init(
        preparing id: OrderID, productID: ProductID, quantity: Int, price: Money?, userID: UserID, at: Instant
    ) {
        self.init(
            id: id, productID: productID, quantity: quantity, price: price, userID: userID,
            history: [OrderMove(status: .prepared, at: at, reason: "")])
    }

    /// A paid transaction whose beginning this device does not know: the app was reinstalled, or the purchase was
    /// made elsewhere (O7).
    init(adopting transaction: QueuedTransaction, as id: OrderID, at: Instant) {
        self.init(
            id: id, productID: transaction.productID, quantity: transaction.quantity, price: nil, userID: nil,
            history: [OrderMove(status: .ongoing, at: at, reason: "adopted")])
        isOpened = transaction.token == id
        transactionID = transaction.id
    }

    init(
        id: OrderID, productID: ProductID, quantity: Int, price: Money?, userID: UserID?, history: [OrderMove],
        isOpened: Bool = false, transactionID: TransactionID? = nil, attempts: Int = 0, retryAt: Instant? = nil,
        trouble: Trouble? = nil
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
        self.trouble = trouble
    }

    /// What proves to the server that the caller may have an order of this id.
    struct IDProof {
        let nonce: OrderIDNonce
        /// Whom the id commits to, if that is not the caller but a guest of this installation.
        let user: UserID?
    }

    /// Nil where nothing can be proved: the order is another user's, or was begun without a nonce.
    func idProof(for caller: UserID) -> IDProof? {
        guard let idNonce, let idUserID else { return nil }
        if idUserID == caller { return IDProof(nonce: idNonce, user: nil) }
        // The server decides whether the guest is part of the caller's account.
        return userID == caller || idUserID.isGuest ? IDProof(nonce: idNonce, user: idUserID) : nil
    }

    package var status: OrderStatus { history.last?.status ?? .prepared }
    package var createdAt: Instant { history.first?.at ?? Instant(milliseconds: 0) }
    package var updatedAt: Instant { history.last?.at ?? Instant(milliseconds: 0) }

    /// Moves along legal moves only (L6). A move to where the order stands already changes nothing.
    mutating func move(to status: OrderStatus, at: Instant, reason: String) throws(JournalFault) {
        if self.status == status { return }
        guard let way = self.status.way(to: status) else { throw .illegalMove(from: self.status, to: status) }
        for step in way {
            assert(self.status.mayMove(to: step), "an order only makes legal moves (invariant 5)")
            history.append(OrderMove(status: step, at: at, reason: step == status ? reason : ""))
        }
        assert(self.status == status, "a way ends where it leads")
        // A refund and its reversal may go on for ever; how an order began and what was last is what people ask for.
        while history.count > Self.longestHistory { history.remove(at: 4) }
    }

    static let longestHistory = 64

    /// Whether the device took the transaction for its own because it fits: neither the store nor a token said so.
    var isGuessed: Bool { history.last { $0.status == .ongoing }?.reason == Self.guess }

    static let guess = "matched"

    /// Takes a wrong guess back: the order stands where it stood before.
    mutating func takeBackGuess() {
        guard isGuessed, let last = history.lastIndex(where: { $0.status == .ongoing }) else { return }
        var before = history[..<last]
        // Steps on the way to it, which nobody asked for.
        while before.count > 1, before.last?.reason == "", before.last?.at == history[last].at { before.removeLast() }
        guard !before.isEmpty else { return }
        history = Array(before)
        (transactionID, trouble, retryAt, attempts) = (nil, nil, nil, 0)
    }
}

/// Why a paid purchase is not completed yet: a stable code, with a sentence for the buyer.
public struct Trouble: Hashable, Sendable {
    /// A `Refusal`, a `TransportFault.Kind`, or one of the codes below.
    public let code: String
    /// Whether sending the same proof again by itself is pointless. At a launch, and when the buyer asks for it, it is
    /// sent all the same: a server that was configured wrongly is repaired some day.
    public let isFinal: Bool
    /// What the server waits for before it grants, if it said so: a stable code of the server's. A later server may
    /// know codes that this version doesn't.
    public let reason: String?

    package init(code: String, isFinal: Bool, reason: String? = nil) {
        self.code = code
        self.isFinal = isFinal
        self.reason = reason
    }

    package static let signedOut = Trouble(code: "signed_out", isFinal: false)
    package static let unreadableAnswer = Trouble(code: "unreadable_answer", isFinal: false)
    /// The way to the server failed, not the server: it speaks when the network is better.
    var isOfNetwork: Bool { TransportFault.Kind(rawValue: code) != nil || self == .unreadableAnswer }

    /// Not even paid: somebody else must approve it first.
    static let deferred = Trouble(code: "deferred", isFinal: false)
    /// The server keeps the proof and is still asking for what is missing.
    package static let accepted = Trouble(code: "accepted", isFinal: false)
    /// The server keeps the proof and does not know yet whose it is.
    package static let quarantined = Trouble(code: "quarantined", isFinal: false)
    /// It was finished for another order, and can't be proved here any more.
    package static let settledElsewhere = Trouble(code: "settled_elsewhere", isFinal: true)

    /// What the buyer is told.
    public var sentence: Text {
        if let reason, let sentence = Self.sentence(ofWaiting: reason) { return sentence }
        if let refusal = Refusal(rawValue: code) { return refusal.advice }
        if let kind = TransportFault.Kind(rawValue: code) { return kind.sentence }
        if let problem = StoreProblem(code: code) { return problem.sentence }
        return switch code {
        case Trouble.signedOut.code:
            Text(en: "Sign in, and the purchase is delivered to its owner.", zh: "请登录，登录后购买的内容将发放给其所有者。")
        case Trouble.unreadableAnswer.code:
            Text(
                en: "The server's answer can't be read right now. It is tried again by itself; if it takes long, tell "
                    + "support the order number.",
                zh: "目前无法与服务器正常通信，系统会自动重试；如长时间未到账，请将订单号告知客服。")
        case Trouble.deferred.code:
            Text(
                en: "Another person must approve this purchase first. It then arrives automatically.",
                zh: "此次购买需他人批准，批准后会自动到账。")
        case Trouble.accepted.code:
            Text(en: "The payment is being checked.", zh: "正在核对付款。")
        case Trouble.quarantined.code:
            Text(
                en: "The payment arrived, but its owner is not known yet. Tell support the order number.",
                zh: "付款已收到，但尚未确认归属。请将订单号告知客服。")
        case Trouble.settledElsewhere.code:
            Text(
                en: "The App Store no longer shows this payment, and it did not arrive here: somebody else who uses "
                    + "this Apple Account may have received it. Tell support the order number.",
                zh: "App Store 已不再显示这笔付款，而它没有到账：可能已发放给使用同一 Apple 账户的其他用户。请将订单号告知客服。")
        default:
            Text(
                en: "The server gave a reason this version of the app doesn't know (\(code)).",
                zh: "服务器给出了此版本 App 未知的原因（\(code)）。")
        }
    }
}

/// Why the journal did not take a change. Then nothing changed, in memory or on disk.
public enum JournalFault: Error, Hashable, Sendable {
    /// The disk did not do it.
    case disk(DiskFault)
    /// The file was written by another version of the app, and is left as it is.
    case otherVersion(UInt32)
    /// There is no order of that id.
    case unknownOrder(OrderID)
    /// An order of that id is there already.
    case knownOrder(OrderID)
    /// An order can't go from the one status to the other.
    case illegalMove(from: OrderStatus, to: OrderStatus)

    /// Whether the same change may succeed later without anybody repairing the device.
    public var isRetryable: Bool {
        switch self {
        case .disk(let fault): fault.isRetryable
        default: false
        }
    }

    /// Stable.
    public var code: String {
        switch self {
        case .disk(let fault): fault.kind.rawValue
        case .otherVersion: "journal_version"
        case .unknownOrder: "unknown_order"
        case .knownOrder: "known_order"
        case .illegalMove: "illegal_move"
        }
    }

    /// What the buyer is told.
    public var sentence: Text {
        switch self {
        case .disk(let fault): fault.sentence
        case .otherVersion:
            Text(
                en: "The list of purchases was written by another version of the app. Update the app.",
                zh: "购买记录由另一版本的 App 写入，请更新 App。")
        case .unknownOrder: Refusal.unknownOrder.sentence
        case .knownOrder: Refusal.orderConflict.sentence
        case .illegalMove: Refusal.illegalMove.sentence
        }
    }
}

/// What opening the journal found on the disk.
public struct JournalRecovery: Hashable, Sendable {
    /// Orders that are there.
    public let orders: Int
    /// Bytes cut off at the end: a change that was being written when the device went down, or that went bad later.
    public let cutTail: Int
    /// Bytes between good changes that could not be read. The changes around them are all there.
    public let damaged: Int

    /// Whether everything was as it had been left.
    public var isClean: Bool { cutTail == 0 && damaged == 0 }
}

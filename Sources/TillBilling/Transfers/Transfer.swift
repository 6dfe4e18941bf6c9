/// Purchases that moved from one customer to another, with the rest of their points. Never edited; a reversal is
/// another transfer.
public struct Transfer: Hashable, Sendable, Identifiable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A guest signed in to an account, which receives everything that the guest had.
        case guestMerge = "guest_merge"
        /// A customer restored another customer's purchase, and the shop's settings allow the move.
        case restore
        /// A person responsible for it decided so.
        case support
        /// Reverses another transfer.
        case reversal
        /// A receipt granted the purchase, and the copy that Apple signed names another customer.
        case signedBuyer = "signed_buyer"
    }

    public let id: UniqueID
    public let kind: Kind
    public let from: UserID
    public let to: UserID
    public let reason: String
    /// The requester, as in evidence: `user:u1`, `key:backend`.
    public let actor: String
    /// The person who decided, as named by the backend.
    public let operatorName: String?
    public let at: Instant

    public init(
        id: UniqueID, kind: Kind, from: UserID, to: UserID, reason: String, actor: String, operatorName: String? = nil,
        at: Instant
    ) {
        self.id = id
        self.kind = kind
        self.from = from
        self.to = to
        self.reason = reason
        self.actor = actor
        self.operatorName = operatorName
        self.at = at
    }
}

/// One purchase in its chain, the unit that a transfer moves.
public struct OwnedGrant: Hashable, Sendable {
    /// The row id of the transaction.
    public let rowID: Int64
    public let environment: StoreEnvironment
    public let originalID: TransactionID

    public init(rowID: Int64, environment: StoreEnvironment, originalID: TransactionID) {
        self.rowID = rowID
        self.environment = environment
        self.originalID = originalID
    }
}

/// Points that move with a transfer, of one kind and environment.
public struct MovedPoints: Hashable, Sendable {
    public let environment: StoreEnvironment
    public let currency: String
    /// The amount that leaves the first wallet and enters the second; a negative amount is a debt that moves. Never
    /// zero.
    public let amount: Int64
    /// The grant that the points belong to; nil for a move of a whole wallet.
    public let grant: Int64?

    public init(environment: StoreEnvironment, currency: String, amount: Int64, grant: Int64? = nil) {
        self.environment = environment
        self.currency = currency
        self.amount = amount
        self.grant = grant
    }

    /// Postings out of one wallet and into the other, through one contra account, which they leave at zero.
    public func postings(_ transfer: Transfer) -> [Posting] {
        [(transfer.from, -amount), (transfer.to, amount)].map { user, amount in
            Posting(
                environment: environment, userID: user, contra: .moved, currency: currency, amount: amount,
                kind: .moved, reference: transfer.id.description, at: transfer.at)
        }
    }

    /// The given points, limited to the wallet's balance. Spent points do not move. A debt moves first and in full,
    /// which leaves the wallet with more.
    public static func left(of points: [MovedPoints], in wallet: Wallet) -> [MovedPoints] {
        var balances = wallet.balances
        return (points.filter { $0.amount < 0 } + points.filter { $0.amount >= 0 }).compactMap { points in
            let amount = back(points.amount, of: balances[points.currency, default: 0])
            guard amount != 0 else { return nil }
            balances[points.currency, default: 0] -= amount
            return MovedPoints(
                environment: points.environment, currency: points.currency, amount: amount, grant: points.grant)
        }
    }

    /// The part of a move that a reversal returns: what is still in the wallet. A debt is returned in full, because it
    /// was the giver's.
    private static func back(_ moved: Int64, of balance: Int64) -> Int64 {
        moved < 0 ? moved : max(0, min(moved, balance))
    }
}

extension Refusal {
    /// The reason why a transfer is refused, for a person.
    var transferSentence: LocalizedText {
        switch self {
        case .guestTaken:
            LocalizedText(
                en: "This guest's purchases went to another account. An operator can take that back.",
                zh: "该游客的购买已并入另一个账号。可由运营人员撤销。")
        case .accountMerged:
            LocalizedText(
                en: "This account was itself a guest and is part of another account now. Name that one.",
                zh: "该账号本身曾是游客，已并入另一个账号。请改用那个账号。")
        case .notAGuest:
            LocalizedText(
                en: "Only a guest becomes part of an account, and this user isn't one. Show a token of the guest with "
                    + "\"guest\": true; between accounts an operator transfers purchases.",
                zh: "只有游客才能并入账号，而该用户不是游客。请提供带有 \"guest\": true 的游客令牌；账号之间的购买由运营人员转移。")
        case .guestMerged:
            LocalizedText(
                en: "This guest signed in to an account, and everything it bought is there. Use that account.",
                zh: "该游客已登录并入账号，其全部购买都在那个账号中。请使用该账号。")
        case .undoExpired:
            LocalizedText(
                en: "The time in which this merge could be taken back is over. Transfer single purchases instead.",
                zh: "已超过可撤销该合并的期限。请改为逐笔转移购买。")
        case .sameUser: LocalizedText(en: "The two users are the same.", zh: "转出与转入是同一个用户。")
        case .notTheOwner:
            LocalizedText(
                en: "That user doesn't have this purchase. List the user's transfers to see where it went.",
                zh: "该用户没有这笔购买。请查看该用户的转移记录。")
        case .unknownTransfer: LocalizedText(en: "There is no such transfer.", zh: "没有这条转移记录。")
        default:
            LocalizedText(
                en: "This can't be reversed: it is a reversal itself, or both users are one account by now. Make a new "
                    + "transfer.",
                zh: "无法撤销：它本身就是一次撤销，或双方现已是同一个账号。请新建一次转移。")
        }
    }
}

extension Transfer.Kind {
    /// For operators: the reason of the transfer.
    public var sentence: LocalizedText {
        switch self {
        case .guestMerge: LocalizedText(en: "A guest signed in to an account.", zh: "游客登录了账号。")
        case .restore: LocalizedText(en: "It was restored, and the shop lets it move.", zh: "在设备上恢复购买，且商店允许转移。")
        case .support: LocalizedText(en: "An operator decided it.", zh: "由运营人员决定。")
        case .reversal: LocalizedText(en: "A transfer was taken back.", zh: "撤销了一次转移。")
        case .signedBuyer:
            LocalizedText(
                en: "It was granted by a receipt, and Apple's signed transaction names another customer.",
                zh: "先前仅凭收据发放，而 Apple 的签名交易指明了另一位客户。")
        }
    }
}

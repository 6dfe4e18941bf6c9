import TillBilling

/// `GET /v1/users/{userId}/wallet`.
public struct WalletReply: Codable, Sendable, Hashable {
    /// Points by kind.
    public let balances: [String: Int64]
    /// What of them can't be spent yet, by kind; nil if nothing is held.
    public let held: [String: Int64]?
    /// True in the sandbox, where nobody pays: give no real goods. Absent otherwise.
    public let sandbox: Bool?

    public init(balances: [String: Int64], held: [String: Int64]? = nil, sandbox: Bool? = nil) {
        self.balances = balances
        self.held = held
        self.sandbox = sandbox
    }
}

/// `POST /v1/users/{userId}/wallet/debits`.
public struct DebitBody: Codable, Sendable {
    /// The kind of points.
    public let currency: String
    /// Points to take: positive.
    public let amount: Int64
    /// The backend's own name for this debit, at most 128 bytes. A repetition is the same debit.
    public let reference: String

    public init(currency: String, amount: Int64, reference: String) {
        self.currency = currency
        self.amount = amount
        self.reference = reference
    }
}

/// A debit, and what is left.
public struct DebitReply: Codable, Sendable, Hashable {
    public let reference: String
    public let currency: String
    public let amount: Int64
    /// The balance now. On a repetition: now, not then.
    public let balance: Int64
    public let at: Instant
    /// True in the sandbox, where nobody pays: give no real goods. Absent otherwise.
    public let sandbox: Bool?

    public init(
        reference: String, currency: String, amount: Int64, balance: Int64, at: Instant, sandbox: Bool? = nil
    ) {
        self.sandbox = sandbox
        self.reference = reference
        self.currency = currency
        self.amount = amount
        self.balance = balance
        self.at = at
    }
}

/// `POST /v1/users/{userId}/wallet/bonuses`: points that the app gives away.
public struct BonusBody: Codable, Sendable {
    /// The kind of points.
    public let currency: String
    /// Points to give: positive.
    public let amount: Int64
    /// The backend's own name for this bonus, at most 128 bytes. A repetition is the same bonus.
    public let reference: String
    /// What for, in the app's own words.
    public let reason: String?

    public init(currency: String, amount: Int64, reference: String, reason: String? = nil) {
        self.currency = currency
        self.amount = amount
        self.reference = reference
        self.reason = reason
    }
}

/// `POST /v1/users/{userId}/wallet/corrections`: what an operator puts right.
public struct CorrectionBody: Codable, Sendable {
    /// The kind of points.
    public let currency: String
    /// Points to add, or to take if negative. Not zero.
    public let amount: Int64
    /// The backend's own name for this correction, at most 128 bytes. A repetition is the same correction.
    public let reference: String
    public let reason: String
    /// Who answers for it.
    public let operatorName: String
    /// Whether the balance may go below zero by it. If absent it may not.
    public let allowDebt: Bool?

    public init(
        currency: String, amount: Int64, reference: String, reason: String, operatorName: String,
        allowDebt: Bool? = nil
    ) {
        self.currency = currency
        self.amount = amount
        self.reference = reference
        self.reason = reason
        self.operatorName = operatorName
        self.allowDebt = allowDebt
    }

    private enum CodingKeys: String, CodingKey {
        case currency, amount, reference, reason, allowDebt
        case operatorName = "operator"
    }
}

/// A bonus or a correction, and what is there after it.
public struct HandPostingReply: Codable, Sendable, Hashable {
    public let reference: String
    public let currency: String
    public let amount: Int64
    public let reason: String?
    /// Of a correction.
    public let operatorName: String?
    /// The balance now. On a repetition: now, not then.
    public let balance: Int64
    public let at: Instant

    public init(_ posting: Posting, balance: Int64) {
        reference = posting.reference
        currency = posting.currency
        amount = posting.amount
        reason = posting.note.reason
        operatorName = posting.note.actor
        self.balance = balance
        at = posting.at
    }

    private enum CodingKeys: String, CodingKey {
        case reference, currency, amount, reason, balance, at
        case operatorName = "operator"
    }
}

/// One movement of points.
public struct PostingReply: Codable, Sendable, Hashable {
    public let account: String
    public let contra: String
    public let currency: String
    /// Positive into the wallet, negative out of it.
    public let amount: Int64
    public let kind: String
    /// A grant's id, or the backend's own reference.
    public let reference: String
    /// Why somebody posted it by hand.
    public let reason: String?
    /// Who did.
    public let operatorName: String?
    public let at: Instant

    public init(_ posting: Posting) {
        account = posting.account
        contra = posting.contra.rawValue
        currency = posting.currency
        amount = posting.amount
        kind = posting.kind.rawValue
        reference = posting.reference
        reason = posting.note.reason
        operatorName = posting.note.actor
        at = posting.at
    }

    private enum CodingKeys: String, CodingKey {
        case account, contra, currency, amount, kind, reference, reason, at
        case operatorName = "operator"
    }
}

/// `GET /v1/users/{userId}/wallet/lots?currency=`: what came in at once, and what is left of it.
public struct LotsReply: Codable, Sendable, Hashable {
    public let currency: String
    public let balance: Int64
    /// What no lot covers: the next lot pays it.
    public let debt: Int64
    /// Newest first; points are taken from the other end.
    public let data: [LotReply]
    public let hasMore: Bool
    public let nextCursor: String?

    public init(
        currency: String, balance: Int64, debt: Int64, data: [LotReply], hasMore: Bool, nextCursor: String?
    ) {
        self.currency = currency
        self.balance = balance
        self.debt = debt
        self.data = data
        self.hasMore = hasMore
        self.nextCursor = nextCursor
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(currency, forKey: .currency)
        try container.encode(balance, forKey: .balance)
        try container.encode(debt, forKey: .debt)
        try container.encode(data, forKey: .data)
        try container.encode(hasMore, forKey: .hasMore)
        // Null and not left out, as in every page.
        try container.encode(nextCursor, forKey: .nextCursor)
    }

    private enum CodingKeys: String, CodingKey { case currency, balance, debt, data, hasMore, nextCursor }
}

/// Points that came in at once.
public struct LotReply: Codable, Sendable, Hashable {
    public let kind: String
    /// A grant's id, or the backend's own reference.
    public let reference: String
    /// Of a purchase.
    public let transactionId: String?
    /// When it was bought or given.
    public let at: Instant
    public let amount: Int64
    /// What refunds took of it.
    public let takenBack: Int64
    public let used: Int64
    public let remaining: Int64

    public init(_ lot: Lot) {
        kind = lot.kind.rawValue
        reference = lot.opening.reference
        transactionId = lot.opening.transactionID?.text
        at = lot.opening.at
        amount = lot.amount
        takenBack = lot.takenBack
        used = lot.used
        remaining = lot.remaining
    }
}

/// `GET /v1/products`.
public struct ProductsReply: Codable, Sendable {
    public let data: [Product]

    public init(data: [Product]) { self.data = data }
}

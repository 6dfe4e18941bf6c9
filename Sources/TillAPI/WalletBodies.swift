import TillBilling

/// `GET /v1/users/{userId}/wallet`.
public struct WalletReply: Codable, Sendable, Hashable {
    /// Points by kind.
    public let balances: [String: Int64]
    /// The held part of the balances, which cannot be spent yet, by kind; nil if no points are held.
    public let held: [String: Int64]?
    /// True in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
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
    /// The points to take; positive.
    public let amount: Int64
    /// The backend's own reference for this debit, at most 128 bytes. A repeated request with it is the same debit.
    public let reference: String

    public init(currency: String, amount: Int64, reference: String) {
        self.currency = currency
        self.amount = amount
        self.reference = reference
    }
}

/// A debit, and the remaining balance.
public struct DebitReply: Codable, Sendable, Hashable {
    public let reference: String
    public let currency: String
    public let amount: Int64
    /// The current balance, also for a repeated request.
    public let balance: Int64
    public let at: Instant
    /// True in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
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
    /// The points to give; positive.
    public let amount: Int64
    /// The backend's own reference for this bonus, at most 128 bytes. A repeated request with it is the same bonus.
    public let reference: String
    /// The purpose, in the app's own words.
    public let reason: String?

    public init(currency: String, amount: Int64, reference: String, reason: String? = nil) {
        self.currency = currency
        self.amount = amount
        self.reference = reference
        self.reason = reason
    }
}

/// `POST /v1/users/{userId}/wallet/corrections`: an operator's correction.
public struct CorrectionBody: Codable, Sendable {
    /// The kind of points.
    public let currency: String
    /// The points to add, or to take if negative. Not zero.
    public let amount: Int64
    /// The backend's own reference for this correction, at most 128 bytes. A repeated request with it is the same
    /// correction.
    public let reference: String
    public let reason: String
    /// The responsible person.
    public let operatorName: String
    /// Whether the correction may make the balance negative. False if absent.
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

/// A bonus or a correction, and the balance after it.
public struct ManualPostingReply: Codable, Sendable, Hashable {
    public let reference: String
    public let currency: String
    public let amount: Int64
    public let reason: String?
    /// For a correction.
    public let operatorName: String?
    /// The current balance, also for a repeated request.
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
    /// The reason of a manual posting.
    public let reason: String?
    /// The author of a manual posting.
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

/// `GET /v1/users/{userId}/wallet/lots?currency=`: points by the time they were received, and the rest of each lot.
public struct LotsReply: Codable, Sendable, Hashable {
    public let currency: String
    public let balance: Int64
    /// The amount that no lot covers; the next lot pays it.
    public let debt: Int64
    /// Newest first; debits use the oldest lot first.
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
        // Null and not omitted, as in every page.
        try container.encode(nextCursor, forKey: .nextCursor)
    }

    private enum CodingKeys: String, CodingKey { case currency, balance, debt, data, hasMore, nextCursor }
}

/// Points that were received at once.
public struct LotReply: Codable, Sendable, Hashable {
    public let kind: String
    /// A grant's id, or the backend's own reference.
    public let reference: String
    /// For a purchase.
    public let transactionId: String?
    /// The date of purchase or of the gift.
    public let at: Instant
    public let amount: Int64
    /// The points that refunds took from the lot.
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

/// A product of the catalogue, with its name in the caller's language.
public struct ProductReply: Codable, Sendable {
    public let product: CatalogProduct
    public let name: String

    private enum CodingKeys: String, CodingKey { case name }

    /// - Parameter language: the value of `Accept-Language`.
    public init(_ product: CatalogProduct, preferring language: String) {
        self.product = product
        name = product.names.name(preferring: language)
    }

    public init(from decoder: any Decoder) throws {
        product = try CatalogProduct(from: decoder)
        name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    }

    public func encode(to encoder: any Encoder) throws {
        try product.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
    }
}

/// `GET /v1/products`.
public struct ProductsReply: Codable, Sendable {
    public let data: [ProductReply]

    public init(data: [ProductReply]) { self.data = data }
}

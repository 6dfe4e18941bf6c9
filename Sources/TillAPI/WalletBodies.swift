import TillBilling

/// `GET /v1/users/{userId}/wallet`.
public struct WalletReply: Codable, Sendable, Hashable {
    /// Points by kind.
    public let balances: [String: Int64]

    public init(balances: [String: Int64]) { self.balances = balances }
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

    public init(reference: String, currency: String, amount: Int64, balance: Int64, at: Instant) {
        self.reference = reference
        self.currency = currency
        self.amount = amount
        self.balance = balance
        self.at = at
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
    /// A grant's id, or a debit's reference.
    public let reference: String
    public let at: Instant

    public init(_ posting: Posting) {
        account = posting.account
        contra = posting.contra.rawValue
        currency = posting.currency
        amount = posting.amount
        kind = posting.kind.rawValue
        reference = posting.reference
        at = posting.at
    }
}

/// `GET /v1/products`.
public struct ProductsReply: Codable, Sendable {
    public let data: [Product]

    public init(data: [Product]) { self.data = data }
}

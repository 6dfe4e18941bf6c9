import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Some movements of points, newest first.
public struct WalletPage: Hashable, Sendable {
    public let postings: [WalletPosting]
    /// For the next page; nil at the end.
    public let next: String?
}

/// One movement of points.
public struct WalletPosting: Hashable, Sendable {
    /// The kind of points.
    public let currency: String
    /// Positive into the wallet, negative out of it.
    public let amount: Int64
    /// As the server names it: `grant`, `debit`, `refund` and what a later server may have.
    public let kind: String
    /// A grant's id, or a debit's reference.
    public let reference: String
    public let date: Date

    init(_ posting: PostingsAnswer.Posting) {
        currency = posting.currency
        amount = posting.amount
        kind = posting.kind
        reference = posting.reference
        date = Date(posting.at)
    }
}

/// `GET /v1/users/{userId}/wallet/postings`, as far as a device wants to know it.
struct PostingsAnswer: Decodable {
    struct Posting: Decodable {
        let currency: String
        let amount: Int64
        let kind: String
        let reference: String
        let at: Instant
    }

    let data: [Posting]
    let hasMore: Bool
    let nextCursor: String?
}

extension Date {
    init(_ instant: Instant) { self.init(timeIntervalSince1970: Double(instant.milliseconds) / 1_000) }
}

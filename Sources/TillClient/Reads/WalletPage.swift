import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A page of point movements, newest first.
public struct WalletPage: Hashable, Sendable {
    /// The movements, newest first.
    public let postings: [WalletPosting]
    /// The cursor of the next page; nil on the last page.
    public let next: String?
}

/// A movement of points.
public struct WalletPosting: Hashable, Sendable {
    /// The kind of points.
    public let currency: String
    /// The amount: positive into the wallet, negative out of it.
    public let amount: Int64
    /// The server's name for the reason: `purchase`, `debit`, `refund` and others; a later server may add values.
    public let kind: String
    /// The backend's own reference for a debit, a bonus or a correction; otherwise a grant's id, or a transfer's for
    /// moved points without a purchase.
    public let reference: String
    /// When the points were posted.
    public let date: Date

    init(_ posting: PostingsResponse.Posting) {
        currency = posting.currency
        amount = posting.amount
        kind = posting.kind
        reference = posting.reference
        date = Date(posting.at)
    }
}

/// The part of `GET /v1/users/{userId}/wallet/postings` that a device uses.
struct PostingsResponse: Decodable {
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

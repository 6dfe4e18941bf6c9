import TillAppStore
import TillBilling
import TillJSON
import TillSQL

/// A customer's paid transactions in pages (facts/server-api §4.1). A page starts after a position in the order, not
/// after a count, so late pages of a million transactions are as fast as the first.
enum TransactionHistory {
    struct Query: Sendable {
        var account: String
        var bundleID: String
        var filter: HistoryFilter
        /// True for the old version of the endpoint only.
        var omitsFinishedConsumables: Bool
    }

    /// The next transactions by their last change.
    ///
    /// - Parameter place: the `modification` of the previous page's last one; nil for the first page.
    static func page(
        of query: Query, after place: Int64?, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        let (filter, isDescending) = (query.filter, query.filter.order == .descending)
        func list(_ texts: [String]) -> SQLValue {
            texts.isEmpty ? .null : .text(JSONValue.array(texts.map { .string($0) }).encoded())
        }
        let products = list(filter.products.map(\.text))
        let kinds = list(filter.kinds.map { ProductType($0).rawValue })
        let groups = list(filter.subscriptionGroups)
        let isShared = SQLValue.optional(filter.ownership.map { $0 == .familyShared ? 1 : 0 })
        let isRevoked = SQLValue.optional(filter.isRevoked.map { $0 ? 1 : 0 })
        let values: [SQLValue] = [
            .text(query.account), .text(query.bundleID),
            .integer(place ?? (isDescending ? .max : .min)),
            .integer(filter.start?.milliseconds ?? .min), .integer(filter.end?.milliseconds ?? .max),
            products, products, kinds, kinds, groups, groups, isShared, isShared, isRevoked, isRevoked,
            .flag(query.omitsFinishedConsumables), .integer(Int64(limit)),
        ]
        let numbers = try connection.query(isDescending ? backwards : forwards, values) { $0.integer("number") }
        return try numbers.compactMap { try TransactionTable.find($0, connection) }
    }

    private static let forwards: SQL = """
        SELECT number FROM transactions
        WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND modification > ?
            AND purchased_at >= ? AND purchased_at < ?
            AND (? IS NULL OR product_id IN (SELECT value FROM json_each(?)))
            AND (? IS NULL OR kind IN (SELECT value FROM json_each(?)))
            AND (? IS NULL OR group_id IN (SELECT value FROM json_each(?)))
            AND (? IS NULL OR (shared_from IS NOT NULL) = ?) AND (? IS NULL OR (revoked_at IS NOT NULL) = ?)
            AND (? = 0 OR finished = 0 OR kind <> 'Consumable')
        ORDER BY modification LIMIT ?
        """

    private static let backwards: SQL = """
        SELECT number FROM transactions
        WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND modification < ?
            AND purchased_at >= ? AND purchased_at < ?
            AND (? IS NULL OR product_id IN (SELECT value FROM json_each(?)))
            AND (? IS NULL OR kind IN (SELECT value FROM json_each(?)))
            AND (? IS NULL OR group_id IN (SELECT value FROM json_each(?)))
            AND (? IS NULL OR (shared_from IS NOT NULL) = ?) AND (? IS NULL OR (revoked_at IS NOT NULL) = ?)
            AND (? = 0 OR finished = 0 OR kind <> 'Consumable')
        ORDER BY modification DESC LIMIT ?
        """

    // MARK: Refunds

    /// The next refunds by date. The end of Family Sharing is no refund, because no money was returned.
    ///
    /// - Parameter place: date and `modification` of the previous page's last one; nil for the first page. Several
    ///   refunds may share a date, and a page may end between them.
    static func refunds(
        account: String, bundleID: String, after place: (date: Instant, modification: Int64)?, limit: Int,
        _ connection: any Connection
    ) throws -> [StoreTransaction] {
        let numbers = try connection.query(
            """
            SELECT number FROM transactions
            WHERE account = ? AND bundle_id = ? AND revoked_at IS NOT NULL AND (revoked_at, modification) > (?, ?)
                AND revocation_type <> 'FAMILY_REVOKE'
            ORDER BY revoked_at, modification LIMIT ?
            """,
            [
                .text(account), .text(bundleID), .integer(place?.date.milliseconds ?? .min),
                .integer(place?.modification ?? .min), .integer(Int64(limit)),
            ]
        ) { $0.integer("number") }
        return try numbers.compactMap { try TransactionTable.find($0, connection) }
    }

    /// The newest refunds, in order from old to new.
    static func newestRefunds(
        account: String, bundleID: String, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        let numbers = try connection.query(
            """
            SELECT number FROM transactions
            WHERE account = ? AND bundle_id = ? AND revoked_at IS NOT NULL AND revocation_type <> 'FAMILY_REVOKE'
            ORDER BY revoked_at DESC, modification DESC LIMIT ?
            """, [.text(account), .text(bundleID), .integer(Int64(limit))]
        ) { $0.integer("number") }
        return try numbers.reversed().compactMap { try TransactionTable.find($0, connection) }
    }
}

extension ProductType {
    /// Histories use other names for the types than proofs do.
    init(_ kind: HistoryFilter.Kind) {
        switch kind {
        case .autoRenewable: self = .autoRenewable
        case .nonRenewing: self = .nonRenewing
        case .consumable: self = .consumable
        case .nonConsumable: self = .nonConsumable
        }
    }
}

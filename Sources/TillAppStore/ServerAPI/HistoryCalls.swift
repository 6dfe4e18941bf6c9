import TillBilling

/// A page of a customer's transactions (HistoryResponse).
public struct HistoryPage: ServerAPIPage, Hashable {
    public let transactions: [SignedTransaction]
    /// The token for the next page, with the same filter. The last revision of an ascending walk can be stored; a later
    /// request with it returns only newer changes.
    public let revision: String?
    public let hasMore: Bool
    public let bundleID: String?
    /// Absent in the sandbox.
    public let appAppleID: Int64?
    /// The environment's name in Apple's response.
    public let environment: String?

    public var nextToken: String? { revision }

    init(_ fields: ResponseFields) throws(ServerAPIError) {
        transactions = try fields.required("signedTransactions", fields.strings("signedTransactions"))
            .map(SignedTransaction.init)
        hasMore = try fields.required("hasMore", fields.bool("hasMore"))
        revision = try HistoryPage.token("revision", fields, isNeeded: hasMore)
        bundleID = try fields.string("bundleId")
        appAppleID = try fields.int64("appAppleId")
        environment = try fields.string("environment")
    }

    /// The token of the next page, limited in length; it must be present if there is a next page.
    static func token(
        _ key: StaticString, _ fields: ResponseFields, isNeeded: Bool
    ) throws(ServerAPIError) -> String? {
        let token = try fields.string(key).flatMap { $0.isEmpty ? nil : $0 }
        if isNeeded, token == nil { throw fields.malformed("\(key) is missing") }
        if let token, token.utf8.count > RequestPath.tokenLimit { throw fields.malformed("\(key) is too long") }
        return token
    }
}

/// A page of a customer's refunded transactions, by the date of the refund.
public struct RefundPage: ServerAPIPage, Hashable {
    public let transactions: [SignedTransaction]
    public let revision: String?
    public let hasMore: Bool

    public var nextToken: String? { revision }

    init(_ fields: ResponseFields) throws(ServerAPIError) {
        transactions = try fields.required("signedTransactions", fields.strings("signedTransactions"))
            .map(SignedTransaction.init)
        hasMore = try fields.required("hasMore", fields.bool("hasMore"))
        revision = try HistoryPage.token("revision", fields, isNeeded: hasMore)
    }
}

/// A customer's transactions and refunds (facts/server-api §3: 2, 2b, 5, 5b).
extension ServerAPI {
    /// Get Transaction History: the page after `revision`, or the first one.
    ///
    /// - Parameters:
    ///   - id: any transaction of the customer.
    ///   - environment: nil if unknown, which is allowed for the first page only.
    public func history(
        of id: TransactionID, filter: HistoryFilter = HistoryFilter(), revision: String? = nil,
        in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> EnvironmentResult<HistoryPage> {
        try await history("/inApps/v2/history", of: id, filter, revision, environment)
    }

    /// The deprecated version, which omits finished consumables.
    public func historyV1(
        of id: TransactionID, filter: HistoryFilter = HistoryFilter(), revision: String? = nil,
        in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> EnvironmentResult<HistoryPage> {
        try await history("/inApps/v1/history", of: id, filter, revision, environment)
    }

    /// All pages of a customer's history.
    ///
    /// - Parameters:
    ///   - revision: stored from an earlier ascending walk with the same filter.
    ///   - policy: the retries of each page.
    public func historyPages(
        of id: TransactionID, filter: HistoryFilter = HistoryFilter(), since revision: String? = nil,
        in environment: StoreEnvironment? = nil, pageLimit: Int = PageSequence<HistoryPage>.usualPageLimit,
        retrying policy: RetryPolicy = .persistent
    ) -> PageSequence<HistoryPage> {
        PageSequence(start: revision, environment: environment, pageLimit: pageLimit) {
            (revision, environment) async throws(ServerAPIError) in
            try await retrying(policy) { (api) async throws(ServerAPIError) in
                try await api.history(of: id, filter: filter, revision: revision, in: environment)
            }
        }
    }

    /// Get Refund History: the page after `revision`, or the first one.
    public func refundHistory(
        of id: TransactionID, revision: String? = nil, in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> EnvironmentResult<RefundPage> {
        let target = try valid { () throws(InvalidRequestError) in
            var target = try RequestPath("/inApps/v2/refund/lookup").segment(id.text, "transactionId")
            try target.query("revision", revision, limit: RequestPath.tokenLimit)
            return target
        }
        var call = ServerAPICall(.refundHistory, .get, target.text)
        call.responseLimit = ServerAPICall.pageLimit
        let asked = call
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await ask(asked, in: environment) { (fields) throws(ServerAPIError) in try RefundPage(fields) }
        }
    }

    /// All pages of a customer's refunds.
    public func refundPages(
        of id: TransactionID, since revision: String? = nil, in environment: StoreEnvironment? = nil,
        pageLimit: Int = PageSequence<RefundPage>.usualPageLimit, retrying policy: RetryPolicy = .persistent
    ) -> PageSequence<RefundPage> {
        PageSequence(start: revision, environment: environment, pageLimit: pageLimit) {
            (revision, environment) async throws(ServerAPIError) in
            try await retrying(policy) { (api) async throws(ServerAPIError) in
                try await api.refundHistory(of: id, revision: revision, in: environment)
            }
        }
    }

    /// The deprecated version: at most the newest fifty, in one page.
    public func refundHistoryV1(
        of id: TransactionID, in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> EnvironmentResult<[SignedTransaction]> {
        let target = try Self.target("/inApps/v1/refund/lookup", id, "originalTransactionId")
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await ask(ServerAPICall(.refundHistory, .get, target.text), in: environment) {
                (fields) throws(ServerAPIError) in
                try fields.required("signedTransactions", fields.strings("signedTransactions"))
                    .map(SignedTransaction.init)
            }
        }
    }

    private func history(
        _ path: String, of id: TransactionID, _ filter: HistoryFilter, _ revision: String?,
        _ environment: StoreEnvironment?
    ) async throws(ServerAPIError) -> EnvironmentResult<HistoryPage> {
        let target = try valid { () throws(InvalidRequestError) in
            var target = try RequestPath(path).segment(id.text, "transactionId")
            try target.query("revision", revision, limit: RequestPath.tokenLimit)
            try filter.add(to: &target)
            return target
        }
        var call = ServerAPICall(.history, .get, target.text)
        call.responseLimit = ServerAPICall.pageLimit
        let asked = call
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await ask(asked, in: environment) { (fields) throws(ServerAPIError) in try HistoryPage(fields) }
        }
    }
}

/// Selects a part of a customer's history (facts/server-api §4.1). Several values of one field mean any of them;
/// different fields must all match.
public struct HistoryFilter: Sendable, Hashable {
    public enum Order: String, Sendable {
        /// Ordered by the date of the last change, oldest first.
        case ascending = "ASCENDING"
        case descending = "DESCENDING"
    }

    /// Kinds of product by the names of this endpoint, which differ from those in proofs.
    public enum Kind: String, Sendable, CaseIterable {
        case autoRenewable = "AUTO_RENEWABLE"
        case nonRenewing = "NON_RENEWABLE"
        case consumable = "CONSUMABLE"
        case nonConsumable = "NON_CONSUMABLE"
    }

    /// Purchased at this time or later.
    public var start: Instant?
    /// Purchased before this time.
    public var end: Instant?
    public var products: [ProductID] = []
    public var kinds: [Kind] = []
    public var ownership: Ownership?
    /// Only the last revision of an ascending walk can be stored for later.
    public var order: Order?
    /// True returns revoked purchases only, false the others only.
    public var isRevoked: Bool?
    public var subscriptionGroups: [String] = []

    public init() {}

    /// The maximum of values in one field.
    static let valueLimit = 50

    func add(to target: inout RequestPath) throws(InvalidRequestError) {
        if let start, let end, start >= end { throw InvalidRequestError("endDate", .contradiction) }
        try target.query("startDate", start.map { String($0.milliseconds) })
        try target.query("endDate", end.map { String($0.milliseconds) })
        try Self.check(products.count, "productId")
        try target.query("productId", each: products.map(\.text))
        try Self.check(kinds.count, "productType")
        try target.query("productType", each: kinds.map(\.rawValue))
        try target.query("inAppOwnershipType", ownership?.rawValue)
        try target.query("sort", order?.rawValue)
        try target.query("revoked", isRevoked.map { $0 ? "true" : "false" })
        try Self.check(subscriptionGroups.count, "subscriptionGroupIdentifier")
        try target.query("subscriptionGroupIdentifier", each: subscriptionGroups)
    }

    private static func check(_ count: Int, _ field: String) throws(InvalidRequestError) {
        guard count <= valueLimit else { throw InvalidRequestError(field, .tooLong) }
    }
}

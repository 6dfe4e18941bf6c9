import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

/// A customer's purchases and refunds (facts/server-api §3: 2, 2b, 5, 5b).
extension ServerAPIEndpoint {
    /// Records per page (facts/limits §2).
    static let pageSize = 20
    private static let oldRefundLimit = 50

    /// Serves both versions.
    func history(_ call: APICall) async throws -> HTTPResponse {
        let filter = try call.historyFilter()
        let revision = try call.value("revision", else: .invalidRequestRevision)
        let apiKey = apiKey
        let (page, hasMore, token) = try await store.ask { connection in
            let customer = try call.customer(connection)
            let token = PageToken(question: call.question(filter, customer), apiKey: apiKey)
            let place = try revision.map { text in
                guard let place = token.place(text, of: 1) else { throw APIError(.invalidRequestRevision) }
                return place[0]
            }
            let question = TransactionHistory.Query(
                account: customer.account, bundleID: customer.bundleID, filter: filter,
                omitsFinishedConsumables: call.route == .historyV1)
            let found = try TransactionHistory.page(
                of: question, after: place, limit: Self.pageSize + 1, connection)
            let page = Array(found.prefix(Self.pageSize))
            // An empty page keeps the position of the page before it; an empty history starts at its beginning.
            let end = page.last?.modification ?? place ?? (filter.order == .descending ? .max : 0)
            return (page, found.count > Self.pageSize, token.text(at: [end]))
        }
        var members = app(call)
        members["signedTransactions"] = try signed(page, at: store.now)
        members["hasMore"] = .bool(hasMore)
        members["revision"] = .string(token)
        return .json(.object(members))
    }

    func refundHistory(_ call: APICall) async throws -> HTTPResponse {
        let revision = try call.value("revision", else: .invalidRequestRevision)
        let apiKey = apiKey
        let (page, hasMore, token) = try await store.ask { connection in
            let customer = try call.customer(connection)
            let token = PageToken(question: call.question(HistoryFilter(), customer), apiKey: apiKey)
            let place = try revision.map { text in
                guard let place = token.place(text, of: 2) else { throw APIError(.invalidRequestRevision) }
                return (date: Instant(milliseconds: place[0]), modification: place[1])
            }
            let found = try TransactionHistory.refunds(
                account: customer.account, bundleID: customer.bundleID, after: place, limit: Self.pageSize + 1,
                connection)
            let page = Array(found.prefix(Self.pageSize))
            let end = page.last.flatMap { last in
                last.revocation.map { (date: $0.date, modification: last.modification) }
            }
            let (date, modification) = end ?? place ?? (Instant(milliseconds: .min), .min)
            return (page, found.count > Self.pageSize, token.text(at: [date.milliseconds, modification]))
        }
        return .json([
            "signedTransactions": try signed(page, at: store.now), "hasMore": .bool(hasMore),
            "revision": .string(token),
        ])
    }

    func refundHistoryV1(_ call: APICall) async throws -> HTTPResponse {
        let found = try await store.ask { connection in
            let transaction = try call.transaction(connection)
            return try TransactionHistory.newestRefunds(
                account: transaction.account, bundleID: transaction.bundleID, limit: Self.oldRefundLimit, connection)
        }
        return .json(["signedTransactions": try signed(found, at: store.now)])
    }
}

extension APICall {
    /// The parameters of facts/server-api §4.1, each refused with its own code.
    fileprivate func historyFilter() throws(APIError) -> HistoryFilter {
        var filter = HistoryFilter()
        filter.start = try instant("startDate", else: .invalidStartDate)
        filter.end = try instant("endDate", else: .invalidEndDate)
        if let start = filter.start, let end = filter.end, start >= end { throw APIError(.invalidEndDate) }
        for text in values("productId") {
            let product = ProductID(text)
            guard product.isWellFormed else { throw APIError(.invalidProductID) }
            filter.products.append(product)
        }
        for text in values("productType") {
            guard let kind = HistoryFilter.Kind(rawValue: text) else { throw APIError(.invalidProductType) }
            filter.kinds.append(kind)
        }
        if let text = try value("inAppOwnershipType", else: .invalidInAppOwnershipType) {
            let ownership = Ownership(rawValue: text)
            guard ownership == .purchased || ownership == .familyShared else {
                throw APIError(.invalidInAppOwnershipType)
            }
            filter.ownership = ownership
        }
        if let text = try value("sort", else: .invalidSort) {
            guard let order = HistoryFilter.Order(rawValue: text) else { throw APIError(.invalidSort) }
            filter.order = order
        }
        filter.isRevoked = try truth("revoked", else: .invalidRevoked)
        if try truth("excludeRevoked", else: .invalidExcludeRevoked) == true {
            guard filter.isRevoked != true else { throw APIError(.invalidExcludeRevoked) }
            filter.isRevoked = false
        }
        filter.subscriptionGroups = values("subscriptionGroupIdentifier")
        for group in filter.subscriptionGroups where group.isEmpty || group.utf8.count > 200 {
            throw APIError(.invalidSubscriptionGroupIdentifier)
        }
        return filter
    }

    /// Everything that a revision is bound to; the order of a parameter's values does not matter.
    fileprivate func question(_ filter: HistoryFilter, _ customer: AppDownload) -> JSONValue {
        func texts(_ values: [String]) -> JSONValue { .array(Set(values).sorted().map { .string($0) }) }
        return [
            .string(route.rawValue), .string(customer.account), .string(bundleID),
            .string(filter.start?.rfc3339 ?? ""), .string(filter.end?.rfc3339 ?? ""),
            texts(filter.products.map(\.text)), texts(filter.kinds.map(\.rawValue)),
            texts(filter.subscriptionGroups), .string(filter.ownership?.rawValue ?? ""),
            .string(filter.order == .descending ? "down" : "up"),
            .string(filter.isRevoked.map { $0 ? "revoked" : "not" } ?? ""),
        ]
    }

    private func instant(_ name: String, else code: ServerAPIErrorCode) throws(APIError) -> Instant? {
        guard let text = try value(name, else: code) else { return nil }
        guard let number = Int64(text), number >= 0 else { throw APIError(code) }
        return Instant(milliseconds: number)
    }

    /// Apple's Python library writes `True`.
    private func truth(_ name: String, else code: ServerAPIErrorCode) throws(APIError) -> Bool? {
        guard let text = try value(name, else: code) else { return nil }
        switch text.lowercased() {
        case "true": return true
        case "false": return false
        default: throw APIError(code)
        }
    }
}

/// The position in a paged result, as an opaque text that callers give back: `revision`, `paginationToken`. It is valid
/// for exactly one query; a query with any other parameter refuses it (facts/server-api §4.1).
struct PageToken: Sendable {
    /// Every parameter of the query, in a fixed order.
    let question: JSONValue
    let apiKey: APIKey

    private static let checkLength = 12

    /// - Parameter place: the numbers that identify the last item of the page.
    func text(at place: [Int64]) -> String {
        let bytes = place.flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
        return Base64.encode(bytes + check(bytes), .url)
    }

    /// - Returns: nil for a text that is no token, or that belongs to another query.
    func place(_ text: String, of count: Int) -> [Int64]? {
        let length = count * 8
        guard text.utf8.count <= 2 * (length + Self.checkLength), let bytes = Base64.decode(text, .url),
            bytes.count == length + Self.checkLength,
            constantTimeEqual(bytes.suffix(Self.checkLength), check(Array(bytes.prefix(length))))
        else { return nil }
        return (0..<count).map { index in
            bytes[index * 8..<index * 8 + 8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
    }

    private func check(_ place: [UInt8]) -> [UInt8] {
        let code = HMACSHA256.code(for: place + question.encodedBytes(), key: apiKey.issuerID.bytes)
        return Array(code.prefix(Self.checkLength))
    }
}

import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

/// The control API under `/emulator` (CONTRACT §3): what a customer, a parent, a bank or a developer in App Store
/// Connect would do, done by a script.
struct ControlEndpoint: Sendable {
    let store: Store
    let issuer: Issuer
    let configuration: EmulatorConfiguration
    let apiKey: APIKey
    let entropy: @Sendable (Int) -> [UInt8]

    func add(to router: inout Router) {
        router.on(.get, "/emulator/root.cer") { _, _ in rootCertificate() }
        on(&router, .get, "/emulator/api-key") { _, _ in try .json(apiKey.json(bundleID: configuration.app.bundleID)) }
        on(&router, .get, "/emulator/products") { _, _ in
            .json(["data": .array(try await store.products().map(ProductText.json))])
        }
        on(&router, .put, "/emulator/products") { request, _ in try await replaceProducts(request) }
        on(&router, .post, "/emulator/purchases") { request, _ in try await purchase(request) }
        on(&router, .get, "/emulator/transactions") { request, _ in try await transactions(request) }
        on(&router, .get, "/emulator/transactions/{id}") { _, id in
            guard let transaction = try await store.transaction(number(id)) else {
                throw Problem(.unknownTransaction(id))
            }
            return .json(try json(transaction))
        }
        on(&router, .post, "/emulator/transactions/{id}/finish") { _, id in
            .json(try json(try found(await store.finish(number(id)))))
        }
        on(&router, .post, "/emulator/transactions/{id}/approve") { _, id in
            .json(try json(try found(await store.settle(number(id), approved: true))))
        }
        on(&router, .post, "/emulator/transactions/{id}/decline") { _, id in
            .json(try json(try found(await store.settle(number(id), approved: false))))
        }
        on(&router, .post, "/emulator/transactions/{id}/refund") { request, id in try await refund(request, id) }
        on(&router, .get, "/emulator/receipt") { request, _ in try await receipt(request) }
        on(&router, .get, "/emulator/state") { _, _ in try await state() }
        on(&router, .put, "/emulator/notifications") { request, _ in try await setNotifications(request) }
    }

    private typealias Action = @Sendable (HTTPRequest, _ id: String) async throws -> HTTPResponse

    /// Serves a route whose refusals and faults become problems. `id` is the pattern's, or empty.
    private func on(_ router: inout Router, _ method: HTTPMethod, _ pattern: String, _ action: @escaping Action) {
        let hasID = pattern.contains("{id}")
        router.on(method, pattern) { request, parameters in
            do {
                return try await action(request, hasID ? parameters["id"] : "")
            } catch let problem as Problem {
                return problem.response(to: request)
            } catch {
                return Problem(fault: error).response(to: request)
            }
        }
    }

    private func found(_ result: Result<StoreTransaction, StoreRefusal>) throws(Problem) -> StoreTransaction {
        switch result {
        case .success(let transaction): return transaction
        case .failure(let refusal): throw Problem(refusal)
        }
    }

    private func number(_ id: String) throws(Problem) -> Int64 {
        guard let number = Int64(id), number >= 0, String(number) == id else {
            throw Problem(.unknownTransaction(String(id.prefix(40))))
        }
        return number
    }

    // MARK: Routes

    private func rootCertificate() -> HTTPResponse {
        var response = HTTPResponse(status: 200, body: issuer.rootCertificate)
        response.headers.add("Content-Type", "application/pkix-cert")
        return response
    }

    private func replaceProducts(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try RequestBody(request.body, knowing: ["products"])
        let products = try ProductText.products(body)
        try await store.replaceProducts(products)
        return .json(["data": .array(products.map(ProductText.json))])
    }

    private func purchase(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try RequestBody(
            request.body,
            knowing: [
                "bundleId", "productId", "quantity", "appAccountToken", "storefront", "account", "outcome", "receipt",
            ])
        var wanted = PurchaseRequest(
            bundleID: try body.requiredText("bundleId"), productID: ProductID(try body.requiredText("productId")))
        // SKPayment.quantity is 1 to 10 (facts/limits §2).
        if let quantity = try body.integer("quantity", in: 1...10) { wanted.quantity = quantity }
        if let account = try body.text("account") { wanted.account = account }
        if let outcome = try body.choice("outcome", of: PurchaseRequest.Outcome.self) { wanted.outcome = outcome }
        wanted.appAccountToken = try body.uniqueID("appAccountToken")
        if let storefront = try body.text("storefront") {
            guard Storefront.isWellFormed(storefront) else {
                throw RequestBody.wrong(
                    "storefront", "three capital letters of ISO 3166-1, such as CHN",
                    "ISO 3166-1 的三个大写字母，例如 CHN")
            }
            wanted.storefront = storefront
        }
        let wantsReceipt = try body.bool("receipt") ?? true
        switch try await store.purchase(wanted) {
        case .failure(let refusal): throw Problem(refusal)
        case .success(.cancelled): return .json(["outcome": "cancelled"])
        case .success(.failed): return .json(["outcome": "failed"])
        case .success(.waiting(let transaction)):
            return .json(try merged(json(transaction), ["outcome": .string(transaction.state.rawValue)]))
        case .success(.purchased(let transaction)), .success(.ownedAlready(let transaction)):
            var answer = try merged(json(transaction), ["outcome": "purchased"])
            if wantsReceipt {
                let receipt = try await makeReceipt(
                    account: transaction.account, bundleID: transaction.bundleID, device: nil)
                answer = merged(answer, ["receipt": .string(Base64.encode(receipt))])
            }
            return .json(answer)
        }
    }

    private func refund(_ request: HTTPRequest, _ id: String) async throws -> HTTPResponse {
        let body = try RequestBody(request.body, knowing: ["reason", "percentage"])
        let reason = try body.integer("reason", in: 0...1) ?? 0
        let percentage = try body.integer("percentage", in: 1...100_000) ?? 100_000
        return .json(
            try json(try found(await store.refund(number(id), reason: reason, percentage: percentage))))
    }

    private func transactions(_ request: HTTPRequest) async throws -> HTTPResponse {
        try checkQuery(request, knowing: ["account", "bundleId", "unfinished", "limit", "cursor"])
        let account = request.queryValue("account") ?? Emulator.defaultAccount
        let limit = Int(request.queryValue("limit") ?? "20") ?? 0
        guard (1...100).contains(limit) else {
            throw RequestBody.wrong("limit", "a whole number from 1 to 100", "1 到 100 的整数")
        }
        guard let after = Int64(request.queryValue("cursor") ?? "0") else {
            throw RequestBody.wrong("cursor", "the nextCursor of the page before", "上一页的 nextCursor")
        }
        let unfinished = request.queryValue("unfinished") ?? "false"
        guard unfinished == "true" || unfinished == "false" else {
            throw RequestBody.wrong("unfinished", "true or false", "true 或 false")
        }
        let found = try await store.transactions(
            account: account, bundleID: request.queryValue("bundleId"), unfinishedOnly: unfinished == "true",
            after: after, limit: limit + 1)
        let page = found.prefix(limit)
        let hasMore = found.count > limit
        let next = hasMore ? page.last.map { JSONValue.string($0.id.text) } : nil
        return .json([
            "data": .array(try page.map { try json($0) }), "hasMore": .bool(hasMore), "nextCursor": next ?? .null,
        ])
    }

    /// A misspelt query item would else be a question about something else.
    private func checkQuery(_ request: HTTPRequest, knowing names: [String]) throws(Problem) {
        let asked = Dictionary(request.query.map { ($0.name, JSONValue.null) }, uniquingKeysWith: { first, _ in first })
        _ = try RequestBody(.object(asked), knowing: names)
    }

    private func receipt(_ request: HTTPRequest) async throws -> HTTPResponse {
        try checkQuery(request, knowing: ["account", "bundleId", "deviceId"])
        let bundleID = request.queryValue("bundleId") ?? configuration.app.bundleID
        let account = request.queryValue("account") ?? Emulator.defaultAccount
        var device: [UInt8]?
        if let text = request.queryValue("deviceId") {
            guard let id = UniqueID(text) else {
                throw RequestBody.wrong("deviceId", "the UUID of identifierForVendor", "identifierForVendor 的 UUID")
            }
            device = id.bytes
        }
        let receipt = try await makeReceipt(account: account, bundleID: bundleID, device: device)
        return .json(["receipt": .string(Base64.encode(receipt)), "account": .string(account)])
    }

    private func setNotifications(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try RequestBody(request.body, knowing: ["url"])
        let url = try body.text("url", upTo: 2_000)
        if let url, !(url.hasPrefix("http://") || url.hasPrefix("https://")) {
            throw RequestBody.wrong(
                "url", "an http or https address, or null to send nothing", "http 或 https 地址，null 表示不发送")
        }
        try await store.setNotificationURL(url)
        return .json(["url": url.map { .string($0) } ?? .null])
    }

    private func state() async throws -> HTTPResponse {
        let summary = try await store.summary()
        return .json([
            "environment": .string(configuration.environment.rawValue),
            "now": .string(store.now.rfc3339),
            "products": .int(Int64(summary.products)),
            "transactions": [
                "total": .int(summary.transactions), "unfinished": .int(summary.unfinished),
                "refunded": .int(summary.refunded),
            ],
            "notifications": [
                "url": summary.notificationURL.map { .string($0) } ?? .null,
                "total": .int(summary.notifications), "pending": .int(summary.pendingNotifications),
                "nextAttemptAt": summary.nextDue.map { .string($0.rfc3339) } ?? .null,
            ],
        ])
    }

    // MARK: What answers are made of

    func makeReceipt(account: String, bundleID: String, device: [UInt8]?) async throws -> [UInt8] {
        let (transactions, downloaded) = try await store.receiptContent(account: account, bundleID: bundleID)
        let now = store.now
        let content = ReceiptContent(
            app: configuration.app(bundleID), environment: configuration.environment, transactions: transactions,
            created: now, downloaded: downloaded ?? now, device: device ?? entropy(16),
            noise: entropy(200))
        return try issuer.receipt(payload: content.encoded())
    }

    /// One transaction in the control API's own words; signed if it was paid.
    private func json(_ transaction: StoreTransaction) throws -> JSONValue {
        var members: [String: JSONValue] = [
            "transactionId": .string(transaction.id.text),
            "originalTransactionId": .string(transaction.originalID.text),
            "account": .string(transaction.account),
            "bundleId": .string(transaction.bundleID),
            "productId": .string(transaction.productID.text),
            "type": .string(transaction.kind.rawValue),
            "quantity": .int(transaction.quantity),
            "price": [
                "amount": .int(transaction.price.amount), "currency": .string(transaction.price.currency.text),
            ],
            "state": .string(transaction.state.rawValue),
            "finished": .bool(transaction.isFinished),
            "purchaseDate": .string(transaction.purchased.rfc3339),
        ]
        members["appAccountToken"] = transaction.appAccountToken.map { .string($0.description) }
        members["expiresDate"] = transaction.subscription.map { .string($0.expires.rfc3339) }
        members["revocationDate"] = transaction.revocation.map { .string($0.date.rfc3339) }
        if transaction.state == .purchased {
            members["signedTransaction"] = .string(try issuer.signedTransaction(transaction, at: store.now))
        }
        return .object(members)
    }

    private func merged(_ value: JSONValue, _ more: [String: JSONValue]) -> JSONValue {
        .object((value.object ?? [:]).merging(more) { _, new in new })
    }
}

import TillBilling
import TillHTTP
import TillJSON

/// What becomes of a transaction after the payment sheet: parents, banks, refunds, the queue.
extension ControlEndpoint {
    func addTransactions(to routes: inout ControlRoutes) {
        addReading(to: &routes)
        addDecisions(to: &routes)
        addRefunds(to: &routes)
    }

    private func addReading(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/transactions", Text(en: "An account's transactions, oldest first.", zh: "账户的交易，从旧到新。"),
            query: [
                .accountOrDevice, .bundleID,
                ControlMember("unfinished", .bool, Text(en: "only what is in the queue", zh: "只看队列中的交易")),
                ControlMember(
                    "state", .choice(StoreTransaction.State.allCases.map(\.rawValue)),
                    Text(en: "only those whose payment has come this far", zh: "只看付款处于此状态的交易")),
                .device, .limit, .cursor,
            ], answer: TransactionText.page
        ) { call in try await transactions(call) }
        routes.on(
            .get, "/emulator/transactions/{id}", Text(en: "One transaction, signed now.", zh: "一笔交易，当场签名。"),
            query: [.device], answer: TransactionText.answer
        ) { call in
            guard let transaction = try await store.transaction(number(call.id)) else {
                throw Problem(.unknownTransaction(call.id))
            }
            return .json(try json(transaction, on: try await device(call, of: transaction.account)))
        }
    }

    private func addDecisions(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/transactions/{id}/finish", Text(en: "Takes it out of the queue.", zh: "将其移出队列。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.finish(number(call.id)).answered())) }
        routes.on(
            .post, "/emulator/transactions/{id}/approve",
            Text(en: "A parent approves, or an interrupted purchase goes through.", zh: "家长批准，或被中断的购买完成。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.settle(number(call.id), approved: true).answered())) }
        routes.on(
            .post, "/emulator/transactions/{id}/decline", Text(en: "A parent declines.", zh: "家长拒绝。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.settle(number(call.id), approved: false).answered())) }
    }

    private func transactions(_ call: ControlCall) async throws -> HTTPResponse {
        let account = try await account(call.query("account"), on: call.device())
        let limit = try call.pageLimit()
        guard let after = Int64(call.query("cursor") ?? "0") else {
            throw RequestBody.wrong("cursor", "the nextCursor of the page before", "上一页的 nextCursor")
        }
        let unfinished = call.query("unfinished") ?? "false"
        guard unfinished == "true" || unfinished == "false" else {
            throw RequestBody.wrong("unfinished", "true or false", "true 或 false")
        }
        let found: [StoreTransaction]
        if let text = call.query("state") {
            guard let state = StoreTransaction.State(rawValue: text), unfinished == "false" else {
                throw RequestBody.wrong(
                    "state", "purchased, deferred, interrupted or declined, and not beside unfinished",
                    "purchased、deferred、interrupted 或 declined，且不与 unfinished 同用")
            }
            found = try await store.transactions(
                in: state, account: account, bundleID: call.query("bundleId"), after: after, limit: limit + 1)
        } else {
            found = try await store.transactions(
                account: account, bundleID: call.query("bundleId"), unfinishedOnly: unfinished == "true",
                after: after, limit: limit + 1)
        }
        let device = try await device(call, of: account)
        let page = found.prefix(limit)
        return .page(
            try page.map { try json($0, on: device) }, next: found.count > limit ? page.last.map { $0.id.text } : nil)
    }

    /// The device that a query names; it must be signed in to this account.
    func device(_ call: ControlCall, of account: String) async throws -> StoreDevice? {
        guard let id = try call.device() else { return nil }
        return try await store.device(id, of: account).answered()
    }

    /// The transaction as it is signed for a device, with a new nonce; or for none.
    func json(_ transaction: StoreTransaction, on device: StoreDevice?) throws -> JSONValue {
        let proof = device.map { DeviceProof($0, nonce: UniqueID(random: entropy(16))) }
        return try TransactionText.json(transaction, signedBy: issuer, for: proof, at: store.now)
    }
}

extension ControlCall {
    /// The device that the query names.
    func device() throws(Problem) -> UniqueID? {
        guard let text = query("deviceId") else { return nil }
        guard let id = UniqueID(text) else {
            throw RequestBody.wrong("deviceId", "the UUID of identifierForVendor", "identifierForVendor 的 UUID")
        }
        return id
    }

    /// How many a page holds.
    func pageLimit() throws(Problem) -> Int {
        let limit = Int(query("limit") ?? "20") ?? 0
        guard (1...100).contains(limit) else {
            throw RequestBody.wrong("limit", "a whole number from 1 to 100", "1 到 100 的整数")
        }
        return limit
    }
}

extension HTTPResponse {
    /// One page of a list (CONTRACT §2).
    static func page(_ data: [JSONValue], next: String?) -> HTTPResponse {
        .json([
            "data": .array(data), "hasMore": .bool(next != nil), "nextCursor": next.map { .string($0) } ?? .null,
        ])
    }
}

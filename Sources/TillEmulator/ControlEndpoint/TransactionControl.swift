import TillAppStore
import TillBilling
import TillHTTP

/// What becomes of a transaction after the payment sheet: parents, banks, refunds, the queue.
extension ControlEndpoint {
    func addTransactions(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/transactions", Text(en: "An account's transactions, oldest first.", zh: "账户的交易，从旧到新。"),
            query: [
                .account, .bundleID,
                ControlMember("unfinished", .bool, Text(en: "only what is in the queue", zh: "只看队列中的交易")),
                .limit, .cursor,
            ]
        ) { call in try await transactions(call) }
        routes.on(
            .get, "/emulator/transactions/{id}", Text(en: "One transaction, signed now.", zh: "一笔交易，当场签名。"),
            answer: TransactionText.answer
        ) { call in
            guard let transaction = try await store.transaction(number(call.id)) else {
                throw Problem(.unknownTransaction(call.id))
            }
            return .json(try json(transaction))
        }
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
        routes.on(
            .post, "/emulator/transactions/{id}/refund", Text(en: "Gives the money back.", zh: "退款。"),
            body: [
                ControlMember(
                    "reason", .integer(0...1), Text(en: "1: an issue with the app; 0: other", zh: "1：App 有问题；0：其他")),
                ControlMember(
                    "percentage", .integer(1...100_000),
                    Text(en: "thousandths of a percent; 100000 if absent", zh: "千分之一个百分点；省略则为 100000")),
            ], answer: TransactionText.answer
        ) { call in
            let reason = try call.body.integer("reason", in: 0...1) ?? 0
            let percentage = try call.body.integer("percentage", in: 1...100_000) ?? 100_000
            let refunded = try await store.refund(number(call.id), reason: reason, percentage: percentage)
            return .json(try json(try refunded.answered()))
        }
    }

    private func transactions(_ call: ControlCall) async throws -> HTTPResponse {
        let account = call.query("account") ?? Emulator.defaultAccount
        let limit = try call.pageLimit()
        guard let after = Int64(call.query("cursor") ?? "0") else {
            throw RequestBody.wrong("cursor", "the nextCursor of the page before", "上一页的 nextCursor")
        }
        let unfinished = call.query("unfinished") ?? "false"
        guard unfinished == "true" || unfinished == "false" else {
            throw RequestBody.wrong("unfinished", "true or false", "true 或 false")
        }
        let found = try await store.transactions(
            account: account, bundleID: call.query("bundleId"), unfinishedOnly: unfinished == "true",
            after: after, limit: limit + 1)
        let page = found.prefix(limit)
        return .page(
            try page.map { try json($0) }, next: found.count > limit ? page.last.map { $0.id.text } : nil)
    }
}

extension ControlCall {
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

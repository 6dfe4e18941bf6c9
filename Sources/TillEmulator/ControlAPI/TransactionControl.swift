import TillBilling
import TillHTTP
import TillJSON

/// Transactions after the payment sheet: approval, finishing and refunds.
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
                    "state", .choice(of: StoreTransaction.State.self),
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

    /// The device that the query names; the account must be signed in on it.
    func device(_ call: ControlCall, of account: String) async throws -> StoreDevice? {
        guard let id = try call.device() else { return nil }
        return try await store.device(id, of: account).answered()
    }

    /// The transaction, signed for a device with a new nonce; or for no device.
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

    /// The number of items on a page.
    func pageLimit() throws(Problem) -> Int {
        let limit = Int(query("limit") ?? "20") ?? 0
        guard (1...100).contains(limit) else {
            throw RequestBody.wrong("limit", "a whole number from 1 to 100", "1 到 100 的整数")
        }
        return limit
    }
}

extension HTTPResponse {
    /// One page of a list, with `data`, `hasMore` and `nextCursor`.
    static func page(_ data: [JSONValue], next: String?) -> HTTPResponse {
        .json([
            "data": .array(data), "hasMore": .bool(next != nil), "nextCursor": next.map { .string($0) } ?? .null,
        ])
    }
}

/// One transaction as JSON of the control API; signed if it was paid.
enum TransactionText {
    static let answer = ControlAnswer("Transaction", members)

    static let page = ControlAnswer(
        "TransactionPage",
        [
            ControlMember("data", .list(members), required: true, Text(en: "the page", zh: "本页")),
            ControlMember("hasMore", .bool, required: true, Text(en: "whether there is another", zh: "是否还有下一页")),
            ControlMember("nextCursor", .text(limit: 20), Text(en: "for the next page", zh: "下一页的游标")),
        ])

    static var members: [ControlMember] { object.members }

    private static let object = ControlObject<(transaction: StoreTransaction, signed: String?)> {
        $0.add("transactionId", .text(limit: 20), required: true, Text(en: "Apple's id of it", zh: "Apple 的交易号")) {
            .string($0.transaction.id.text)
        }
        $0.add(
            "originalTransactionId", .text(limit: 20), required: true,
            Text(en: "the first transaction of its chain", zh: "所属链条的首笔交易")
        ) { .string($0.transaction.originalID.text) }
        $0.add("account", .text(limit: 200), required: true, Text(en: "who bought", zh: "购买账户")) {
            .string($0.transaction.account)
        }
        $0.add("bundleId", .text(limit: 200), required: true, Text(en: "in which app", zh: "所在 App")) {
            .string($0.transaction.bundleID)
        }
        $0.add("productId", .text(limit: 100), required: true, Text(en: "what", zh: "商品")) {
            .string($0.transaction.productID.text)
        }
        $0.add(
            "type", .choice(ProductType.sold.map(\.rawValue)), required: true,
            Text(en: "the product's kind, in Apple's words", zh: "商品类型（Apple 的叫法）")
        ) { .string($0.transaction.kind.rawValue) }
        $0.add("quantity", .integer(1...10), required: true, Text(en: "how many", zh: "数量")) {
            .int($0.transaction.quantity)
        }
        $0.add(
            "price", .object(ControlMember.money), required: true,
            Text(en: "of the whole purchase, after discounts", zh: "整笔实付金额")
        ) { $0.transaction.price.json }
        $0.add(
            "state", .choice(of: StoreTransaction.State.self), required: true,
            Text(en: "how far the payment has come", zh: "付款进展")
        ) { .string($0.transaction.state.rawValue) }
        $0.add(
            "reason", .choice(["PURCHASE", "RENEWAL"]), required: true,
            Text(en: "who made it: the customer, or the renewal", zh: "由顾客购买或由续期产生")
        ) { .string($0.transaction.reason) }
        $0.add(
            "position", .integer(0...Int64.max), required: true,
            Text(en: "of its last change, among all changes of the store", zh: "最近一次变化在全部变化中的位置")
        ) { .int($0.transaction.modification) }
        $0.add("finished", .bool, required: true, Text(en: "whether it left the queue", zh: "是否已离开队列")) {
            .bool($0.transaction.isFinished)
        }
        $0.add("purchaseDate", .instant, required: true, Text(en: "when it was charged", zh: "扣款时间")) {
            .string($0.transaction.purchased.rfc3339)
        }
        $0.add("appAccountToken", .uuid, Text(en: "what the app gave", zh: "App 给出的标识")) {
            $0.transaction.appAccountToken.map { .string($0.description) }
        }
        $0.add("orderId", .text(limit: 16), Text(en: "what the customer's bill says", zh: "顾客账单上的订单号")) {
            $0.transaction.orderNumber.map { .string($0.description) }
        }
        $0.add("expiresDate", .instant, Text(en: "end of a subscription's period", zh: "本期订阅到期时间")) {
            $0.transaction.subscription.map { .string($0.expires.rfc3339) }
        }
        $0.add(
            "revocationDate", .instant, Text(en: "when it was refunded, or taken from the family", zh: "退款或家庭共享结束的时间")
        ) { $0.transaction.revocation.map { .string($0.date.rfc3339) } }
        $0.add(
            "sharedFrom", .text(limit: 20),
            Text(en: "the transaction that a member of the family paid", zh: "家庭成员所付的交易")
        ) { $0.transaction.sharedFrom.map { .string(String($0)) } }
        $0.add(
            "signedTransaction", .text(limit: 65_536),
            Text(en: "as Apple signs it; only once it is paid", zh: "Apple 签名的交易；付款后才有")
        ) { $0.signed.map { .string($0) } }
    }

    /// - Parameter proof: the device that it is signed for; nil: no device.
    static func json(
        _ transaction: StoreTransaction, signedBy issuer: Issuer, for proof: DeviceProof? = nil, at now: Instant
    ) throws -> JSONValue {
        guard transaction.state == .purchased else { return object.json((transaction, nil)) }
        let signed =
            try proof.map { try issuer.signedTransaction(transaction, for: $0, at: now) }
            ?? issuer.signedTransaction(transaction, at: now)
        return object.json((transaction, signed))
    }
}

extension ControlMember {
    static let money: [ControlMember] = [
        ControlMember(
            "amount", .integer(0...Int64.max), required: true, Text(en: "minor units", zh: "最小货币单位的数额")),
        ControlMember("currency", .text(limit: 3), required: true, Text(en: "ISO 4217", zh: "ISO 4217 货币代码")),
    ]
    static let account = ControlMember(
        "account", .text(limit: 200),
        Text(en: "the Apple Account; \"default\" if absent", zh: "Apple 账户；省略则为 “default”"))
    static let accountOrDevice = ControlMember(
        "account", .text(limit: 200),
        Text(
            en: "the Apple Account; the one signed in on deviceId if absent, and without that \"default\"",
            zh: "Apple 账户；省略则为 deviceId 上登录的账户，两者皆无则为 “default”"))
    static let bundleID = ControlMember(
        "bundleId", .text(limit: 200), Text(en: "the app; the configured one if absent", zh: "App；省略则为配置的 App"))
    static let device = ControlMember(
        "deviceId", .uuid,
        Text(
            en: "the device the customer holds: what is signed then proves itself to it",
            zh: "顾客所用设备；签名内容将包含对该设备的证明"))
    static let limit = ControlMember(
        "limit", .integer(1...100), Text(en: "how many on a page, 20 if absent", zh: "每页条数，省略则为 20"))
    static let cursor = ControlMember(
        "cursor", .text(limit: 200), Text(en: "the nextCursor of the page before", zh: "上一页的 nextCursor"))
}

extension Money {
    var json: JSONValue { ["amount": .int(amount), "currency": .string(currency.text)] }
}

extension JSONValue {
    /// The object with additional members.
    func with(_ more: [String: JSONValue]) -> JSONValue {
        .object((object ?? [:]).merging(more) { _, new in new })
    }
}

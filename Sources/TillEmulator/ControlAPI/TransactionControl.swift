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
            .get, "/emulator/transactions",
            LocalizedText(en: "An account's transactions, oldest first.", zh: "账户的交易，从旧到新。"),
            query: [
                .accountOrDevice, .bundleID,
                ControlMember(
                    "unfinished", .bool, LocalizedText(en: "true: only unfinished transactions", zh: "是否只列出队列中未完成的交易")),
                ControlMember(
                    "state", .choice(of: StoreTransaction.State.self),
                    LocalizedText(en: "the payment state to filter by", zh: "按付款状态筛选")),
                .device, .limit, .cursor,
            ], answer: TransactionText.page
        ) { call in try await transactions(call) }
        routes.on(
            .get, "/emulator/transactions/{id}",
            LocalizedText(en: "One transaction, signed at the time of the request.", zh: "一笔交易，在请求时签名。"),
            query: [.device], answer: TransactionText.answer
        ) { call in
            guard let transaction = try await store.transaction(number(call.id)) else {
                throw ControlError(.unknownTransaction(call.id))
            }
            return .json(try json(transaction, on: try await device(call, of: transaction.account)))
        }
    }

    private func addDecisions(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/transactions/{id}/finish",
            LocalizedText(en: "Finishes the transaction and removes it from the queue.", zh: "完成交易（finish），将其移出队列。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.finish(number(call.id)).answered())) }
        routes.on(
            .post, "/emulator/transactions/{id}/approve",
            LocalizedText(
                en: "Approves a deferred purchase, or completes an interrupted one.", zh: "批准等待家长同意的购买，或完成被中断的购买。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.decide(number(call.id), approved: true).answered())) }
        routes.on(
            .post, "/emulator/transactions/{id}/decline",
            LocalizedText(en: "Declines a deferred purchase.", zh: "拒绝等待家长同意的购买。"),
            answer: TransactionText.answer
        ) { call in .json(try json(try await store.decide(number(call.id), approved: false).answered())) }
    }

    private func transactions(_ call: ControlCall) async throws -> HTTPResponse {
        let account = try await account(call.query("account"), on: call.device())
        let limit = try call.pageLimit()
        guard let after = Int64(call.query("cursor") ?? "0") else {
            throw RequestBody.wrong("cursor", "the nextCursor of the previous page", "上一页的 nextCursor")
        }
        let unfinished = call.query("unfinished") ?? "false"
        guard unfinished == "true" || unfinished == "false" else {
            throw RequestBody.wrong("unfinished", "true or false", "true 或 false")
        }
        let found: [StoreTransaction]
        if let text = call.query("state") {
            guard let state = StoreTransaction.State(rawValue: text), unfinished == "false" else {
                throw RequestBody.wrong(
                    "state", "purchased, deferred, interrupted or declined, and omitted when unfinished is given",
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
        .object(Dictionary(try jsonMembers(transaction, on: device), uniquingKeysWith: { _, last in last }))
    }

    func jsonMembers(
        _ transaction: StoreTransaction, on device: StoreDevice?
    ) throws -> [(key: String, value: JSONValue)] {
        let proof = device.map { DeviceProof($0, nonce: UniqueID(random: entropy(16))) }
        return try TransactionText.jsonMembers(transaction, signedBy: issuer, for: proof, at: store.now)
    }
}

extension ControlCall {
    /// The device that the query names.
    func device() throws(ControlError) -> UniqueID? {
        guard let text = query("deviceId") else { return nil }
        guard let id = UniqueID(text) else {
            throw RequestBody.wrong("deviceId", "the UUID of identifierForVendor", "identifierForVendor 的 UUID")
        }
        return id
    }

    /// The number of items on a page.
    func pageLimit() throws(ControlError) -> Int {
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
    static let answer = ControlResponse("Transaction", members)

    static let page = ControlResponse(
        "TransactionPage",
        [
            ControlMember(
                "data", .list(members), required: true, LocalizedText(en: "the transactions on this page", zh: "本页交易")),
            ControlMember(
                "hasMore", .bool, required: true, LocalizedText(en: "whether another page follows", zh: "是否还有下一页")),
            ControlMember(
                "nextCursor", .text(limit: 20), LocalizedText(en: "the cursor of the next page", zh: "下一页的游标")),
        ])

    static var members: [ControlMember] { object.members }

    private static let object = ControlObject<(transaction: StoreTransaction, signed: String?)> {
        $0.add("transactionId", .text(limit: 20), required: true, LocalizedText(en: "the transaction id", zh: "交易号")) {
            .string($0.transaction.id.text)
        }
        $0.add(
            "originalTransactionId", .text(limit: 20), required: true,
            LocalizedText(en: "the original transaction id", zh: "首笔交易的交易号")
        ) { .string($0.transaction.originalID.text) }
        $0.add(
            "account", .text(limit: 200), required: true, LocalizedText(en: "the account of the purchase", zh: "购买账户")
        ) {
            .string($0.transaction.account)
        }
        $0.add(
            "bundleId", .text(limit: 200), required: true,
            LocalizedText(en: "the bundle id of the app", zh: "App 的 bundle ID")
        ) {
            .string($0.transaction.bundleID)
        }
        $0.add("productId", .text(limit: 100), required: true, LocalizedText(en: "the product id", zh: "商品 ID")) {
            .string($0.transaction.productID.text)
        }
        $0.add(
            "type", .choice(ProductType.sold.map(\.rawValue)), required: true,
            LocalizedText(en: "the product type, as Apple names it", zh: "商品类型（采用 Apple 的名称）")
        ) { .string($0.transaction.kind.rawValue) }
        $0.add("quantity", .integer(1...10), required: true, LocalizedText(en: "the quantity", zh: "数量")) {
            .int($0.transaction.quantity)
        }
        $0.add(
            "price", .object(ControlMember.money), required: true,
            LocalizedText(en: "the price of the whole purchase, after discounts", zh: "整笔实付金额")
        ) { $0.transaction.price.json }
        $0.add(
            "state", .choice(of: StoreTransaction.State.self), required: true,
            LocalizedText(en: "the payment state", zh: "付款状态")
        ) { .string($0.transaction.state.rawValue) }
        $0.add(
            "reason", .choice(["PURCHASE", "RENEWAL"]), required: true,
            LocalizedText(en: "the origin: a customer's purchase or a renewal", zh: "由客户购买或由续订产生")
        ) { .string($0.transaction.reason) }
        $0.add(
            "position", .integer(0...Int64.max), required: true,
            LocalizedText(en: "the position of its last change among all changes of the store", zh: "最近一次变化在商店全部变化中的位置")
        ) { .int($0.transaction.modification) }
        $0.add(
            "finished", .bool, required: true,
            LocalizedText(en: "whether the transaction is finished", zh: "是否已完成（finish）")
        ) {
            .bool($0.transaction.isFinished)
        }
        $0.add("purchaseDate", .instant, required: true, LocalizedText(en: "the time of the charge", zh: "扣款时间")) {
            .string($0.transaction.purchased.rfc3339)
        }
        $0.add(
            "appAccountToken", .uuid,
            LocalizedText(en: "the appAccountToken from the app", zh: "App 给出的 appAccountToken")
        ) {
            $0.transaction.appAccountToken.map { .string($0.description) }
        }
        $0.add(
            "orderId", .text(limit: 16), LocalizedText(en: "the order number on the customer's bill", zh: "客户账单上的订单号")
        ) {
            $0.transaction.orderNumber.map { .string($0.description) }
        }
        $0.add("expiresDate", .instant, LocalizedText(en: "the end of the subscription period", zh: "本期订阅到期时间")) {
            $0.transaction.subscription.map { .string($0.expires.rfc3339) }
        }
        $0.add(
            "revocationDate", .instant,
            LocalizedText(en: "the time of the refund, or the end of Family Sharing", zh: "退款或家人共享结束的时间")
        ) { $0.transaction.revocation.map { .string($0.date.rfc3339) } }
        $0.add(
            "sharedFrom", .text(limit: 20),
            LocalizedText(en: "the paid transaction of the family member who shares it", zh: "共享者付款的交易")
        ) { $0.transaction.sharedFrom.map { .string(String($0)) } }
        $0.add(
            "signedTransaction", .text(limit: 65_536),
            LocalizedText(en: "the signed transaction; present after payment", zh: "签名交易，付款后才有")
        ) { $0.signed.map { .string($0) } }
    }

    /// - Parameter proof: the device that it is signed for; nil: no device.
    static func jsonMembers(
        _ transaction: StoreTransaction, signedBy issuer: Issuer, for proof: DeviceProof? = nil, at now: Instant
    ) throws -> [(key: String, value: JSONValue)] {
        guard transaction.state == .purchased else { return object.jsonMembers((transaction, nil)) }
        let signed =
            try proof.map { try issuer.signedTransaction(transaction, for: $0, at: now) }
            ?? issuer.signedTransaction(transaction, at: now)
        return object.jsonMembers((transaction, signed))
    }
}

extension ControlMember {
    static let money: [ControlMember] = [
        ControlMember(
            "amount", .integer(0...Int64.max), required: true,
            LocalizedText(en: "the amount in minor units", zh: "金额（最小货币单位）")),
        ControlMember(
            "currency", .text(limit: 3), required: true,
            LocalizedText(en: "the ISO 4217 currency code", zh: "ISO 4217 货币代码")),
    ]
    static let account = ControlMember(
        "account", .text(limit: 200),
        LocalizedText(en: "the Apple Account; \"default\" if absent", zh: "Apple 账户；省略则为 “default”"))
    static let accountOrDevice = ControlMember(
        "account", .text(limit: 200),
        LocalizedText(
            en: "the Apple Account; if absent, the account signed in on deviceId, or \"default\"",
            zh: "Apple 账户；省略则为 deviceId 上登录的账户，两者皆无则为 “default”"))
    static let bundleID = ControlMember(
        "bundleId", .text(limit: 200),
        LocalizedText(en: "the bundle id of the app; the configured app if absent", zh: "App 的 bundle ID，省略则为配置的 App"))
    static let device = ControlMember(
        "deviceId", .uuid,
        LocalizedText(
            en: "the customer's device; signed data then includes a verification for this device",
            zh: "客户所用的设备；签名数据将包含对该设备的验证值"))
    static let limit = ControlMember(
        "limit", .integer(1...100), LocalizedText(en: "the page size; 20 if absent", zh: "每页条数，省略则为 20"))
    static let cursor = ControlMember(
        "cursor", .text(limit: 200), LocalizedText(en: "the nextCursor of the previous page", zh: "上一页的 nextCursor"))
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

import TillBilling
import TillJSON

/// One transaction in the control API's own words; signed if it was paid.
enum TransactionText {
    static let answer = ControlAnswer("Transaction", members)

    static let page = ControlAnswer(
        "TransactionPage",
        [
            ControlMember("data", .list(members), required: true, Text(en: "the page", zh: "本页")),
            ControlMember("hasMore", .bool, required: true, Text(en: "whether there is another", zh: "是否还有下一页")),
            ControlMember("nextCursor", .text(limit: 20), Text(en: "for the next page", zh: "下一页的游标")),
        ])

    static let members: [ControlMember] = [
        ControlMember(
            "transactionId", .text(limit: 20), required: true, Text(en: "Apple's id of it", zh: "Apple 的交易号")),
        ControlMember(
            "originalTransactionId", .text(limit: 20), required: true,
            Text(en: "the first transaction of its chain", zh: "所属链条的首笔交易")),
        ControlMember("account", .text(limit: 200), required: true, Text(en: "who bought", zh: "购买账户")),
        ControlMember("bundleId", .text(limit: 200), required: true, Text(en: "in which app", zh: "所在 App")),
        ControlMember("productId", .text(limit: 100), required: true, Text(en: "what", zh: "商品")),
        ControlMember(
            "type", .choice(ProductType.sold.map(\.rawValue)), required: true,
            Text(en: "the product's kind, in Apple's words", zh: "商品类型（Apple 的叫法）")),
        ControlMember("quantity", .integer(1...10), required: true, Text(en: "how many", zh: "数量")),
        ControlMember(
            "price", .object(ControlMember.money), required: true,
            Text(en: "of the whole purchase, after discounts", zh: "整笔实付金额")),
        ControlMember(
            "state", .choice(["purchased", "deferred", "interrupted", "declined"]), required: true,
            Text(en: "how far the payment has come", zh: "付款进展")),
        ControlMember(
            "reason", .choice(["PURCHASE", "RENEWAL"]), required: true,
            Text(en: "who made it: the customer, or the renewal", zh: "由顾客购买或由续期产生")),
        ControlMember(
            "position", .integer(0...Int64.max), required: true,
            Text(en: "of its last change, among all changes of the store", zh: "最近一次变化在全部变化中的位置")),
        ControlMember("finished", .bool, required: true, Text(en: "whether it left the queue", zh: "是否已离开队列")),
        ControlMember("purchaseDate", .instant, required: true, Text(en: "when it was charged", zh: "扣款时间")),
        ControlMember("appAccountToken", .uuid, Text(en: "what the app gave", zh: "App 给出的标识")),
        ControlMember(
            "orderId", .text(limit: 16), Text(en: "what the customer's bill says", zh: "顾客账单上的订单号")),
        ControlMember("expiresDate", .instant, Text(en: "end of a subscription's period", zh: "本期订阅到期时间")),
        ControlMember(
            "revocationDate", .instant,
            Text(en: "when it was refunded, or taken from the family", zh: "退款或家庭共享结束的时间")),
        ControlMember(
            "sharedFrom", .text(limit: 20),
            Text(en: "the transaction that a member of the family paid", zh: "家庭成员所付的交易")),
        ControlMember(
            "signedTransaction", .text(limit: 65_536),
            Text(en: "as Apple signs it; only once it is paid", zh: "Apple 签名的交易；付款后才有")),
    ]

    /// - Parameter proof: for which device it is signed; nil: for none.
    static func json(
        _ transaction: StoreTransaction, signedBy issuer: Issuer, for proof: DeviceProof? = nil, at now: Instant
    ) throws -> JSONValue {
        var members: [String: JSONValue] = [
            "transactionId": .string(transaction.id.text),
            "originalTransactionId": .string(transaction.originalID.text),
            "account": .string(transaction.account),
            "bundleId": .string(transaction.bundleID),
            "productId": .string(transaction.productID.text),
            "type": .string(transaction.kind.rawValue),
            "quantity": .int(transaction.quantity),
            "price": transaction.price.json,
            "state": .string(transaction.state.rawValue),
            "reason": .string(transaction.reason),
            "position": .int(transaction.modification),
            "finished": .bool(transaction.isFinished),
            "purchaseDate": .string(transaction.purchased.rfc3339),
        ]
        members["appAccountToken"] = transaction.appAccountToken.map { .string($0.description) }
        members["expiresDate"] = transaction.subscription.map { .string($0.expires.rfc3339) }
        members["orderId"] = transaction.orderNumber.map { .string($0.description) }
        members["sharedFrom"] = transaction.sharedFrom.map { .string(String($0)) }
        members["revocationDate"] = transaction.revocation.map { .string($0.date.rfc3339) }
        if transaction.state == .purchased {
            let signed =
                try proof.map { try issuer.signedTransaction(transaction, for: $0, at: now) }
                ?? issuer.signedTransaction(transaction, at: now)
            members["signedTransaction"] = .string(signed)
        }
        return .object(members)
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
    /// An object with more members.
    func with(_ more: [String: JSONValue]) -> JSONValue {
        .object((object ?? [:]).merging(more) { _, new in new })
    }
}

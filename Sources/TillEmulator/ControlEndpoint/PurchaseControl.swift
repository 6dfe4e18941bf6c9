import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

/// What a customer does at the payment sheet.
extension ControlEndpoint {
    func addPurchases(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/purchases", Text(en: "Buys a product.", zh: "购买商品。"),
            body: Self.purchaseMembers, answer: Self.purchaseAnswer
        ) { call in try await purchase(call.body) }
    }

    private static let purchaseMembers: [ControlMember] = [
        ControlMember("bundleId", .text(limit: 200), required: true, Text(en: "the app", zh: "App")),
        ControlMember("productId", .text(limit: 200), required: true, Text(en: "what is bought", zh: "购买的商品")),
        // SKPayment.quantity is 1 to 10 (facts/limits §2).
        ControlMember("quantity", .integer(1...10), Text(en: "how many; 1 if absent", zh: "数量，省略则为 1")),
        ControlMember("appAccountToken", .uuid, Text(en: "what the app gives: the order id", zh: "App 给出的标识：订单号")),
        ControlMember(
            "storefront", .text(limit: 3),
            Text(en: "ISO 3166-1 alpha-3; the account's own if absent", zh: "三个字母的地区代码，省略则为账户所在地区")),
        .account,
        ControlMember(
            "outcome", .choice(PurchaseRequest.Outcome.allCases.map(\.rawValue)),
            Text(en: "how it ends; purchased if absent", zh: "结局，省略则为 purchased")),
        ControlMember("receipt", .bool, Text(en: "whether the answer holds the app receipt", zh: "回答是否附上 App 收据")),
    ]

    private static let purchaseAnswer = ControlAnswer(
        "Purchase",
        TransactionText.members.map { ControlMember($0.name, $0.kind, $0.note) } + [
            ControlMember("outcome", .text(limit: 20), required: true, Text(en: "how it ended", zh: "结局")),
            ControlMember(
                "receipt", .text(limit: 16 << 20), Text(en: "base64 of the app receipt", zh: "App 收据的 base64")),
        ])

    private func purchase(_ body: RequestBody) async throws -> HTTPResponse {
        var wanted = PurchaseRequest(
            bundleID: try body.requiredText("bundleId"), productID: ProductID(try body.requiredText("productId")))
        if let quantity = try body.integer("quantity", in: 1...10) { wanted.quantity = quantity }
        if let account = try body.text("account") { wanted.account = account }
        if let outcome = try body.choice("outcome", of: PurchaseRequest.Outcome.self) { wanted.outcome = outcome }
        wanted.appAccountToken = try body.uniqueID("appAccountToken")
        wanted.storefront = try storefront(body)
        let wantsReceipt = try body.bool("receipt") ?? true
        switch try await store.purchase(wanted).answered() {
        case .cancelled: return .json(["outcome": "cancelled"])
        case .failed: return .json(["outcome": "failed"])
        case .scheduled(let subscription):
            return .json([
                "outcome": "scheduled", "originalTransactionId": .string(String(subscription.original)),
            ])
        case .waiting(let transaction):
            return .json(try json(transaction).with(["outcome": .string(transaction.state.rawValue)]))
        case .purchased(let transaction), .ownedAlready(let transaction):
            var answer = try json(transaction).with(["outcome": "purchased"])
            if wantsReceipt {
                let receipt = try await makeReceipt(
                    account: transaction.account, bundleID: transaction.bundleID, device: nil)
                answer = answer.with(["receipt": .string(Base64.encode(receipt))])
            }
            return .json(answer)
        }
    }

    func storefront(_ body: RequestBody) throws(Problem) -> String? {
        guard let storefront = try body.text("storefront") else { return nil }
        guard Storefront.isWellFormed(storefront) else {
            throw RequestBody.wrong(
                "storefront", "three capital letters of ISO 3166-1, such as CHN", "ISO 3166-1 的三个大写字母，例如 CHN")
        }
        return storefront
    }
}

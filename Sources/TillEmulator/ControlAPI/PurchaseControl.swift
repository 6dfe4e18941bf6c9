import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

/// A customer's purchases and restores.
extension ControlEndpoint {
    func addPurchases(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/purchases", LocalizedText(en: "Buys a product.", zh: "购买商品。"),
            body: Self.purchaseMembers, answer: Self.purchaseAnswer
        ) { call in try await purchase(call.body) }
        addRestore(to: &routes)
    }

    private static let purchaseMembers: [ControlMember] = [
        ControlMember(
            "bundleId", .text(limit: 200), required: true,
            LocalizedText(en: "the bundle id of the app", zh: "App 的 bundle ID")),
        ControlMember(
            "productId", .text(limit: 200), required: true, LocalizedText(en: "the product id", zh: "购买的商品 ID")),
        // SKPayment.quantity is 1 to 10 (facts/limits §2).
        ControlMember("quantity", .integer(1...10), LocalizedText(en: "the quantity; 1 if absent", zh: "数量，省略则为 1")),
        ControlMember(
            "appAccountToken", .uuid,
            LocalizedText(en: "the app's token for the purchase: the order id", zh: "App 给出的标识：订单号")),
        ControlMember(
            "storefront", .text(limit: 3),
            LocalizedText(
                en: "the ISO 3166-1 alpha-3 code of the storefront; the account's storefront if absent",
                zh: "店面的 ISO 3166-1 三位代码，省略则为账户的店面")),
        .accountOrDevice,
        ControlMember(
            "outcome", .choice(of: PurchaseRequest.Outcome.self),
            LocalizedText(en: "the outcome; the account's paymentSheet if absent", zh: "结果，省略则按账户的 paymentSheet")),
        ControlMember(
            "offer", .object(OfferText.members),
            LocalizedText(en: "the offer and its signature or code", zh: "优惠及其签名或代码")),
        ControlMember(
            "introductoryEligibility", .text(limit: 16_384),
            LocalizedText(
                en: "the developer's signed token about introductory offer eligibility", zh: "开发者签名的推介促销优惠资格令牌")),
        ControlMember(
            "monthlyBilling", .bool,
            LocalizedText(en: "whether a yearly subscription is paid monthly", zh: "年度订阅是否按月付款")),
        .device,
        ControlMember(
            "receipt", .bool, LocalizedText(en: "whether the response includes the app receipt", zh: "应答是否包含 App 收据")),
    ]

    static let purchaseAnswer = ControlResponse(
        "Purchase",
        TransactionText.members.map { ControlMember($0.name, $0.kind, $0.note) } + [
            ControlMember("outcome", .text(limit: 20), required: true, LocalizedText(en: "the outcome", zh: "结果")),
            ControlMember(
                "receipt", .text(limit: 16 << 20),
                LocalizedText(en: "the app receipt in base64", zh: "App 收据的 base64")),
        ])

    private func purchase(_ body: RequestBody) async throws -> HTTPResponse {
        var wanted = PurchaseRequest(
            bundleID: try body.requiredText("bundleId"), productID: ProductID(try body.requiredText("productId")))
        if let quantity = try body.integer("quantity", in: 1...10) { wanted.quantity = quantity }
        if let outcome = try body.choice("outcome", of: PurchaseRequest.Outcome.self) { wanted.outcome = outcome }
        wanted.appAccountToken = try body.uniqueID("appAccountToken")
        wanted.storefront = try body.storefront("storefront")
        if let offer = try OfferText.offer(body.value("offer")) { wanted.offer = try offer.answered() }
        wanted.introductoryEligibility = try body.text("introductoryEligibility", upTo: 16_384)
        wanted.monthlyBilling = try body.bool("monthlyBilling") ?? false
        wanted.device = try body.uniqueID("deviceId")
        wanted.account = try await account(body.text("account"), on: wanted.device)
        let wantsReceipt = try body.bool("receipt") ?? true
        let result = try await store.purchase(wanted).answered()
        // The device is read after the purchase, because its account may have changed in the meantime.
        let device: StoreDevice? =
            if let id = wanted.device { try await store.device(id).answered() } else { nil }
        return try await answer(to: result, on: device, wantsReceipt: wantsReceipt)
    }

    /// The named account, or the account signed in on the device.
    func account(_ name: String?, on device: UniqueID?) async throws -> String {
        if let name { return name }
        guard let device else { return Emulator.defaultAccount }
        return try await store.device(device).answered().account
    }

    /// The result of the payment sheet as JSON.
    func answer(to result: PurchaseResult, on device: StoreDevice?, wantsReceipt: Bool) async throws -> HTTPResponse {
        switch result {
        case .cancelled: return .json(["outcome": "cancelled"])
        case .failed: return .json(["outcome": "failed"])
        case .scheduled(let subscription):
            return .json([
                "outcome": "scheduled", "originalTransactionId": .string(String(subscription.original)),
            ])
        case .waiting(let transaction):
            return .json(try json(transaction).with(["outcome": .string(transaction.state.rawValue)]))
        case .purchased(let transaction), .ownedAlready(let transaction):
            var answer = try jsonMembers(transaction, on: device)
            answer.append(("outcome", "purchased"))
            if wantsReceipt {
                let receipt = try await makeReceipt(
                    account: transaction.account, bundleID: transaction.bundleID, device: device?.id.bytes)
                answer.append(("receipt", .string(Base64.encode(receipt))))
            }
            return .json(text: JSONValue.encodedBytes(of: answer))
        }
    }

    private func addRestore(to routes: inout ControlRoutes) {
        let restored: [ControlMember] = [
            ControlMember(
                "transactionId", .text(limit: 20), required: true,
                LocalizedText(en: "the transaction id of this restore, new each time", zh: "本次恢复的交易号，每次不同")),
            ControlMember(
                "original", .object(TransactionText.members), required: true,
                LocalizedText(en: "the original transaction", zh: "所恢复的原交易")),
        ]
        routes.on(
            .post, "/emulator/restore",
            LocalizedText(
                en:
                    "Restores non-consumables and auto-renewable subscriptions (restoreCompletedTransactions).",
                zh: "恢复非消耗型商品与自动续期订阅（restoreCompletedTransactions）。"),
            body: [.accountOrDevice, .bundleID, .device],
            answer: ControlResponse(
                "RestoredPurchases",
                [
                    ControlMember(
                        "data", .list(restored), required: true,
                        LocalizedText(en: "the restored transactions", zh: "全部恢复的交易"))
                ])
        ) { call in
            let id = try call.body.uniqueID("deviceId")
            let account = try await account(call.body.text("account"), on: id)
            let purchases = try await store.restore(
                account: account, bundleID: try call.body.text("bundleId") ?? configuration.app.bundleID, device: id
            ).answered()
            let device: StoreDevice? =
                if let id { try await store.device(id, of: account).answered() } else { nil }
            return .json([
                "data": .array(
                    try purchases.map { purchase in
                        [
                            "transactionId": .string(String(purchase.number)),
                            "original": try json(purchase.original, on: device),
                        ]
                    })
            ])
        }
    }
}

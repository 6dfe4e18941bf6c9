import TillBilling
import TillJSON

/// One subscription as JSON of the control API.
enum SubscriptionText {
    static let answer = ControlResponse("Subscription", members)

    static let page = ControlResponse(
        "SubscriptionPage",
        [
            ControlMember(
                "data", .list(members), required: true,
                LocalizedText(en: "the subscriptions on this page", zh: "本页订阅")),
            ControlMember(
                "hasMore", .bool, required: true, LocalizedText(en: "whether another page follows", zh: "是否还有下一页")),
            ControlMember(
                "nextCursor", .text(limit: 20), LocalizedText(en: "the cursor of the next page", zh: "下一页的游标")),
        ])

    static let changed = ControlResponse(
        "PlanChange",
        [
            ControlMember(
                "outcome", .choice(["purchased", "scheduled", "deferred", "interrupted", "cancelled", "failed"]),
                required: true,
                LocalizedText(en: "whether the change applies now or at the next renewal", zh: "立即生效或下次续订时生效")),
            ControlMember(
                "subscription", .object(members), LocalizedText(en: "the subscription after the change", zh: "更换后的订阅")),
            ControlMember(
                "transaction", .object(TransactionText.members),
                LocalizedText(en: "the transaction of an immediate change", zh: "立即生效时的交易")),
        ])

    static var members: [ControlMember] { object.members }
    static func json(_ subscription: StoreSubscription) -> JSONValue { object.json(subscription) }

    static let object = ControlObject<StoreSubscription> {
        $0.add(
            "originalTransactionId", .text(limit: 20), required: true,
            LocalizedText(en: "the id of the subscription", zh: "订阅的标识")
        ) {
            .string(String($0.original))
        }
        $0.add("account", .text(limit: 200), required: true, LocalizedText(en: "the account", zh: "所属账户")) {
            .string($0.account)
        }
        $0.add(
            "bundleId", .text(limit: 200), required: true,
            LocalizedText(en: "the bundle id of the app", zh: "App 的 bundle ID")
        ) {
            .string($0.bundleID)
        }
        $0.add(
            "groupId", .text(limit: 64), required: true, LocalizedText(en: "the subscription group id", zh: "订阅组 ID")
        ) {
            .string($0.groupID)
        }
        $0.add(
            "state", .choice(of: StoreSubscription.State.self), required: true,
            LocalizedText(en: "the state, which corresponds to Apple's status 1 to 5", zh: "状态，对应 Apple 的状态 1 到 5")
        ) { .string($0.state.rawValue) }
        $0.add(
            "productId", .text(limit: 100), required: true,
            LocalizedText(en: "the product id of the newest period", zh: "最新一期的商品 ID")
        ) {
            .string($0.productID.text)
        }
        $0.add(
            "currentTransactionId", .text(limit: 20), required: true,
            LocalizedText(en: "the transaction id of the newest period", zh: "最新一期的交易号")
        ) { .string(String($0.current)) }
        $0.add(
            "expiresDate", .instant, required: true, LocalizedText(en: "the end of the newest period", zh: "最新一期的到期时间")
        ) {
            .string($0.expires.rfc3339)
        }
        $0.add("renews", .bool, required: true, LocalizedText(en: "whether automatic renewal is on", zh: "是否自动续订")) {
            .bool($0.renews)
        }
        $0.add(
            "renewalProductId", .text(limit: 100), required: true,
            LocalizedText(en: "the product id of the next renewal", zh: "下次续订的商品 ID")
        ) {
            .string($0.renewalProductID.text)
        }
        $0.add(
            "renewalPrice", .object(ControlMember.money),
            LocalizedText(en: "the price of the next renewal", zh: "下次续订的价格")
        ) {
            $0.renewsNext ? $0.nextPrice?.json : nil
        }
        $0.add("gracePeriodExpiresDate", .instant, LocalizedText(en: "the end of the grace period", zh: "宽限期截止时间")) {
            $0.graceExpires.map { .string($0.rfc3339) }
        }
        $0.add("billingRetryUntil", .instant, LocalizedText(en: "the end of the billing retry period", zh: "扣款重试截止时间"))
        {
            $0.retryUntil.map { .string($0.rfc3339) }
        }
        $0.add("expirationIntent", .integer(1...5), LocalizedText(en: "the expiration reason", zh: "到期原因")) {
            $0.expirationIntent.map { .int($0) }
        }
        $0.add(
            "priceIncrease", .choice(["pending", "accepted"]),
            LocalizedText(en: "the status of an upcoming price increase", zh: "即将生效的涨价的状态")
        ) {
            $0.priceIncrease.map { $0.isAccepted ? "accepted" : "pending" }
        }
        $0.add("offerId", .text(limit: 200), LocalizedText(en: "the offer of the next period", zh: "下期优惠")) {
            ($0.runningOffer?.offer.identifier).map { .string($0) }
        }
        $0.add(
            "winBackOfferIds", .texts, required: true,
            LocalizedText(en: "the eligible win-back offers, best first", zh: "可用的赢回优惠，最优在前")
        ) {
            .array($0.eligibleWinBacks.map { .string($0) })
        }
        $0.add(
            "appAccountToken", .uuid,
            LocalizedText(en: "the appAccountToken of the next renewal", zh: "下次续订的 appAccountToken")
        ) {
            $0.appAccountToken.map { .string($0.description) }
        }
        $0.add(
            "billingFails", .bool, required: true, LocalizedText(en: "whether charges are set to fail", zh: "扣款是否设为失败")
        ) {
            .bool($0.billingFails)
        }
        $0.add("nextDate", .instant, LocalizedText(en: "the time of the next scheduled event", zh: "下一个计划事件的时间")) {
            $0.nextDate.map { .string($0.rfc3339) }
        }
        $0.add(
            "sharedFrom", .text(limit: 20),
            LocalizedText(en: "the payer's subscription, for a shared one", zh: "家人共享的来源订阅")
        ) {
            $0.sharedFrom.map { .string(String($0)) }
        }
    }
}

/// The billing grace period that a developer sets in App Store Connect.
extension ControlEndpoint {
    func addGrace(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/subscriptions/grace",
            LocalizedText(en: "The billing grace period for failed renewal charges.", zh: "续订扣款失败时的宽限期。"),
            answer: Self.graceAnswer
        ) { _ in .json(Self.json(try await store.billingGracePeriod())) }
        routes.on(
            .put, "/emulator/subscriptions/grace",
            LocalizedText(
                en:
                    "Sets the billing grace period for future billing errors. Running ones stay unchanged.",
                zh: "设定此后扣款失败时的宽限期；已开始的宽限期不受影响。"),
            body: Self.graceMembers, answer: Self.graceAnswer
        ) { call in
            let period = try gracePeriod(call.body)
            try await store.setBillingGracePeriod(period)
            return .json(Self.json(period))
        }
    }

    private static let graceMembers: [ControlMember] = [
        ControlMember(
            "days", .integer(3...28),
            LocalizedText(en: "the length in days: 3, 16 or 28; null: no grace period", zh: "天数：3、16 或 28；null 表示没有宽限期")
        ),
        ControlMember(
            "scope", .choice(of: BillingGracePeriod.Scope.self),
            LocalizedText(
                en:
                    "the renewals; PAID_TO_PAID_ONLY excludes the end of a free trial; ALL_RENEWALS if absent",
                zh: "适用的续订；PAID_TO_PAID_ONLY 不含免费试用后的首次扣款；省略则为 ALL_RENEWALS")),
    ]

    private static let graceAnswer = ControlResponse("BillingGracePeriod", graceMembers)

    private func gracePeriod(_ body: RequestBody) throws(ControlError) -> BillingGracePeriod? {
        let scope = try body.choice("scope", of: BillingGracePeriod.Scope.self)
        guard let days = try body.integer("days", in: 3...28) else {
            // A scope without a length is more likely a mistake than intended.
            guard scope == nil else { throw RequestBody.wrong("scope", "omitted when days is not given", "与 days 同用") }
            return nil
        }
        guard let length = BillingGracePeriod.Length(rawValue: days) else {
            throw RequestBody.wrong("days", "3, 16 or 28", " 3、16 或 28")
        }
        return BillingGracePeriod(length, scope: scope ?? .allRenewals)
    }

    private static func json(_ period: BillingGracePeriod?) -> JSONValue {
        guard let period else { return ["days": .null] }
        return ["days": .int(period.length.rawValue), "scope": .string(period.scope.rawValue)]
    }
}

/// A price increase for all subscribers of a product.
extension ControlEndpoint {
    func addPriceIncreases(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/products/{id}/priceIncrease",
            LocalizedText(
                en: "The developer raises the price of a subscription. The store notifies 256 subscribers immediately "
                    + "and the others within the next seconds.",
                zh: "开发者提高订阅价格并通知订阅者：先通知 256 位，其余在随后几秒内通知。"),
            body: [
                ControlMember(
                    "price", .object(ControlMember.money), required: true, LocalizedText(en: "the new price", zh: "新价格")
                ),
                ControlMember(
                    "storefront", .text(limit: 3),
                    LocalizedText(en: "the storefront; the emulator's default if absent", zh: "店面，省略则为模拟商店的默认店面")),
                .bundleID,
                ControlMember(
                    "needsConsent", .bool,
                    LocalizedText(en: "decided by Apple's thresholds if absent", zh: "省略则按 Apple 的界限判断")),
                ControlMember(
                    "effectiveDate", .instant,
                    LocalizedText(en: "the effective time; the next renewal if absent", zh: "生效时间，省略则为下次续订")),
            ],
            answer: ControlResponse(
                "ProductPriceIncrease",
                [
                    ControlMember(
                        "productId", .text(limit: 100), required: true, LocalizedText(en: "the product id", zh: "商品 ID")
                    ),
                    ControlMember(
                        "storefront", .text(limit: 3), required: true, LocalizedText(en: "the storefront", zh: "店面")),
                    ControlMember(
                        "price", .object(ControlMember.money), required: true,
                        LocalizedText(en: "the new price", zh: "新价格")),
                    ControlMember(
                        "notified", .integer(0...Int64(ProductPriceIncrease.batch)), required: true,
                        LocalizedText(en: "the number of notified subscribers", zh: "已通知的订阅者数")),
                    ControlMember(
                        "complete", .bool, required: true,
                        LocalizedText(en: "whether all subscribers are notified", zh: "是否已全部通知")),
                ])
        ) { call in
            let raised = try await store.raisePrice(
                of: ProductID(String(call.id.prefix(100))),
                bundleID: call.body.text("bundleId") ?? configuration.app.bundleID,
                storefront: call.body.storefront("storefront") ?? configuration.storefront,
                to: money(call.body, "price"), needsConsent: call.body.bool("needsConsent"),
                effective: call.body.instant("effectiveDate")
            ).answered()
            return .json([
                "productId": .string(raised.productID.text), "storefront": .string(raised.storefront),
                "price": raised.price.json, "notified": .int(raised.notified), "complete": .bool(raised.isComplete),
            ])
        }
    }
}

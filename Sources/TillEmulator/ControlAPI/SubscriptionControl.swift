import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// Subscriptions and their changes.
extension ControlEndpoint {
    func addSubscriptions(to routes: inout ControlRoutes) {
        addReading(to: &routes)
        addCustomerActions(to: &routes)
        addDeveloperActions(to: &routes)
        addPriceIncreases(to: &routes)
        addGrace(to: &routes)
    }

    private func addReading(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/subscriptions",
            LocalizedText(en: "Subscriptions, optionally of one account.", zh: "订阅列表，可限定账户。"),
            query: [
                ControlMember(
                    "account", .text(limit: 200), LocalizedText(en: "the Apple Account; all if absent", zh: "账户，省略则为全部")
                ),
                ControlMember(
                    "bundleId", .text(limit: 200),
                    LocalizedText(en: "the bundle id of the app; all if absent", zh: "App 的 bundle ID，省略则为全部")),
                .limit, .cursor,
            ], answer: SubscriptionText.page
        ) { call in
            let limit = try call.pageLimit()
            guard let after = Int64(call.query("cursor") ?? "0") else {
                throw RequestBody.wrong("cursor", "the nextCursor of the previous page", "上一页的 nextCursor")
            }
            let found = try await store.subscriptions(
                account: call.query("account"), bundleID: call.query("bundleId"), after: after, limit: limit + 1)
            let page = found.prefix(limit)
            return .page(
                page.map(SubscriptionText.json),
                next: found.count > limit ? page.last.map { String($0.original) } : nil)
        }
        routes.on(
            .get, "/emulator/subscriptions/{id}", LocalizedText(en: "One subscription.", zh: "一个订阅。"),
            answer: SubscriptionText.answer
        ) { call in
            guard let subscription = try await store.subscription(original(call)) else {
                throw ControlError(.unknownSubscription(call.id))
            }
            return .json(SubscriptionText.json(subscription))
        }
    }

    private func addCustomerActions(to routes: inout ControlRoutes) {
        func on(
            _ act: StaticString, _ summary: LocalizedText,
            _ action: @escaping @Sendable (Store, Int64) async throws -> Result<StoreSubscription, StoreRefusal>
        ) {
            routes.on(
                .post, "/emulator/subscriptions/{id}/\(act)", summary, answer: SubscriptionText.answer
            ) { call in .json(SubscriptionText.json(try await action(store, original(call)).answered())) }
        }
        on("cancel", LocalizedText(en: "The customer turns off automatic renewal.", zh: "客户关闭自动续订。")) {
            try await $0.cancelSubscription($1)
        }
        on("resume", LocalizedText(en: "The customer turns on automatic renewal again.", zh: "客户重新开启自动续订。")) {
            try await $0.resumeSubscription($1)
        }
        on("billingFailure", LocalizedText(en: "Makes future charges fail.", zh: "令此后的扣款失败。")) {
            try await $0.failBilling($1)
        }
        on("recover", LocalizedText(en: "Charges succeed again, and a failed one is retried.", zh: "扣款恢复正常，并重试失败的扣款。"))
        {
            try await $0.recover($1)
        }
        routes.on(
            .post, "/emulator/subscriptions/{id}/upgrade",
            LocalizedText(
                en: "The customer changes the plan: an upgrade, downgrade or crossgrade.", zh: "客户更换套餐：升级、降级或平级。"),
            body: [
                ControlMember(
                    "productId", .text(limit: 100), required: true,
                    LocalizedText(en: "the id of a product in the same group", zh: "同组商品的 ID"))
            ], answer: SubscriptionText.changed
        ) { call in try await changePlan(call) }
        routes.on(
            .post, "/emulator/subscriptions/{id}/consent",
            LocalizedText(en: "The customer accepts or declines a price increase.", zh: "客户接受或拒绝涨价。"),
            body: [
                ControlMember(
                    "accept", .bool, required: true,
                    LocalizedText(en: "false turns off automatic renewal", zh: "false 表示关闭自动续订"))
            ], answer: SubscriptionText.answer
        ) { call in
            guard let accepts = try call.body.bool("accept") else {
                throw .badRequest("missing_member", "The member \"accept\" is missing.", "缺少成员 “accept”。")
                    as ControlError
            }
            let answered = try await store.answerPriceIncrease(original(call), accepts: accepts)
            return .json(SubscriptionText.json(try answered.answered()))
        }
    }

    private func addDeveloperActions(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/subscriptions/{id}/priceIncrease",
            LocalizedText(en: "The developer raises the renewal price of this subscription.", zh: "开发者提高此订阅的续订价格。"),
            body: [
                ControlMember(
                    "price", .object(ControlMember.money), required: true, LocalizedText(en: "the new price", zh: "新价格")
                ),
                ControlMember(
                    "needsConsent", .bool,
                    LocalizedText(en: "decided by Apple's thresholds if absent", zh: "省略则按 Apple 的界限判断")),
                ControlMember(
                    "effectiveDate", .instant,
                    LocalizedText(en: "the effective time; the next renewal if absent", zh: "生效时间，省略则为下次续订")),
            ], answer: SubscriptionText.answer
        ) { call in
            let raised = try await store.raisePrice(
                of: original(call), to: money(call.body, "price"), needsConsent: call.body.bool("needsConsent"),
                effective: call.body.instant("effectiveDate"))
            return .json(SubscriptionText.json(try raised.answered()))
        }
        routes.on(
            .post, "/emulator/subscriptions/{id}/extend",
            LocalizedText(en: "The developer extends the renewal date.", zh: "开发者延长续订日期。"),
            body: [
                ControlMember(
                    "days", .integer(1...90), required: true, LocalizedText(en: "the number of days", zh: "延长的天数"))
            ], answer: SubscriptionText.answer
        ) { call in
            guard let days = try call.body.integer("days", in: 1...90) else {
                throw .badRequest("missing_member", "The member \"days\" is missing.", "缺少成员 “days”。") as ControlError
            }
            let extended = try await store.extendSubscription(original(call), days: days)
            return .json(SubscriptionText.json(try extended.answered()))
        }
    }

    private func changePlan(_ call: ControlCall) async throws -> HTTPResponse {
        let number = try original(call)
        let productID = ProductID(try call.body.requiredText("productId", upTo: 100))
        let result = try await store.changePlan(number, to: productID).answered()
        var members: [String: JSONValue] = [:]
        switch result {
        case .purchased(let transaction), .ownedAlready(let transaction):
            members["outcome"] = "purchased"
            members["transaction"] = try json(transaction)
        case .waiting(let transaction):
            members["outcome"] = .string(transaction.state.rawValue)
            members["transaction"] = try json(transaction)
        case .scheduled: members["outcome"] = "scheduled"
        case .cancelled: members["outcome"] = "cancelled"
        case .failed: members["outcome"] = "failed"
        }
        members["subscription"] = try await store.subscription(number).map(SubscriptionText.json)
        return .json(.object(members))
    }

    private func original(_ call: ControlCall) throws(ControlError) -> Int64 {
        guard let number = Int64(call.id), number >= 0, String(number) == call.id else {
            throw ControlError(.unknownSubscription(String(call.id.prefix(40))))
        }
        return number
    }

    func money(_ body: RequestBody, _ name: String) throws(ControlError) -> Money {
        guard case .int(let amount)? = body.value(name)?["amount"],
            case .string(let text)? = body.value(name)?["currency"],
            // It must also fit as Apple's milliunits.
            (0...1_000_000_000_000).contains(amount), Currency(text).isWellFormed
        else {
            throw RequestBody.wrong(
                name, "money such as {\"amount\": 600, \"currency\": \"CNY\"}",
                "金额，例如 {\"amount\": 600, \"currency\": \"CNY\"}")
        }
        return Money(amount: amount, currency: Currency(text))
    }
}

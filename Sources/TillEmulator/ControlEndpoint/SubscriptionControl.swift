import TillBilling
import TillHTTP
import TillJSON

/// What subscribers do, and what happens to them.
extension ControlEndpoint {
    func addSubscriptions(to routes: inout ControlRoutes) {
        addReading(to: &routes)
        addCustomerActs(to: &routes)
        addDeveloperActs(to: &routes)
        addPriceIncreases(to: &routes)
        addGrace(to: &routes)
    }

    private func addReading(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/subscriptions",
            Text(en: "Subscriptions, of one account or of all.", zh: "订阅列表，可限定账户。"),
            query: [
                ControlMember(
                    "account", .text(limit: 200), Text(en: "the Apple Account; all if absent", zh: "账户，省略则为全部")),
                ControlMember("bundleId", .text(limit: 200), Text(en: "the app; all if absent", zh: "App，省略则为全部")),
                .limit, .cursor,
            ], answer: SubscriptionText.page
        ) { call in
            let limit = try call.pageLimit()
            guard let after = Int64(call.query("cursor") ?? "0") else {
                throw RequestBody.wrong("cursor", "the nextCursor of the page before", "上一页的 nextCursor")
            }
            let found = try await store.subscriptions(
                account: call.query("account"), bundleID: call.query("bundleId"), after: after, limit: limit + 1)
            let page = found.prefix(limit)
            return .page(
                page.map(SubscriptionText.json),
                next: found.count > limit ? page.last.map { String($0.original) } : nil)
        }
        routes.on(
            .get, "/emulator/subscriptions/{id}", Text(en: "One subscription.", zh: "一个订阅。"),
            answer: SubscriptionText.answer
        ) { call in
            guard let subscription = try await store.subscription(original(call)) else {
                throw Problem(.unknownSubscription(call.id))
            }
            return .json(SubscriptionText.json(subscription))
        }
    }

    private func addCustomerActs(to routes: inout ControlRoutes) {
        func on(
            _ act: StaticString, _ summary: Text,
            _ action: @escaping @Sendable (Store, Int64) async throws -> Result<StoreSubscription, StoreRefusal>
        ) {
            routes.on(
                .post, "/emulator/subscriptions/{id}/\(act)", summary, answer: SubscriptionText.answer
            ) { call in .json(SubscriptionText.json(try await action(store, original(call)).answered())) }
        }
        on("cancel", Text(en: "The customer turns renewal off.", zh: "顾客关闭自动续期。")) {
            try await $0.cancelSubscription($1)
        }
        on("resume", Text(en: "The customer turns renewal on again.", zh: "顾客重新开启自动续期。")) {
            try await $0.resumeSubscription($1)
        }
        on("billingFailure", Text(en: "Charges fail from now on.", zh: "此后扣款失败。")) { try await $0.failBilling($1) }
        on("recover", Text(en: "Charges go through again, at once.", zh: "扣款恢复，立即补扣。")) {
            try await $0.recover($1)
        }
        routes.on(
            .post, "/emulator/subscriptions/{id}/upgrade",
            Text(en: "The customer changes the plan: up, down or across.", zh: "顾客更换套餐：升级、降级或平级。"),
            body: [
                ControlMember(
                    "productId", .text(limit: 100), required: true, Text(en: "of the same group", zh: "同组的商品"))
            ], answer: SubscriptionText.changed
        ) { call in try await changePlan(call) }
        routes.on(
            .post, "/emulator/subscriptions/{id}/consent",
            Text(en: "The customer answers an increase of the price.", zh: "顾客答复涨价。"),
            body: [
                ControlMember("accept", .bool, required: true, Text(en: "false turns renewal off", zh: "false 表示关闭续期"))
            ], answer: SubscriptionText.answer
        ) { call in
            guard let accepts = try call.body.bool("accept") else {
                throw .badRequest("missing_member", "The member \"accept\" is missing.", "缺少成员 “accept”。") as Problem
            }
            let answered = try await store.answerPriceIncrease(original(call), accepts: accepts)
            return .json(SubscriptionText.json(try answered.answered()))
        }
    }

    private func addDeveloperActs(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/subscriptions/{id}/priceIncrease",
            Text(en: "The developer raises the price that it renews at.", zh: "开发者提高续期价格。"),
            body: [
                ControlMember(
                    "price", .object(ControlMember.money), required: true, Text(en: "the new one", zh: "新价格")),
                ControlMember(
                    "needsConsent", .bool, Text(en: "by Apple's thresholds if absent", zh: "省略则按 Apple 的界限判断")),
                ControlMember(
                    "effectiveDate", .instant, Text(en: "the next renewal if absent", zh: "生效时间，省略则为下次续期")),
            ], answer: SubscriptionText.answer
        ) { call in
            let raised = try await store.raisePrice(
                of: original(call), to: money(call.body, "price"), needsConsent: call.body.bool("needsConsent"),
                effective: call.body.instant("effectiveDate"))
            return .json(SubscriptionText.json(try raised.answered()))
        }
        routes.on(
            .post, "/emulator/subscriptions/{id}/extend",
            Text(en: "The developer moves the renewal date.", zh: "开发者推迟续期日期。"),
            body: [
                ControlMember("days", .integer(1...90), required: true, Text(en: "by so many", zh: "推迟的天数"))
            ], answer: SubscriptionText.answer
        ) { call in
            guard let days = try call.body.integer("days", in: 1...90) else {
                throw .badRequest("missing_member", "The member \"days\" is missing.", "缺少成员 “days”。") as Problem
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

    private func original(_ call: ControlCall) throws(Problem) -> Int64 {
        guard let number = Int64(call.id), number >= 0, String(number) == call.id else {
            throw Problem(.unknownSubscription(String(call.id.prefix(40))))
        }
        return number
    }

    func money(_ body: RequestBody, _ name: String) throws(Problem) -> Money {
        guard case .int(let amount)? = body.value(name)?["amount"],
            case .string(let text)? = body.value(name)?["currency"],
            // Apple's milliunits of it must fit a number, too.
            (0...1_000_000_000_000).contains(amount), Currency(text).isWellFormed
        else {
            throw RequestBody.wrong(
                name, "money such as {\"amount\": 600, \"currency\": \"CNY\"}",
                "金额，例如 {\"amount\": 600, \"currency\": \"CNY\"}")
        }
        return Money(amount: amount, currency: Currency(text))
    }
}

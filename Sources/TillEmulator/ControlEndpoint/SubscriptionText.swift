import TillBilling
import TillJSON

/// One subscription in the control API's own words.
enum SubscriptionText {
    static let answer = ControlAnswer("Subscription", members)

    static let page = ControlAnswer(
        "SubscriptionPage",
        [
            ControlMember("data", .list(members), required: true, Text(en: "the page", zh: "本页")),
            ControlMember("hasMore", .bool, required: true, Text(en: "whether there is another", zh: "是否还有下一页")),
            ControlMember("nextCursor", .text(limit: 20), Text(en: "for the next page", zh: "下一页的游标")),
        ])

    static let changed = ControlAnswer(
        "PlanChange",
        [
            ControlMember(
                "outcome", .choice(["purchased", "scheduled", "deferred", "interrupted", "cancelled", "failed"]),
                required: true, Text(en: "now, or at the next renewal", zh: "立即生效或下次续期生效")),
            ControlMember("subscription", .object(members), Text(en: "as it is then", zh: "之后的状态")),
            ControlMember("transaction", .object(TransactionText.members), Text(en: "of a change now", zh: "立即生效时的交易")),
        ])

    static let members: [ControlMember] = [
        ControlMember(
            "originalTransactionId", .text(limit: 20), required: true, Text(en: "its identity", zh: "订阅的标识")),
        ControlMember("account", .text(limit: 200), required: true, Text(en: "whose", zh: "所属账户")),
        ControlMember("bundleId", .text(limit: 200), required: true, Text(en: "in which app", zh: "所在 App")),
        ControlMember("groupId", .text(limit: 64), required: true, Text(en: "the group", zh: "订阅组")),
        ControlMember(
            "state", .choice(["active", "gracePeriod", "billingRetry", "expired", "revoked"]), required: true,
            Text(en: "what Apple's status 1 to 5 says", zh: "对应 Apple 的状态 1 到 5")),
        ControlMember("productId", .text(limit: 100), required: true, Text(en: "of the newest period", zh: "最新一期的商品")),
        ControlMember(
            "currentTransactionId", .text(limit: 20), required: true, Text(en: "of the newest period", zh: "最新一期的交易")),
        ControlMember("expiresDate", .instant, required: true, Text(en: "its end", zh: "最新一期的到期时间")),
        ControlMember("renews", .bool, required: true, Text(en: "whether renewal is on", zh: "是否自动续期")),
        ControlMember(
            "renewalProductId", .text(limit: 100), required: true, Text(en: "what renews next", zh: "下次续期的商品")),
        ControlMember("renewalPrice", .object(ControlMember.money), Text(en: "what that costs", zh: "下次续期的价格")),
        ControlMember("gracePeriodExpiresDate", .instant, Text(en: "service until then", zh: "宽限期截止")),
        ControlMember("billingRetryUntil", .instant, Text(en: "attempts until then", zh: "重试扣款截止")),
        ControlMember("expirationIntent", .integer(1...5), Text(en: "why it ended", zh: "到期原因")),
        ControlMember(
            "priceIncrease", .choice(["pending", "accepted"]), Text(en: "an increase to come", zh: "即将到来的涨价")),
        ControlMember("offerId", .text(limit: 200), Text(en: "the next period's offer", zh: "下期优惠")),
        ControlMember("winBackOfferIds", .texts, required: true, Text(en: "best first", zh: "可用的赢回优惠，最优在前")),
        ControlMember("appAccountToken", .uuid, Text(en: "of the next renewal", zh: "下次续期的标识")),
        ControlMember(
            "billingFails", .bool, required: true, Text(en: "whether charges are made to fail", zh: "是否令扣款失败")),
        ControlMember("nextDate", .instant, Text(en: "when something happens by itself", zh: "下一次自动变化的时间")),
        ControlMember("sharedFrom", .text(limit: 20), Text(en: "the payer's subscription", zh: "家庭共享的来源订阅")),
    ]

    static func json(_ subscription: StoreSubscription) -> JSONValue {
        var members: [String: JSONValue] = [
            "originalTransactionId": .string(String(subscription.original)),
            "account": .string(subscription.account),
            "bundleId": .string(subscription.bundleID),
            "groupId": .string(subscription.groupID),
            "state": .string(subscription.state.rawValue),
            "productId": .string(subscription.productID.text),
            "currentTransactionId": .string(String(subscription.current)),
            "expiresDate": .string(subscription.expires.rfc3339),
            "renews": .bool(subscription.renews),
            "renewalProductId": .string(subscription.renewalProductID.text),
            "winBackOfferIds": .array(subscription.eligibleWinBacks.map { .string($0) }),
            "billingFails": .bool(subscription.billingFails),
        ]
        if subscription.renewsNext { members["renewalPrice"] = subscription.nextPrice?.json }
        members["gracePeriodExpiresDate"] = subscription.graceExpires.map { .string($0.rfc3339) }
        members["billingRetryUntil"] = subscription.retryUntil.map { .string($0.rfc3339) }
        members["expirationIntent"] = subscription.expirationIntent.map { .int($0) }
        members["priceIncrease"] = subscription.priceIncrease.map { $0.isAccepted ? "accepted" : "pending" }
        members["offerId"] = subscription.runningOffer?.offer.identifier.map { .string($0) }
        members["appAccountToken"] = subscription.appAccountToken.map { .string($0.description) }
        members["nextDate"] = subscription.nextDate.map { .string($0.rfc3339) }
        members["sharedFrom"] = subscription.sharedFrom.map { .string(String($0)) }
        return .object(members)
    }
}

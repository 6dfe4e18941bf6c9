import TillBilling
import TillPages

/// The store's words for people. Apple's own codes stay as Apple writes them.
extension PurchaseRequest.Outcome {
    func title(_ say: Reader) -> String {
        switch self {
        case .purchased: say("Paid", "付款成功")
        case .cancelled: say("Cancelled by the customer", "顾客取消")
        case .failed: say("Payment fails", "付款失败")
        case .deferred: say("Waits for a parent (Ask to Buy)", "等待家长批准")
        case .interrupted: say("Interrupted, paid later", "被中断，稍后付款")
        }
    }
}

extension ProductType {
    func title(_ say: Reader) -> String {
        switch self {
        case .consumable: say("Consumable", "消耗型")
        case .nonConsumable: say("Non-consumable", "非消耗型")
        case .autoRenewable: say("Auto-renewable subscription", "自动续期订阅")
        case .nonRenewing: say("Non-renewing subscription", "非续期订阅")
        case .freeSubscription: say("Free subscription", "免费订阅")
        }
    }
}

extension StoreSubscription.State {
    func title(_ say: Reader) -> String {
        switch self {
        case .active: say("Active", "生效中")
        case .gracePeriod: say("Grace period", "宽限期")
        case .billingRetry: say("Billing retry", "扣款重试")
        case .expired: say("Expired", "已到期")
        case .revoked: say("Revoked", "已撤销")
        }
    }

    /// Its colour, in words of the style sheet. The text says the same.
    var styleClass: StaticString {
        switch self {
        case .active: "good"
        case .gracePeriod: "waiting"
        case .billingRetry: "bad"
        case .expired: "idle"
        case .revoked: "back"
        }
    }
}

extension SubscriptionPeriod {
    func title(_ say: Reader) -> String {
        switch self {
        case .week: say("each week", "每周")
        case .month: say("each month", "每月")
        case .twoMonths: say("each two months", "每两个月")
        case .threeMonths: say("each three months", "每三个月")
        case .sixMonths: say("each six months", "每六个月")
        case .year: say("each year", "每年")
        }
    }
}

extension RenewalPace {
    func title(_ say: Reader) -> String {
        switch self {
        case .real: say("real: a month is a month", "真实：一个月就是一个月")
        case .monthInThreeMinutes: say("a month in 3 minutes", "一个月为 3 分钟")
        case .monthInFiveMinutes: say("a month in 5 minutes", "一个月为 5 分钟")
        case .monthInFifteenMinutes: say("a month in 15 minutes", "一个月为 15 分钟")
        case .monthInThirtyMinutes: say("a month in 30 minutes", "一个月为 30 分钟")
        case .monthInOneHour: say("a month in an hour", "一个月为 1 小时")
        case .monthInThirtySeconds: say("a month in 30 seconds", "一个月为 30 秒")
        case .everyFifteenMinutes: say("renews every 15 minutes", "每 15 分钟续期")
        case .everyFiveMinutes: say("renews every 5 minutes", "每 5 分钟续期")
        case .everyMinute: say("renews every minute", "每分钟续期")
        case .everyThirtySeconds: say("renews every 30 seconds", "每 30 秒续期")
        case .everyTenSeconds: say("renews every 10 seconds", "每 10 秒续期")
        case .everyTwoSeconds: say("renews every 2 seconds", "每 2 秒续期")
        }
    }
}

extension ProductOffer.Kind {
    func title(_ say: Reader) -> String {
        switch self {
        case .introductory: say("introductory offer", "推介促销优惠")
        case .promotional: say("promotional offer", "促销优惠")
        case .code: say("offer code", "优惠代码")
        case .winBack: say("win-back offer", "赢回优惠")
        }
    }
}

extension ProductOffer.Discount {
    func title(_ say: Reader) -> String {
        switch self {
        case .freeTrial: say("free trial", "免费试用")
        case .payAsYouGo: say("pay as you go", "随用随付")
        case .payUpFront: say("paid up front", "提前支付")
        case .oneTime: say("one time", "一次性")
        }
    }
}

extension ProductState {
    func title(_ say: Reader) -> String {
        switch self {
        case .missingMetadata: say("Missing metadata", "元数据缺失")
        case .waitingForUpload: say("Waiting for upload", "等待上传")
        case .processingContent: say("Processing content", "正在处理内容")
        case .readyToSubmit: say("Ready to submit", "准备提交")
        case .waitingForReview: say("Waiting for review", "等待审核")
        case .inReview: say("In review", "正在审核")
        case .developerActionNeeded: say("Developer action needed", "需要开发者操作")
        case .pendingBinaryApproval: say("Pending binary approval", "等待二进制文件批准")
        case .approved: say("Approved", "已批准")
        case .developerRemovedFromSale: say("Removed from sale by the developer", "开发者已下架")
        case .removedFromSale: say("Removed from sale", "已下架")
        case .rejected: say("Rejected", "被拒绝")
        }
    }

    var styleClass: StaticString {
        switch self {
        case .approved: "good"
        case .rejected, .removedFromSale, .developerActionNeeded: "bad"
        case .developerRemovedFromSale, .missingMetadata: "idle"
        case .waitingForUpload, .processingContent, .readyToSubmit, .waitingForReview, .inReview,
            .pendingBinaryApproval:
            "waiting"
        }
    }
}

extension HTML {
    /// How far a transaction has come, in one word.
    static func state(_ transaction: StoreTransaction, _ say: Reader) -> HTML {
        guard transaction.revocation == nil else {
            let isShared = transaction.revocation?.type == "FAMILY_REVOKE"
            return element("span", .class("pill", "back")) {
                isShared ? say("No longer shared", "不再共享") : say("Refunded", "已退款")
            }
        }
        switch transaction.state {
        case .purchased:
            return element("span", .class("pill", "good")) { say("Paid", "已付款") }
        case .deferred:
            return element("span", .class("pill", "waiting")) { say("Waits for a parent", "等待批准") }
        case .interrupted:
            return element("span", .class("pill", "waiting")) { say("Interrupted", "被中断") }
        case .declined:
            return element("span", .class("pill", "bad")) { say("Declined", "已拒绝") }
        }
    }

    static func badge(_ text: String) -> HTML { element("span", .class("badge")) { text } }

    /// What a price came from: `introductory offer trial, free trial P1W`.
    static func offer(_ offer: StoreTransaction.Offer, _ say: Reader) -> HTML {
        HTML(offer.kind.title(say)) + HTML(say(", ", "，")) + HTML(offer.discount.title(say))
            + (offer.period.map { HTML(" ") + HTML.code($0, limit: 20) } ?? .empty)
            + (offer.identifier.map { HTML(" ") + HTML.code($0, limit: 60) } ?? .empty)
    }
}

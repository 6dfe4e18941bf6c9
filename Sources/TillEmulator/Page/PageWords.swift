import TillBilling
import TillPages

/// The store's terms on pages. Apple's own codes are shown as Apple writes them.
extension PurchaseRequest.Outcome {
    func title(_ say: Reader) -> String {
        switch self {
        case .purchased: say("Paid", "付款成功")
        case .cancelled: say("Cancelled by the customer", "客户取消")
        case .failed: say("Payment fails", "付款失败")
        case .deferred: say("Waits for a parent's approval (Ask to Buy)", "等待家长批准（购买前询问）")
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

    /// Its class in the style sheet. The text gives the same information.
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
        case .everyFifteenMinutes: say("renews every 15 minutes", "每 15 分钟续订")
        case .everyFiveMinutes: say("renews every 5 minutes", "每 5 分钟续订")
        case .everyMinute: say("renews every minute", "每分钟续订")
        case .everyThirtySeconds: say("renews every 30 seconds", "每 30 秒续订")
        case .everyTenSeconds: say("renews every 10 seconds", "每 10 秒续订")
        case .everyTwoSeconds: say("renews every 2 seconds", "每 2 秒续订")
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
    /// A transaction's state in one word.
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
            return element("span", .class("pill", "waiting")) { say("Waits for approval", "等待批准") }
        case .interrupted:
            return element("span", .class("pill", "waiting")) { say("Interrupted", "被中断") }
        case .declined:
            return element("span", .class("pill", "bad")) { say("Declined", "已拒绝") }
        }
    }

    static func badge(_ text: String) -> HTML { element("span", .class("badge")) { text } }

    /// The offer of a price: `introductory offer trial, free trial P1W`.
    static func offer(_ offer: StoreTransaction.Offer, _ say: Reader) -> HTML {
        HTML(offer.kind.title(say)) + HTML(say(", ", "，")) + HTML(offer.discount.title(say))
            + (offer.period.map { HTML(" ") + HTML.code($0, limit: 20) } ?? .empty)
            + (offer.identifier.map { HTML(" ") + HTML.code($0, limit: 60) } ?? .empty)
    }
}

/// Descriptions of notifications (facts/notifications §4). A type that this version does not know is shown by its code
/// alone.
enum NoticeWords {
    static func code(_ type: String, _ subtype: String?) -> HTML {
        HTML.code(subtype.map { "\(type) · \($0)" } ?? type, limit: 120)
    }

    static func sentence(_ type: String, _ subtype: String?, _ say: Reader) -> String {
        switch type {
        case "DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED", "PRICE_INCREASE": plan(type, subtype, say)
        case "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "DID_RENEW": renewal(type, subtype, say)
        case "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "CONSUMPTION_REQUEST", "REVOKE": money(type, say)
        case "SUBSCRIBED":
            subtype == "RESUBSCRIBE" ? say("Subscribed again", "重新订阅") : say("Subscribed", "已订阅")
        case "DID_CHANGE_RENEWAL_STATUS":
            subtype == "AUTO_RENEW_ENABLED"
                ? say("Renewal turned on", "已开启续订") : say("Renewal cancelled", "已取消续订")
        case "RENEWAL_EXTENDED": say("Renewal date extended", "续订日期已延长")
        case "RENEWAL_EXTENSION":
            subtype == "SUMMARY"
                ? say("Mass extension finished", "批量延期完成")
                : say("Mass extension failed for one subscription", "批量延期有一项失败")
        case "ONE_TIME_CHARGE": say("Bought", "已购买")
        case "RESCIND_CONSENT": say("Parental consent withdrawn", "家长撤回同意")
        case "TEST": say("Test", "测试")
        default: say("New notification type", "新类型的通知")
        }
    }

    private static func plan(_ type: String, _ subtype: String?, _ say: Reader) -> String {
        switch (type, subtype) {
        case ("PRICE_INCREASE", "ACCEPTED"): say("Price increase accepted", "已接受涨价")
        case ("PRICE_INCREASE", _): say("Price increase: waits for consent", "涨价：等待同意")
        case ("OFFER_REDEEMED", _): say("Offer redeemed", "已兑换优惠")
        case (_, "UPGRADE"): say("Upgraded", "已升级")
        case (_, "DOWNGRADE"): say("Another product at the next renewal", "下次续订更换商品")
        default: say("Change of product cancelled", "已撤销更换商品")
        }
    }

    private static func renewal(_ type: String, _ subtype: String?, _ say: Reader) -> String {
        switch (type, subtype) {
        case ("DID_RENEW", "BILLING_RECOVERY"): say("Charge succeeded on retry", "重试扣款成功")
        case ("DID_RENEW", _): say("Renewed", "已续订")
        case ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"): say("Charge failed: grace period", "扣款失败：进入宽限期")
        case ("DID_FAIL_TO_RENEW", _): say("Charge failed: billing retry", "扣款失败：进入扣款重试")
        case ("GRACE_PERIOD_EXPIRED", _): say("Grace period ended", "宽限期结束")
        case (_, "VOLUNTARY"): say("Expired: cancelled by the customer", "到期：客户已取消")
        case (_, "BILLING_RETRY"): say("Expired: all charges failed", "到期：扣款始终失败")
        case (_, "PRICE_INCREASE"): say("Expired: no consent to the price", "到期：未同意涨价")
        case (_, "PRODUCT_NOT_FOR_SALE"): say("Expired: no longer for sale", "到期：商品已下架")
        default: say("Expired", "已到期")
        }
    }

    private static func money(_ type: String, _ say: Reader) -> String {
        switch type {
        case "REFUND": say("Refunded", "已退款")
        case "REFUND_DECLINED": say("Refund declined", "退款被拒")
        case "REFUND_REVERSED": say("Refund reversed", "退款已撤销")
        case "CONSUMPTION_REQUEST": say("Refund requested: consumption information needed", "客户申请退款：请提供消费信息")
        default: say("Family sharing ended", "家人共享已结束")
        }
    }

    static func styleClass(_ type: String, _ subtype: String?) -> StaticString {
        switch type {
        case "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED": "bad"
        case "EXPIRED": "idle"
        case "REFUND", "REVOKE", "REFUND_REVERSED": "back"
        case "DID_CHANGE_RENEWAL_STATUS": subtype == "AUTO_RENEW_ENABLED" ? "good" : "idle"
        case "DID_RENEW", "SUBSCRIBED", "ONE_TIME_CHARGE": "good"
        case "PRICE_INCREASE", "CONSUMPTION_REQUEST", "REFUND_DECLINED": "waiting"
        default: "busy"
        }
    }

    /// Whether the transaction's own entry already says more than the notification.
    static func isToldByTransaction(_ type: String, _ subtype: String?) -> Bool {
        switch type {
        case "SUBSCRIBED", "REFUND", "ONE_TIME_CHARGE": true
        case "DID_RENEW": subtype == nil
        default: false
        }
    }
}

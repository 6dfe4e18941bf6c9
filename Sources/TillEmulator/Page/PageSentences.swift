import TillBilling
import TillPages

/// The store's terms on pages. Apple's own codes are shown as Apple writes them.
extension PurchaseRequest.Outcome {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .purchased: localize("Paid", "付款成功")
        case .cancelled: localize("Cancelled by the customer", "客户取消")
        case .failed: localize("Payment fails", "付款失败")
        case .deferred: localize("Waits for a parent's approval (Ask to Buy)", "等待家长批准（购买前询问）")
        case .interrupted: localize("Interrupted, paid later", "被中断，稍后付款")
        }
    }
}

extension ProductType {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .consumable: localize("Consumable", "消耗型")
        case .nonConsumable: localize("Non-consumable", "非消耗型")
        case .autoRenewable: localize("Auto-renewable subscription", "自动续期订阅")
        case .nonRenewing: localize("Non-renewing subscription", "非续期订阅")
        case .freeSubscription: localize("Free subscription", "免费订阅")
        }
    }
}

extension StoreSubscription.State {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .active: localize("Active", "生效中")
        case .gracePeriod: localize("Grace period", "宽限期")
        case .billingRetry: localize("Billing retry", "扣款重试")
        case .expired: localize("Expired", "已到期")
        case .revoked: localize("Revoked", "已撤销")
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
    func title(_ localize: Localizer) -> String {
        switch self {
        case .week: localize("each week", "每周")
        case .month: localize("each month", "每月")
        case .twoMonths: localize("each two months", "每两个月")
        case .threeMonths: localize("each three months", "每三个月")
        case .sixMonths: localize("each six months", "每六个月")
        case .year: localize("each year", "每年")
        }
    }
}

extension RenewalPace {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .real: localize("real: a month is a month", "真实：一个月就是一个月")
        case .monthInThreeMinutes: localize("a month in 3 minutes", "一个月为 3 分钟")
        case .monthInFiveMinutes: localize("a month in 5 minutes", "一个月为 5 分钟")
        case .monthInFifteenMinutes: localize("a month in 15 minutes", "一个月为 15 分钟")
        case .monthInThirtyMinutes: localize("a month in 30 minutes", "一个月为 30 分钟")
        case .monthInOneHour: localize("a month in an hour", "一个月为 1 小时")
        case .monthInThirtySeconds: localize("a month in 30 seconds", "一个月为 30 秒")
        case .everyFifteenMinutes: localize("renews every 15 minutes", "每 15 分钟续订")
        case .everyFiveMinutes: localize("renews every 5 minutes", "每 5 分钟续订")
        case .everyMinute: localize("renews every minute", "每分钟续订")
        case .everyThirtySeconds: localize("renews every 30 seconds", "每 30 秒续订")
        case .everyTenSeconds: localize("renews every 10 seconds", "每 10 秒续订")
        case .everyTwoSeconds: localize("renews every 2 seconds", "每 2 秒续订")
        }
    }
}

extension ProductOffer.Kind {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .introductory: localize("introductory offer", "推介促销优惠")
        case .promotional: localize("promotional offer", "促销优惠")
        case .code: localize("offer code", "优惠代码")
        case .winBack: localize("win-back offer", "赢回优惠")
        }
    }
}

extension ProductOffer.Discount {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .freeTrial: localize("free trial", "免费试用")
        case .payAsYouGo: localize("pay as you go", "随用随付")
        case .payUpFront: localize("paid up front", "提前支付")
        case .oneTime: localize("one time", "一次性")
        }
    }
}

extension ProductState {
    func title(_ localize: Localizer) -> String {
        switch self {
        case .missingMetadata: localize("Missing metadata", "元数据缺失")
        case .waitingForUpload: localize("Waiting for upload", "等待上传")
        case .processingContent: localize("Processing content", "正在处理内容")
        case .readyToSubmit: localize("Ready to submit", "准备提交")
        case .waitingForReview: localize("Waiting for review", "等待审核")
        case .inReview: localize("In review", "正在审核")
        case .developerActionNeeded: localize("Developer action needed", "需要开发者操作")
        case .pendingBinaryApproval: localize("Pending binary approval", "等待二进制文件批准")
        case .approved: localize("Approved", "已批准")
        case .developerRemovedFromSale: localize("Removed from sale by the developer", "开发者已下架")
        case .removedFromSale: localize("Removed from sale", "已下架")
        case .rejected: localize("Rejected", "被拒绝")
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
    static func state(_ transaction: StoreTransaction, _ localize: Localizer) -> HTML {
        guard transaction.revocation == nil else {
            let isShared = transaction.revocation?.type == "FAMILY_REVOKE"
            return element("span", .class("pill", "back")) {
                isShared ? localize("No longer shared", "不再共享") : localize("Refunded", "已退款")
            }
        }
        switch transaction.state {
        case .purchased:
            return element("span", .class("pill", "good")) { localize("Paid", "已付款") }
        case .deferred:
            return element("span", .class("pill", "waiting")) { localize("Waits for approval", "等待批准") }
        case .interrupted:
            return element("span", .class("pill", "waiting")) { localize("Interrupted", "被中断") }
        case .declined:
            return element("span", .class("pill", "bad")) { localize("Declined", "已拒绝") }
        }
    }

    static func badge(_ text: String) -> HTML { element("span", .class("badge")) { text } }

    /// The offer of a price: `introductory offer trial, free trial P1W`.
    static func offer(_ offer: StoreTransaction.Offer, _ localize: Localizer) -> HTML {
        HTML(offer.kind.title(localize)) + HTML(localize(", ", "，")) + HTML(offer.discount.title(localize))
            + (offer.period.map { HTML(" ") + HTML.code($0, limit: 20) } ?? .empty)
            + (offer.identifier.map { HTML(" ") + HTML.code($0, limit: 60) } ?? .empty)
    }
}

/// Descriptions of notifications (facts/notifications §4). A type that this version does not know is shown by its code
/// alone.
enum NotificationSentences {
    static func code(_ type: String, _ subtype: String?) -> HTML {
        HTML.code(subtype.map { "\(type) · \($0)" } ?? type, limit: 120)
    }

    static func sentence(_ type: String, _ subtype: String?, _ localize: Localizer) -> String {
        switch type {
        case "DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED", "PRICE_INCREASE": plan(type, subtype, localize)
        case "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "DID_RENEW": renewal(type, subtype, localize)
        case "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "CONSUMPTION_REQUEST", "REVOKE": money(type, localize)
        case "SUBSCRIBED":
            subtype == "RESUBSCRIBE" ? localize("Subscribed again", "重新订阅") : localize("Subscribed", "已订阅")
        case "DID_CHANGE_RENEWAL_STATUS":
            subtype == "AUTO_RENEW_ENABLED"
                ? localize("Renewal turned on", "已开启续订") : localize("Renewal cancelled", "已取消续订")
        case "RENEWAL_EXTENDED": localize("Renewal date extended", "续订日期已延长")
        case "RENEWAL_EXTENSION":
            subtype == "SUMMARY"
                ? localize("Mass extension finished", "批量延期完成")
                : localize("Mass extension failed for one subscription", "批量延期有一项失败")
        case "ONE_TIME_CHARGE": localize("Bought", "已购买")
        case "RESCIND_CONSENT": localize("Parental consent withdrawn", "家长撤回同意")
        case "TEST": localize("Test", "测试")
        default: localize("New notification type", "新类型的通知")
        }
    }

    private static func plan(_ type: String, _ subtype: String?, _ localize: Localizer) -> String {
        switch (type, subtype) {
        case ("PRICE_INCREASE", "ACCEPTED"): localize("Price increase accepted", "已接受涨价")
        case ("PRICE_INCREASE", _): localize("Price increase: waits for consent", "涨价：等待同意")
        case ("OFFER_REDEEMED", _): localize("Offer redeemed", "已兑换优惠")
        case (_, "UPGRADE"): localize("Upgraded", "已升级")
        case (_, "DOWNGRADE"): localize("Another product at the next renewal", "下次续订更换商品")
        default: localize("Change of product cancelled", "已撤销更换商品")
        }
    }

    private static func renewal(_ type: String, _ subtype: String?, _ localize: Localizer) -> String {
        switch (type, subtype) {
        case ("DID_RENEW", "BILLING_RECOVERY"): localize("Charge succeeded on retry", "重试扣款成功")
        case ("DID_RENEW", _): localize("Renewed", "已续订")
        case ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"): localize("Charge failed: grace period", "扣款失败：进入宽限期")
        case ("DID_FAIL_TO_RENEW", _): localize("Charge failed: billing retry", "扣款失败：进入扣款重试")
        case ("GRACE_PERIOD_EXPIRED", _): localize("Grace period ended", "宽限期结束")
        case (_, "VOLUNTARY"): localize("Expired: cancelled by the customer", "到期：客户已取消")
        case (_, "BILLING_RETRY"): localize("Expired: all charges failed", "到期：扣款始终失败")
        case (_, "PRICE_INCREASE"): localize("Expired: no consent to the price", "到期：未同意涨价")
        case (_, "PRODUCT_NOT_FOR_SALE"): localize("Expired: no longer for sale", "到期：商品已下架")
        default: localize("Expired", "已到期")
        }
    }

    private static func money(_ type: String, _ localize: Localizer) -> String {
        switch type {
        case "REFUND": localize("Refunded", "已退款")
        case "REFUND_DECLINED": localize("Refund declined", "退款被拒")
        case "REFUND_REVERSED": localize("Refund reversed", "退款已撤销")
        case "CONSUMPTION_REQUEST": localize("Refund requested: consumption information needed", "客户申请退款：请提供消费信息")
        default: localize("Family sharing ended", "家人共享已结束")
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
    static func isShownByTransaction(_ type: String, _ subtype: String?) -> Bool {
        switch type {
        case "SUBSCRIBED", "REFUND", "ONE_TIME_CHARGE": true
        case "DID_RENEW": subtype == nil
        default: false
        }
    }
}

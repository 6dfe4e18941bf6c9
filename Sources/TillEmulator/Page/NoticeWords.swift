import TillBilling
import TillPages

/// Notifications in words (facts/notifications §4). A type that this version doesn't
/// know is told by its code alone.
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
                ? say("Renewal switched on", "已开启续期") : say("Renewal cancelled", "已取消续期")
        case "RENEWAL_EXTENDED": say("Renewal date extended", "续期日期已延长")
        case "RENEWAL_EXTENSION":
            subtype == "SUMMARY"
                ? say("Mass extension finished", "批量延期完成") : say("Mass extension left one out", "批量延期有一项失败")
        case "ONE_TIME_CHARGE": say("Bought", "已购买")
        case "RESCIND_CONSENT": say("A parent withdrew consent", "家长撤回同意")
        case "TEST": say("Test", "测试")
        default: say("Something new", "新类型的通知")
        }
    }

    private static func plan(_ type: String, _ subtype: String?, _ say: Reader) -> String {
        switch (type, subtype) {
        case ("PRICE_INCREASE", "ACCEPTED"): say("Price increase accepted", "已接受涨价")
        case ("PRICE_INCREASE", _): say("Price increase: consent asked", "涨价：等待同意")
        case ("OFFER_REDEEMED", _): say("Offer redeemed", "已兑换优惠")
        case (_, "UPGRADE"): say("Upgraded", "已升级")
        case (_, "DOWNGRADE"): say("Another product at the next renewal", "下次续期更换商品")
        default: say("Change of product called off", "已撤销更换商品")
        }
    }

    private static func renewal(_ type: String, _ subtype: String?, _ say: Reader) -> String {
        switch (type, subtype) {
        case ("DID_RENEW", "BILLING_RECOVERY"): say("Charge went through after all", "扣款最终成功")
        case ("DID_RENEW", _): say("Renewed", "已续期")
        case ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"): say("Charge failed: grace period", "扣款失败：进入宽限期")
        case ("DID_FAIL_TO_RENEW", _): say("Charge failed: billing retry", "扣款失败：进入扣款重试")
        case ("GRACE_PERIOD_EXPIRED", _): say("Grace period ended", "宽限期结束")
        case (_, "VOLUNTARY"): say("Expired: cancelled by the customer", "到期：顾客已取消")
        case (_, "BILLING_RETRY"): say("Expired: no charge went through", "到期：扣款始终失败")
        case (_, "PRICE_INCREASE"): say("Expired: no consent to the price", "到期：未同意涨价")
        case (_, "PRODUCT_NOT_FOR_SALE"): say("Expired: not for sale any more", "到期：商品已下架")
        default: say("Expired", "已到期")
        }
    }

    private static func money(_ type: String, _ say: Reader) -> String {
        switch type {
        case "REFUND": say("Refunded", "已退款")
        case "REFUND_DECLINED": say("Refund declined", "退款被拒")
        case "REFUND_REVERSED": say("Refund reversed", "退款已撤销")
        case "CONSUMPTION_REQUEST": say("Refund asked for: what was consumed?", "顾客申请退款：查询消耗情况")
        default: say("Family sharing ended", "家庭共享已结束")
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

    /// What a transaction says already, in more words than its notification.
    static func isToldByTransaction(_ type: String, _ subtype: String?) -> Bool {
        switch type {
        case "SUBSCRIBED", "REFUND", "ONE_TIME_CHARGE": true
        case "DID_RENEW": subtype == nil
        default: false
        }
    }
}

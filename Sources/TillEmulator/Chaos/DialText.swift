import TillBilling

extension Dial {
    /// What it does, for who turns it.
    var note: Text {
        switch self {
        case .dropBefore: Text(en: "nothing happens, no answer", zh: "什么也不发生，没有应答")
        case .dropAfter: Text(en: "it happens, no answer", zh: "已生效，但没有应答")
        case .delay: Text(en: "takes its time", zh: "延迟")
        case .duplicate: Text(en: "happens twice, answered once", zh: "处理两次，应答一次")
        case .reorder: Text(en: "changes places with the next one", zh: "与下一个交换次序")
        case .error5xx: Text(en: "nothing happens; 500 or 503", zh: "什么也不发生；500 或 503")
        case .html: Text(en: "nothing happens; an HTML page, 200 or 502", zh: "什么也不发生；HTML 页面，200 或 502")
        case .rateLimit: Text(en: "nothing happens; 429", zh: "什么也不发生；429")
        case .internalStatus:
            Text(
                en: "verifyReceipt only: 21005, 21009 or 21100 to 21199",
                zh: "仅 verifyReceipt：21005、21009 或 21100 到 21199")
        case .lostApplicationUsername:
            Text(en: "purchases only: appAccountToken is lost", zh: "仅 purchases：appAccountToken 丢失")
        case .forgery: Text(en: "notifications only: a bad signature", zh: "仅 notifications：签名错误")
        }
    }
}

extension DisturbedEndpoint {
    var note: Text {
        switch self {
        case .purchases: Text(en: "buying, as a device does it", zh: "设备发起的购买")
        case .notifications: Text(en: "to the developer's server", zh: "发往开发者服务器")
        case .verifyReceipt: Text(en: "all three paths", zh: "三个路径")
        default: Text(en: "App Store Server API", zh: "App Store Server API")
        }
    }
}

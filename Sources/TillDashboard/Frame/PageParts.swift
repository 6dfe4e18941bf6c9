import TillBilling
import TillPages

/// Small elements that only these pages use.
extension HTML {
    static func status(_ status: OrderStatus, _ say: Reader) -> HTML {
        element("span", .class("pill", status.styleClass)) { say(status.title) }
    }

    static func state(_ state: RecordedTransaction.State, _ say: Reader) -> HTML {
        switch state {
        case .granted: element("span", .class("pill", "good")) { say("Granted", "已发放") }
        case .quarantined: element("span", .class("pill", "waiting")) { say("Quarantined", "待认领") }
        case .revoked: element("span", .class("pill", "back")) { say("Revoked", "已撤销") }
        }
    }

    static func environment(_ environment: Environment?, _ say: Reader) -> HTML {
        switch environment {
        case .production: element("span", .class("badge", "production")) { say("Production", "生产环境") }
        case .sandbox: element("span", .class("badge", "sandbox")) { say("Sandbox", "沙盒") }
        case nil: element("span", .class("badge", "none")) { say("Unpaid", "未付款") }
        }
    }
}

extension OrderStatus {
    /// The class that gives its color in the style sheet. The text carries the same meaning.
    var styleClass: StaticString {
        switch self {
        case .prepared: "idle"
        case .completed: "good"
        case .ongoing: "busy"
        case .cancelled: "idle"
        case .failed: "bad"
        case .deferred: "waiting"
        case .refunded: "back"
        }
    }
}

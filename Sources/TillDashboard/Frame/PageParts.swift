import TillBilling
import TillPages

/// Small elements that only these pages use.
extension HTML {
    /// - Parameter kind: of the ordered product; nil if the catalog no longer lists it.
    static func status(_ status: OrderStatus, of kind: PurchaseKind?, _ localize: Localizer) -> HTML {
        element("span", .class("pill", status.styleClass)) { localize(status.title(of: kind)) }
    }

    static func state(_ state: RecordedTransaction.State, _ localize: Localizer) -> HTML {
        switch state {
        case .granted: element("span", .class("pill", "good")) { localize("Granted", "已发放") }
        case .quarantined: element("span", .class("pill", "waiting")) { localize("Quarantined", "待认领") }
        case .revoked: element("span", .class("pill", "back")) { localize("Revoked", "已撤销") }
        }
    }

    static func environment(_ environment: StoreEnvironment?, _ localize: Localizer) -> HTML {
        switch environment {
        case .production: element("span", .class("badge", "production")) { localize("Production", "生产环境") }
        case .sandbox: element("span", .class("badge", "sandbox")) { localize("Sandbox", "沙盒") }
        case .xcode: element("span", .class("badge", "sandbox")) { localize("Xcode test", "Xcode 测试") }
        case nil: element("span", .class("badge", "none")) { localize("Unpaid", "未付款") }
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

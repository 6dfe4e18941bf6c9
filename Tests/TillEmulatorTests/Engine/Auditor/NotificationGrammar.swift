import TillAppStore

/// The permitted sequences of notifications about one subscription (facts/notifications §4).
enum NotificationGrammar {
    /// The raw value is `status` of Apple's answers.
    enum State: Int64 {
        case none = 0
        case active = 1
        case expired
        case retry
        case grace
        case revoked
    }

    /// The permitted notifications of a state, and the state after them. `stated` uses the state in the notification
    /// itself: a refund may concern this period or an older one.
    enum Next {
        case to(State)
        case stay
        case said([State])
    }

    private static let anywhere: [String: Next] = [
        "CONSUMPTION_REQUEST": .stay, "REFUND_DECLINED": .stay, "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED": .stay,
    ]

    private static let running: [String: Next] = [
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED": .stay, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE": .stay,
        "DID_CHANGE_RENEWAL_PREF": .stay, "PRICE_INCREASE/PENDING": .stay, "PRICE_INCREASE/ACCEPTED": .stay,
        "RENEWAL_EXTENSION/FAILURE": .stay, "REVOKE": .to(.revoked),
        "DID_CHANGE_RENEWAL_PREF/UPGRADE": .to(.active), "OFFER_REDEEMED/UPGRADE": .to(.active),
    ]

    private static let table: [State: [String: Next]] = [
        .none: ["SUBSCRIBED/INITIAL_BUY": .to(.active)],
        .active: merged(
            running,
            [
                "DID_RENEW": .stay, "RENEWAL_EXTENDED": .stay, "OFFER_REDEEMED": .stay,
                "OFFER_REDEEMED/DOWNGRADE": .stay, "DID_FAIL_TO_RENEW/GRACE_PERIOD": .to(.grace),
                "DID_FAIL_TO_RENEW": .to(.retry), "EXPIRED": .to(.expired), "EXPIRED/VOLUNTARY": .to(.expired),
                "EXPIRED/PRICE_INCREASE": .to(.expired), "EXPIRED/PRODUCT_NOT_FOR_SALE": .to(.expired),
                "REFUND": .said([.active, .revoked]), "REFUND_REVERSED": .said([.active]),
            ]),
        .grace: merged(
            running,
            [
                "DID_RENEW/BILLING_RECOVERY": .to(.active), "GRACE_PERIOD_EXPIRED": .to(.retry),
                // The service still runs, and continues with another plan after the payment.
                "OFFER_REDEEMED/DOWNGRADE": .stay,
                "EXPIRED": .to(.expired), "EXPIRED/VOLUNTARY": .to(.expired), "EXPIRED/BILLING_RETRY": .to(.expired),
                "EXPIRED/PRODUCT_NOT_FOR_SALE": .to(.expired), "REFUND": .said([.grace, .revoked]),
                "REFUND_REVERSED": .stay,
            ]),
        .retry: merged(
            running,
            [
                "DID_RENEW/BILLING_RECOVERY": .to(.active), "EXPIRED": .to(.expired),
                "EXPIRED/VOLUNTARY": .to(.expired), "EXPIRED/BILLING_RETRY": .to(.expired),
                "EXPIRED/PRODUCT_NOT_FOR_SALE": .to(.expired), "SUBSCRIBED/RESUBSCRIBE": .to(.active),
                "REFUND": .said([.retry, .revoked]), "REFUND_REVERSED": .stay,
            ]),
        .expired: [
            "SUBSCRIBED/RESUBSCRIBE": .to(.active), "REFUND": .said([.expired, .revoked]), "REFUND_REVERSED": .stay,
            "REVOKE": .to(.revoked), "RENEWAL_EXTENSION/FAILURE": .stay,
        ],
        .revoked: [
            "SUBSCRIBED/RESUBSCRIBE": .to(.active), "REFUND": .stay, "RENEWAL_EXTENSION/FAILURE": .stay,
            "REFUND_REVERSED": .said([.active, .expired, .revoked]),
        ],
    ]

    /// A shared subscription fails and has its grace period without a notification to the members: `FamilySharing`
    /// notifies only about the purchaser's. So both end without an announcement.
    private static let membersOnly: [String: Next] = [
        "DID_RENEW/BILLING_RECOVERY": .stay, "EXPIRED/BILLING_RETRY": .to(.expired),
    ]

    private static func next(_ notification: AuditRecord.Notification, in state: State) -> Next? {
        if let next = table[state]?[notification.word] { return next }
        if state == .active, notification.transaction?.isShared == true, let next = membersOnly[notification.word] {
            return next
        }
        return state == .none ? nil : anywhere[notification.word]
    }

    private static func merged(_ first: [String: Next], _ second: [String: Next]) -> [String: Next] {
        first.merging(second) { _, new in new }
    }

    static func violations(_ record: AuditRecord) -> [String] {
        record.subscriptionLives.flatMap { original, notifications -> [String] in
            var state = State.none
            var found: [String] = []
            for notification in notifications {
                let stated = notification.status.flatMap(State.init(rawValue:))
                let next: State
                switch Self.next(notification, in: state) {
                case nil:
                    found.append("\(notification.word) of \(original) must not come while it is \(state)")
                    next = stated ?? state
                case .to(let other)?: next = other
                case .stay?: next = state
                case .said(let states)?: next = stated.map { states.contains($0) ? $0 : state } ?? state
                }
                if stated != next {
                    let status = notification.status.map { String($0) } ?? "no status"
                    found.append("\(notification.word) of \(original) says \(status) where it is \(next)")
                }
                state = stated ?? next
            }
            return found
        }
    }
}

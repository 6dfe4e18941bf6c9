import TillBilling
import TillPages

/// One subscription's life as the page tells it: the newest periods, and what was told about it.
struct SubscriptionHistory: Sendable {
    let subscription: StoreSubscription
    /// Oldest first.
    let periods: [StoreTransaction]
    /// Oldest first.
    let notices: [PageQueries.Notification]

    /// A stretch of time that was paid for, or lived through.
    struct Span {
        enum Kind: CaseIterable {
            case paid
            case offer
            case upgraded
            case refunded
            case grace
            case retry
        }

        var kind: Kind
        var start: Instant
        var end: Instant
        var productID: String
    }

    enum Step {
        /// With the period before it.
        case period(StoreTransaction, after: StoreTransaction?)
        case refunded(StoreTransaction)
        case told(PageQueries.Notification)

        var at: Instant {
            switch self {
            case .period(let transaction, _): transaction.purchased
            case .refunded(let transaction): transaction.revocation?.date ?? transaction.purchased
            case .told(let notice): notice.created
            }
        }
    }

    /// Newest first. What happened at one moment stays in the order it was written down in.
    var steps: [Step] {
        let bought = periods.indices.map { Step.period(periods[$0], after: $0 > 0 ? periods[$0 - 1] : nil) }
        let refunded = periods.filter { $0.revocation != nil }.map { Step.refunded($0) }
        let told = notices.filter { !NoticeWords.isToldByTransaction($0.type, $0.subtype) }.map { Step.told($0) }
        let all = (bought + refunded + told).enumerated().sorted { left, right in
            (left.element.at, left.offset) > (right.element.at, right.offset)
        }
        return all.map(\.element)
    }

    /// Oldest first.
    var spans: [Span] {
        var spans: [Span] = []
        var covered = Instant(milliseconds: .min)
        for (index, period) in periods.enumerated() {
            guard let expires = period.subscription?.expires, period.state == .purchased else { continue }
            // An upgrade ends the period before it (facts/business-rules §8.3).
            let next = index + 1 < periods.count ? periods[index + 1].purchased : expires
            let kind: Span.Kind =
                period.revocation != nil
                ? .refunded : period.isUpgraded ? .upgraded : period.offer != nil ? .offer : .paid
            // A renewal is charged up to a day before the period that it follows is over.
            let start = min(max(period.purchased, covered), expires)
            covered = period.isUpgraded ? min(expires, next) : expires
            spans.append(
                Span(kind: kind, start: start, end: covered, productID: period.productID.text))
        }
        if let end = subscription.graceExpires, end > subscription.expires {
            spans.append(
                Span(
                    kind: .grace, start: subscription.expires, end: end, productID: subscription.productID.text))
        }
        if let end = subscription.retryUntil, end > subscription.expires, subscription.state != .active {
            let start = max(subscription.expires, min(subscription.graceExpires ?? subscription.expires, end))
            spans.append(Span(kind: .retry, start: start, end: end, productID: subscription.productID.text))
        }
        return spans
    }
}

extension SubscriptionHistory.Span.Kind {
    func title(_ say: Reader) -> String {
        switch self {
        case .paid: say("Paid period", "付费周期")
        case .offer: say("Period of an offer", "优惠周期")
        case .upgraded: say("Ended by an upgrade", "因升级结束")
        case .refunded: say("Refunded period", "已退款周期")
        case .grace: say("Grace period", "宽限期")
        case .retry: say("Billing retry", "扣款重试")
        }
    }

    var styleClass: StaticString {
        switch self {
        case .paid: "good"
        case .offer: "busy"
        case .upgraded: "idle"
        case .refunded: "back"
        case .grace: "waiting"
        case .retry: "bad"
        }
    }

    /// Top and height in the drawing: each kind has its own shape, for who sees no colours.
    var shape: (top: Int64, height: Int64) {
        switch self {
        case .paid: (8, 28)
        case .offer: (16, 20)
        case .upgraded: (8, 12)
        case .refunded: (28, 8)
        case .grace: (12, 6)
        case .retry: (26, 6)
        }
    }
}

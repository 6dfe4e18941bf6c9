import TillBilling
import TillPages

/// One subscription's history on the page: the newest periods and the notifications about it.
struct SubscriptionHistory: Sendable {
    let subscription: StoreSubscription
    /// Oldest first.
    let periods: [StoreTransaction]
    /// Oldest first.
    let notices: [PageQueries.Notification]

    /// A span of time, such as a paid period or a grace period.
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
        case notified(PageQueries.Notification)

        var at: Instant {
            switch self {
            case .period(let transaction, _): transaction.purchased
            case .refunded(let transaction): transaction.revocation?.date ?? transaction.purchased
            case .notified(let notice): notice.created
            }
        }
    }

    /// Newest first. At the same moment, notifications come before refunds, and refunds before periods.
    var steps: [Step] {
        let bought = periods.indices.map { Step.period(periods[$0], after: $0 > 0 ? periods[$0 - 1] : nil) }
        let refunded = periods.filter { $0.revocation != nil }.map { Step.refunded($0) }
        let notified = notices.filter { !NotificationSentences.isShownByTransaction($0.type, $0.subtype) }.map {
            Step.notified($0)
        }
        let all = (bought + refunded + notified).enumerated().sorted { left, right in
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
            // A renewal is charged up to a day before the end of the preceding period.
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
    func title(_ localize: Localizer) -> String {
        switch self {
        case .paid: localize("Paid period", "付费周期")
        case .offer: localize("Period of an offer", "优惠周期")
        case .upgraded: localize("Ended by an upgrade", "因升级结束")
        case .refunded: localize("Refunded period", "已退款周期")
        case .grace: localize("Grace period", "宽限期")
        case .retry: localize("Billing retry", "扣款重试")
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

    /// Top and height in the drawing: each kind has its own shape, for people who can't see colours.
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

/// A subscription's periods as bars on a timeline. It stretches with the page, so it contains no text; the list below
/// it says the same in words.
struct SubscriptionDrawing {
    let history: SubscriptionHistory
    let now: Instant
    let localize: Localizer

    private static let width = 1_000.0
    private static let height: Int64 = 44

    var html: HTML {
        let spans = history.spans
        guard let start = spans.map(\.start).min() else { return .empty }
        let now = Self.coarse(now, since: start)
        let end = max(spans.map(\.end).max() ?? now, now)
        let kinds = SubscriptionHistory.Span.Kind.allCases.filter { kind in spans.contains { $0.kind == kind } }
        let scale = Scale(start: start, end: end)
        return element("figure", .class("drawing")) {
            element(
                "svg", Attribute("viewBox", "0 0 1000 44"), Attribute("preserveAspectRatio", "none"),
                Attribute("role", "img"), .label(label(start, end))
            ) {
                bar(0, Int64(Self.width), (21, 2), "line") { HTML.empty }
                for span in spans {
                    bar(scale.place(span.start), scale.place(span.end), span.kind.shape, span.kind.styleClass) {
                        element("title") { title(span) }
                    }
                }
                for notice in ticks {
                    let place = scale.place(notice.created)
                    bar(
                        place, place + 3, (38, 6),
                        NotificationSentences.styleClass(notice.type, notice.subtype)
                    ) {
                        element("title") { NotificationSentences.sentence(notice.type, notice.subtype, localize) }
                    }
                }
                if now >= start {
                    bar(scale.place(now), scale.place(now) + 3, (0, Self.height), "today") {
                        element("title") { localize("Now", "现在") }
                    }
                }
            }
            element("div", .class("axis"), Attribute("aria-hidden", "true")) {
                for moment in marks(start, end) { HTML.time(moment) }
            }
            element("figcaption") {
                element("ul", .class("legend")) {
                    for kind in kinds { element("li", .class(kind.styleClass)) { kind.title(localize) } }
                    if now >= start { element("li", .class("today")) { localize("Now", "现在") } }
                }
            }
        }
    }

    /// The current time, rounded to what is visible here. Otherwise the page would change at every refresh, and each
    /// change would close opened elements.
    private static func coarse(_ now: Instant, since start: Instant) -> Instant {
        let (length, overflows) = now.milliseconds.subtractingReportingOverflow(start.milliseconds)
        guard !overflows, length > 0 else { return now }
        var step: Int64 = 1
        while step <= length / 5_000 { step *= 10 }
        return start.adding(milliseconds: length / step * step)
    }

    /// Dates at equal distances: the first, the last, and three between.
    private func marks(_ start: Instant, _ end: Instant) -> [Instant] {
        let quarter = (end.milliseconds / 4) - (start.milliseconds / 4)
        return [start] + (1...3).map { start.adding(milliseconds: quarter * $0) } + [end]
    }

    private var ticks: [PageQueries.Notification] {
        history.notices.filter { !NotificationSentences.isShownByTransaction($0.type, $0.subtype) }
    }

    private func bar(
        _ left: Int64, _ right: Int64, _ shape: (top: Int64, height: Int64), _ name: StaticString,
        @HTMLBuilder title: () -> HTML
    ) -> HTML {
        element(
            "rect", .class(name), .measure("x", left), .measure("y", shape.top),
            // Shorter than its time, so that adjacent periods are visibly separate.
            .measure("width", max(right - left - 4, 3)), .measure("height", shape.height), content: title)
    }

    private func label(_ start: Instant, _ end: Instant) -> String {
        let (from, to) = (String(start.rfc3339.prefix(10)), String(end.rfc3339.prefix(10)))
        let state = history.subscription.state.title(localize)
        return localize(
            "\(history.spans.count) spans from \(from) to \(to). Now: \(state).",
            "\(from) 至 \(to)，共 \(history.spans.count) 段。现在：\(state)。")
    }

    private func title(_ span: SubscriptionHistory.Span) -> String {
        let (from, to) = (String(span.start.rfc3339.prefix(16)), String(span.end.rfc3339.prefix(16)))
        return "\(span.kind.title(localize)): \(span.productID), \(from) – \(to)"
    }

    /// Converts moments to positions. The dates come from outside, so none may cause an overflow.
    struct Scale {
        let start: Double
        let length: Double

        init(start: Instant, end: Instant) {
            self.start = Double(start.milliseconds)
            length = max(Double(end.milliseconds) - Double(start.milliseconds), 1)
        }

        func place(_ moment: Instant) -> Int64 {
            let share = (Double(moment.milliseconds) - start) / length
            return Int64((min(max(share, 0), 1) * (SubscriptionDrawing.width - 3)).rounded())
        }
    }
}

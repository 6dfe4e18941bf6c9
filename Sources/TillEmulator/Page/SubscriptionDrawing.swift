import TillBilling
import TillPages

/// A subscription's periods as bars on a line of time. It stretches with the page, so it holds no text of its own: the
/// list under it says the same in words.
struct SubscriptionDrawing {
    let history: SubscriptionHistory
    let now: Instant
    let say: Reader

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
                        NoticeWords.styleClass(notice.type, notice.subtype)
                    ) {
                        element("title") { NoticeWords.sentence(notice.type, notice.subtype, say) }
                    }
                }
                if now >= start {
                    bar(scale.place(now), scale.place(now) + 3, (0, Self.height), "today") {
                        element("title") { say("Now", "现在") }
                    }
                }
            }
            element("div", .class("axis"), Attribute("aria-hidden", "true")) {
                for moment in marks(start, end) { HTML.time(moment) }
            }
            element("figcaption") {
                element("ul", .class("legend")) {
                    for kind in kinds { element("li", .class(kind.styleClass)) { kind.title(say) } }
                    if now >= start { element("li", .class("today")) { say("Now", "现在") } }
                }
            }
        }
    }

    /// The present as finely as it can be seen here. Otherwise the page would change all the time and be put in place
    /// anew, with whatever was opened on it closed again.
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
        history.notices.filter { !NoticeWords.isToldByTransaction($0.type, $0.subtype) }
    }

    private func bar(
        _ left: Int64, _ right: Int64, _ shape: (top: Int64, height: Int64), _ name: StaticString,
        @HTMLBuilder title: () -> HTML
    ) -> HTML {
        element(
            "rect", .class(name), .measure("x", left), .measure("y", shape.top),
            // Less than its time, so that one period ends where the eye sees the next begin.
            .measure("width", max(right - left - 4, 3)), .measure("height", shape.height), content: title)
    }

    private func label(_ start: Instant, _ end: Instant) -> String {
        let (from, to) = (String(start.rfc3339.prefix(10)), String(end.rfc3339.prefix(10)))
        let state = history.subscription.state.title(say)
        return say(
            "\(history.spans.count) spans from \(from) to \(to). Now: \(state).",
            "\(from) 至 \(to)，共 \(history.spans.count) 段。现在：\(state)。")
    }

    private func title(_ span: SubscriptionHistory.Span) -> String {
        let (from, to) = (String(span.start.rfc3339.prefix(16)), String(span.end.rfc3339.prefix(16)))
        return "\(span.kind.title(say)): \(span.productID), \(from) – \(to)"
    }

    /// From moments to places. Dates come from outside: none of them may overflow.
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

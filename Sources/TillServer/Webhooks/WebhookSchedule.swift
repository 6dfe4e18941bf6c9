import TillBilling

/// When an event that was not taken is sent again: nine times more within three days and a few hours, as Standard
/// Webhooks advises.
enum WebhookSchedule {
    /// Seconds from one attempt to the next.
    static let pauses: [Int64] = [
        5, 5 * 60, 30 * 60, 2 * 3_600, 5 * 3_600, 10 * 3_600, 14 * 3_600, 20 * 3_600, 24 * 3_600,
    ]
    /// Milliseconds for which a receiver may put one event off by `Retry-After`.
    static let longestWish: Int64 = 24 * 3_600_000
    /// The same for everything, after a 429 or a 503.
    static let longestRest: Int64 = 3_600_000

    /// Nil after the last attempt.
    ///
    /// - Parameters:
    ///   - attempts: how many failed, this one included.
    ///   - wish: what the receiver asked for. It is heard where it is later than the schedule.
    static func next(after attempts: Int64, event: Int64, at now: Instant, wish: Instant?) -> Instant? {
        guard attempts >= 1, attempts <= Int64(pauses.count) else { return nil }
        let pause = pauses[Int(attempts - 1)] * 1_000
        // Up to a tenth longer, each event by its own share, so that what failed together does not come together.
        let due = now.adding(milliseconds: pause + pause / 1_000 * (event &* 37 % 100))
        return max(due, min(wish ?? due, now.adding(milliseconds: longestWish)))
    }
}

import TillBilling

extension StoreRefusal {
    static let clockIsMoving = StoreRefusal(
        "clock_is_moving", status: 409, "The clock is being advanced already: wait until that is over.",
        "时钟正在推进，请等它结束。")

    static func clockOnlyGoesForward(now: Instant) -> StoreRefusal {
        StoreRefusal(
            "clock_only_goes_forward", status: 422,
            "It is \(now.rfc3339) here already, and the clock only goes forward.",
            "这里已是 \(now.rfc3339)，时钟只能向前。")
    }

    static let tooFarAhead = StoreRefusal(
        "too_far_ahead", status: 422,
        "The clock goes on by a hundred years at most, and never past the year 9999.", "时钟一次最多推进一百年，且不超过 9999 年。")

    /// The caller gave up, or the emulator is stopping.
    static func journeyCutShort(at now: Instant) -> StoreRefusal {
        StoreRefusal(
            "journey_cut_short", status: 503,
            "The clock was stopped on its way, at \(now.rfc3339); what was due by then has happened. Advance it again.",
            "时钟在途中停在 \(now.rfc3339)，此前到期的都已发生。请再次推进。")
    }
}

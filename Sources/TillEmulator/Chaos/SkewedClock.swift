import TillAppStore
import TillBilling

/// The clock of the machine at Apple's that answers, where it is not the store's: what is signed on the way of a
/// request carries its time. It goes with the task, because signing happens in every room.
struct SkewedClock: Sendable {
    @TaskLocal static var current: SkewedClock?

    /// Milliseconds that it is off now.
    let skew: @Sendable () -> Int64

    /// When it is, by the clock that signs.
    static func time(_ instant: Instant) -> Instant {
        guard let skew = current?.skew(), skew != 0 else { return instant }
        return instant.adding(milliseconds: skew)
    }

    /// A payload about to be signed, with the dates of its signing as that clock has them.
    static func dated(_ payload: [String: JSONValue]) -> [String: JSONValue] {
        guard let skew = current?.skew(), skew != 0 else { return payload }
        var payload = payload
        for name in ["signedDate", "receiptCreationDate"] {
            guard let date = payload[name]?.int else { continue }
            payload[name] = .int(Instant(milliseconds: date).adding(milliseconds: skew).milliseconds)
        }
        return payload
    }
}

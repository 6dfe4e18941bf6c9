import TillBilling
import TillJSON

/// The clock of the machine at Apple's that answers, where it is not the store's: what is signed on the way of a
/// request carries its time. It goes with the task, because signing happens in every room.
struct SkewedClock: Sendable {
    @TaskLocal static var current: SkewedClock?

    /// Milliseconds that it is off now.
    let skew: @Sendable () -> Int64

    /// When it is by this clock.
    func time(_ instant: Instant) -> Instant { instant.adding(milliseconds: skew()) }

    /// A payload about to be signed, with the dates of its signing as this clock has them.
    func dated(_ payload: [String: JSONValue]) -> [String: JSONValue] {
        let skew = skew()
        guard skew != 0 else { return payload }
        var payload = payload
        for name in ["signedDate", "receiptCreationDate"] {
            guard let date = payload[name]?.int else { continue }
            payload[name] = .int(Instant(milliseconds: date).adding(milliseconds: skew).milliseconds)
        }
        return payload
    }
}

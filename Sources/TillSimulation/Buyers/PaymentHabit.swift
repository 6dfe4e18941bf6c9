import StoreKit

/// A buyer's behaviour at payment sheets.
struct PaymentHabit {
    var random: SeededRandom

    /// The answer, and the milliseconds it takes.
    mutating func decide() -> (answer: PaymentSheet.Answer, after: Int64) {
        let answer = random.weighted([
            (PaymentSheet.Answer.pay, 80), (.cancel, 7), (.fail, 4), (.ask, 5), (.interrupt, 4),
        ])
        return (answer, random.between(300, 40_000))
    }
}

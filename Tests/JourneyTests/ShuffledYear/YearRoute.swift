import TillCrypto

/// In what order notifications reach a server, by their numbers in the order of sending: one may come several times, or
/// never.
enum YearRoute {
    /// - Parameters:
    ///   - window: how far one may fall behind others; nil: as far as can be.
    ///   - dropped: percent that never arrive.
    static func shuffled(
        _ numbers: some Collection<Int>, window: Int? = nil, dropped: Int = 0, _ dice: SeededEntropy
    ) -> [Int] {
        let window = window ?? numbers.count
        return numbers.enumerated().flatMap { place, number -> [(at: Int, number: Int)] in
            guard dice.roll(100) >= dropped else { return [] }
            let copies = dice.roll(10) < 8 ? 1 : 2 + dice.roll(4)
            return (0..<copies).map { _ in (place + dice.roll(max(1, window)), number) }
        }
        // Of those at one place, whichever the dice put there first.
        .enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element.number)
    }
}

import TillCrypto

/// The order in which notifications reach a server, by their numbers in the order of sending: one may arrive several
/// times, or never.
enum YearRoute {
    /// - Parameters:
    ///   - window: how far one may fall behind others; nil for no limit.
    ///   - dropped: percent that never arrive.
    static func shuffled(
        _ numbers: some Collection<Int>, window: Int? = nil, dropped: Int = 0, _ random: SeededEntropy
    ) -> [Int] {
        let window = window ?? numbers.count
        return numbers.enumerated().flatMap { place, number -> [(at: Int, number: Int)] in
            guard random.draw(100) >= dropped else { return [] }
            let copies = random.draw(10) < 8 ? 1 : 2 + random.draw(4)
            return (0..<copies).map { _ in (place + random.draw(max(1, window)), number) }
        }
        // At the same place, the earlier one of the random order comes first.
        .enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element.number)
    }
}

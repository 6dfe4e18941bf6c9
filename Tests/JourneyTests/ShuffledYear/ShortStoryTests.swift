import Testing
import TillBilling
import TillCrypto

/// A few notifications in every possible order: the smallest stories that once ended differently.
@Suite("Short stories out of order")
struct ShortStoryTests {
    private static let stories = YearStories.read(
        """
        goes up                          | 1 buy silver.month; 5 change gold.month
        goes up and is refunded          | 1 buy silver.month; 5 change gold.month; 8 refund club full
        goes up, and nobody knows whose  | 1 buy silver.month; 5 code gold.month gold-code
        goes up within renewals          | 1 buy bronze.week; 10 change gold.month
        goes down                        | 1 buy gold.month; 5 change bronze.week; 36 cancel club
        comes back under another order   | 1 buy bronze.week; 2 cancel club; 20 buy bronze.week; 21 cancel club
        comes back to something else     | 1 buy bronze.week; 2 cancel club; 20 buy gold.month
        is refunded a renewal            | 1 buy bronze.week; 9 refund club full
        is refunded, and the refund undone | 1 buy points60; 3 refundonce points60; 5 reverseonce points60
        is refunded twice                | 1 buy pass 2; 3 refundonce pass; 5 buy pass; 6 refundonce pass
        is refunded part, and undone     | 1 buy points300; 3 ask points300 prorated; 9 reverseonce points300
        buys outside, and is known later | 1 outside silver.month silver-gift; \
                                           2 token club; 18 cancel club
        shares with the family           | 1 found; 2 buy home.month; 5 refund home full
        + joins                          | 1 join
        leaves the family                | 1 found; 2 buy library
        + leaves                         | 1 join; 5 leave
        fails, and pays in grace         | 1 buy bronze.week; 3 fail club; 11 recover club
        is given days                    | 1 buy silver.month; 3 extend club 5; 4 extend club 9
        agrees to a price                | 1 buy silver.month; 3 raise club 100 ask; 5 answer club yes
        household goes up                | 1 buy silver.month; 5 buy gold.month
        household goes up, is refunded   | 1 buy silver.month; 5 buy gold.month; 8 refund club full
        household comes back             | 1 buy bronze.week; 2 cancel club; 20 buy bronze.week; 29 cancel club
        household fails in grace         | 1 buy bronze.week; 2 cancel club; 20 buy bronze.week; 22 fail club
        household unnamed goes up        | 1 buy silver.month; 5 buy gold.month; 8 refund club full
        household unnamed comes back     | 1 buy bronze.week; 2 cancel club; 20 buy bronze.week; 29 cancel club
        household unnamed returns twice  | 1 buy bronze.week; 2 cancel club; 10 buy silver.month; 12 buy gold.month
        """)

    @Test("A story ends the same, whatever the order of its notifications (U4, U6)", arguments: stories.map(\.name))
    func everyOrder(_ name: String) async throws {
        let story = try #require(Self.stories.first { $0.name == name })
        let lived = try await LivedYear([story])
        let lastDay = story.roles.joined().map(\.day).max() ?? 0
        try await lived.live(0..<lastDay + 2)
        let notifications = lived.notifications
        try #require(notifications.count > 1)

        var expected: YearLedger?
        for route in Self.routes(of: notifications.count) {
            let server = try await YearServer("\(route)", lived, seed: 1)
            try await server.open(lived.orders)
            for number in route {
                try await server.post(notifications[number].signedPayload, at: lived.world.store.now)
            }
            let books = try await YearLedger(of: server)
            await server.close()
            let difference = try expected.flatMap { try books.difference(from: $0) }
            try #require(difference == nil, "\(difference ?? "")")
            expected = expected ?? books
        }
        await lived.end()
    }

    private static let most = 6

    /// Every permutation, the sorted one first; for more than three notifications sorted, reversed, and some others.
    private static func routes(of count: Int) -> [[Int]] {
        guard count > 3 else { return permutations(Array(0..<count)) }
        var random = SeededNumbers(state: 7)
        return [Array(0..<count), Array((0..<count).reversed())]
            + (2..<most).map { _ in (0..<count).shuffled(using: &random) }
    }

    private static func permutations(_ numbers: [Int]) -> [[Int]] {
        guard numbers.count > 1 else { return [numbers] }
        return numbers.flatMap { first in permutations(numbers.filter { $0 != first }).map { [first] + $0 } }
    }
}

import Foundation
import Testing
import TillBilling
import TillCrypto

/// The invariant of order: a year of customers comes to the same, in whatever order it comes in.
@Suite("A year out of order")
struct ShuffledYearTests {
    /// `TILL_YEAR_SEEDS=50` tries so many; they tell all stories by and by.
    private static var seeds: Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["TILL_YEAR_SEED"].flatMap { UInt64($0) } ?? 1
        return first..<first + (environment["TILL_YEAR_SEEDS"].flatMap { UInt64($0) } ?? 2)
    }

    @Test(
        "A year told in any order, in part twice and in part never, then caught up, ends as one in order (U3, U4)",
        arguments: seeds)
    func year(_ seed: UInt64) async throws {
        let lived = try await LivedYear(seed: seed)
        let dice = SeededEntropy(seed &+ 31)
        let inOrder = try await YearServer("in order", lived, seed: 1)
        let shuffled = try await YearServer("shuffled", lived, seed: 2)
        let near = try await YearServer("shuffled a little, with apps", lived, seed: 3)
        let partly = try await YearServer("partly dropped, and caught up", lived, seed: 4)
        let silent = try await YearServer("only caught up", lived, seed: 5)

        // Apple tells of 180 days, so whoever wants to catch up has to ask twice a year.
        var (ordered, told, late) = (0, 0, [Int]())
        for half in [0..<175, 175..<350] as [Range<Int64>] {
            try await lived.live(half)
            let (orders, notifications) = (lived.orders, lived.notifications)
            let now = lived.world.store.now
            for server in [partly, silent] { try await server.open(orders[ordered...]) }
            // Some of the first half come in the second.
            let (later, sooner) = split(told..<notifications.count, dice)
            for number in YearRoute.shuffled(late + sooner, dropped: 10 + dice.roll(30), dice) {
                try await partly.post(notifications[number].signedPayload, at: now)
            }
            try await partly.catchUp()
            try await silent.catchUp()
            (ordered, told, late) = (orders.count, notifications.count, later)
        }

        try await deliverInOrder(to: inOrder)
        try await deliver(to: shuffled, YearRoute.shuffled(0..<told, dice), apps: 0, dice)
        try await deliver(to: near, YearRoute.shuffled(0..<told, window: 40, dice), apps: 4, dice)

        let expected = try await YearBooks(of: inOrder)
        for server in [shuffled, near] {
            let difference = try await YearBooks(of: server).difference(from: expected)
            #expect(difference == nil, "seed \(seed): \(difference ?? "")")
        }
        try await inOrder.catchUp()
        let caughtUp = try await YearBooks(of: inOrder)
        // The history knows what no notification told: that an upgrade superseded a period.
        let changed = try caughtUp.difference(from: expected) { !$0.hasPrefix("terms") }
        #expect(changed == nil, "seed \(seed): \(changed ?? "")")
        for server in [partly, silent] {
            let difference = try await YearBooks(of: server).difference(from: caughtUp)
            #expect(difference == nil, "seed \(seed): \(difference ?? "")")
        }
        #expect(expected.lines.count > 100 && told > 100)
        for server in [inOrder, shuffled, near, partly, silent] { await server.close() }
        await lived.end()
    }

    private func split(_ numbers: Range<Int>, _ dice: SeededEntropy) -> (later: [Int], sooner: [Int]) {
        var (later, sooner) = ([Int](), [Int]())
        for number in numbers {
            if dice.roll(10) == 0 { later.append(number) } else { sooner.append(number) }
        }
        return (later, sooner)
    }

    /// As it happened: each order when it was opened, each notification when it was sent.
    private func deliverInOrder(to server: YearServer) async throws {
        var orders = server.lived.orders[...]
        for notification in server.lived.notifications {
            let before = orders.prefix { $0.at <= notification.at }
            try await server.open(before)
            orders = orders.dropFirst(before.count)
            try await server.post(notification.signedPayload, at: notification.at)
        }
        try await server.open(orders)
    }

    /// Everything at the end of the year. Of so many notifications in a hundred an app sends in the transaction too,
    /// before or after.
    private func deliver(
        to server: YearServer, _ route: [Int], apps: Int, _ dice: SeededEntropy
    ) async throws {
        let (notifications, now) = (server.lived.notifications, server.lived.world.store.now)
        let users = server.lived.users
        try await server.open(server.lived.orders)
        for number in route {
            let text = notifications[number].signedPayload
            let isSent = dice.roll(100) < apps
            let isFirst = dice.roll(2) == 0
            let user = users[dice.roll(users.count)]
            if isSent, isFirst { try await server.submitTransaction(of: text, as: user) }
            try await server.post(text, at: now)
            if isSent, !isFirst { try await server.submitTransaction(of: text, as: user) }
        }
    }
}

import Foundation
import Testing
import TillBilling
import TillCrypto

/// The invariant of order: a year of customers comes to the same, in whatever order it comes in.
@Suite("A year out of order", .slow)
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
        let partly = try await YearServer("partly dropped, and caught up", lived, seed: 3)
        let silent = try await YearServer("only caught up", lived, seed: 4)

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
            #expect(try await partly.catchUp() > 0)
            #expect(try await silent.catchUp() == Int64(notifications.count - told))
            (ordered, told, late) = (orders.count, notifications.count, later)
        }
        try await deliverInOrder(to: inOrder)
        // By turns: all over the year; or near their place, and apps send in the transactions too.
        if seed % 2 == 0 {
            try await deliver(to: shuffled, YearRoute.shuffled(0..<told, dice), apps: 0, dice)
        } else {
            try await deliver(to: shuffled, YearRoute.shuffled(0..<told, window: 40, dice), apps: 6, dice)
        }

        let expected = try await YearBooks(of: inOrder)
        #expect(expected.lines.count > 100 && told > 100)
        try await compare(shuffled, with: expected, seed)
        try await inOrder.catchUp()
        let caughtUp = try await YearBooks(of: inOrder)
        let open = expected.openEnds.union(caughtUp.openEnds)
        let changed = try caughtUp.difference(from: expected) { Self.isToldByNotifications($0, except: open) }
        #expect(changed == nil, "seed \(seed): \(changed ?? "")")
        for server in [partly, silent] { try await compare(server, with: caughtUp, seed) }
        // Whoever was told in whatever order: what Apple's books say of them then is no news.
        for server in [inOrder, partly, silent] { #expect(try await server.drift() == [], "seed \(seed)") }
        for server in [inOrder, shuffled, partly, silent] { await server.close() }
        await lived.end()
    }

    private func compare(_ server: YearServer, with expected: YearBooks, _ seed: UInt64) async throws {
        let difference = try await YearBooks(of: server).difference(from: expected)
        #expect(difference == nil, "seed \(seed): \(difference ?? "")")
    }

    /// What the history knows beyond the notifications: that an upgrade superseded a period, and whose token was set
    /// on a transaction since; both are signed into its later copies and told by no notification
    /// (facts/business-rules §8.2, facts/server-api §3). It shows where something is nobody's yet: what the upgrade
    /// superseded seems to go on, and the token's order to be unpaid.
    private static func isToldByNotifications(_ line: String, except openEnds: Set<String>) -> Bool {
        !line.hasPrefix("terms") && !openEnds.contains { line.contains($0) }
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
        server.passTime()
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

import Foundation
import Testing
import TillBilling
import TillCrypto

/// The invariant of order: a year of customers has the same result in any order of arrival.
@Suite("A year out of order", .slow)
struct ShuffledYearTests {
    /// `TILL_YEAR_SEEDS=50` runs that many; together they run all stories.
    private static var seeds: Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["TILL_YEAR_SEED"].flatMap { UInt64($0) } ?? 1
        return first..<first + (environment["TILL_YEAR_SEEDS"].flatMap { UInt64($0) } ?? 2)
    }

    @Test(
        "A year in any order, partly repeated and partly missing, then caught up, ends as one in order (U3, U4)",
        arguments: seeds)
    func year(_ seed: UInt64) async throws {
        let lived = try await LivedYear(seed: seed)
        let random = SeededEntropy(seed &+ 31)
        let inOrder = try await YearServer("in order", lived, seed: 1)
        let shuffled = try await YearServer("shuffled", lived, seed: 2)
        let partly = try await YearServer("partly dropped, and caught up", lived, seed: 3)
        let silent = try await YearServer("only caught up", lived, seed: 4)

        // Apple keeps 180 days, so a server that catches up must ask twice a year.
        var (ordered, told, late) = (0, 0, [Int]())
        for half in [0..<175, 175..<350] as [Range<Int64>] {
            try await lived.live(half)
            let (orders, notifications) = (lived.orders, lived.notifications)
            let now = lived.world.store.now
            for server in [partly, silent] { try await server.open(orders[ordered...]) }
            // Some of the first half arrive in the second.
            let (later, sooner) = split(told..<notifications.count, random)
            for number in YearRoute.shuffled(late + sooner, dropped: 10 + random.draw(30), random) {
                try await partly.post(notifications[number].signedPayload, at: now)
            }
            #expect(try await partly.catchUp() > 0)
            #expect(try await silent.catchUp() == Int64(notifications.count - told))
            (ordered, told, late) = (orders.count, notifications.count, later)
        }
        try await deliverInOrder(to: inOrder)
        // By turns: over the whole year; or near their place, with apps submitting the transactions too.
        if seed % 2 == 0 {
            try await deliver(to: shuffled, YearRoute.shuffled(0..<told, random), apps: 0, random)
        } else {
            try await deliver(to: shuffled, YearRoute.shuffled(0..<told, window: 40, random), apps: 6, random)
        }

        let expected = try await YearLedger(of: inOrder)
        #expect(expected.lines.count > 100 && told > 100)
        try await compare(shuffled, with: expected, seed)
        try await inOrder.catchUp()
        let caughtUp = try await YearLedger(of: inOrder)
        let open = expected.openEnds.union(caughtUp.openEnds)
        let changed = try caughtUp.difference(from: expected) { Self.isToldByNotifications($0, except: open) }
        #expect(changed == nil, "seed \(seed): \(changed ?? "")")
        for server in [partly, silent] { try await compare(server, with: caughtUp, seed) }
        // In any order of arrival, Apple's records then contain nothing new for any server.
        for server in [inOrder, partly, silent] { #expect(try await server.drift() == [], "seed \(seed)") }
        for server in [inOrder, shuffled, partly, silent] { await server.close() }
        await lived.end()
    }

    private func compare(_ server: YearServer, with expected: YearLedger, _ seed: UInt64) async throws {
        let difference = try await YearLedger(of: server).difference(from: expected)
        #expect(difference == nil, "seed \(seed): \(difference ?? "")")
    }

    /// The history has two facts that no notification carries: an upgrade that superseded a period, and a token set on
    /// a transaction afterwards; both are signed into later copies (facts/business-rules §8.2, facts/server-api §3).
    /// They matter for unclaimed purchases: the superseded period seems to continue, and the token's order to be
    /// unpaid.
    private static func isToldByNotifications(_ line: String, except openEnds: Set<String>) -> Bool {
        !line.hasPrefix("terms") && !openEnds.contains { line.contains($0) }
    }

    private func split(_ numbers: Range<Int>, _ random: SeededEntropy) -> (later: [Int], sooner: [Int]) {
        var (later, sooner) = ([Int](), [Int]())
        for number in numbers {
            if random.draw(10) == 0 { later.append(number) } else { sooner.append(number) }
        }
        return (later, sooner)
    }

    /// In order: each order when it was opened, each notification when it was sent.
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

    /// Everything at the end of the year. For the given percentage of notifications an app submits the transaction too,
    /// before or after.
    private func deliver(
        to server: YearServer, _ route: [Int], apps: Int, _ random: SeededEntropy
    ) async throws {
        let (notifications, now) = (server.lived.notifications, server.lived.world.store.now)
        let users = server.lived.users
        try await server.open(server.lived.orders)
        for number in route {
            let text = notifications[number].signedPayload
            let isSent = random.draw(100) < apps
            let isFirst = random.draw(2) == 0
            let user = users[random.draw(users.count)]
            if isSent, isFirst { try await server.submitTransaction(of: text, as: user) }
            try await server.post(text, at: now)
            if isSent, !isFirst { try await server.submitTransaction(of: text, as: user) }
        }
    }
}

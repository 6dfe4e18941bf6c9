import Foundation
import Testing
import TillBilling

/// LearnPoints as a real process, killed with signal 9 at every message that changes something: before it arrives, and
/// before its answer does. Between two messages the app writes its journal, so every durable step lies between two of
/// these kills.
@Suite("Buyers whose app is really killed", .serialized, .timeLimit(.minutes(5)))
struct KilledBuyerJourneys {
    /// What happens to the app before its next start.
    enum Restart: String, CaseIterable, Sendable {
        case relaunched
        /// Deleted with its journal, and installed again.
        case reinstalled
    }

    @Test("An app killed at any step of a purchase, and reinstalled, delivers the paid purchase once (O6, O7)")
    func reinstalled() async throws { try await killed(generation: 2, restart: .reinstalled) }

    @Test(
        "The same relaunched, and with StoreKit 1", .slow,
        arguments: [(1, Restart.relaunched), (1, .reinstalled), (2, .relaunched)])
    func others(generation: Int, restart: Restart) async throws {
        try await killed(generation: generation, restart: restart)
    }

    private func killed(generation: Int, restart: Restart) async throws {
        let now = Int64(Date().timeIntervalSince1970)
        try await Shop.open(time: TestClock(seconds: now)) { shop in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            var ends: [End] = []
            var next = 0
            // Three at a time, because each mostly waits. The sweep ends when purchases complete before their step.
            while next < 60 {
                let found = try await withThrowingTaskGroup(of: End.self) { group in
                    for step in next..<next + 3 {
                        group.addTask { try await Self.buyer(step, generation, restart, shop, folder) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                ends += found
                next += 3
                if found.allSatisfy({ !$0.wasKilled }) { break }
            }
            let killed = ends.filter(\.wasKilled)
            // The order's opening, the payment, the proof and the finish, each there and back. The app may end before
            // it misses the answer to the last one.
            #expect(killed.count >= 6)
            // The important kills are those between the payment and the grant.
            #expect(killed.filter { $0.paidAtKill == 1 && $0.pointsAtKill == 0 }.count >= 2)
            #expect(killed.contains { $0.paidAtKill == 0 })
            let paid = ends.reduce(0) { $0 + $1.paid }
            #expect(try await shop.grantCount() == paid)
        }
    }

    private struct End: Sendable {
        var wasKilled = false
        var paidAtKill = 0
        var pointsAtKill: Int64 = 0
        var paid = 0
    }

    private static func buyer(
        _ step: Int, _ generation: Int, _ restart: Restart, _ shop: Shop, _ folder: URL
    ) async throws -> End {
        let user = "buyer-\(generation)-\(restart.rawValue)-\(step)"
        var end = End()
        try await PausingProxy.open(shop) { line, server, store in
            let phone = BuyerProgram(
                user: user, generation: generation, folder: folder,
                token: UserToken.hs256(subject: user, expires: shop.time.now.seconds + 3_600), server: server,
                store: store)
            line.hold(at: step)
            let first = try phone.start(["buy \(Shop.points60)", "wait 10", "quit"])
            let code = await Self.run(first, untilHeld: line)
            // At the very end an app may exit before its last message is missed.
            end.wasKilled = code == -SIGKILL
            #expect(end.wasKilled || code == 0, "\(line.messages)\n\(first.said)")
            end.paidAtKill = try await shop.transactions(of: user).count
            end.pointsAtKill = try await shop.points(of: user)
            if restart == .reinstalled { try phone.deleteApp() }

            line.hold(at: nil)
            let second = try phone.start(["orders"])
            // A launch delivers purchases by itself, after the store has reported its queue.
            for _ in 0..<200 where try await !hasFinishedAll(user, shop) {
                try await Task.sleep(for: .milliseconds(100))
            }
            try second.tell(["wallet", "quit"])
            let exit = await second.end()
            #expect(exit == 0, "step \(step): \(second.said)")
            let transactions = try await shop.transactions(of: user)
            end.paid = transactions.count
            let story = "step \(step): \(line.messages)\n\(first.said)\n\(second.said)"
            #expect(transactions.count == end.paidAtKill, "no purchase pays itself: \(story)")
            #expect(try await shop.points(of: user) == Int64(60 * transactions.count), "\(story)")
            #expect(transactions.allSatisfy { $0["finished"]?.bool == true }, "\(story)")
            #expect(second.event("wallet")?["balances"]?["points"]?.int ?? 0 == Int64(60 * transactions.count))
        }
        return end
    }

    /// Whether every paid purchase is granted and off the store's queue.
    private static func hasFinishedAll(_ user: String, _ shop: Shop) async throws -> Bool {
        let transactions = try await shop.transactions(of: user)
        guard transactions.allSatisfy({ $0["finished"]?.bool == true }) else { return false }
        return try await shop.points(of: user) == Int64(60 * transactions.count)
    }

    /// Kills it as soon as a message is held; otherwise waits for its own end.
    private static func run(_ run: BuyerProgram.Run, untilHeld line: PausingProxy) async -> Int32 {
        await withTaskGroup(of: Int32?.self) { group in
            group.addTask { await run.end() }
            group.addTask {
                await line.untilHeld()
                guard !Task.isCancelled else { return nil }
                run.kill()
                return nil
            }
            var code: Int32 = 0
            while let ended = await group.next() {
                guard let ended else { continue }
                code = ended
                group.cancelAll()
            }
            return code
        }
    }
}

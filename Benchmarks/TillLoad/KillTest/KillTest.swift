import Foundation
import TillBilling
import TillHTTP
import TillLedger
import TillSQLite

/// Kills a real server with signal 9 under load, many times, sometimes during start and recovery, and compares the next
/// server's state with the answers: everything answered must be kept, and nothing may be recorded twice. The kernel's
/// memory survives a killed process; the loss of a power cut is tested on the simulated disk.
struct KillTest {
    let till: String
    let set: LoadSet
    let rounds: Int
    /// Whether to plant errors: a grant that was never requested in the expectations, and a purchase's points posted
    /// twice for one user. A check that misses either is useless.
    let isPlanted: Bool
    private let issuer: LoadIssuer

    struct Result {
        var kills = 0
        var killsAtStart = 0
        /// Purchases that the killed servers had answered, and those without an answer.
        var answered = 0
        var inDoubt = 0
        var lost: [String] = []
        var twice: [String] = []
        var faults: [String] = []
        var isGood: Bool { lost.isEmpty && twice.isEmpty && faults.isEmpty && answered > 0 }

        mutating func add(_ findings: Buyer.Findings) {
            lost += findings.lost
            twice += findings.twice
            faults += findings.faults
        }
    }

    /// The number of concurrent buyers.
    private static let width = 32

    init(till: String, set: LoadSet, rounds: Int, isPlanted: Bool) throws {
        (self.till, self.set, self.rounds, self.isPlanted) = (till, set, rounds, isPlanted)
        issuer = try LoadIssuer()
        try set.prepare(issuer)
    }

    func run(report: (_ round: Int, Result) -> Void) async throws -> Result {
        var result = Result()
        var books = KillExpectations()
        var next = 0
        var server = try ServerProcess(till: till, set: set)
        for round in 1...rounds {
            var attempts = try await load(server, from: next)
            result.kills += 1
            next += attempts.count
            try killSomeAtStart(&result)
            if isPlanted, round == rounds {
                attempts.append(try neverSent(next))
                next += 1
            }
            server = try ServerProcess(till: till, set: set)
            try await check(attempts, server, &books, &result)
            report(round, result)
        }
        try server.stop()
        if isPlanted { try await plantPoints() }
        result.add(try await books.close(set.ledger))
        return result
    }

    // MARK: Kills

    /// Runs buyers until the server is killed at a random moment.
    private func load(_ server: ServerProcess, from first: Int) async throws -> [Attempt] {
        let url = try server.listening()
        let fetch = try Fetch()
        let api = ServerAPI(url: url, send: fetch.send)
        let timer = Task.detached { try? await Task.sleep(for: .milliseconds(Int.random(in: 5...400))) }
        let load = Task.detached { try await self.buy(api, from: first) }
        await timer.value
        server.kill()
        let attempts = try await load.value
        fetch.stop()
        return attempts
    }

    private func buy(_ api: ServerAPI, from first: Int) async throws -> [Attempt] {
        try await withThrowingTaskGroup(of: Attempt.self) { group in
            var next = first
            var attempts: [Attempt] = []
            func start() {
                let number = next
                next += 1
                group.addTask { try await Buyer(number, issuer).buy(api) }
            }
            for _ in 0..<Self.width { start() }
            while let attempt = try await group.next() {
                attempts.append(attempt)
                if !attempt.isCutOff { start() }
            }
            return attempts
        }
    }

    /// After one round in three on average, the next server is killed once or twice while it starts and recovers.
    private func killSomeAtStart(_ result: inout Result) throws {
        guard Int.random(in: 0..<3) == 0 else { return }
        for _ in 0..<Int.random(in: 1...2) {
            let server = try ServerProcess(till: till, set: set)
            usleep(UInt32.random(in: 0...40_000))
            server.kill()
            result.kills += 1
            result.killsAtStart += 1
        }
    }

    // MARK: Checks

    private func check(
        _ attempts: [Attempt], _ server: ServerProcess, _ books: inout KillExpectations, _ result: inout Result
    ) async throws {
        let url = try server.listening()
        let fetch = try Fetch()
        let api = ServerAPI(url: url, send: fetch.send)
        await withTaskGroup(of: Buyer.Findings.self) { group in
            var waiting = attempts[...]
            func start() {
                guard let attempt = waiting.popFirst() else { return }
                books.note(attempt.buyer)
                if attempt.isAnswered { result.answered += 1 } else { result.inDoubt += 1 }
                group.addTask { await attempt.buyer.comeBack(attempt, api) }
            }
            for _ in 0..<Self.width { start() }
            while let findings = await group.next() {
                result.add(findings)
                start()
            }
        }
        fetch.stop()
    }

    // MARK: Planted errors

    private func neverSent(_ number: Int) throws -> Attempt {
        var attempt = Attempt(try Buyer(number, issuer))
        attempt.isGranted = true
        return attempt
    }

    private func plantPoints() async throws {
        let ledger = try SQLiteDatabase.open(path: set.ledger, role: .server, options: .init(.ledger))
        let posting = Posting(
            environment: .sandbox, userID: UserID(LoadSet.user(0)), contra: .sold, currency: "points",
            amount: LoadSet.pointsEach, kind: .refundReversal, reference: "planted", at: Instant(milliseconds: 0))
        _ = try await ledger.write { connection in try LedgerTable(connection).post(posting, grant: nil) }
        await ledger.close()
    }
}

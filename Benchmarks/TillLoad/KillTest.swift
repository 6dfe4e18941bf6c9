import Foundation
import TillAppStore
import TillBilling
import TillHTTP
import TillSQLite
import TillStorage

/// Kills a real server with signal 9 under load, again and again, and holds what it then remembers against what it
/// had answered: no answered grant may be lost, none made twice (O6, DESIGN §4 invariants 1 and 2).
struct KillTest {
    let set: LoadSet
    let till: String
    let rounds: Int

    struct Result {
        var answered = 0
        var inDoubt = 0
        var lost = 0
        var grantedTwice = 0
        var faults: [String] = []
        var isGood: Bool { lost == 0 && grantedTwice == 0 && faults.isEmpty }
    }

    /// How many requests are under way at once.
    private static let width = 32

    func run(report: (Int, Result) -> Void) async throws -> Result {
        let proofs = try set.proofs()
        var result = Result()
        var next = 0
        var granted: Set<Int> = []
        for round in 1...rounds {
            let server = try ServerProcess(till: till, configuration: set.configuration)
            let fetch = try Fetch()
            let api = ServerAPI(url: server.url, send: fetch.send)
            let killer = Task.detached {
                try? await Task.sleep(for: .milliseconds(Int.random(in: 30...300)))
                server.kill()
            }
            let tried = await load(api, proofs, from: next)
            await killer.value
            fetch.stop()
            next += tried.count
            try await check(tried, proofs, &granted, &result)
            report(round, result)
            guard next + 5_000 < proofs.count else { throw LoadFault("only \(proofs.count) proofs: make more") }
        }
        try await closeTheBooks(granted, &result)
        return result
    }

    /// What was tried before the server died, and what was answered: true for granted.
    private func load(_ api: ServerAPI, _ proofs: [String], from first: Int) async -> [(number: Int, answered: Bool)] {
        await withTaskGroup(of: (Int, Bool, Bool).self) { group in
            var next = first
            var tried: [(number: Int, answered: Bool)] = []
            func start() {
                let number = next
                next += 1
                group.addTask {
                    guard case .done = await api.openOrder(number) else { return (number, false, false) }
                    let answer = await api.submit(proofs[number])
                    return (number, answer == .done(status: 200, outcome: "granted"), answer != .nothing)
                }
            }
            for _ in 0..<Self.width { start() }
            while let (number, isGranted, isAlive) = await group.next() {
                tried.append((number, isGranted))
                if isAlive, next < proofs.count { start() }
            }
            return tried
        }
    }

    /// A new server on the same file: everything answered is there already; what was in doubt goes through now.
    private func check(
        _ tried: [(number: Int, answered: Bool)], _ proofs: [String], _ granted: inout Set<Int>, _ result: inout Result
    ) async throws {
        let server = try ServerProcess(till: till, configuration: set.configuration)
        let fetch = try Fetch()
        let api = ServerAPI(url: server.url, send: fetch.send)
        for (number, wasAnswered) in tried {
            _ = await api.openOrder(number)
            let answer = await api.submit(proofs[number])
            switch answer {
            case .done(200, "alreadyGranted"): granted.insert(number)
            case .done(200, "granted"):
                granted.insert(number)
                if wasAnswered { result.lost += 1 }
            default: result.faults.append("transaction \(number): \(answer)")
            }
            if wasAnswered { result.answered += 1 } else { result.inDoubt += 1 }
        }
        fetch.stop()
        try server.stop()
    }

    /// At the end the ledger itself: one grant for each transaction, wallets that add up.
    private func closeTheBooks(_ granted: Set<Int>, _ result: inout Result) async throws {
        let ledger = try SQLiteDatabase.open(path: set.ledger, role: .operator)
        let found = try await ledger.read { session in
            (
                grants: try session.first("SELECT count(*) FROM grants", []) { $0.integer(0) } ?? 0,
                points: try session.first("SELECT sum(amount) FROM postings", []) { $0.integer(0) } ?? 0,
                unbalanced: try LedgerTable(session).unbalanced()
            )
        }
        await ledger.close()
        if found.grants != Int64(granted.count) {
            result.grantedTwice += Int(max(0, found.grants - Int64(granted.count)))
            result.lost += Int(max(0, Int64(granted.count) - found.grants))
        }
        if found.points != Int64(granted.count) * LoadSet.pointsEach {
            result.faults.append("\(found.points) points for \(granted.count) purchases")
        }
        result.faults += found.unbalanced.map { "balance of \($0)" }
    }
}

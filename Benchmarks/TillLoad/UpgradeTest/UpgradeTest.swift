import Foundation
import TillBilling
import TillSimulation

/// Replaces the program of a running server again and again under load: no request may fail, and no answer may take
/// long. Among the replacements is a migration in three phases over a large ledger.
struct UpgradeTest {
    let till: String
    /// The build that serves the schemas of later releases; nil leaves the migration out.
    let next: String?
    let set: LoadSet
    let replacements: Int
    /// Purchases in the ledger before the test.
    let purchases: Int
    /// The longest answer, in milliseconds.
    let limit: Int

    /// Purchases a second.
    private static let rate = 60
    /// Milliseconds from one replacement to the next.
    private static let pause = 500

    private func say(_ line: String) {
        print("upgrade-test: \(line)")
        fflush(nil)
    }

    func run() async throws {
        if let next { try await killBackfill(next) }
        let issuer = try LoadIssuer()
        try set.prepare(issuer)
        var clock = ContinuousClock.now
        try await PastYears(path: set.ledger, purchases: purchases).write()
        say("a ledger of \(purchases) purchases, written in \(seconds(since: clock)) s")
        let server = UpgradedServer(set)
        var plan = try UpgradePlan(set, till: till, next: next, replacements: replacements)
        try server.install(plan.release())
        let url = try await server.start()
        guard let port = UInt16(url.split(separator: ":").last ?? "") else { throw LoadError("no port in \(url)") }
        let load = UpgradeLoad(port: port, issuer: issuer, rate: Self.rate)
        try load.start()
        clock = .now
        do {
            try await replaceAll(server, &plan)
        } catch {
            _ = await load.stop()
            try? await server.stop()
            throw error
        }
        let tally = await load.stop()
        let spent = seconds(since: clock)
        try await server.stop()
        let findings = try await UpgradeAudit(path: set.ledger, schema: plan.schema).findings(answered: tally.granted)
        try report(tally, plan, findings, seconds: spent)
    }

    // MARK: Replacements

    private func replaceAll(_ server: UpgradedServer, _ plan: inout UpgradePlan) async throws {
        for number in 1...replacements {
            let audit = UpgradeAudit(path: set.ledger, schema: plan.schema)
            if plan.mustFinishBackfill(before: number) {
                while try await audit.remaining() != 0 { try await Task.sleep(for: .milliseconds(500)) }
            }
            let isFilled = plan.isExpanded ? try await audit.remaining() == 0 : false
            let step = plan.step(number, isFilled: isFilled)
            try server.install(step.version)
            guard case .taken(let milliseconds) = try await server.upgrade() else {
                throw LoadError("replacement \(number) was refused")
            }
            plan.handOvers.append(milliseconds)
            if let what = step.news {
                say("replacement \(number): \(what), \(milliseconds) ms from signal to listening")
            }
            // Programs that must be refused: the server goes on.
            for (version, phrase) in step.refused {
                try server.install(version)
                guard case .refused(let reason) = try await server.upgrade(), reason.contains(phrase) else {
                    throw LoadError("a program that can't serve this ledger was not refused with \"\(phrase)\"")
                }
                plan.refusals += 1
                say("replacement \(number): a program was refused, \(reason.suffix(160))")
            }
            if number % 10 == 0 { say("\(number) of \(replacements) replacements") }
            try await Task.sleep(for: .milliseconds(Self.pause))
        }
    }

    // MARK: A killed backfill

    /// Kills a server with signal 9 while it fills rows, several times: the next one continues.
    private func killBackfill(_ next: String) async throws {
        let set = LoadSet(set.directory.appendingPathComponent("killed").path)
        try set.prepare(try LoadIssuer())
        try await PastYears(path: set.ledger, purchases: 40_000).write()
        let server = UpgradedServer(set)
        let expand = UpgradeTestSchema.expand
        let program = try UpgradedServer.copy(next, to: set.directory.appendingPathComponent("next").path)
        try server.install(UpgradedServer.Version(program: program, schema: expand.rawValue))
        let audit = UpgradeAudit(path: set.ledger, schema: expand.schema)
        var left: [Int64] = []
        for _ in 0..<5 {
            _ = try await server.start()
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...150)))
            try await server.kill()
            guard let rows = try await audit.remaining() else { throw LoadError("the ledger was not expanded") }
            if let before = left.last, rows > before { throw LoadError("the backfill went back: \(before), \(rows)") }
            left.append(rows)
        }
        _ = try await server.start()
        while try await audit.remaining() != 0 { try await Task.sleep(for: .milliseconds(50)) }
        try await server.stop()
        let findings = try await audit.findings(answered: [])
        guard findings.isEmpty else { throw LoadError("after kills: \(findings)") }
        say("a backfill of 40000 rows, killed five times with signal 9; rows left after each kill: \(left)")
    }

    // MARK: The report

    private func report(_ tally: UpgradeLoad.Tally, _ plan: UpgradePlan, _ findings: [String], seconds: String) throws {
        let times = tally.answerTimes.sorted()
        func milliseconds(_ part: Double) -> String {
            times.isEmpty
                ? "-" : String(format: "%.1f", times[min(times.count - 1, Int(Double(times.count) * part))] * 1_000)
        }
        for failure in (tally.failures + findings).prefix(20) { say(failure) }
        let handOvers = plan.handOvers.sorted()
        say("\(plan.handOvers.count) replacements and \(plan.refusals) refused programs in \(seconds) s")
        let (median, longestHandOver) = (handOvers[handOvers.count / 2], handOvers.last ?? 0)
        say("from signal to listening: \(median) ms (median), \(longestHandOver) ms (longest)")
        say(
            """
            \(tally.requests) requests, \(tally.failures.count) failed; an answer took \(milliseconds(0.5)) ms \
            (median), \(milliseconds(0.99)) ms (p99), \(milliseconds(1)) ms (longest)
            """)
        say("\(tally.granted.count) grants were answered; the audit of the ledger has \(findings.count) findings")
        let longest = (times.last ?? 0) * 1_000
        guard tally.failures.isEmpty, findings.isEmpty, !tally.granted.isEmpty else { throw LoadError("it failed") }
        guard longest < Double(limit) else { throw LoadError("an answer took more than \(limit) ms") }
    }

    private func seconds(since start: ContinuousClock.Instant) -> String {
        String(format: "%.1f", (ContinuousClock.now - start) / .seconds(1))
    }
}

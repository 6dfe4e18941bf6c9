import Foundation
import TillBilling
import TillHTTP
import TillThreads

/// Breaks a cluster of three PostgreSQL nodes, three servers and HAProxy under load, fault after fault from a seed, and
/// audits what is left: `make failover-test`.
struct FailoverTest: Sendable {
    let cluster: FailoverCluster
    let example: URL
    let faults: Int
    let seed: UInt64

    private static let phones = 8
    private static let pause = Duration.milliseconds(250)

    func say(_ line: String) {
        print("failover-test: \(line)")
        fflush(nil)
    }

    func run() async throws {
        let issuer = try LoadIssuer()
        let paced = PacedLoad(directory: cluster.directory.appendingPathComponent("wrk"))
        try paced.prepare(count: 500 + faults * 100)
        try FailoverServers(cluster: cluster, example: example).write(roots: [issuer.root, try paced.root])
        try await cluster.run(["migrate"])
        for server in FailoverCluster.servers { try await cluster.run(["start", "till", server]) }
        try await cluster.run(["start", "haproxy", "proxy"])
        guard try await cluster.wait(atMost: .seconds(60), until: { try await areServersReady() }) else {
            throw LoadError("the servers are not ready; see \(cluster.directory.path)/*/*.log")
        }
        try await cluster.run(["psql", cluster.leader() ?? "", "-d", "till", "-qc", WriterProbe.table])
        let record = FailoverRecord()
        let webhooks = WebhookLog()
        let listener = try webhooks.listen()
        var configuration = FetchConfiguration()
        (configuration.connectTimeout, configuration.totalTimeout) = (2_000, 20_000)
        let fetch = try Fetch(configuration: configuration)
        let upgrade = try await RollingUpgrade(cluster: cluster, issuer: issuer).run()
        say(upgrade.line)
        record.note { $0.granted.formUnion(upgrade.granted) }
        var problems = upgrade.failures + (try await PoolerCheck(cluster: cluster).run())
        say(problems.isEmpty ? "PgBouncer: session mode works, transaction mode is refused" : "\(problems)")
        try await paced.open()
        say("\(faults) faults from the seed \(seed)")
        let (strikes, troubles) = try await chaos(issuer, record, fetch, paced)
        say("the audit")
        let ledger = try await waitForDeliveries(webhooks)
        await listener.stop(grace: 1)
        fetch.stop()
        var report = FailoverReport(seed: seed, strikes: strikes, record: record.all, webhooks: webhooks.all)
        problems += troubles
        report.problems = problems
        report.findings = FailoverAudit(record: record.all, webhooks: webhooks.all, ledger: ledger).findings()
        report.findings["lost", default: []] += try paced.lost(in: ledger)
        report.events = ledger.events.count
        report.grants = ledger.grants.count
        report.missed = PlantedFindings(record: record.all, webhooks: webhooks.all, ledger: ledger).missed
        report.print()
        try await rewind()
        if !report.isGood { exit(1) }
    }

    // MARK: Load and faults

    /// Phones, a reader of the feed, wrk, and writers at each node, while the faults strike.
    private func chaos(
        _ issuer: LoadIssuer, _ record: FailoverRecord, _ fetch: Fetch, _ paced: PacedLoad
    ) async throws -> (strikes: [FailoverReport.Strike], problems: [String]) {
        let over = Locked(false)
        let isOver: @Sendable () -> Bool = { over.withLock { $0 } }
        for (number, node) in FailoverCluster.nodes.enumerated() {
            try WriterProbe(node: node, number: number, record: record, isOver: isOver).start()
        }
        let wrk = try paced.start()
        let buyers = FailoverBuyers(issuer: issuer, record: record, send: fetch.send)
        let isComplete = Locked(false)
        let feed = Task {
            try await FeedReader(send: fetch.send).follow(record, isOver: { isComplete.withLock { $0 } })
        }
        let phones = (0..<Self.phones).map { phone in
            Task { try await buyers.run(phone: phone, phones: Self.phones, pause: Self.pause, isOver: isOver) }
        }
        // It repeats proofs at the end of its file, so it has to be gone before the audit.
        func endLoad() {
            guard wrk.isRunning else { return }
            kill(wrk.processIdentifier, SIGKILL)
            wrk.waitUntilExit()
        }
        defer { endLoad() }
        try await Task.sleep(for: .seconds(3))
        var (strikes, problems) = try await strikeAll(record)
        over.withLock { $0 = true }
        endLoad()
        // Every purchase that was begun comes to its end.
        let patience = Task {
            try await Task.sleep(for: .seconds(90))
            for phone in phones { phone.cancel() }
            feed.cancel()
        }
        for phone in phones {
            do { try await phone.value } catch { problems.append("a phone's purchase did not end: \(error)") }
        }
        // The reader ends after the last event has its place in the feed.
        _ = try await cluster.wait(atMost: .seconds(30)) {
            try await cluster.rows("SELECT count(*) FROM unplaced_events").first?.first == "0"
        }
        // A notification that met a fault is processed again after half a minute.
        _ = try await cluster.wait(atMost: .seconds(120)) {
            try await cluster.rows("SELECT count(*) FROM notifications WHERE state <> 1").first?.first == "0"
        }
        isComplete.withLock { $0 = true }
        do { try await feed.value } catch { problems.append("the feed's reader did not reach the end") }
        patience.cancel()
        return (strikes, problems)
    }

    private func strikeAll(
        _ record: FailoverRecord
    ) async throws -> (strikes: [FailoverReport.Strike], problems: [String]) {
        var random = SeededGenerator(seed: seed)
        var strikes: [FailoverReport.Strike] = []
        var problems: [String] = []
        for (number, fault) in FailoverFault.schedule(faults, &random).enumerated() {
            let steps = fault.steps(try await roles(&random))
            let length = Double.random(in: steps.length, using: &random)
            let began = ContinuousClock.now
            for command in steps.strike { _ = try await cluster.attempt(command) }
            try await Task.sleep(for: .seconds(length))
            for command in steps.heal { _ = try await cluster.attempt(command) }
            let isHealed = try await cluster.wait(atMost: .seconds(180)) {
                guard try await cluster.hasBothStandbys() else { return false }
                return try await areServersReady()
            }
            if !isHealed { problems.append("fault \(number + 1), \(fault.rawValue): not healed after 180 seconds") }
            try await Task.sleep(for: .seconds(1))
            let recovery = FailoverRecord.recovery(record.all.good, from: began)
            let strike = FailoverReport.Strike(fault: fault, recovery: recovery?.seconds, pause: recovery?.pause)
            strikes.append(strike)
            say("\(number + 1) of \(faults): \(fault.rawValue) (\(steps.parts)), \(strike.text)")
        }
        return (strikes, problems)
    }

    private func roles(_ random: inout SeededGenerator) async throws -> FailoverFault.Roles {
        var leader = try await cluster.leader()
        for _ in 0..<100 where leader == nil {
            try await Task.sleep(for: .milliseconds(300))
            leader = try await cluster.leader()
        }
        guard let leader else { throw LoadError("no node leads") }
        let standbys = FailoverCluster.nodes.filter { $0 != leader }.shuffled(using: &random)
        return FailoverFault.Roles(
            leader: leader, standby: standbys[0], other: standbys[1],
            server: FailoverCluster.servers.randomElement(using: &random) ?? "till1")
    }

    /// Whether every server is, and HAProxy in front of them.
    private func areServersReady() async throws -> Bool {
        for server in FailoverCluster.servers + ["proxy"] {
            guard try await cluster.attempt(["ready", server]).status == 0 else { return false }
        }
        return true
    }

    // MARK: The end

    /// A backup brings back what was dropped after it, and the servers go on with it.
    private func rewind() async throws {
        say(try await cluster.run(["rewind"]).split(separator: "\n").last.map { String($0) } ?? "")
        guard try await cluster.wait(atMost: .seconds(60), until: { try await areServersReady() }) else {
            throw LoadError("the servers do not use the ledger that a backup brought back")
        }
    }

    /// Waits until nothing is under way: every event has its place and was delivered.
    private func waitForDeliveries(_ webhooks: WebhookLog) async throws -> FailoverAudit.Ledger {
        _ = try await cluster.wait(atMost: .seconds(180)) {
            let rows = try await cluster.rows("SELECT count(*) FROM outbox")
            return rows.first?.first.flatMap { Int($0) } == webhooks.all.byID.count
        }
        return try await FailoverAudit.read(cluster)
    }
}

/// Numbers from a seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

import Foundation
import TillAppStore
import TillBilling
import TillHTTP
import TillTestDatabases

/// Runs `till emulate`, `till serve` and the apps of ten phones as real processes, with random kills and network faults
/// for a while, then the audit.
struct Soak: Sendable {
    let directory: SoakDirectory
    let database: LedgerDatabase
    let chaos: Duration
    let seed: UInt64
    let say: @Sendable (String) -> Void

    func run() async throws -> SoakReport {
        let cluster = try directory.makeCluster(for: database)
        let report: Result<SoakReport, any Error>
        do {
            report = .success(try await run(cluster))
        } catch {
            report = .failure(error)
        }
        await cluster?.stop()
        return try report.get()
    }

    private func run(_ cluster: PostgresCluster?) async throws -> SoakReport {
        let began = ContinuousClock.now
        let ledger = try directory.ledger(on: cluster)
        var random = SeededRandom(seed: seed, player: "ports")
        var answers = FetchConfiguration()
        answers.connectionLimit = 256
        let fetch = try Fetch(configuration: answers)
        defer { fetch.stop() }
        let tally = Tally()
        let (serverPort, storePort) = (try SoakDirectory.freePort(&random), try SoakDirectory.freePort(&random))
        let store = SupervisedProgram(
            "store", program: directory.till,
            [
                "emulate", "--port", "\(storePort)", "--data", directory.store.path, "--pace", "monthInFiveMinutes",
                "--json",
            ], port: storePort, health: "/emulator/state", directory: directory.store, send: fetch.send, tally: tally)
        let server = SupervisedProgram(
            "server", program: directory.till, ["serve", "--config", directory.configuration.path, "--json"],
            port: serverPort, health: "/readyz", directory: directory.server, send: fetch.send, tally: tally)
        // No process is left running, whatever happens.
        defer {
            server.abandon()
            store.abandon()
        }
        try await store.start()
        let control = StoreControl(url: store.url, send: fetch.send)
        let keys = try await directory.initialize(
            ledger, serverPort: serverPort, store: store.url, root: try await control.bytes("/emulator/root.cer"),
            appleKey: try await control.get("/emulator/api-key"))
        try await server.start()
        let parts = Parts(
            store: store, server: server, control: control,
            storeLine: try FaultyProxy("store", to: store.url, seed: seed, send: fetch.send, tally: tally),
            serverLine: try FaultyProxy("server", to: server.url, seed: seed, send: fetch.send, tally: tally),
            keys: keys, ledger: ledger, cluster: cluster, tally: tally, send: fetch.send)
        let report = try await live(parts)
        await parts.storeLine.close()
        await parts.serverLine.close()
        return report.lasting(ContinuousClock.now - began)
    }

    private struct Parts: Sendable {
        let store: SupervisedProgram
        let server: SupervisedProgram
        let control: StoreControl
        let storeLine: FaultyProxy
        let serverLine: FaultyProxy
        let keys: SoakDirectory.Keys
        let ledger: LedgerPlace
        let cluster: PostgresCluster?
        let tally: Tally
        let send: HTTPSend
    }

    private func live(_ parts: Parts) async throws -> SoakReport {
        let (control, tally) = (parts.control, parts.tally)
        let notifications = parts.server.url + "/v1/notifications/apple"
        try await control.put("/emulator/notifications", ["url": .string(notifications)])
        for account in Phone.accounts { try await control.put("/emulator/accounts/\(account)", .object([:])) }
        let crowd = Crowd(
            directory, parts.keys, server: parts.serverLine, store: parts.storeLine, control: control, tally: tally,
            seed: seed)
        let faultSchedule = FaultSchedule(
            control: control, lines: [parts.serverLine, parts.storeLine], tally: tally, seed: seed,
            mayLoseNotifications: try await SoakEnding.canReconcile(directory), notificationURL: notifications)
        let world = StoreEvents(control: control, tally: tally, seed: seed)
        let adversary = Adversary(
            url: parts.server.url, send: parts.send, line: parts.serverLine,
            token: parts.keys.token(of: Adversary.user), tally: tally, seed: seed)
        let killer = Killer(
            server: parts.server, store: parts.store, cluster: parts.cluster, tally: tally, seed: seed, length: chaos)

        let began = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000) - 60_000)
        say("chaos for \(chaos.components.seconds) seconds, seed \(seed), \(database), in \(directory.root.path)")
        let deadline = ContinuousClock.now + chaos
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await killer.run(until: deadline) }
            group.addTask { await crowd.run(until: deadline) }
            group.addTask { await faultSchedule.run(until: deadline) }
            group.addTask { await world.run(until: deadline) }
            group.addTask { await adversary.run(until: deadline) }
            group.addTask { await progress(tally, until: deadline) }
            try await group.waitForAll()
        }

        say("the chaos is over")
        // One of them may not have been running when the chaos ended.
        try await up(parts.store)
        try await up(parts.server)
        try await faultSchedule.clear()
        let ending = SoakEnding(
            directory: directory, ledger: parts.ledger, server: parts.server, control: control, crowd: crowd,
            tally: tally, say: say,
            began: began,
            support: Support(
                server: parts.server.url, secretKey: parts.keys.secretKey, send: parts.send, control: control,
                ledger: parts.ledger, tally: tally))
        let claims = try await ending.run(world, seed: seed)
        return try await audit(parts, crowd, claims)
    }

    private func up(_ program: SupervisedProgram) async throws {
        await program.kill()
        try await program.start()
    }

    private func progress(_ tally: Tally, until deadline: ContinuousClock.Instant) async {
        while ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: min(.seconds(30), max(.zero, deadline - .now)))
            say(
                "\(tally.total(.outcomes)) purchases told of, \(tally.total(.kills)) kills, "
                    + "\(tally.total(.faults)) faults")
        }
    }

    // MARK: The audit

    private func audit(_ parts: Parts, _ crowd: Crowd, _ claims: [String: String]) async throws -> SoakReport {
        say("the audit")
        var sales: [Sale] = []
        for account in Phone.accounts {
            sales += try await parts.control.list("/emulator/transactions?account=\(account)&state=purchased")
                .compactMap(Sale.init)
        }
        var report = SoakReport(database: database, seed: seed, chaos: chaos)
        let total = try await parts.control.get("/emulator/state")["transactions"]?["byState"]?["purchased"]?.int ?? 0
        if Int(total) != sales.count {
            report.faults.append("the store says that \(total) were paid, and lists \(sales.count)")
        }
        var audit = Audit(
            sales: sales, owners: parts.serverLine.owners, strangers: [Adversary.user], points: SoakCatalog.points)
        audit.claims = claims
        try await parts.server.stop()
        report.take(audit.run(try await LedgerContents.read(parts.ledger)), sales)
        for finding in report.findings.prefix(20) {
            guard let id = finding.transaction else { continue }
            report.stories[id] = await PurchaseLog(transaction: id, control: parts.control, ledger: parts.ledger)
                .lines()
        }
        let planted = try parts.ledger.copy(named: "planted")
        let lies = try await PlantedErrors(ledger: planted).plant()
        let found = Set(audit.run(try await LedgerContents.read(planted)).findings.map(PlantedError.init))
        report.lies = (
            lies.count, lies.filter { found.contains(PlantedError(kind: $0.key, transaction: $0.value)) }.count
        )
        report.faults += parts.server.surprises + parts.store.surprises + crowd.surprises
        // A quarantined purchase stays pending on the phone that submitted it.
        if report.unattributed.isEmpty {
            report.faults += crowd.underWay.sorted { $0.key < $1.key }
                .map { "phone \($0.key) still waits for \($0.value) orders" }
        }
        report.peakMemory = ["server": parts.server.peakMemory, "store": parts.store.peakMemory]
        try await parts.store.stop()
        report.tally = parts.tally
        return report
    }

    private struct PlantedError: Hashable {
        let kind: Audit.Finding.Kind
        let transaction: String?

        init(kind: Audit.Finding.Kind, transaction: String) { (self.kind, self.transaction) = (kind, transaction) }
        init(_ finding: Audit.Finding) { (kind, transaction) = (finding.kind, finding.transaction) }
    }
}

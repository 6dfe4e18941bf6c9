import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillSQL
import TillSQLite
import TillServer

/// The server's machine: the real server on the real driver, over a disk that loses unsynced data. It is killed, loses
/// power, runs out of space, and is started again.
final class ServerHost: @unchecked Sendable {
    /// One run of the server.
    private final class Run: @unchecked Sendable {
        let process: SimulatedProcess
        let ledger: SQLiteDatabase
        let server: Server
        let router: Router

        init(_ process: SimulatedProcess, _ ledger: SQLiteDatabase, _ server: Server) {
            self.process = process
            self.ledger = ledger
            self.server = server
            router = server.router
        }
    }

    private let parts: SimulationContext
    private let terms: Terms
    private let disk: CrashableDisk
    /// For all starts: it remembers statements.
    private let tables = GuardedTables()
    private var run: Run?
    private var runs = 0
    private var lastAsked = SimulatedWorld.start
    private var random: SeededRandom
    private let entropy: Entropy
    private let lateness: Lateness
    private let hasSeveralWriters: Bool
    private let watch: Watch
    /// The error of its clock, in milliseconds.
    private(set) var clockError: Int64 = 0
    /// While set, starting it has no effect.
    private var isHeldDown = false

    /// The configuration and connections of a server.
    struct Terms: Sendable {
        var configuration: ServerConfiguration
        /// Nil for a server that can't call Apple.
        var key: InAppPurchaseKey?
        /// The connection for requests to Apple.
        var apple: @Sendable (SimulatedProcess) -> HTTPSend
        /// The connection for webhooks.
        var web: @Sendable (SimulatedProcess) -> HTTPSend
        /// The factor by which its jobs' intervals are extended.
        var leisure: Int64 = 20
    }

    static let appleURL = "http://apple.simulated"

    /// The callbacks that check the ledger.
    struct Watch: Sendable {
        /// After a start, before any other work.
        var isOpened: @Sendable (any Database) async -> Void
        /// After each commit.
        var isWritten: SteppedDatabase.IsWritten
    }

    /// - Parameter files: those of its empty ledger.
    init(_ parts: SimulationContext, _ terms: Terms, files: [String: [UInt8]], watch: Watch) {
        self.parts = parts
        self.watch = watch
        self.terms = terms
        disk = CrashableDisk(seed: parts.seed, files: files)
        random = SeededRandom(seed: parts.seed, stream: "server")
        entropy = Entropy(parts.seed, "server")
        lateness = Lateness(seed: parts.seed)
        hasSeveralWriters = parts.hasSeveralWriters
    }

    // MARK: Lifecycle

    var isUp: Bool { run != nil }
    var process: SimulatedProcess? { run?.process }

    /// Starts the server, or retries a little later if its disk prevents it.
    func start() {
        guard run == nil, !isHeldDown else { return }
        // Outside of any task, so the planted mistake is set here.
        PlantableMistakes.with(parts.scheduler.planted) { boot() }
    }

    private func boot() {
        if !disk.hasPower { disk.restart() }
        runs += 1
        let process = SimulatedProcess("server-\(runs)", on: parts.scheduler)
        do {
            var options = SQLiteDatabase.Options(.ledger)
            options.vfs = disk.vfs
            options.threads = .inline
            #if PLANTED_MISTAKES
                if PlantedMistake.answersBeforeSync.isPlanted { options.synchronous = "OFF" }
            #endif
            let ledger = try SQLiteDatabase.open(path: EmptyDatabases.ledgerPath, role: .server, options: options)
            let stepped = SteppedDatabase(
                ledger, hasSeveralWriters: hasSeveralWriters, tables: tables, faults: parts.faults,
                lateness: lateness, pause: { [parts] in await parts.scheduler.pause($0) }, isWritten: watch.isWritten)
            let run = Run(process, ledger, try server(on: stepped, in: process))
            self.run = run
            process.afterStep = { [weak self] in self?.lookAtPower() }
            parts.log.record(process.name, hasSeveralWriters ? "starts" : "starts as the ledger's only writer")
            process.spawn { [self] in
                await watch.isOpened(ledger)
                await BackgroundJobs(
                    run.server, pause: { await self.rest($0) }, rest: { await self.rest($1, after: $0) }
                ).run()
            }
            lookAtPower()
        } catch {
            parts.log.record(process.name, "can't start: \(error)")
            process.kill()
            parts.scheduler.after(random.between(1_000, 60_000)) { self.start() }
        }
    }

    /// The pause between two runs of a job: longer than in reality, and much longer without requests, because otherwise
    /// most of a virtual week would be empty job runs.
    private func rest(_ milliseconds: Int64) async {
        await parts.scheduler.pause(max(milliseconds * terms.leisure, isQuiet ? 3_600_000 : 240_000))
    }

    /// Jobs that have nothing to do in any world: no sandbox and no dry run exists here.
    private static let idle: Set<String> = ["dryRuns"]
    /// Jobs that only compare or shorten what is there.
    private static let unhurried: Set<String> = ["walletCheck", "proofCompression"]
    /// A gap between sealed rows is looked at for an hour, so the sealer passes more than once in that time.
    private static let sealing = (usual: Int64(600_000), quiet: Int64(1_500_000))

    private func rest(_ milliseconds: Int64, after job: String) async {
        if job == "seals" {
            return await parts.scheduler.pause(isQuiet ? Self.sealing.quiet : Self.sealing.usual)
        }
        if Self.idle.contains(job) || job.hasPrefix("sandbox") || Self.unhurried.contains(job) && isQuiet {
            return await parts.scheduler.pause(max(milliseconds * terms.leisure, 6 * 3_600_000))
        }
        await rest(milliseconds)
    }

    private var isQuiet: Bool { parts.scheduler.now.milliseconds - lastAsked.milliseconds > 600_000 }

    private func server(on ledger: any Database, in process: SimulatedProcess) throws -> Server {
        let scheduler = parts.scheduler
        let clock: @Sendable () -> Instant = { [self] in scheduler.now.adding(milliseconds: clockError) }
        let effects = AppleEffects(
            exchange: appleExchange(over: terms.apple(process)), clock: clock, entropy: entropy.bytes,
            pause: { await scheduler.pause($0) })
        let api = terms.key.map { key in
            ServerAPI(
                key: key, bundleID: SimulatedShop.bundleID, hosts: .emulator(at: Self.appleURL),
                environments: [.production], effects: effects, budget: RequestBudget(effects: effects))
        }
        return try Server(
            configuration: terms.configuration, database: ledger, clock: clock, entropy: entropy.bytes,
            serverAPI: api, webhookSend: terms.web(process))
    }

    /// The running server's end; nil while it is down.
    var end: Link.End? {
        guard let run, run.process.isAlive else { return nil }
        lastAsked = parts.scheduler.now
        return Link.End(process: run.process) { [self] request in
            let response = await run.router.respond(to: request)
            // After a power loss the answer does not arrive.
            lookAtPower()
            return response
        }
    }

    // MARK: Faults

    /// Kill -9: all written data remains, synced or not.
    func kill(_ reason: String) {
        guard let run else { return }
        parts.log.record(run.process.name, "is killed: \(reason)")
        retire(run)
        disk.endProcess()
    }

    func kill(afterSteps count: Int) { run?.process.kill(afterSteps: count) }

    /// Cuts the power during a disk operation; unsynced data is lost.
    func cutPower(afterOperations count: Int) { disk.cutPower(afterOperations: count) }

    func fillDisk() {
        var conditions = disk.conditions
        conditions.capacity = disk.usedBytes + random.below(20_000)
        disk.conditions = conditions
    }

    func makeDiskFail(_ rate: Double) {
        var conditions = disk.conditions
        conditions.failureRates = [.read: rate / 4, .write: rate, .sync: rate]
        disk.conditions = conditions
    }

    func repairDisk() {
        disk.conditions = CrashableDisk.Conditions()
        disk.forgetFailures()
    }

    func stayDown(for milliseconds: Int64) {
        kill("stays down for \(milliseconds / 60_000) minutes")
        isHeldDown = true
        parts.scheduler.after(milliseconds) {
            self.isHeldDown = false
            self.start()
        }
    }

    func comeBack() {
        isHeldDown = false
        start()
    }

    func set(clockError milliseconds: Int64) { clockError = milliseconds }

    private func lookAtPower() {
        guard let run else { return }
        if !disk.hasPower {
            parts.log.record(run.process.name, "loses power in a \(disk.lastCut.map { "\($0)" } ?? "")")
            retire(run)
            disk.restart()
            parts.scheduler.after(random.between(200, 30_000)) { self.start() }
        } else if !run.process.isAlive {
            parts.log.record(run.process.name, "was killed")
            retire(run)
            disk.endProcess()
            parts.scheduler.after(random.between(200, 30_000)) { self.start() }
        }
    }

    /// Ends the run; closing its connections no longer reaches any file.
    private func retire(_ run: Run) {
        self.run = nil
        run.process.afterStep = nil
        run.process.kill()
        retiredLedgers.append(run.ledger)
    }

    /// The ledgers of ended runs, to be closed outside of any run.
    private var retiredLedgers: [SQLiteDatabase] = []

    /// Frees the memory of ended runs.
    func closeRetiredLedgers() async {
        let old = retiredLedgers
        retiredLedgers = []
        await disk.closeAfterEnd { for ledger in old { await ledger.close() } }
    }

    // MARK: For checks

    /// The ledger; nil while the server is down.
    var ledger: SQLiteDatabase? { run?.ledger }
    var server: Server? { run?.server }

    func close() async {
        if let run {
            self.run = nil
            run.process.kill()
            retiredLedgers.append(run.ledger)
        }
        await closeRetiredLedgers()
    }
}

import TillAPI
import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillServer
import TillThreads

/// A comparison by this process, on a ledger that no server is using. On a ledger that servers share, the server that
/// runs the jobs carries it out; this process does if none runs them.
struct LocalReconciliation {
    private let server: Server
    private let ledger: any Database
    private let apple: AppleClient
    private let followed: FollowedClock?
    private let call: Invocation
    private let progress: ReconcileProgress
    private let renewal = Locked<Task<Void, Never>?>(nil)

    /// Nil while a server uses the ledger.
    init?(_ configuration: Configuration, _ call: Invocation) async throws {
        do {
            ledger = try configuration.database.open(as: .server, .ledger).database
        } catch {
            if error.kind == .inUse { return nil }
            throw configuration.database.failure(error)
        }
        let followed = try FollowedClock(configuration, process: call.process)
        self.followed = followed
        apple = try AppleClient(configuration, process: call.process, following: followed?.clock)
        await followed?.clock.read()
        do {
            server = try Server(
                configuration: configuration.server, database: ledger, clock: apple.effects.clock,
                machineClock: call.process.clock, entropy: call.process.entropy, appleEffects: apple.effects,
                serverAPI: apple.api)
        } catch {
            throw CommandError(Refusal(rawValue: error.verdict.rawValue)?.sentence ?? LocalizedText(error.detail))
        }
        self.call = call
        progress = ReconcileProgress(call: call)
    }

    func run(_ body: StartReconciliationBody) async throws -> ReconcileResult {
        do {
            let result = try await body.dryRun == true ? compare(since: body.since) : reconcile(since: body.since)
            await close()
            return result
        } catch let fault as ServerAPIError {
            await close()
            throw CommandError(fault.sentence)
        } catch let fault as DatabaseError {
            await close()
            throw CommandError(LocalizedText(en: "the ledger: \(fault.detail)", zh: "账本：\(fault.detail)"))
        } catch {
            await close()
            throw error
        }
    }

    private func close() async {
        progress.end()
        apple.stop()
        followed?.stop()
        await ledger.close()
    }

    private func reconcile(since start: Instant?) async throws -> ReconcileResult {
        let reconciliations = Reconciliations(server.ledger)
        let rowID = try await reconciliations.request(by: "till", since: start).rowID
        var work = await LeasedWork.begin(server)
        defer { renewal.withLock { $0?.cancel() } }
        while true {
            await followed?.clock.refresh()
            if let work {
                startRenewing(work)
                // No server does this meanwhile, so it ends only by itself or by Ctrl-C.
                let reconciliations = Reconciliations(work.server.ledger)
                _ = try await withProgress(of: rowID) { try await reconciliations.advance() }
            } else {
                work = await LeasedWork.begin(server)
            }
            guard let found = try await Self.read(rowID, ledger) else {
                throw CommandError(LocalizedText(en: "the reconciliation no longer exists", zh: "对账记录已不存在"))
            }
            let run = found.reconciliation
            if run.state == .finished || run.state == .failed {
                await work?.end()
                return found
            }
            progress.show(run)
            await apple.effects.pause(1_000)
        }
    }

    /// Renews a lease until the comparison ends.
    private func startRenewing(_ work: LeasedWork) {
        renewal.withLock { task in
            guard task == nil else { return }
            task = Task {
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(LeasedWork.interval))
                    if !Task.isCancelled { await work.renew() }
                }
            }
        }
    }

    /// The run, with its differences once it is over.
    private static func read(_ rowID: Int64, _ ledger: any Database) async throws -> ReconcileResult? {
        try await ledger.read { connection in
            let table = ReconciliationTable(connection)
            guard let run = try table.find(rowID) else { return nil }
            let found =
                run.state == .running
                ? [] : try DifferenceTable(connection).list(run: rowID, after: 0, limit: 100_000)
            return ReconcileResult(
                reconciliation: ReconciliationReply(run, counts: try table.counts(of: rowID)),
                differences: found.map { DifferenceReply($0.difference, foundAt: $0.foundAt) })
        }
    }

    /// Shows the run's progress every second.
    private func withProgress<Value: Sendable>(
        of rowID: Int64, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (ledger, progress, pause) = (ledger, progress, apple.effects.pause)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            if progress.call.console.drawsProgress {
                group.addTask {
                    while !Task.isCancelled {
                        if let run = try await Self.read(rowID, ledger)?.reconciliation { progress.show(run) }
                        await pause(1_000)
                    }
                    return nil
                }
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }

    private func compare(since start: Instant?) async throws -> ReconcileResult {
        let beganAt = call.process.clock()
        let progress = progress
        let comparison = try await server.ledger.compareWithApple(
            since: start,
            onProgress: { found in
                progress.show(ReconciliationReply(of: found, caller: "till", since: start, beganAt: beganAt))
            })
        var reply = ReconciliationReply(of: comparison, caller: "till", since: start, beganAt: beganAt)
        reply.endedAt = call.process.clock()
        reply.state = .finished
        reply.ending = comparison.isEqual ? "equal" : "different"
        return ReconcileResult(
            reconciliation: reply, differences: comparison.differences.map { DifferenceReply($0, foundAt: nil) })
    }
}

/// One terminal line with the progress of a run, redrawn each time; nothing without a terminal.
struct ReconcileProgress: Sendable {
    let call: Invocation

    func show(_ run: ReconciliationReply) {
        guard call.console.drawsProgress else { return }
        let counts = run.counts.filter { ["notifications", "customers", "transactions"].contains($0.name) }
            .map { "\($0.name) \($0.count)" }.joined(separator: ", ")
        let place = [run.environment?.rawValue, run.phase].compactMap { $0 }.joined(separator: " ")
        var line = "\(place)  \(counts)"
        if let until = run.waitsUntil {
            line += call.language == .chinese ? "  等待至 \(until.rfc3339)" : "  waits until \(until.rfc3339)"
        }
        // Returns to the start of the line and erases it.
        call.console.draw("\r\u{1B}[K" + line)
    }

    func end() {
        if call.console.drawsProgress { call.console.draw("\r\u{1B}[K") }
    }
}

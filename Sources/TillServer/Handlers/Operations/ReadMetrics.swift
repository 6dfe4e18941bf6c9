import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// Milliseconds for which a scrape waits for the ledger. With the wait for readiness it stays below Prometheus'
    /// usual limit of ten seconds.
    private static let ledgerPatience: Int64 = 4_000

    /// `GET /metrics`: metrics for Prometheus. The ledger is read in one snapshot; if it cannot be read in time, its
    /// metrics are NaN, and the others are still right.
    func readMetrics(_ call: Call) async throws -> HTTPResponse {
        let health = await health(at: machineClock())
        let metrics = await metrics(health, at: machineClock())
        return HTTPResponse(
            status: 200,
            headers: HTTPHeaders([
                (name: "Content-Type", value: "text/plain; version=0.0.4; charset=utf-8"),
                (name: "Cache-Control", value: "no-store"),
            ]),
            body: Array(metrics.map(\.text).joined().utf8))
    }

    /// In the order of `MetricDefinition.all`. Ages in the ledger are by its clock, the others by this machine's.
    private func metrics(_ health: Health, at now: Instant) async -> [Metric] {
        let started = monitoring.stopwatch()
        async let figures = databaseFigures()
        let fromLedger = await ledgerMetrics(at: clock())
        let seconds = fromLedger.isKnown ? Double(monitoring.stopwatch() - started) / 1e9 : nil
        let own = [
            Metric(.buildInfo, [Metric.Sample(1, (name: "version", value: monitoring.version))]),
            Metric(.ready, health.fault == nil ? 1 : 0),
            Metric(
                .degraded,
                Health.Reason.allCases.map {
                    Metric.Sample(health.reasons.contains($0) ? 1 : 0, (name: "reason", value: $0.rawValue))
                }),
        ]
        let disk = [
            Metric(.waitingWrites, monitoring.waitingWrites().map(Double.init)),
            Metric(.diskFree, health.volume.map { Double($0.free) }),
            Metric(.diskSize, health.volume.map { Double($0.size) }),
            Metric(
                .backupAge, monitoring.lastBackup().map { Double(max(0, now.milliseconds - $0.milliseconds)) / 1e3 }),
            Metric(.ledgerRead, seconds),
        ]
        let database = DatabaseFigures.metrics(await figures)
        let apple =
            monitoring.apple.metrics(at: now) + AppleFigures.budget(of: ledger.serverAPI, [.production, .sandbox])
        let requests = requestFigures.metrics + [Metric(.purchasesWaiting, Double(purchases.waiting))]
        let callers = requests + limiter.metrics + unpaidRows.metrics + keyMetrics(at: now)
        let jobs = jobHistory.metrics(at: now) + jobLease.metrics(isShared: self.database.isShared, at: now)
        return own + callers + monitoring.commits.metrics + disk + database + jobs
            + walletCheck.metrics(at: clock()) + proofCompression.metrics + sealing.metrics + apple + fromLedger.metrics
    }

    /// Nil also if the database does not answer in time.
    private func databaseFigures() async -> DatabaseFigures? {
        guard database.isShared else { return nil }
        let figures = await scrapes.run(Self.ledgerPatience, monitoring.within) { [monitoring] in
            await monitoring.database()
        }
        return figures ?? nil
    }

    private func ledgerMetrics(at now: Instant) async -> (metrics: [Metric], isKnown: Bool) {
        let accepted = configuration.apple.environments
        let scope = LedgerMetrics.Scope(
            environments: StoreEnvironment.allCases.filter(accepted.contains),
            endpoints: configuration.webhooks.endpoints.map(\.id),
            finishAfter: configuration.delivery.finishAfter, now: now)
        let database = database
        let metrics = await scrapes.run(Self.ledgerPatience, monitoring.within) { () -> [Metric]? in
            do {
                return try await database.read { try LedgerMetrics.read($0, scope) }
            } catch {
                // `till_scrape_ledger_seconds` says so.
                return nil
            }
        }
        guard case .some(.some(let known)) = metrics else { return (LedgerMetrics.unknown(scope), false) }
        return (known, true)
    }
}

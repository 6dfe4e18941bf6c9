import TillBilling
import TillHTTP

extension Server {
    /// `GET /metrics`: metrics for Prometheus, read in one snapshot.
    func readMetrics(_ call: Call) async throws -> HTTPResponse {
        let accepted = configuration.apple.environments
        let scope = LedgerMetrics.Scope(
            environments: StoreEnvironment.allCases.filter(accepted.contains),
            endpoints: configuration.webhooks.endpoints.map(\.id), now: clock())
        let metrics =
            try await database.read { try LedgerMetrics.read($0, scope) } + [jobAges(at: machineClock())]
            + keyMetrics(at: machineClock()) + limiter.metrics + unpaidRows.metrics
        return HTTPResponse(
            status: 200,
            headers: HTTPHeaders([
                (name: "Content-Type", value: "text/plain; version=0.0.4; charset=utf-8"),
                (name: "Cache-Control", value: "no-store"),
            ]),
            body: Array(metrics.map(\.text).joined().utf8))
    }

    private func jobAges(at now: Instant) -> Metric {
        Metric(
            name: "till_job_last_success_age_seconds", kind: .gauge,
            help: "Seconds since the job last finished without a fault, or since the start of the server.",
            samples: jobHistory.lastSuccesses.map { job in
                Metric.Sample(
                    max(0, Double(now.milliseconds - job.at.milliseconds) / 1_000), (name: "job", value: job.name))
            })
    }
}

import Foundation

/// Replaces the three servers one after the other under load, through HAProxy: no request may fail. No client repeats
/// anything.
struct RollingUpgrade: Sendable {
    let cluster: FailoverCluster
    let issuer: LoadIssuer

    /// Above the purchases of the phones.
    private static let first = 50_000_000
    private static let rate = 30
    private static let rounds = 2

    /// - Returns: a line for the report, and what failed.
    func run() async throws -> (line: String, failures: [String], granted: [Int]) {
        let load = UpgradeLoad(
            port: 8_080, address: FailoverCluster.entranceAddress, issuer: issuer, rate: Self.rate, first: Self.first)
        try load.start()
        try await Task.sleep(for: .seconds(1))
        for _ in 0..<Self.rounds {
            for server in FailoverCluster.servers {
                try await cluster.run(["stop", "till", server])
                try await cluster.run(["start", "till", server])
                let isReady = try await cluster.wait(atMost: .seconds(30)) {
                    try await cluster.attempt(["ready", server]).status == 0
                }
                guard isReady else { throw LoadError("\(server) is not ready after its upgrade") }
                // HAProxy looks twice before it sends requests there.
                try await Task.sleep(for: .seconds(1))
            }
        }
        let tally = await load.stop()
        let slowest = (tally.answerTimes.max() ?? 0) * 1_000
        let line = String(
            format: "rolling upgrade: %d replacements, %d requests, %d failed, the slowest %.0f ms",
            Self.rounds * FailoverCluster.servers.count, tally.requests, tally.failures.count, slowest)
        return (line, tally.failures, tally.granted)
    }
}

import Foundation

/// A server behind PgBouncer: it works in session mode, and refuses to start in transaction mode.
struct PoolerCheck: Sendable {
    let cluster: FailoverCluster

    private static let server = "till3"

    /// - Returns: what is wrong.
    func run() async throws -> [String] {
        let file = cluster.directory.appendingPathComponent("\(Self.server)/till.json")
        let settings = try String(contentsOf: file, encoding: .utf8)
        let pooled = settings.replacingOccurrences(
            of: #"node1,node2,node3"#, with: "node1:6432,node2:6432,node3:6432")
        guard pooled != settings else { throw LoadError("till.json does not name the nodes as expected") }
        try await cluster.run(["stop", "till", Self.server])
        try pooled.write(to: file, atomically: true, encoding: .utf8)
        var problems: [String] = []
        try await cluster.run(["pooling", "session"])
        try await cluster.run(["start", "till", Self.server])
        let works = try await cluster.wait(atMost: .seconds(20)) {
            try await cluster.attempt(["ready", Self.server]).status == 0
        }
        if !works { problems.append("a server behind PgBouncer in session mode is not ready") }
        try await cluster.run(["stop", "till", Self.server])
        try await cluster.run(["pooling", "transaction"])
        try await cluster.run(["start", "till", Self.server])
        let isRefused = try await cluster.wait(atMost: .seconds(20)) {
            try await cluster.attempt(["running", "till", Self.server]).status != 0
        }
        if !isRefused {
            problems.append("a server behind PgBouncer in transaction mode runs")
            try await cluster.run(["kill", "till", Self.server])
        }
        let log = try String(
            contentsOf: cluster.directory.appendingPathComponent("\(Self.server)/till.log"), encoding: .utf8)
        if !log.contains("pool_mode") { problems.append("the refusal does not name pool_mode") }
        for node in FailoverCluster.nodes { try await cluster.run(["kill", "pgbouncer", node]) }
        try settings.write(to: file, atomically: true, encoding: .utf8)
        try await cluster.run(["start", "till", Self.server])
        return problems
    }
}

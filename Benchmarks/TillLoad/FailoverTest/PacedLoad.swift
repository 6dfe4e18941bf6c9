import Foundation

/// wrk at a steady pace: posts each signed transaction of a file once, and notes which were answered as granted.
struct PacedLoad: Sendable {
    private let files: LoadSet
    private let script: URL
    /// Milliseconds from one request to the next.
    private static let pause = 50

    init(directory: URL) {
        files = LoadSet(directory.path)
        script = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
            .appendingPathComponent("Benchmarks/post.lua")
    }

    private var answered: URL { files.directory.appendingPathComponent("answered.txt") }
    var root: [UInt8] { get throws { try files.root } }

    func prepare(count: Int) throws {
        try files.make(count: count)
        _ = FileManager.default.createFile(atPath: answered.path, contents: nil)
    }

    func open() async throws { try await OrderLoad(set: files, url: FailoverCluster.entrance).openAll() }

    func start() throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/wrk")
        process.arguments = [
            "-t", "1", "-c", "2", "-d", "24h", "--timeout", "20s", "-s", script.path,
            FailoverCluster.entrance + "/v1/transactions",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([
            "PROOFS": files.directory.appendingPathComponent("proofs.txt").path, "KEY": LoadSet.secretKey,
            "PAUSE": "\(Self.pause)", "ANSWERED": answered.path,
        ]) { $1 }
        let log = files.directory.appendingPathComponent("wrk.log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardError = process.standardOutput
        try process.run()
        return process
    }

    /// Answered grants that the ledger lacks.
    func lost(in ledger: FailoverAudit.Ledger) throws -> [String] {
        try answeredTransactions().filter { ledger.grants[$0] == nil }.map { "\($0), which wrk had an answer for" }
    }

    func answeredTransactions() throws -> [String] {
        try String(contentsOf: answered, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

import Foundation

/// The cluster that `scripts/failover-cluster` makes and changes.
struct FailoverCluster: Sendable {
    static let nodes = ["node1", "node2", "node3"]
    static let servers = ["till1", "till2", "till3"]
    static let entrance = "http://proxy:8080"
    static let entranceAddress = "10.0.0.31"
    /// This program's own address in the cluster's network.
    static let own = "10.0.0.1"

    let script: String
    let directory: URL
    let till: String

    /// Runs one of the script's commands.
    ///
    /// - Returns: what it wrote, without the last line end.
    @discardableResult
    func run(_ arguments: [String]) async throws -> String {
        let (status, output) = try await attempt(arguments)
        guard status == 0 else { throw LoadError("\(arguments.joined(separator: " ")): \(output)") }
        return output
    }

    /// The same, where failure is an answer.
    func attempt(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let file = directory.appendingPathComponent("output-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try FileHandle(forWritingTo: file)
        defer { try? output.close() }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: script)
        process.arguments = [directory.path] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TILL": till]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        let status = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { done.resume(returning: $0.terminationStatus) }
            do { try Self.start(process) } catch { done.resume(throwing: error) }
        }
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        return (status, text.hasSuffix("\n") ? String(text.dropLast()) : text)
    }

    /// Starts it without the signals that this thread blocks: the services that it starts would never hear a SIGTERM.
    private static func start(_ process: Process) throws {
        var (none, blocked) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        try process.run()
    }

    /// The node that answers as the leader; nil while there is none.
    func leader() async throws -> String? {
        let name = try await run(["leader"])
        return name.isEmpty ? nil : name
    }

    /// Whether one node leads and the two others have every commit.
    func hasBothStandbys() async throws -> Bool { try await attempt(["synchronous"]).status == 0 }

    /// Waits until `condition` holds.
    ///
    /// - Returns: whether it does, at the latest after `time`.
    func wait(atMost time: Duration, until condition: @Sendable () async throws -> Bool) async throws -> Bool {
        let deadline = ContinuousClock.now + time
        while ContinuousClock.now < deadline {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(300))
        }
        return try await condition()
    }

    /// The rows of a query on the leader's database of Till, read by psql: a second opinion beside the driver.
    func rows(_ sql: String) async throws -> [[String]] {
        guard let leader = try await leader() else { throw LoadError("no leader to read from") }
        let output = try await run(["psql", leader, "-d", "till", "-AtF", "|", "-c", sql])
        return output.split(separator: "\n").map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        }
    }
}

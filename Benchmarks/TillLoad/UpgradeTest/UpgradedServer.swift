import Foundation
import TillJSON
import TillThreads

/// A `till serve` whose program file is replaced while it runs. The process that serves changes with each hand-over.
final class UpgradedServer: Sendable {
    /// A program that can be installed.
    struct Version: Sendable {
        let program: String
        /// The schema that the build for this test serves; nil for the program that ships.
        var schema: String?
    }

    enum Outcome: Sendable {
        /// Another process serves.
        case taken(milliseconds: Int)
        /// The process goes on, for this reason.
        case refused(String)
    }

    private struct State {
        /// The processes that said that they listen, in order.
        var processes: [Int32] = []
        var url: String?
    }

    private let set: LoadSet
    private let state = Locked(State())
    private var program: String { self.set.directory.appendingPathComponent("till").path }
    private var log: URL { self.set.directory.appendingPathComponent("server.log") }

    /// How long a start or a hand-over may take.
    private static let patience = Duration.seconds(90)

    init(_ set: LoadSet) { self.set = set }

    // MARK: The program

    /// Replaces the program's file, as an installer does: a new file takes the name at once.
    func install(_ version: Version) throws {
        let manager = FileManager.default
        let (new, schema) = (program + ".new", program + ".schema")
        try? manager.removeItem(atPath: new)
        try manager.linkItem(atPath: version.program, toPath: new)
        try? manager.removeItem(atPath: schema)
        if let name = version.schema { try Data(name.utf8).write(to: URL(fileURLWithPath: schema)) }
        guard rename(new, program) == 0 else { throw LoadError("the program can't be replaced: errno \(errno)") }
    }

    /// Copies a program, so that installing its copies in turn changes the file each time.
    static func copy(_ program: String, to path: String) throws -> String {
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: program, toPath: path)
        return path
    }

    // MARK: The process

    var id: Int32? { state.withLock { $0.processes.last } }

    /// - Returns: the address.
    func start() async throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["serve", "--config", set.configuration, "--json"]
        let output = Pipe()
        process.standardOutput = output
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        let errors = try FileHandle(forWritingTo: log)
        try errors.seekToEnd()
        process.standardError = errors
        let known = state.withLock { $0.processes.count }
        try process.run()
        let handle = output.fileHandleForReading
        // The successors inherit the pipe, so it ends with the last of them.
        guard SystemThread.detached({ [self] in read(handle) }) else { throw LoadError("no thread") }
        try await wait("the server does not listen: \(complaints())") {
            self.state.withLock { $0.processes.count } > known
        }
        try noteProcess()
        guard let url = state.withLock({ $0.url }) else { throw LoadError("no address") }
        return url
    }

    /// Asks the process to hand over to the installed program.
    func upgrade() async throws -> Outcome {
        guard let old = id else { throw LoadError("no server runs") }
        let refusals = self.refusals().count
        let began = ContinuousClock.now
        Foundation.kill(old, SIGUSR2)
        let outcome = Locked<Outcome?>(nil)
        try await wait("no hand-over: \(complaints())") { [self] in
            if let id, id != old {
                outcome.withLock { $0 = .taken(milliseconds: Int((ContinuousClock.now - began) / .milliseconds(1))) }
                return true
            }
            let now = self.refusals()
            guard now.count > refusals else { return false }
            outcome.withLock { $0 = .refused(now.last ?? "") }
            return true
        }
        try noteProcess()
        return outcome.withLock { $0 } ?? .refused("")
    }

    func stop() async throws { try await end(SIGTERM) }

    func kill() async throws { try await end(SIGKILL) }

    private func end(_ signal: Int32) async throws {
        guard let id else { return }
        Foundation.kill(id, signal)
        try await wait("process \(id) does not end") { !Self.runs(id) }
        try? FileManager.default.removeItem(at: set.processID)
    }

    /// Whether a process runs; one that only waits to be collected by its parent does not.
    private static func runs(_ id: Int32) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return false }
        return !status.contains(") Z ") && !status.contains(") X ")
    }

    private func noteProcess() throws {
        if let id { try Data("\(id)\n".utf8).write(to: set.processID) }
    }

    // MARK: What it says

    private func read(_ output: FileHandle) {
        var rest = Data()
        while true {
            // Not `read(upToCount:)`, which waits for all its bytes.
            let chunk = output.availableData
            guard !chunk.isEmpty else { return }
            rest += chunk
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = rest[..<end]
                rest = Data(rest[rest.index(after: end)...])
                guard let said = try? JSONValue(decoding: Array(line)), let id = said["pid"]?.int else { continue }
                state.withLock { state in
                    state.processes.append(Int32(id))
                    state.url = said["listening"]?.string
                }
            }
        }
    }

    private func complaints() -> String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    private func refusals() -> [String] {
        complaints().split(separator: "\n").filter { $0.contains("handover_failed") }.map(String.init)
    }

    private func wait(_ failure: @autoclosure () -> String, _ isOver: () -> Bool) async throws {
        let end = ContinuousClock.now + Self.patience
        while !isOver() {
            guard ContinuousClock.now < end else { throw LoadError(String(failure().suffix(2_000))) }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

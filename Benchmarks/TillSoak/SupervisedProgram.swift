import Foundation
import TillHTTP
import TillThreads

/// The server or the store: a program that is killed and restarted on the same files repeatedly.
final class SupervisedProgram: Sendable {
    private struct State {
        var child: Child?
        var starts = 0
        /// Ends that the soak did not cause.
        var surprises: [String] = []
        var peakMemory = 0.0
    }

    let name: String
    let url: String
    private let program: String
    private let arguments: [String]
    private let health: String
    private let directory: URL
    private let send: HTTPSend
    private let tally: Tally
    private let state = Locked(State())

    /// - Parameters:
    ///   - health: a path that is answered 200 once the program is ready.
    ///   - directory: the directory of its log.
    init(
        _ name: String, program: String, _ arguments: [String], port: UInt16, health: String, directory: URL,
        send: @escaping HTTPSend, tally: Tally
    ) {
        self.name = name
        self.program = program
        self.arguments = arguments
        self.health = health
        self.directory = directory
        self.send = send
        self.tally = tally
        url = "http://127.0.0.1:\(port)"
    }

    /// Ends that the soak did not cause; see the log.
    var surprises: [String] { state.withLock { $0.surprises } }
    /// In MiB, the maximum of all runs.
    var peakMemory: Double {
        look()
        return state.withLock { $0.peakMemory }
    }

    // MARK: Start

    /// Starts it and waits until it is ready.
    func start() async throws {
        // Another process may use the port for a moment.
        for _ in 0..<5 {
            let child = try launch()
            for _ in 0..<1_200 {
                if try await isReady() { return }
                guard child.isRunning else { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            let wasRunning = child.isRunning
            child.kill()
            let ending = await child.end()
            if wasRunning { throw SoakError("the \(name) did not answer within a minute of its start") }
            try await Task.sleep(for: .seconds(1))
            state.withLock { $0.surprises.append("the \(name) ended at its start with \(ending): \(child.output)") }
        }
        throw SoakError("the \(name) can't be started; its log is \(directory.path)/\(name).log")
    }

    /// Waits until it is ready again without a restart, after what it needs was away.
    func recover() async throws {
        for _ in 0..<600 {
            if try await isReady() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        state.withLock { $0.surprises.append("the \(name) was not ready half a minute after its database was back") }
    }

    private func launch() throws -> Child {
        let child = try Child(
            program, arguments, log: directory.appendingPathComponent("\(name).log"),
            note: directory.appendingPathComponent("\(name).pid"))
        let isFirst = state.withLock { state in
            state.child = child
            state.starts += 1
            return state.starts == 1
        }
        if !isFirst { tally.add(.restarts, name) }
        return child
    }

    private func isReady() async throws -> Bool {
        let response = try? await send(url + health, HTTPRequest(method: .get, path: ""))
        return response?.status == 200
    }

    // MARK: End

    /// Kills it with signal 9 at any point of its work.
    func kill() async {
        look()
        guard let child = state.withLock({ $0.child }) else { return }
        if let ending = await child.end(within: .zero) {
            state.withLock { $0.surprises.append("the \(name) ended by itself with \(ending)") }
            return
        }
        child.kill()
        _ = await child.end()
        tally.add(.kills, name)
    }

    /// Starts it, and kills it while it opens its files.
    func killAtStart(after time: Duration) async throws {
        let child = try launch()
        try? await Task.sleep(for: time)
        child.kill()
        _ = await child.end()
        tally.add(.kills, "\(name) at its start")
    }

    /// Ends it normally.
    func stop() async throws {
        look()
        guard let child = state.withLock({ $0.child }), child.isRunning else { return }
        child.stop()
        guard await child.end(within: .seconds(60)) == .exit(0) else {
            child.kill()
            throw SoakError("the \(name) did not stop in good order; its log is \(directory.path)/\(name).log")
        }
    }

    /// Ends it in any state.
    func abandon() { state.withLock { $0.child }?.kill() }

    /// Records its memory, and whether it is running.
    func look() {
        guard let memory = state.withLock({ $0.child })?.peakMemory else { return }
        state.withLock { $0.peakMemory = max($0.peakMemory, memory) }
    }
}

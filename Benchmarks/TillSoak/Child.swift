import Foundation
import TillThreads

/// A process that is started here, and ended by its own id.
// Sendable: the process is started in `init`; afterwards only its id and whether it runs are read.
final class Child: @unchecked Sendable {
    enum Ending: Sendable, Hashable, CustomStringConvertible {
        case exit(Int32)
        case signal(Int32)

        var description: String {
            switch self {
            case .exit(let code): "exit \(code)"
            case .signal(let number): "signal \(number)"
            }
        }
    }

    private struct State {
        var ending: Ending?
        var waiting: [CheckedContinuation<Ending, Never>] = []
    }

    let log: URL
    /// The position in the log where this run's output begins.
    let logStart: UInt64
    private let process: Process
    private let input: FileHandle
    private let note: URL?
    private let state = Locked(State())

    /// - Parameters:
    ///   - log: its output and its errors are appended here.
    ///   - note: contains the process id while it runs, so that a clean-up can end it.
    init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], log: URL, note: URL? = nil
    ) throws {
        self.log = log
        self.note = note
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        let output = try FileHandle(forWritingTo: log)
        defer { try? output.close() }
        logStart = try output.seekToEnd()
        process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TILL_") }
        process.environment = inherited.merging(environment) { $1 }
        let keyboard = Pipe()
        process.standardInput = keyboard
        process.standardOutput = output
        process.standardError = output
        input = keyboard.fileHandleForWriting
        process.terminationHandler = { [state, note] process in
            let status = process.terminationStatus
            let ending: Ending = process.terminationReason == .uncaughtSignal ? .signal(status) : .exit(status)
            if let note { try? FileManager.default.removeItem(at: note) }
            let waiting = state.withLock { state in
                state.ending = ending
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume(returning: ending) }
        }
        try process.run()
        if let note { try Data("\(process.processIdentifier)\n".utf8).write(to: note) }
    }

    var id: Int32 { process.processIdentifier }
    var isRunning: Bool { state.withLock { $0.ending == nil } }

    /// Writes lines to its stdin. A process that has ended does not receive them.
    func send(_ lines: [String]) {
        try? input.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
    }

    /// Sends signal 9, which the process cannot handle.
    func kill() { send(SIGKILL) }
    /// Sends SIGTERM, so that the process can clean up.
    func stop() { send(SIGTERM) }

    private func send(_ signal: Int32) {
        // A process that has ended gets no signal, because its id may have been reused.
        if process.isRunning { _ = Foundation.kill(process.processIdentifier, signal) }
    }

    func end() async -> Ending {
        await withCheckedContinuation { continuation in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiting.append(continuation) }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending) }
        }
    }

    /// How it ended; nil if it still runs after that time.
    func end(within time: Duration) async -> Ending? {
        let clock = ContinuousClock()
        let deadline = clock.now + time
        while clock.now < deadline {
            if let ending = state.withLock({ $0.ending }) { return ending }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return state.withLock { $0.ending }
    }

    /// Its maximum memory in MiB as reported by Linux; nil after it has ended.
    var peakMemory: Double? {
        guard let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        else { return nil }
        return Double(kibibytes).map { $0 / 1_024 }
    }

    /// The output of this run so far.
    var output: String {
        guard let file = try? FileHandle(forReadingFrom: log) else { return "" }
        defer { try? file.close() }
        try? file.seek(toOffset: logStart)
        return String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
    }
}

struct SoakError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

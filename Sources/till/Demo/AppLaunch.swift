import TillBilling
import TillJSON

/// One run of a buyer's app, from its first line to its end.
struct AppLaunch: Sendable {
    /// The process id.
    let process: Int32
    /// Its exit code, or the signal that ended it.
    let code: Int32?
    let signal: Int32?
    /// All its events (Examples/LearnPoints/README.md).
    let events: [JSONValue]

    /// Seconds after which an app that has not ended is killed.
    private static let timeout: Int64 = 60

    /// - Parameters:
    ///   - line: the user's first input.
    ///   - started: receives the process id.
    ///   - during: runs concurrently; it may kill the process.
    ///   - answering: the user's next input after an event.
    static func run(
        _ app: BuyerApp, sending line: String? = nil, started: (Int32) -> Void = { _ in },
        during: @escaping @Sendable (ChildProcess) async -> Void = { _ in },
        answering: (JSONValue) -> String?
    ) async throws -> AppLaunch {
        let process = try ChildProcess.start(app)
        defer { process.kill() }
        started(process.id)
        if let line { process.send(line) }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await during(process) }
            group.addTask {
                try await Task.sleep(for: .seconds(timeout))
                process.kill()
            }
            defer { group.cancelAll() }
            var events: [JSONValue] = []
            for await event in process.events {
                switch event {
                case .output(let event):
                    events.append(event)
                    if let line = answering(event) { process.send(line) }
                case .ended(let code, let signal):
                    return AppLaunch(process: process.id, code: code, signal: signal, events: events)
                }
            }
            throw CancellationError()
        }
    }

    func last(_ name: String) -> JSONValue? { events.last { $0["event"]?.string == name } }

    /// The error that the app ended too early.
    var failure: CommandError {
        let ending = signal.map { "signal \($0)" } ?? "exit \(code ?? -1)"
        let reason = events.last { $0["code"] != nil }?["message"]?.string ?? ""
        return CommandError(
            LocalizedText(
                en: "the buyer's process \(process) ended too early (\(ending)). \(reason)",
                zh: "买家进程 \(process) 过早结束（\(ending)）。\(reason)"))
    }
}

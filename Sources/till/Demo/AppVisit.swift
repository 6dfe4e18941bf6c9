import TillBilling
import TillJSON

/// One run of a buyer's app, from its first line to its end.
struct AppVisit: Sendable {
    /// The process id.
    let process: Int32
    /// Its exit code, or the signal that ended it.
    let code: Int32?
    let signal: Int32?
    /// All its events (Examples/LearnPoints/README.md).
    let said: [JSONValue]

    /// Seconds after which an app that has not ended is killed.
    private static let patience: Int64 = 60

    /// - Parameters:
    ///   - line: the user's first input.
    ///   - started: receives the process id.
    ///   - during: runs concurrently; it may kill the process.
    ///   - answering: the user's next input after an event.
    static func run(
        _ app: BuyerApp, saying line: String? = nil, started: (Int32) -> Void = { _ in },
        during: @escaping @Sendable (ChildProcess) async -> Void = { _ in },
        answering: (JSONValue) -> String?
    ) async throws -> AppVisit {
        let process = try ChildProcess.start(app)
        defer { process.kill() }
        started(process.id)
        if let line { process.tell(line) }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await during(process) }
            group.addTask {
                try await Task.sleep(for: .seconds(patience))
                process.kill()
            }
            defer { group.cancelAll() }
            var said: [JSONValue] = []
            for await event in process.events {
                switch event {
                case .said(let event):
                    said.append(event)
                    if let line = answering(event) { process.tell(line) }
                case .ended(let code, let signal):
                    return AppVisit(process: process.id, code: code, signal: signal, said: said)
                }
            }
            throw CancellationError()
        }
    }

    func last(_ name: String) -> JSONValue? { said.last { $0["event"]?.string == name } }

    /// The error that the app ended too early.
    var failure: CommandFailure {
        let ending = signal.map { "signal \($0)" } ?? "exit \(code ?? -1)"
        let reason = said.last { $0["code"] != nil }?["message"]?.string ?? ""
        return CommandFailure(
            Text(
                en: "the buyer's process \(process) ended too early (\(ending)). \(reason)",
                zh: "买家进程 \(process) 过早结束（\(ending)）。\(reason)"))
    }
}

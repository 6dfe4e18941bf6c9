import TillAppStore
import TillBilling
import TillSimulation
import TillThreads

/// As many workers as the machine has cores, each with one plan at a time.
actor SimulationPool {
    private struct Worker {
        let process: ChildProcess
        var events: AsyncStream<ChildProcess.Event>.Iterator
        var done = 0
    }

    /// After this many worlds, a worker's memory is full of what killed programs left.
    private static let worldsPerWorker = 40

    private let executable: String
    private let environment: [String: String]

    init(executable: String, environment: [String: String]) {
        self.executable = executable
        var environment = environment
        environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
        self.environment = environment
    }

    /// Runs plans until none is left or the task is cancelled.
    ///
    /// - Parameters:
    ///   - next: the next plan; nil after the last.
    ///   - report: called with each report, in order of arrival.
    func run(
        workers: Int, next: @escaping @Sendable () async -> SimulationPlan?,
        report: @escaping @Sendable (SimulationPlan, SeedReport) async throws -> Void
    ) async throws {
        let folder = try SimulationWorker.makeFolder()
        defer { SimulationWorker.remove(folder: folder) }
        let executable = executable
        let environment = environment.merging([SimulationWorker.variable: folder]) { $1 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask {
                    try await Self.work(executable, environment, next: next, report: report)
                }
            }
            try await group.waitForAll()
        }
    }

    /// Runs one plan.
    func report(of plan: SimulationPlan) async throws -> SeedReport {
        let state = Locked((isTaken: false, report: SeedReport?.none))
        try await run(
            workers: 1,
            next: {
                state.withLock { state in
                    defer { state.isTaken = true }
                    return state.isTaken ? nil : plan
                }
            },
            report: { _, report in state.withLock { $0.report = report } })
        guard let report = state.withLock({ $0.report }) else { throw Self.unreadable }
        return report
    }

    private static func work(
        _ executable: String, _ environment: [String: String], next: @Sendable () async -> SimulationPlan?,
        report: @Sendable (SimulationPlan, SeedReport) async throws -> Void
    ) async throws {
        var worker: Worker?
        defer { worker?.process.kill() }
        while !Task.isCancelled, let plan = await next() {
            if (worker?.done ?? 0) >= worldsPerWorker {
                worker?.process.kill()
                worker = nil
            }
            var current: Worker
            if let worker {
                current = worker
            } else {
                let process = try ChildProcess.start(executable, ["till", "simulate"], environment: environment)
                current = Worker(process: process, events: process.events.makeAsyncIterator())
            }
            worker = nil
            current.process.send(plan.json.encoded())
            let event = await withTaskCancellationHandler {
                await current.events.next()
            } onCancel: { [process = current.process] in
                process.kill()
            }
            if Task.isCancelled { return }
            switch event {
            case .output(let json)?:
                guard let found = SeedReport(json: json) else { throw Self.unreadable }
                current.done += 1
                worker = current
                try await report(plan, found)
            case .ended(let code, let signal)?:
                let how = signal.map { "signal \($0)" } ?? "exit code \(code ?? 0)"
                try await report(plan, SeedReport(crashed: plan.seed, how: how))
            case nil: throw Self.unreadable
            }
        }
    }

    private static var unreadable: CommandError {
        CommandError(LocalizedText(en: "a worker of the simulation printed unreadable output", zh: "模拟的工作进程输出了无法理解的内容"))
    }
}

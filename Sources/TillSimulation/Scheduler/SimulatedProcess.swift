import TillBilling

/// One run of a program: all of its tasks, on an executor of its own, so that a kill stops them where they are. Work
/// before a suspension point is done; work after it never runs.
public final class SimulatedProcess: TaskExecutor, @unchecked Sendable {
    public let name: String
    public private(set) var isAlive = true
    /// The number of pieces of work done, which are the points at which it can be killed.
    public private(set) var steps = 0

    let scheduler: SimulatedScheduler
    /// Called after each piece of work, also the last.
    var afterStep: (() -> Void)?
    private var killedAfter: Int?
    private var endHandlers: [Int: () -> Void] = [:]
    private var lastEndHandler = 0

    init(_ name: String, on scheduler: SimulatedScheduler) {
        self.name = name
        self.scheduler = scheduler
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        // A job that is never run stays in memory until the simulation's process ends.
        guard isAlive else { return }
        scheduler.add(UnownedJob(job), of: self)
    }

    func run(_ job: UnownedJob) {
        guard isAlive else { return }
        steps += 1
        job.runSynchronously(on: asUnownedTaskExecutor())
        if let limit = killedAfter, steps >= limit { kill() }
        afterStep?()
    }

    // MARK: Work

    /// Starts work without waiting for it.
    func spawn(_ work: @escaping @Sendable () async -> Void) {
        guard isAlive else { return }
        let planted = scheduler.planted
        Task(executorPreference: self) { await PlantableMistakes.with(planted) { await work() } }
    }

    /// Runs work in this process, for a caller in another one.
    ///
    /// - Returns: nil if the process was killed before the work was done.
    func ask<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value? {
        guard isAlive else { return nil }
        let answer = Answer<Value>()
        return await withUnsafeContinuation { continuation in
            answer.continuation = continuation
            let number = onEnd { answer.give(nil) }
            spawn { [self] in
                let value = await work()
                endHandlers[number] = nil
                answer.give(value)
            }
        }
    }

    /// Touched only by the thread of its scheduler.
    private final class Answer<Value: Sendable>: @unchecked Sendable {
        var continuation: UnsafeContinuation<Value?, Never>?

        func give(_ value: Value?) {
            let waiting = continuation
            continuation = nil
            waiting?.resume(returning: value)
        }
    }

    // MARK: Termination

    /// Calls `action` when the process is killed.
    @discardableResult
    func onEnd(_ action: @escaping () -> Void) -> Int {
        lastEndHandler += 1
        endHandlers[lastEndHandler] = action
        return lastEndHandler
    }

    func forget(endHandler number: Int) { endHandlers[number] = nil }

    /// Kill -9: none of its tasks continues.
    func kill() {
        guard isAlive else { return }
        isAlive = false
        killedAfter = nil
        scheduler.drop(self)
        let mourning = endHandlers.sorted { $0.key < $1.key }
        endHandlers = [:]
        for (_, action) in mourning { action() }
    }

    /// Kills the process after this many further pieces of work.
    func kill(afterSteps count: Int) { killedAfter = steps + max(1, count) }
}

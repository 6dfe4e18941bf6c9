import TillAppStore
import TillBilling
import TillSQL

/// Runs the due tasks for Apple: finishes transactions that were granted but not finished by the device (Finish
/// Transaction), and sets the order id on purchases without one (Set App Account Token). Both may be repeated safely,
/// so a task is removed only after Apple accepted it; after a crash it is run again.
public struct AppleTaskRuns: Sendable {
    let ledger: Ledger
    private static let batch = 32
    /// The number of concurrent requests; the app's request budget also keeps them within Apple's quota.
    private static let width = 8

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Runs the tasks of both environments concurrently.
    @discardableResult
    public func runAll() async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for environment in [StoreEnvironment.production, .sandbox] {
                group.addTask { try await runAll(in: environment) }
            }
            return try await group.reduce(0, +)
        }
    }

    /// Runs the due tasks of an environment, alternating between customers, until none is left or Apple cannot be
    /// reached. Returns how many are done.
    public func runAll(in environment: StoreEnvironment) async throws -> Int {
        guard let api = ledger.serverAPI?.calling(as: .bulk("apple_tasks")) else { return 0 }
        var done = 0
        while true {
            let now = ledger.clock()
            let due = try await ledger.database.read { connection in
                try AppleTaskTable(connection).due(in: environment, at: now, limit: Self.batch)
            }
            guard !due.isEmpty else { return done }
            // One task runs first: during an outage a queue of thousands then costs one request for each pass.
            let outcomes = try await note(run(Array(due.prefix(1)), over: api))
            done += outcomes.done
            guard !outcomes.isDown else { return done }
            let rest = try await note(run(Array(due.dropFirst()), over: api))
            done += rest.done
            guard !rest.isDown else { return done }
        }
    }

    private enum Outcome: Sendable {
        case done
        /// The task is no longer pending.
        case withdrawn
        /// Setting the token would change a later purchase.
        case left(boughtSince: TransactionID)
        /// This task was permanently refused.
        case refused(String)
        /// This task is tried again later.
        case later(String, not: Instant?)
        /// All tasks are tried again later: the cause is not this one.
        case down(String, not: Instant?)
    }

    private func run(
        _ appleTasks: [AppleTaskTable.Stored], over api: ServerAPI
    ) async -> [(AppleTaskTable.Stored, Outcome)] {
        await withTaskGroup(of: (AppleTaskTable.Stored, Outcome).self) { group in
            var outcomes: [(AppleTaskTable.Stored, Outcome)] = []
            var rest = appleTasks[...]
            for task in rest.prefix(Self.width) { group.addTask { (task, await run(task, over: api)) } }
            rest = rest.dropFirst(Self.width)
            while let outcome = await group.next() {
                outcomes.append(outcome)
                if let next = rest.popFirst() { group.addTask { (next, await run(next, over: api)) } }
            }
            return outcomes
        }
    }

    private func run(_ task: AppleTaskTable.Stored, over api: ServerAPI) async -> Outcome {
        // Earlier tasks in the batch may have taken long, and new data from Apple may have withdrawn this one
        // meanwhile. If the read fails, the task stays due.
        do {
            let isWaiting = try await ledger.database.read { try AppleTaskTable($0).isWaiting(task.rowID) }
            guard isWaiting else { return .withdrawn }
        } catch {
            ledger.workFailed("apple_task", task.transactionID.text, error)
            return .withdrawn
        }
        do throws(ServerAPIError) {
            switch task.kind {
            case .finish: try await api.finish(task.transactionID, in: task.environment)
            case .token(let order):
                switch try await tokenTarget(of: task, over: api) {
                case .ownPurchase:
                    try await api.setAppAccountToken(order, on: task.originalID, in: task.environment)
                case .boughtSince(let id): return .left(boughtSince: id)
                case .unknown(let detail): return .later(detail, not: nil)
                }
            }
            return .done
        } catch {
            let detail = "\(error.kind): \(error.sentence.en)"
            switch error {
            case .refused where error.isRetryable: return .later(detail, not: error.retryAfter)
            case .refused, .invalid: return .refused(detail)
            case .unauthorized, .rateLimited, .overBudget, .outage, .unreadable, .signing:
                return .down(detail, not: error.retryAfter)
            }
        }
    }

    /// Records the outcomes in one commit. A task whose outcome is lost in a crash runs again.
    private func note(
        _ outcomes: [(AppleTaskTable.Stored, Outcome)]
    ) async throws -> (done: Int, isDown: Bool) {
        guard !outcomes.isEmpty else { return (0, false) }
        let now = ledger.clock()
        let result = try await ledger.database.write(locking: outcomes.map { .work("apple task", $0.0.rowID) }) {
            connection in
            let appleTasks = AppleTaskTable(connection)
            var (done, isDown) = (0, false)
            for (task, outcome) in outcomes {
                switch outcome {
                case .done:
                    try appleTasks.remove(task.rowID)
                    try Self.record(task, at: now, connection)
                    done += 1
                case .left(let id):
                    try appleTasks.remove(task.rowID)
                    try Self.record(task, leftTo: id, at: now, connection)
                    done += 1
                case .withdrawn: break
                case .refused(let detail): try appleTasks.refuse(task.rowID, detail: detail)
                case .later(let detail, let instant), .down(let detail, let instant):
                    try appleTasks.postpone(
                        task.rowID, until: Self.due(task, not: instant, at: now), detail: detail)
                    if case .down = outcome { isDown = true }
                }
            }
            return (done, isDown)
        }
        for (task, outcome) in outcomes { writeLog(task, outcome, at: now) }
        return result
    }

    private static func due(_ task: AppleTaskTable.Stored, not instant: Instant?, at now: Instant) -> Instant {
        let due = now.adding(seconds: PurchaseIntake.pause(after: task.attempts))
        return max(due, instant ?? due)
    }

    private func writeLog(_ task: AppleTaskTable.Stored, _ outcome: Outcome, at now: Instant) {
        let kind = if case .finish = task.kind { "finish" } else { "set_app_account_token" }
        var fields: Log.Fields = [
            "task": .text(kind), "transactionId": .text(task.transactionID.text),
            "environment": .text(task.environment.rawValue), "attempts": .integer(task.attempts + 1),
        ]
        switch outcome {
        case .done, .withdrawn, .left: return
        case .refused(let detail):
            fields.append("cause", .text(detail))
            ledger.log.write(.appleTaskGivenUp, fields)
        case .later(let detail, let instant), .down(let detail, let instant):
            fields.append("cause", .text(detail))
            fields.append("nextAt", .text(Self.due(task, not: instant, at: now).rfc3339))
            ledger.log.write(.appleTaskRetried, fields)
        }
    }

    /// Records the result as evidence, so that operators see it in the order's history.
    private static func record(
        _ task: AppleTaskTable.Stored, leftTo later: TransactionID? = nil, at now: Instant, _ connection: any Connection
    ) throws {
        let (decision, ground, detail): (String, String, String?) =
            switch (task.kind, later) {
            case (.finish, _): ("finished", "finish_transaction", nil)
            case (.token, let later?): ("token_left", "bought_since", later.text)
            case (.token(let order), nil): ("token_set", "set_app_account_token", order.description)
            }
        try EvidenceTable(connection).insert(
            transaction: task.transactionRowID,
            EvidenceTable.Entry(
                at: now, decision: decision, ground: ground, source: PurchaseSource.appleTask.rawValue, caller: "till",
                detail: detail))
    }
}

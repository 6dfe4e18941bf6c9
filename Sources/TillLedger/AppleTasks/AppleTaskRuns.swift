import TillAppStore
import TillBilling
import TillSQL

/// Tells Apple what is due: finishes what was granted and the phone did not finish (Finish Transaction, U2), and sets
/// the order id on purchases that carried none (Set App Account Token, U1). Both do no harm when they are done twice,
/// so an errand goes only after Apple agreed: whatever crashes, it is run again.
public struct AppleTaskRuns: Sendable {
    let ledger: Ledger
    private static let batch = 32
    /// How many are asked at once; the app's budget holds them to Apple's quota all the same.
    private static let width = 8

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Both environments, beside each other.
    @discardableResult
    public func runAll() async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for environment in [Environment.production, .sandbox] {
                group.addTask { try await runAll(in: environment) }
            }
            return try await group.reduce(0, +)
        }
    }

    /// Takes up those of an environment that are due, the customers in turns, until none is left or Apple can't be
    /// asked. Returns how many are done.
    public func runAll(in environment: Environment) async throws -> Int {
        guard let api = ledger.serverAPI?.asking(as: .bulk("errands")) else { return 0 }
        var done = 0
        while true {
            let now = ledger.clock()
            let due = try await ledger.database.read { connection in
                try ErrandTable(connection).due(in: environment, at: now, limit: Self.batch)
            }
            guard !due.isEmpty else { return done }
            // One goes ahead: while Apple can't be asked, a queue of thousands costs one question a pass.
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
        /// It would do harm by now.
        case withdrawn
        /// The token would be set on what was bought since.
        case left(boughtSince: TransactionID)
        /// This one never.
        case refused(String)
        /// This one later.
        case later(String, not: Instant?)
        /// All of them later: it is not about this one.
        case down(String, not: Instant?)
    }

    private func run(
        _ errands: [ErrandTable.Stored], over api: ServerAPI
    ) async -> [(ErrandTable.Stored, Outcome)] {
        await withTaskGroup(of: (ErrandTable.Stored, Outcome).self) { group in
            var outcomes: [(ErrandTable.Stored, Outcome)] = []
            var rest = errands[...]
            for errand in rest.prefix(Self.width) { group.addTask { (errand, await run(errand, over: api)) } }
            rest = rest.dropFirst(Self.width)
            while let outcome = await group.next() {
                outcomes.append(outcome)
                if let next = rest.popFirst() { group.addTask { (next, await run(next, over: api)) } }
            }
            return outcomes
        }
    }

    private func run(_ errand: ErrandTable.Stored, over api: ServerAPI) async -> Outcome {
        // Those before it in the batch may have taken long, and Apple may have said something new meanwhile.
        let isWaiting = (try? await ledger.database.read { try ErrandTable($0).isWaiting(errand.sequence) }) ?? false
        guard isWaiting else { return .withdrawn }
        do throws(ServerAPIFault) {
            switch errand.kind {
            case .finish: try await api.finish(errand.transactionID, in: errand.environment)
            case .token(let order):
                switch try await tokenTarget(of: errand, over: api) {
                case .ownPurchase:
                    try await api.setAppAccountToken(order, on: errand.originalID, in: errand.environment)
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

    /// What became of each, in one commit. An answer that is lost with a crash is asked for again.
    private func note(
        _ outcomes: [(ErrandTable.Stored, Outcome)]
    ) async throws -> (done: Int, isDown: Bool) {
        guard !outcomes.isEmpty else { return (0, false) }
        let now = ledger.clock()
        return try await ledger.database.write(locking: outcomes.map { .work("apple task", $0.0.sequence) }) {
            connection in
            let errands = ErrandTable(connection)
            var (done, isDown) = (0, false)
            for (errand, outcome) in outcomes {
                switch outcome {
                case .done:
                    try errands.remove(errand.sequence)
                    try Self.record(errand, at: now, connection)
                    done += 1
                case .left(let id):
                    try errands.remove(errand.sequence)
                    try Self.record(errand, leftTo: id, at: now, connection)
                    done += 1
                case .withdrawn: break
                case .refused(let detail): try errands.refuse(errand.sequence, detail: detail)
                case .later(let detail, let instant), .down(let detail, let instant):
                    let due = now.adding(seconds: PurchaseIntake.pause(after: errand.attempts))
                    try errands.postpone(errand.sequence, until: max(due, instant ?? due), detail: detail)
                    if case .down = outcome { isDown = true }
                }
            }
            return (done, isDown)
        }
    }

    /// An operator can see it among the steps of the order (U9).
    private static func record(
        _ errand: ErrandTable.Stored, leftTo later: TransactionID? = nil, at now: Instant, _ connection: any Connection
    ) throws {
        let (decision, ground, detail): (String, String, String?) =
            switch (errand.kind, later) {
            case (.finish, _): ("finished", "finish_transaction", nil)
            case (.token, let later?): ("token_left", "bought_since", later.text)
            case (.token(let order), nil): ("token_set", "set_app_account_token", order.description)
            }
        try EvidenceTable(connection).insert(
            transaction: errand.transactionSequence,
            EvidenceTable.Entry(
                at: now, decision: decision, ground: ground, door: PurchaseSource.appleTask.rawValue, caller: "till",
                detail: detail))
    }
}

import TillBilling
import TillLedger
import TillSQL

/// The metrics of the ledger. A new metric is one more definition and a line in a function of the list, which gets an
/// open connection and must answer from an index.
enum LedgerMetrics {
    typealias Reading = @Sendable (_ connection: any Connection, _ scope: Scope) throws -> [Metric]

    struct Scope: Sendable {
        let environments: [StoreEnvironment]
        /// The ids of the configured webhook endpoints.
        let endpoints: [String]
        /// Seconds for which a task to finish a transaction is not due.
        let finishAfter: Int64
        let now: Instant

        /// The values of a label of the ledger's metrics.
        fileprivate func values(of label: String) -> [String] {
            switch label {
            case "environment": environments.map(\.rawValue)
            case "endpoint": endpoints
            case "status": LedgerMetrics.openOrders.map(\.name)
            case "kind": Difference.Kind.allCases.map(\.rawValue)
            default: preconditionFailure("the label \(label) has no list of values")
            }
        }

        fileprivate func age(_ since: Instant?) -> Double {
            since.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1_000) } ?? 0
        }
    }

    static let readings: [Reading] = [
        lostOrders, openWork, appleWork, reminders, outbox, forgivenDebts, reconciliation,
    ]
    fileprivate static let openOrders: [OrderStatus] = [.prepared, .ongoing, .deferred]

    static func read(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        complete(try readings.flatMap { try $0(connection, scope) }, scope)
    }

    /// Every metric of the ledger as NaN, for a ledger that cannot be read.
    static func unknown(_ scope: Scope) -> [Metric] { complete([], scope) }

    /// Adds NaN for every value that is not known, so that no series is ever absent.
    private static func complete(_ metrics: [Metric], _ scope: Scope) -> [Metric] {
        definitions.map { definition in
            let known = metrics.first { $0.definition == definition }?.samples ?? []
            let sets = definition.labels.reduce([[Metric.Label]()]) { sets, label in
                sets.flatMap { set in scope.values(of: label).map { set + [(name: label, value: $0)] } }
            }
            return Metric(
                definition,
                sets.map { labels in
                    known.first { $0.labels.map(\.value) == labels.map(\.value) } ?? Metric.Sample(.nan, labels: labels)
                })
        }
    }

    // MARK: Lost orders

    /// A lost order is a purchase that Apple reports as paid and whose buyer got nothing for more than a day: it waits
    /// in quarantine, or a reconciliation granted it that late.
    private static func lostOrders(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let figures = LedgerFigures(connection)
        let limit = scope.now.adding(milliseconds: -ReconciliationSettings.lostAfter)
        let known = try figures.purchases()
        var (late, waiting, lost) = ([Metric.Sample](), [Metric.Sample](), Int64(0))
        for environment in scope.environments {
            let label = (name: "environment", value: environment.rawValue)
            let lateCount = try ReconciliationTable(connection).total(of: Difference.lateGrants, in: environment)
            let waitingCount = try figures.quarantined(in: environment, paidBefore: limit)
            late.append(Metric.Sample(count: lateCount, label))
            waiting.append(Metric.Sample(count: waitingCount, label))
            lost += lateCount + waitingCount
        }
        return [
            Metric(.purchases, Double(known)), Metric(.grantedLate, late), Metric(.ungranted, waiting),
            Metric(.lostOrderRatio, known == 0 ? 0 : Double(lost) / Double(known)),
        ]
    }

    // MARK: Waiting entries

    private static func openWork(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let figures = LedgerFigures(connection)
        let (saved, waiting) = (SavedProofTable(connection), WaitingProofTable(connection))
        return [
            Metric(
                .oldestOpenOrder,
                try openOrders.map {
                    Metric.Sample(scope.age(try figures.oldestOrder($0)), (name: "status", value: $0.name))
                }),
            Metric(.quarantined, Double(try figures.quarantined())),
            Metric(.oldestQuarantined, scope.age(try figures.oldestQuarantined())),
            Metric(.pendingNotifications, Double(try figures.pendingNotifications())),
            Metric(.oldestPendingNotification, scope.age(try figures.oldestPendingNotification())),
            Metric(.savedProofs, Double(try saved.count())), Metric(.oldestSavedProof, scope.age(try saved.oldest())),
            Metric(.waitingReceipts, Double(try waiting.count())),
            Metric(.oldestWaitingReceipt, scope.age(try waiting.oldest())),
        ]
    }

    /// What waits for an answer of Apple.
    private static func appleWork(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let figures = LedgerFigures(connection)
        let (tasks, claims) = (try AppleTaskTable(connection).waiting(), try figures.waitingClaims())
        let oldestTask = try figures.oldestAppleTask()?.adding(seconds: scope.finishAfter)
        let answers = try figures.waitingConsumptionAnswers()
        return [
            Metric(.appleTasks, Double(tasks.count)), Metric(.oldestAppleTask, scope.age(oldestTask)),
            Metric(.refusedAppleTasks, Double(try figures.refusedAppleTasks())),
            Metric(.waitingClaims, Double(claims.count)), Metric(.oldestWaitingClaim, scope.age(claims.oldest)),
            Metric(.consumptionAnswers, Double(answers.count)),
            Metric(.oldestConsumptionAnswer, scope.age(answers.oldest)),
        ]
    }

    private static func reminders(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let due = try LedgerFigures(connection).dueReminders(at: scope.now)
        return [
            Metric(.dueReminders, Double(due.count)), Metric(.oldestDueReminder, scope.age(due.oldest)),
        ]
    }

    private static func outbox(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let (figures, events) = (LedgerFigures(connection), OutboxTable(connection))
        let written = try figures.outboxEvents()
        var (waiting, oldest, dead, isGone) = (
            [Metric.Sample](), [Metric.Sample](), [Metric.Sample](), [Metric.Sample]()
        )
        for name in scope.endpoints {
            guard let endpoint = try WebhookEndpointTable(connection).find(name) else { continue }
            let counts = try WebhookDeliveryTable(connection).counts(endpoint.rowID)
            let label = (name: "endpoint", value: name)
            let first = [
                try figures.oldestDelivery(to: endpoint.rowID).flatMap { try events.find($0) },
                try events.list(after: endpoint.position, limit: 1).first,
            ].compactMap { $0?.at }.min()
            waiting.append(Metric.Sample(count: counts.waiting + max(0, written - endpoint.position), label))
            oldest.append(Metric.Sample(scope.age(first), label))
            dead.append(Metric.Sample(count: counts.dead, label))
            isGone.append(Metric.Sample(count: endpoint.goneAt == nil ? 0 : 1, label))
        }
        return [
            Metric(.outboxEvents, Double(written)), Metric(.outboxBacklog, waiting), Metric(.oldestDelivery, oldest),
            Metric(.deadLetters, dead), Metric(.endpointGone, isGone),
        ]
    }

    private static func forgivenDebts(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let figures = LedgerFigures(connection)
        return [
            Metric(
                .forgivenDebts,
                try scope.environments.map {
                    Metric.Sample(
                        count: try figures.forgivenDebts(in: $0), (name: "environment", value: $0.rawValue))
                })
        ]
    }

    // MARK: Reconciliation

    private static func reconciliation(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let table = ReconciliationTable(connection)
        var (ages, drift) = ([Metric.Sample](), [Metric.Sample]())
        for environment in scope.environments {
            guard let run = try table.lastFinished(in: environment) else { continue }
            let label = (name: "environment", value: environment.rawValue)
            ages.append(Metric.Sample(scope.age(run.endedAt ?? run.beganAt), label))
            let counts = try table.counts(of: run.rowID).filter { $0.environment == environment }
            for kind in Difference.Kind.allCases {
                let count = counts.first { $0.name == kind.rawValue }?.count ?? 0
                drift.append(Metric.Sample(count: count, label, (name: "kind", value: kind.rawValue)))
            }
        }
        let running = try table.running()
        return [
            Metric(.reconciliationAge, ages), Metric(.differences, drift),
            Metric(.reconciliationRunning, running == nil ? 0 : 1),
            Metric(.reconciliationWaiting, running?.wait == nil ? 0 : 1),
        ]
    }
}

import TillBilling
import TillLedger
import TillSQL

/// The metrics of the ledger. A new metric is one more function in the list: it gets an open connection and must answer
/// from an index.
enum LedgerMetrics {
    typealias Reading = @Sendable (_ connection: any Connection, _ scope: Scope) throws -> [Metric]

    struct Scope: Sendable {
        let environments: [StoreEnvironment]
        /// The ids of the configured webhook endpoints.
        let endpoints: [String]
        let now: Instant
    }

    static let readings: [Reading] = [lostOrders, ungranted, queues, outbox, forgivenDebts, reconciliation]

    static func read(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        try readings.flatMap { try $0(connection, scope) }
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
            Metric(
                name: "till_purchases_total", kind: .counter,
                help: "Transactions with Apple's signature in the ledger.", samples: [Metric.Sample(count: known)]),
            Metric(
                name: "till_purchases_granted_late_total", kind: .counter,
                help: "Paid purchases that a reconciliation granted more than a day after the payment.",
                samples: late),
            Metric(
                name: "till_purchases_ungranted", kind: .gauge,
                help: "Paid purchases that are not granted more than a day after the payment.",
                samples: waiting),
            Metric(
                name: "till_lost_order_ratio", kind: .gauge,
                help:
                    "Share of all purchases that were granted late or not granted: the lost-order rate of the ledger.",
                samples: [Metric.Sample(known == 0 ? 0 : Double(lost) / Double(known))]),
        ]
    }

    // MARK: Waiting entries

    private static func ungranted(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let figures = LedgerFigures(connection)
        func age(_ since: Instant?) -> Double {
            since.map { max(0, Double(scope.now.milliseconds - $0.milliseconds) / 1_000) } ?? 0
        }
        let orders: [OrderStatus] = [.prepared, .ongoing, .deferred]
        return [
            Metric(
                name: "till_oldest_open_order_age_seconds", kind: .gauge,
                help: "Age of the oldest order that waits for its payment or proof; 0 without one.",
                samples: try orders.map {
                    Metric.Sample(age(try figures.oldestOrder($0)), (name: "status", value: $0.name))
                }),
            Metric(
                name: "till_oldest_quarantined_age_seconds", kind: .gauge,
                help: "Age of the oldest transaction in quarantine; 0 without one.",
                samples: [Metric.Sample(age(try figures.oldestQuarantined()))]),
            Metric(
                name: "till_oldest_pending_notification_age_seconds", kind: .gauge,
                help: "Age of the oldest notification that is stored and not processed; 0 without one.",
                samples: [Metric.Sample(age(try figures.oldestPendingNotification()))]),
            Metric(
                name: "till_oldest_saved_proof_age_seconds", kind: .gauge,
                help: "Age of the oldest unprocessed proof whose device has finished; 0 without one.",
                samples: [Metric.Sample(age(try SavedProofTable(connection).oldest()))]),
            Metric(
                name: "till_oldest_waiting_receipt_age_seconds", kind: .gauge,
                help: "Age of the oldest receipt purchase that waits for Apple's answer; 0 without one.",
                samples: [Metric.Sample(age(try WaitingProofTable(connection).oldest()))]),
        ]
    }

    private static func queues(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let figures = LedgerFigures(connection)
        return [
            Metric(
                name: "till_quarantined_transactions", kind: .gauge,
                help: "Paid transactions in quarantine.",
                samples: [Metric.Sample(count: try figures.quarantined())]),
            Metric(
                name: "till_pending_notifications", kind: .gauge,
                help: "Notifications that are stored and not processed.",
                samples: [Metric.Sample(count: try figures.pendingNotifications())]),
            Metric(
                name: "till_saved_proofs", kind: .gauge,
                help: "Unprocessed proofs whose devices have finished.",
                samples: [Metric.Sample(count: try SavedProofTable(connection).count())]),
            Metric(
                name: "till_waiting_receipts", kind: .gauge,
                help: "Receipt purchases that wait for Apple's answer.",
                samples: [Metric.Sample(count: try WaitingProofTable(connection).count())]),
        ]
    }

    private static func outbox(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let written = try LedgerFigures(connection).outboxEvents()
        var (waiting, dead) = ([Metric.Sample](), [Metric.Sample]())
        for name in scope.endpoints {
            guard let endpoint = try WebhookEndpointTable(connection).find(name) else { continue }
            let counts = try WebhookDeliveryTable(connection).counts(endpoint.rowID)
            let label = (name: "endpoint", value: name)
            waiting.append(Metric.Sample(count: counts.waiting + max(0, written - endpoint.position), label))
            dead.append(Metric.Sample(count: counts.dead, label))
        }
        return [
            Metric(
                name: "till_outbox_events_total", kind: .counter, help: "Events written for the app's backend.",
                samples: [Metric.Sample(count: written)]),
            Metric(
                name: "till_outbox_backlog", kind: .gauge,
                help: "Events that are queued for an endpoint or not yet examined for it.",
                samples: waiting),
            Metric(
                name: "till_outbox_dead_letters", kind: .gauge,
                help: "Events that were given up after three days of failed deliveries to an endpoint.", samples: dead),
        ]
    }

    private static func forgivenDebts(_ connection: any Connection, _ scope: Scope) throws -> [Metric] {
        let figures = LedgerFigures(connection)
        return [
            Metric(
                name: "till_forgiven_debts_total", kind: .counter,
                help: "Debts from refunded points that were written off.",
                samples: try scope.environments.map {
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
            let age = Double(scope.now.milliseconds - (run.endedAt ?? run.beganAt).milliseconds) / 1_000
            ages.append(Metric.Sample(max(0, age), label))
            let counts = try table.counts(of: run.rowID).filter { $0.environment == environment }
            for kind in Difference.Kind.allCases {
                let count = counts.first { $0.name == kind.rawValue }?.count ?? 0
                drift.append(Metric.Sample(count: count, label, (name: "kind", value: kind.rawValue)))
            }
        }
        let running = try table.running()
        return [
            Metric(
                name: "till_reconciliation_age_seconds", kind: .gauge,
                help: "Seconds since the last finished reconciliation; absent before the first.", samples: ages),
            Metric(
                name: "till_reconciliation_differences", kind: .gauge,
                help: "Differences found by the last finished reconciliation, by kind.", samples: drift),
            Metric(
                name: "till_reconciliation_running", kind: .gauge,
                help: "1 while a reconciliation is under way, also while it waits.",
                samples: [Metric.Sample(count: running == nil ? 0 : 1)]
            ),
            Metric(
                name: "till_reconciliation_waiting", kind: .gauge,
                help: "1 while the current reconciliation waits because Apple does not answer.",
                samples: [Metric.Sample(count: running?.wait == nil ? 0 : 1)]),
        ]
    }
}

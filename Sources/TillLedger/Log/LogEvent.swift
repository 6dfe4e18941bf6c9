/// Every event that has log lines. The raw value is the stable name in the line and in docs/operations.md, which a test
/// compares with this list.
public enum LogEvent: String, Sendable, CaseIterable {
    // MARK: Start and stop

    case starting
    case startWarning = "start_warning"
    case startFailed = "start_failed"
    case listening
    case reloaded
    case reloadRefused = "reload_refused"
    case drainBegins = "drain_begins"
    case drainEnded = "drain_ended"
    case drainCut = "drain_cut"
    case handoverBegins = "handover_begins"
    case handoverEnded = "handover_ended"
    case handoverFailed = "handover_failed"
    case backfillProgress = "backfill_progress"
    case stopped
    case linesDropped = "log_lines_dropped"
    case linesSuppressed = "log_lines_suppressed"

    // MARK: Requests

    case request
    case requestUnread = "request_unread"
    case serverError = "server_error"
    case proofRefused = "proof_refused"
    case operatorRefused = "operator_refused"
    case limitReached = "limit_reached"
    case limitTableFull = "limit_table_full"

    // MARK: Purchases

    case purchaseGranted = "purchase_granted"
    case purchaseMoved = "purchase_moved"
    case purchaseContested = "purchase_contested"
    case purchaseQuarantined = "purchase_quarantined"
    case purchaseRefunded = "purchase_refunded"
    case refundReversed = "refund_reversed"

    // MARK: People

    case customerExported = "customer_exported"
    case customerErased = "customer_erased"

    // MARK: Imports

    case importEnded = "import_ended"
    case importUndone = "import_undone"

    // MARK: Jobs and other hosts

    case jobRun = "job_run"
    case jobFailed = "job_failed"
    case jobFrozen = "job_frozen"
    case leaseTaken = "lease_taken"
    case leaseReleased = "lease_released"
    case leaseLost = "lease_lost"
    case rowsPruned = "rows_pruned"
    case proofsCompressed = "proofs_compressed"
    case sealsBegun = "seals_begun"
    case sealsResumed = "seals_resumed"
    case foreignRow = "foreign_row"
    case unmarkedRows = "unmarked_rows"
    case workFailed = "work_failed"
    case notificationStuck = "notification_stuck"
    case appleRequest = "apple_request"
    case appleRequestFailed = "apple_request_failed"
    case appleTaskRetried = "apple_task_retried"
    case appleTaskGivenUp = "apple_task_given_up"
    case proofPostponed = "proof_postponed"
    case consumptionPostponed = "consumption_postponed"
    case consumptionUnanswered = "consumption_unanswered"
    case webhookFailed = "webhook_failed"
    case webhookDead = "webhook_dead"
    case reconciliationPostponed = "reconciliation_postponed"
    case reconciliationFinished = "reconciliation_finished"
    case reconciliationFailed = "reconciliation_failed"

    /// How much the event matters. Each event has one level.
    public var level: Log.Level {
        switch self {
        case .jobRun,
            .appleRequest,
            .consumptionPostponed:
            .debug
        case .starting,
            .listening,
            .reloaded,
            .drainBegins,
            .drainEnded,
            .handoverBegins,
            .handoverEnded,
            .backfillProgress,
            .stopped,
            .request,
            .requestUnread,
            .purchaseGranted,
            .purchaseMoved,
            .purchaseQuarantined,
            .purchaseRefunded,
            .refundReversed,
            .customerExported,
            .customerErased,
            .importEnded,
            .importUndone,
            .rowsPruned,
            .proofsCompressed,
            .sealsBegun,
            .sealsResumed,
            .leaseTaken,
            .leaseReleased,
            .reconciliationFinished:
            .info
        case .startWarning,
            .reloadRefused,
            .drainCut,
            .linesDropped,
            .linesSuppressed,
            .proofRefused,
            .operatorRefused,
            .limitReached,
            .limitTableFull,
            .purchaseContested,
            .jobFailed,
            .leaseLost,
            .unmarkedRows,
            .workFailed,
            .notificationStuck,
            .appleRequestFailed,
            .appleTaskRetried,
            .proofPostponed,
            .consumptionUnanswered,
            .webhookFailed,
            .reconciliationPostponed:
            .warning
        case .startFailed,
            .handoverFailed,
            .serverError,
            .appleTaskGivenUp,
            .jobFrozen,
            .webhookDead,
            .reconciliationFailed,
            .foreignRow:
            .error
        }
    }
}

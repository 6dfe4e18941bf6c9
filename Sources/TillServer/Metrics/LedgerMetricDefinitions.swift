/// What the ledger says. Every value is NaN while the ledger cannot be read.
extension LedgerMetrics {
    static let definitions: [MetricDefinition] = [
        .purchases, .grantedLate, .ungranted, .lostOrderRatio, .oldestOpenOrder, .quarantined, .oldestQuarantined,
        .pendingNotifications, .oldestPendingNotification, .savedProofs, .oldestSavedProof, .waitingReceipts,
        .oldestWaitingReceipt, .appleTasks, .oldestAppleTask, .refusedAppleTasks, .waitingClaims, .oldestWaitingClaim,
        .consumptionAnswers,
        .oldestConsumptionAnswer, .dueReminders, .oldestDueReminder, .outboxEvents, .outboxBacklog, .oldestDelivery,
        .deadLetters, .endpointGone, .forgivenDebts, .reconciliationAge, .differences, .reconciliationRunning,
        .reconciliationWaiting,
    ]
}

extension MetricDefinition {
    // MARK: Lost orders

    static let purchases = MetricDefinition(
        "till_purchases_total", .counter, .count, "Transactions with Apple's signature in the ledger.")
    static let grantedLate = MetricDefinition(
        "till_purchases_granted_late_total", .counter, .count, ["environment"],
        "Paid purchases that a reconciliation granted more than a day after the payment.")
    static let ungranted = MetricDefinition(
        "till_purchases_ungranted", .gauge, .count, ["environment"],
        "Paid purchases that are not granted more than a day after the payment.")
    static let lostOrderRatio = MetricDefinition(
        "till_lost_order_ratio", .gauge, .ratio,
        "Share of all purchases that were granted late or not granted: the lost-order rate of the ledger.")

    // MARK: Waiting entries

    static let oldestOpenOrder = MetricDefinition(
        "till_oldest_open_order_age_seconds", .gauge, .seconds, ["status"],
        "Age of the oldest order that waits for its payment or proof; 0 without one.")
    static let quarantined = MetricDefinition(
        "till_quarantined_transactions", .gauge, .count, "Paid transactions in quarantine.")
    static let oldestQuarantined = MetricDefinition(
        "till_oldest_quarantined_age_seconds", .gauge, .seconds,
        "Age of the oldest transaction in quarantine; 0 without one.")
    static let pendingNotifications = MetricDefinition(
        "till_pending_notifications", .gauge, .count, "Notifications that are stored and not processed.")
    static let oldestPendingNotification = MetricDefinition(
        "till_oldest_pending_notification_age_seconds", .gauge, .seconds,
        "Age of the oldest notification that is stored and not processed; 0 without one.")
    static let savedProofs = MetricDefinition(
        "till_saved_proofs", .gauge, .count, "Unprocessed proofs whose devices have finished.")
    static let oldestSavedProof = MetricDefinition(
        "till_oldest_saved_proof_age_seconds", .gauge, .seconds,
        "Age of the oldest unprocessed proof whose device has finished; 0 without one.")
    static let waitingReceipts = MetricDefinition(
        "till_waiting_receipts", .gauge, .count, "Receipt purchases that wait for Apple's answer.")
    static let oldestWaitingReceipt = MetricDefinition(
        "till_oldest_waiting_receipt_age_seconds", .gauge, .seconds,
        "Age of the oldest receipt purchase that waits for Apple's answer; 0 without one.")
    static let appleTasks = MetricDefinition(
        "till_apple_tasks", .gauge, .count, "Tasks for Apple that are not done, such as finishing a transaction.")
    static let oldestAppleTask = MetricDefinition(
        "till_oldest_apple_task_age_seconds", .gauge, .seconds,
        "Seconds since the oldest task for Apple that is not done was first due; 0 if none is.")
    static let refusedAppleTasks = MetricDefinition(
        "till_apple_tasks_refused", .gauge, .count, "Tasks that Apple refused permanently.")
    static let waitingClaims = MetricDefinition(
        "till_waiting_claims", .gauge, .count, "Claims by order number that wait for Apple's answer.")
    static let oldestWaitingClaim = MetricDefinition(
        "till_oldest_waiting_claim_age_seconds", .gauge, .seconds,
        "Age of the oldest claim that waits for Apple's answer; 0 without one.")
    static let consumptionAnswers = MetricDefinition(
        "till_waiting_consumption_answers", .gauge, .count,
        "Apple's questions about refund requests that are not answered.")
    static let oldestConsumptionAnswer = MetricDefinition(
        "till_oldest_consumption_answer_age_seconds", .gauge, .seconds,
        "Seconds since the oldest question about a refund request that is not answered; 0 without one.")
    static let dueReminders = MetricDefinition(
        "till_due_reminders", .gauge, .count, "Reminders that are due and not sent.")
    static let oldestDueReminder = MetricDefinition(
        "till_oldest_due_reminder_age_seconds", .gauge, .seconds,
        "Seconds since the longest overdue reminder was due; 0 without one.")

    // MARK: Events

    static let outboxEvents = MetricDefinition(
        "till_outbox_events_total", .counter, .count, "Events written for the app's backend.")
    static let outboxBacklog = MetricDefinition(
        "till_outbox_backlog", .gauge, .count, ["endpoint"],
        "Events that are queued for an endpoint or not yet examined for it.")
    static let oldestDelivery = MetricDefinition(
        "till_outbox_oldest_age_seconds", .gauge, .seconds, ["endpoint"],
        "Age of the oldest event that an endpoint has not received; 0 without one.")
    static let deadLetters = MetricDefinition(
        "till_outbox_dead_letters", .gauge, .count, ["endpoint"],
        "Events that were given up after three days of failed deliveries to an endpoint.")
    static let endpointGone = MetricDefinition(
        "till_outbox_endpoint_gone", .gauge, .flag, ["endpoint"],
        "1 after the endpoint answered 410: it gets nothing until it is resumed.")
    static let forgivenDebts = MetricDefinition(
        "till_forgiven_debts_total", .counter, .count, ["environment"],
        "Debts from refunded points that were written off.")

    // MARK: Reconciliation

    static let reconciliationAge = MetricDefinition(
        "till_reconciliation_age_seconds", .gauge, .seconds, ["environment"],
        "Seconds since the last finished reconciliation; NaN before the first.")
    static let differences = MetricDefinition(
        "till_reconciliation_differences", .gauge, .count, ["environment", "kind"],
        "Differences found by the last finished reconciliation, by kind; NaN before the first.")
    static let reconciliationRunning = MetricDefinition(
        "till_reconciliation_running", .gauge, .flag,
        "1 while a reconciliation is under way, also while it waits.")
    static let reconciliationWaiting = MetricDefinition(
        "till_reconciliation_waiting", .gauge, .flag,
        "1 while the current reconciliation waits because Apple does not answer.")
}

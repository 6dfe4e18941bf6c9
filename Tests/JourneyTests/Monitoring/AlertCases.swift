/// Series on which an alert fires, and healthy ones on which it does not. A value a minute.
struct AlertCase {
    let alert: String
    let minute: Int
    let firing: [String: String]
    let quiet: [String: String]

    private init(_ alert: String, at minute: Int, _ firing: [String: String], quiet: [String: String]) {
        self.alert = alert
        self.minute = minute
        self.firing = firing
        self.quiet = quiet
    }

    /// One series that keeps one value.
    private init(_ alert: String, _ series: String, _ firing: String, quiet: String, at minute: Int = 2) {
        self.init(
            alert, at: minute, [series: "\(firing)+0x\(minute + 5)"], quiet: [series: "\(quiet)+0x\(minute + 5)"])
    }

    static let all = server + proofs + ledger + work + apple

    private static let server = [
        AlertCase("TillNotScraped", #"up{job="till"}"#, "0", quiet: "1", at: 4),
        AlertCase("TillNotReady", "till_ready", "0", quiet: "1"),
        AlertCase("TillDegraded", #"till_degraded{reason="disk_low"}"#, "1", quiet: "0", at: 7),
        AlertCase("TillValuesUnknown", "till_purchases_total", "NaN", quiet: "7", at: 13),
        AlertCase(
            "TillErrorRatio", at: 9,
            [
                #"till_http_requests_total{status="500"}"#: "0+10x12",
                #"till_http_requests_total{status="200"}"#: "0+90x12",
            ],
            quiet: [
                #"till_http_requests_total{status="500"}"#: "0+1x12",
                #"till_http_requests_total{status="200"}"#: "0+90x12",
            ]),
        AlertCase(
            "TillLatencyHigh", at: 12, latency("till_http_request_duration_seconds", slow: true),
            quiet: latency("till_http_request_duration_seconds", slow: false)),
        AlertCase(
            "TillFlood", at: 6, [#"till_refusals_total{code="too_many_orders"}"#: "0+60x10"],
            quiet: [#"till_refusals_total{code="too_many_orders"}"#: "0+1x10"]),
    ]

    private static let proofs = [
        AlertCase(
            "TillForgedProof", at: 4, [#"till_verification_failures_total{verdict="bad_signature"}"#: "0 0 1+0x10"],
            quiet: [
                #"till_verification_failures_total{verdict="bad_signature"}"#: "3+0x13",
                #"till_verification_failures_total{verdict="wrong_environment"}"#: "0+1x13",
            ]),
        AlertCase(
            "TillVerificationFailuresJump", at: 1_446,
            [#"till_verification_failures_total{verdict="malformed"}"#: "0+0x1440 30+30x10"],
            quiet: [#"till_verification_failures_total{verdict="malformed"}"#: "0+3x1460"]),
    ]

    private static let ledger = [
        AlertCase(
            "TillDiskLow", at: 1,
            ["till_disk_free_bytes": "1000000000+0x5", "till_disk_size_bytes": "100000000000+0x5"],
            quiet: ["till_disk_free_bytes": "50000000000+0x5", "till_disk_size_bytes": "100000000000+0x5"]),
        AlertCase(
            "TillBackupOld", at: 12, ["till_backup_age_seconds": "94000+60x15"],
            quiet: ["till_backup_age_seconds": "80000+60x15"]),
        AlertCase(
            "TillForeignRow", at: 6, ["till_foreign_rows_total": "0+0x4 1+0x10"],
            quiet: ["till_foreign_rows_total": "3+0x15"]),
        AlertCase(
            "TillDiskFillsSoon", at: 400, ["till_disk_free_bytes": "100000000000-100000000x410"],
            quiet: ["till_disk_free_bytes": "100000000000-10000x410"]),
        AlertCase(
            "TillCommitsSlow", at: 8, latency("till_commit_duration_seconds", slow: true),
            quiet: latency("till_commit_duration_seconds", slow: false)),
        AlertCase("TillWalletDrift", "till_wallet_drift", "1", quiet: "0"),
        AlertCase(
            "TillNoJobLeader", at: 4,
            [#"till_jobs_leader{instance="a"}"#: "0+0x8", #"till_jobs_leader{instance="b"}"#: "0+0x8"],
            quiet: [#"till_jobs_leader{instance="a"}"#: "0+0x8", #"till_jobs_leader{instance="b"}"#: "1+0x8"]),
        AlertCase(
            "TillStandbyLost", at: 6, ["till_synchronous_standbys": "1 1 1 0+0x8"],
            quiet: ["till_synchronous_standbys": "0+0x12"]),
        AlertCase("TillReplicationLag", "till_replication_lag_seconds", "60", quiet: "1", at: 7),
        AlertCase("TillDatabaseLocks", "till_database_waiting_locks", "30", quiet: "5", at: 7),
    ]

    private static let work = [
        AlertCase(
            "TillJobFrozen", at: 1,
            [
                #"till_job_last_success_age_seconds{background_job="reminders"}"#: "200+0x3",
                #"till_job_interval_seconds{background_job="reminders"}"#: "30+0x3",
            ],
            quiet: [
                #"till_job_last_success_age_seconds{background_job="reminders"}"#: "40+0x3",
                #"till_job_interval_seconds{background_job="reminders"}"#: "30+0x3",
                #"till_job_last_success_age_seconds{background_job="receipts"}"#: "200+0x3",
                #"till_job_interval_seconds{background_job="receipts"}"#: "5+0x3",
            ]),
        AlertCase("TillNotificationsPending", "till_oldest_pending_notification_age_seconds", "700", quiet: "20"),
        AlertCase("TillSavedProofsOld", "till_oldest_saved_proof_age_seconds", "400", quiet: "3"),
        AlertCase("TillReceiptsWaiting", "till_oldest_waiting_receipt_age_seconds", "1000", quiet: "60"),
        AlertCase("TillQuarantineOld", "till_oldest_quarantined_age_seconds", "200000", quiet: "100000"),
        AlertCase("TillClaimsWaiting", "till_oldest_waiting_claim_age_seconds", "4000", quiet: "300"),
        AlertCase(
            "TillLostOrders", at: 5,
            [#"till_purchases_granted_late_total{environment="Production"}"#: "0 0 1+0x10"],
            quiet: [
                #"till_purchases_granted_late_total{environment="Production"}"#: "4+0x12",
                #"till_purchases_ungranted{environment="Production"}"#: "2+0x12",
            ]),
        AlertCase("TillRemindersLate", "till_oldest_due_reminder_age_seconds", "900", quiet: "20"),
        AlertCase("TillWebhookBacklog", #"till_outbox_oldest_age_seconds{endpoint="a"}"#, "400", quiet: "3"),
        AlertCase("TillWebhookDead", #"till_outbox_dead_letters{endpoint="a"}"#, "2", quiet: "0"),
    ]

    private static let apple = [
        AlertCase("TillAppleRefusesKey", #"till_apple_key_refused{host="a"}"#, "1", quiet: "NaN"),
        AlertCase("TillAppleUnreachable", #"till_apple_unanswered_seconds{host="a"}"#, "100", quiet: "0"),
        AlertCase(
            "TillAppleBudgetLow", #"till_apple_budget_left_ratio{endpoint="finish"}"#, "0.05", quiet: "0.9", at: 25),
        AlertCase("TillAppleTasksStuck", "till_oldest_apple_task_age_seconds", "4000", quiet: "60"),
        AlertCase("TillAppleTasksRefused", "till_apple_tasks_refused", "1", quiet: "0"),
        AlertCase("TillConsumptionAnswersLate", "till_oldest_consumption_answer_age_seconds", "20000", quiet: "60"),
        AlertCase(
            "TillKeyExpires", #"till_key_expiry_seconds{list="secretKeys",key="a"}"#, "1000000", quiet: "1300000", at: 1
        ),
        AlertCase("TillClockSkew", #"till_clock_skew_seconds{host="a"}"#, "-90", quiet: "1", at: 7),
        AlertCase(
            "TillReconciliationOld", #"till_reconciliation_age_seconds{environment="a"}"#, "200000", quiet: "NaN"),
        AlertCase("TillReconciliationWaits", "till_reconciliation_waiting", "1", quiet: "0", at: 250),
        AlertCase(
            "TillReconciliationFailed", #"till_reconciliation_differences{kind="not_processed"}"#, "1", quiet: "0"),
    ]

    /// A histogram whose values are all below half a second, or all above a second.
    private static func latency(_ name: String, slow: Bool) -> [String: String] {
        let labels = #"route="/v1/transactions",method="POST""#
        return [
            #"\#(name)_bucket{\#(labels),le="0.25"}"#: slow ? "0+0x20" : "0+10x20",
            #"\#(name)_bucket{\#(labels),le="1"}"#: slow ? "0+0x20" : "0+10x20",
            #"\#(name)_bucket{\#(labels),le="2.5"}"#: "0+10x20",
            #"\#(name)_bucket{\#(labels),le="+Inf"}"#: "0+10x20",
        ]
    }
}

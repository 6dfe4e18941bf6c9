import TillAppStore

/// Finds contradictions in what a store has sent outside. It has no other knowledge of the store, like a developer's
/// server.
struct Auditor {
    let record: AuditRecord

    init(record: AuditRecord) { self.record = record }

    /// One invariant each, which returns its violations as sentences.
    static let checks: [(name: String, check: @Sendable (AuditRecord) -> [String])] = [
        ("duplicates", NotificationChecks.duplicates),
        ("envelope", NotificationChecks.envelope),
        ("subtypes", NotificationChecks.subtypes),
        ("births", NotificationChecks.births),
        ("strangers", NotificationChecks.strangers),
        ("notification history", NotificationChecks.history),
        ("grammar", NotificationGrammar.violations),
        ("renewal settings", NotificationChecks.renewalSettings),
        ("refunds", TransactionChecks.refunds),
        ("history", TransactionChecks.history),
        ("sameness", TransactionChecks.sameness),
        ("changes", TransactionChecks.changes),
        ("downloads", TransactionChecks.downloads),
        ("prices", TransactionChecks.prices),
        ("family", TransactionChecks.family),
        ("introductory offers", TransactionChecks.introductoryOffers),
        ("periods", PeriodChecks.periods),
        ("statuses", StatusChecks.statuses),
        ("status dates", StatusChecks.dates),
        ("renewal infos", StatusChecks.renewalInfos),
        ("receipts", ReceiptChecks.receipts),
        ("pending renewals", ReceiptChecks.pendingRenewals),
    ]

    /// Empty if everything is consistent; otherwise each sentence follows its invariant's name.
    func violations() -> [String] {
        Self.checks.flatMap { name, check in check(record).map { "\(name): \($0)" } }
    }
}

import TillAppStore

/// Looks for contradictions in what a store has told the outside. It knows nothing else of the store, and so believes
/// what a developer's server would.
struct Auditor {
    let record: AuditRecord

    init(record: AuditRecord) { self.record = record }

    /// One invariant each: what it finds wrong, as sentences.
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

    /// Empty if everything agrees; else what does not, each sentence after its invariant's name.
    func violations() -> [String] {
        Self.checks.flatMap { name, check in check(record).map { "\(name): \($0)" } }
    }
}

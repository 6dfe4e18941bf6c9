import TillAppStore
import TillBilling
import TillSQL

/// The kinds of keys that the ledger's writes declare (docs/decisions/0061).
extension LockKey {
    /// An order's id or an account token: Apple signs either as `appAccountToken`.
    package static func order(_ id: UniqueID) -> LockKey { LockKey("order", id.description) }

    /// All transactions of one original transaction, with their grants and their subscription.
    package static func chain(_ original: TransactionID, _ environment: Environment) -> LockKey {
        LockKey("chain", "\(environment.rawValue) \(original.text)")
    }

    /// What is counted or summed over a customer: wallet, plans, claims, reminders.
    package static func customer(_ user: UserID) -> LockKey { LockKey("customer", user.text) }

    /// A debit, or a posting by hand, of an environment: it happens once.
    package static func reference(_ reference: String, _ environment: Environment) -> LockKey {
        LockKey("reference", "\(environment.rawValue) \(reference)")
    }

    package static func transfer(_ id: UniqueID) -> LockKey { LockKey("transfer", id.description) }

    /// A webhook endpoint with its deliveries.
    package static func endpoint(_ id: String) -> LockKey { LockKey("endpoint", id) }

    /// The receipts that wait for what Apple says about one transaction.
    package static func waiting(_ id: TransactionID, _ environment: Environment) -> LockKey {
        LockKey("waiting", "\(environment.rawValue) \(id.text)")
    }

    package static func notification(_ id: String) -> LockKey { LockKey("notification", id) }

    /// A row of a work list, which one job works off.
    package static func work(_ list: String, _ row: Int64) -> LockKey { LockKey(list, "\(row)") }

    /// An answer that a repeated request gets again.
    package static func idempotency(_ key: String) -> LockKey { LockKey("idempotency", key) }

    /// What there is once in a ledger.
    package static func ledger(_ part: String) -> LockKey { LockKey("ledger", part) }
}

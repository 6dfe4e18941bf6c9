import TillAppStore
import TillBilling
import TillSQL

/// The kinds of keys that the ledger's writes declare (docs/decisions/0061).
extension LockKey {
    /// An order's id or an account token: Apple signs either as `appAccountToken`.
    package static func order(_ id: UniqueID) -> LockKey { LockKey("order", id.description) }

    /// All transactions of one original transaction, with their grants and their subscription.
    package static func chain(_ original: TransactionID, _ environment: StoreEnvironment) -> LockKey {
        LockKey("chain", "\(environment.rawValue) \(original.text)")
    }

    /// Everything counted or summed for a customer: wallet, plans, claims, reminders.
    package static func customer(_ user: UserID) -> LockKey { LockKey("customer", user.text) }

    /// What is counted for an Apple Account, whichever customers it paid for: the debts that a shop forgives.
    package static func payer(_ appTransactionID: String, _ environment: StoreEnvironment) -> LockKey {
        LockKey("payer", "\(environment.rawValue) \(appTransactionID)")
    }

    /// A debit or a manual posting in an environment, which happens once.
    package static func reference(_ reference: String, _ environment: StoreEnvironment) -> LockKey {
        LockKey("reference", "\(environment.rawValue) \(reference)")
    }

    package static func transfer(_ id: UniqueID) -> LockKey { LockKey("transfer", id.description) }

    /// A webhook endpoint with its deliveries.
    package static func endpoint(_ id: String) -> LockKey { LockKey("endpoint", id) }

    /// The receipts that wait for Apple's answer about one transaction.
    package static func waiting(_ id: TransactionID, _ environment: StoreEnvironment) -> LockKey {
        LockKey("waiting", "\(environment.rawValue) \(id.text)")
    }

    /// What the signed transactions of one signer have in common, while no row has it: each purchase would insert it.
    package static func proofHeader(_ header: [UInt8]) -> LockKey {
        LockKey("proofHeader", String(decoding: header, as: UTF8.self))
    }

    package static func notification(_ id: String) -> LockKey { LockKey("notification", id) }

    /// A row of a work list, processed by one job.
    package static func work(_ list: String, _ row: Int64) -> LockKey { LockKey(list, "\(row)") }

    /// The stored answer to a repeatable request.
    package static func idempotency(_ key: String) -> LockKey { LockKey("idempotency", key) }

    /// A part that exists once in a ledger.
    package static func ledger(_ part: String) -> LockKey { LockKey("ledger", part) }
}

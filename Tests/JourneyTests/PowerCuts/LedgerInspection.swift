import TillBilling
import TillLedger
import TillSQL

/// Everything in a ledger about some sales, and its contradictions: DESIGN §4's invariants 1, 2, 4 and 5, checked in
/// the tables after every power cut.
struct LedgerInspection: Sendable {
    private(set) var granted: Set<TransactionID> = []
    private(set) var revoked: Set<TransactionID> = []
    /// Granted, revoked or quarantined.
    private(set) var recorded: Set<TransactionID> = []
    private(set) var opened: Set<OrderID> = []
    private(set) var notices: Set<String> = []
    private(set) var pendingNotices = 0
    private(set) var debits: Set<String> = []
    private(set) var violations: [String] = []

    init(of sales: [Sale], debits references: [String], in connection: any Connection) throws {
        while try OutboxTable(connection).place(limit: 1_000) {}
        let events = try OutboxTable(connection).list(after: 0, limit: 1_000)
        for sale in sales { try inspect(sale, events, connection) }
        let (ledger, notifications) = (LedgerTable(connection), NotificationTable(connection))
        for reference in references where try ledger.debit(reference: reference, in: .sandbox) != nil {
            debits.insert(reference)
        }
        for notice in sales.flatMap({ [$0.notice, $0.refund].compactMap { $0 } })
        where try notifications.find(uuid: notice.uuid) != nil {
            notices.insert(notice.uuid)
        }
        pendingNotices = try notifications.pending(after: 0, limit: 1_000).count
        for user in Set(sales.map(\.user)) { try inspect(user, sales, ledger) }
        violations += try ledger.unbalanced().map { "unbalanced: \($0)" }
        let verdict = try connection.query("PRAGMA integrity_check", []) { $0.text("integrity_check") }
        if verdict != ["ok"] { violations.append("integrity: \(verdict.prefix(3))") }
        let orphans = try connection.query("PRAGMA foreign_key_check", []) { $0.text("foreign_key_check") }
        if !orphans.isEmpty { violations.append("foreign keys: \(orphans)") }
    }

    /// One sale: its order, transaction, grant, postings, evidence and events are there together or not at all.
    private mutating func inspect(_ sale: Sale, _ events: [OutboxTable.Event], _ connection: any Connection) throws {
        func complain(_ text: String) { violations.append("\(sale.transaction): \(text)") }
        let order = try OrderTable(connection).find(sale.order)?.order
        if order != nil { opened.insert(sale.order) }
        guard let stored = try TransactionTable(connection).find(sale.transaction, in: .sandbox) else {
            if let order, order.status != .prepared { complain("order \(order.status) without a transaction") }
            return
        }
        recorded.insert(sale.transaction)
        let grant = try GrantTable(connection).find(transaction: stored.rowID)
        if try ProofTable(connection).find(transaction: stored.rowID) == nil { complain("no proof") }
        // The reason for waiting is recorded once for each of its first callers.
        var callers: Set<String> = []
        let evidence = try EvidenceTable(connection).list(transaction: stored.rowID).filter { entry in
            guard entry.decision == "quarantined", !callers.isEmpty else {
                if entry.decision == "quarantined" { callers.insert(entry.caller) }
                return true
            }
            return !callers.insert(entry.caller).inserted
        }.map(\.decision)
        let reported = events.filter { $0.transactionRowID == stored.rowID }.map(\.type)
        func count(_ decision: String, _ event: String, _ expected: Int) {
            let (decisions, events) = (evidence.filter { $0 == decision }.count, reported.filter { $0 == event }.count)
            if decisions != expected || events != expected {
                complain("\(decisions) × \(decision), \(events) × \(event), not \(expected)")
            }
        }
        let postings = try LedgerTable(connection).postings(grantOf: stored.rowID).map(\.posting)
        count("granted", "grant.created", grant == nil ? 0 : 1)
        switch stored.state {
        case .granted:
            granted.insert(sale.transaction)
            guard let grant else { return complain("recorded as granted, and no grant") }
            if postings.map(\.amount) != [Sale.points] { complain("postings \(postings.map(\.amount))") }
            if grant.userID.text != sale.user { complain("granted to \(grant.userID)") }
            if order?.status != .completed { complain("granted, and its order is not completed") }
            if order?.transactionID != sale.transaction { complain("its order holds another transaction") }
        case .revoked:
            revoked.insert(sale.transaction)
            if grant != nil { count("revoked", "grant.revoked", 1) }
            let expected = grant == nil ? [] : [Sale.points, -Sale.points]
            if postings.map(\.amount) != expected { complain("postings \(postings.map(\.amount)) after a refund") }
            if let order, grant != nil, order.status != .refunded { complain("refunded, and its order is not") }
        case .quarantined:
            if grant != nil || !postings.isEmpty { complain("quarantined and granted") }
            count("quarantined", "transaction.quarantined", 1)
        }
    }

    /// The user has no postings except for these sales.
    private mutating func inspect(_ user: String, _ sales: [Sale], _ ledger: LedgerTable) throws {
        let postings = try ledger.postings(of: UserID(user), in: .sandbox, before: .max, limit: 1_000).map(\.posting)
        let owned = sales.filter { $0.user == user }
        let given = postings.filter { $0.kind == .purchase }
        if given.count > owned.filter({ granted.contains($0.transaction) || revoked.contains($0.transaction) }).count {
            violations.append("\(user) has \(given.count) purchases")
        }
        let balance = try ledger.wallet(of: UserID(user), in: .sandbox).balances["points", default: 0]
        let sum = postings.reduce(0) { $0 + $1.amount }
        if balance != sum { violations.append("\(user) has \(balance), the postings say \(sum)") }
    }
}

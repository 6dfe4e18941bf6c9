import TillBilling
import TillClient
import TillLedger
import TillSQL
import TillServer

/// Compares the server's ledger with the world's knowledge: the safety invariants at any moment, and liveness at the
/// end.
final class Auditor: @unchecked Sendable {
    let parts: SimulationContext
    let groundTruth: GroundTruth
    let apple: AppleHost
    private(set) var violations: [Violation] = []
    private var complained: Set<String> = []
    /// The states at the last check: an answered commit never disappears.
    private var seen: [String: (state: Int64, revokedAt: Int64?)] = [:]
    /// Transactions finished at Apple while the ledger could not be read.
    private var finishes: [String] = []
    private(set) var looks = 0
    /// How often the users' rights to subscriptions were compared with Apple's records.
    var rightsChecks = 0
    /// The owner of each grant at the last full check.
    private(set) var grantees: [String: String] = [:]

    /// User ids of thieves.
    private var thieves: Set<[UInt8]> = []
    /// Faults are over, and everything must be complete.
    var isOver = false
    /// Whether the server saves a proof, lets the phone finish it, and decides afterwards.
    var savesFirst = false
    private let terms: ShopTerms
    private let hasSeveralWriters: Bool

    init(_ parts: SimulationContext, _ groundTruth: GroundTruth, _ apple: AppleHost, terms: ShopTerms = ShopTerms()) {
        self.terms = terms
        hasSeveralWriters = parts.hasSeveralWriters
        self.parts = parts
        self.groundTruth = groundTruth
        self.apple = apple
    }

    func complain(_ kind: Violation.Kind, _ text: String, about: [String]) {
        // Each violation is reported once, because it is found again at every check.
        guard complained.insert("\(kind.rawValue) \(about.joined(separator: " "))").inserted else { return }
        violations.append(
            Violation(kind: kind, seed: parts.seed, at: parts.scheduler.now, about: about, text: text))
        parts.log.record("auditor", "\(kind.rawValue): \(text)", about: about)
    }

    func watch(thieves users: [String]) { thieves = Set(users.map { Array($0.utf8) }) }

    /// Compared bytewise, because some ids only look alike.
    func isThief(_ user: String) -> Bool { thieves.contains(Array(user.utf8)) }

    // MARK: Safety

    /// Checks every invariant that holds at any moment.
    func look(_ ledger: any Database) async {
        guard
            let snapshot = try? await ledger.read({ connection in
                (
                    try LedgerSnapshot(connection), try LedgerAudit.violations(connection),
                    try OwnerChanges(connection)
                )
            }), let sold = try? await apple.transactions()
        else { return }
        looks += 1
        for (key, state) in seen where snapshot.0.entries[key] == nil {
            complain(
                .forgotten, "transaction \(key), recorded as \(state.state), is missing",
                about: ["transaction \(key.dropFirst(2))"])
        }
        let bought = Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        check(snapshot.0, against: bought)
        let granted = snapshot.0.entries.values.compactMap { entry in entry.grantUser.map { (entry.id, $0) } }
        grantees = Dictionary(granted, uniquingKeysWith: { first, _ in first })
        complain(snapshot.1)
        check(snapshot.2, against: bought)
    }

    func complain(_ violations: [AuditViolation]) {
        for violation in violations {
            complain(Self.kind(of: violation.rule), violation.text.en, about: [violation.about])
        }
    }

    /// The rules of every ledger, in the words of the simulation.
    private static func kind(of rule: AuditRule) -> Violation.Kind {
        switch rule {
        case .balances: .unbalanced
        case .orderMoves: .illegalMove
        case .grantedOnce: .grantedTwice
        case .proofs: .dropped
        case .finishTasks: .finishedTooEarly
        case .grants, .events, .paidOrders, .references, .states, .owners, .merges, .accountTokens, .rights: .torn
        case .seals: .badSeal
        }
    }

    /// What must hold of the transactions that a commit changed.
    ///
    /// - Parameter events: the row ids of the events that the commit may hold.
    func glance(_ ledger: any Database, events: [Int64]) async {
        guard !events.isEmpty else { return }
        guard
            let new = try? await ledger.read({ connection in
                try events.compactMap { event in
                    try connection.first(
                        """
                        SELECT o.transaction_row_id, p.position FROM outbox o LEFT JOIN event_positions p ON \
                        p.event_row_id = o.row_id WHERE o.row_id = ?1
                        """, [.integer(event)]
                    ) { ($0.optionalInteger("transaction_row_id"), isPlaced: !$0.isNull("position")) }
                }
            }), !new.isEmpty
        else { return }
        if !hasSeveralWriters, !new.allSatisfy(\.isPlaced) {
            complain(.torn, "an event has no position after its commit", about: events.map { "event \($0)" })
        }
        await checkAppleTasks(ledger)
        for rowID in Set(new.compactMap(\.0)).sorted() {
            guard let snapshot = try? await ledger.read({ try LedgerSnapshot($0, only: rowID) }),
                let entry = snapshot.entries.values.first, let sold = try? await apple.transactions(around: entry.id)
            else { continue }
            looks += 1
            check(snapshot, against: Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }))
        }
    }

    private func check(_ snapshot: LedgerSnapshot, against bought: [String: AppleHost.StoreSale]) {
        for (key, entry) in snapshot.entries.sorted(by: { $0.key < $1.key }) {
            let before = seen.updateValue((entry.state, entry.revokedAt), forKey: key)
            let about = ["transaction \(entry.id)"]
            if entry.environment != 1 {
                complain(
                    .wrongEnvironment, "\(entry.id) of environment \(entry.environment) is in the ledger", about: about)
            }
            if groundTruth.seats.contains(entry.id) {
                guard let user = entry.grantUser else { continue }
                complain(.misattributed, "a seat, \(entry.id), was granted to \(user)", about: about)
                continue
            }
            guard let sale = bought[entry.id] else {
                let kind: Violation.Kind = entry.grantUser == nil ? .drift : .forgedGranted
                complain(kind, "\(entry.id) is in the ledger, but not at Apple", about: about)
                continue
            }
            if let before, before.state == 3, entry.state != 3, before.revokedAt == sale.revokedAt?.milliseconds {
                complain(
                    .drift, "\(entry.id) is refunded at Apple; an older statement undid the refund in the ledger",
                    about: about)
            }
            if !entry.hasProof { complain(.dropped, "\(entry.id) has lost its proof", about: about) }
            check(entry, sale, bought)
        }
    }

    private func check(
        _ entry: LedgerSnapshot.Entry, _ sale: AppleHost.StoreSale, _ bought: [String: AppleHost.StoreSale]
    ) {
        let owner = groundTruth.owner(of: sale, in: bought)
        var about = ["transaction \(entry.id)"]
        if let token = sale.token { about.append("order \(token.lowercased())") }
        guard let user = entry.grantUser else {
            if entry.state == 1 {
                complain(.torn, "\(entry.id) is recorded as granted, and has no grant", about: about)
            }
            if entry.purchases > 0, entry.withdrawals == 0 || entry.sum != 0 {
                complain(.torn, "\(entry.id) has postings and no grant", about: about)
            }
            return
        }
        about.append("user \(user)")
        if !sale.isPaid { complain(.forgedGranted, "\(entry.id) was granted and never paid", about: about) }
        if let owner, !groundTruth.isSame(user, as: owner) {
            let isExcused = !groundTruth.isSigned(sale) && groundTruth.candidates(for: sale, in: bought).contains(user)
            if !isExcused, !isLent(entry) {
                complain(.misattributed, "\(entry.id) of \(owner) was granted to \(user)", about: about)
            }
        }
        let isStray = groundTruth.strays.contains(sale.id) || groundTruth.strays.contains(sale.originalID)
        if owner == nil, !isStray || isThief(user) {
            complain(.misattributed, "\(entry.id) was granted to \(user) without a purchase request", about: about)
        }
        let points = SimulatedShop.points(of: entry.product, quantity: entry.quantity)
        let expected = points == 0 ? 0 : 1
        let most = 1 + entry.withdrawals
        if entry.purchases > Int64(expected) || entry.grantedDecisions > most || entry.events > most {
            complain(
                .grantedTwice,
                "\(entry.id) has \(entry.purchases) purchase postings, \(entry.grantedDecisions) decisions and "
                    + "\(entry.events) events", about: about)
        }
        if entry.purchases < Int64(expected) || entry.grantedDecisions < 1 || entry.events < 1
            || (!entry.isMoved && entry.orderUser?.utf8.elementsEqual(user.utf8) != true)
        {
            complain(
                .torn,
                "\(entry.id) is granted with \(entry.purchases) postings, \(entry.grantedDecisions) decisions, "
                    + "\(entry.events) events, and an order of \(entry.orderUser ?? "no user")", about: about)
        }
        let sum = entry.state == 3 ? nil : Optional(points)
        if let sum, entry.sum != sum {
            complain(.unbalanced, "\(entry.id) comes to \(entry.sum) points, not \(sum)", about: about)
        }
    }

    /// The shop's policy moves restored purchases.
    var mayMove: Bool { terms.restore == .move }
    /// Receipts are accepted provisionally.
    var mayBeLent: Bool { terms.isKeyless && !isOver }

    /// Whether another user may have the purchase temporarily: under the policy `move`, until its owner restores it,
    /// which includes customers whose token a thief had for seconds; and with a provisional receipt, until Apple's
    /// signed transaction arrives.
    private func isLent(_ entry: LedgerSnapshot.Entry) -> Bool {
        // A refunded purchase is worth nothing and is not moved back.
        if mayMove, entry.isMoved { return !isOver || entry.state == 3 }
        guard let user = entry.grantUser, isThief(user) else { return false }
        return mayBeLent && entry.restsOnReceipt
    }

    // MARK: Finishing

    /// A transaction is finished at Apple: it must be durable in the ledger by now.
    func check(finished id: String, _ ledger: (any Database)?) async {
        guard let ledger else {
            finishes.append(id)
            return
        }
        await check(finishes: [id], ledger)
    }

    /// Called after the server's start, before any other work.
    func checkFinishes(_ ledger: any Database) async {
        let old = finishes
        finishes = []
        await check(finishes: old, ledger)
    }

    /// A refunded transaction may be finished while its refund is reversed; a request already sent can't be recalled.
    /// `checkAppleTasks` covers tasks that are not sent yet.
    private func check(finishes ids: [String], _ ledger: any Database) async {
        for id in ids {
            let state: Int64?
            do {
                state = try await ledger.read { connection in
                    try connection.first(
                        """
                        SELECT state FROM transactions WHERE environment = 1 AND id = ?1 AND state <> 2 UNION ALL \
                        SELECT 0 FROM saved_proofs WHERE environment = 1 AND transaction_id = ?1 UNION ALL \
                        SELECT 4 FROM waiting_proofs WHERE environment = 1 AND transaction_id = ?1 UNION ALL \
                        SELECT 3 FROM transactions t JOIN evidence e ON e.transaction_row_id = t.row_id \
                        WHERE t.environment = 1 AND t.id = ?1 AND e.decision = 'revoked' UNION ALL \
                        SELECT state FROM transactions WHERE environment = 1 AND id = ?1
                        """, [.text(id)]
                    ) { $0.integer("state") }
                }
            } catch {
                // An unreadable ledger proves nothing; the check is repeated when it is readable.
                finishes.append(id)
                continue
            }
            // Under save-then-finish the server answers "finish" before the decision; the ledger is then responsible,
            // even for a proof that waits for Apple (4).
            if state == nil || (state == 2 || state == 4) && !savesFirst {
                complain(.finishedTooEarly, "\(id) was finished, and is not granted", about: ["transaction \(id)"])
            }
        }
    }

    /// No task may finish a transaction that is not granted.
    private func checkAppleTasks(_ ledger: any Database) async {
        let early = try? await ledger.read { connection in
            try connection.query(
                """
                SELECT t.id FROM apple_tasks e JOIN transactions t ON t.row_id = e.transaction_row_id \
                WHERE e.kind = 1 AND t.state = 2
                """, []
            ) { $0.text("id") }
        }
        for id in early ?? [] {
            complain(.finishedTooEarly, "\(id) is to be finished, and is not granted", about: ["transaction \(id)"])
        }
    }
}

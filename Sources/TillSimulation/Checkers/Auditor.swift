import TillBilling
import TillClient
import TillServer
import TillStorage

/// Holds our server's books against what the world knows: the safety of DESIGN §4 at any moment, and liveness at the
/// end.
final class Auditor: @unchecked Sendable {
    private let parts: WorldParts
    private let truth: Truth
    private let apple: AppleHost
    private(set) var violations: [Violation] = []
    private var complained: Set<String> = []
    /// What was granted, revoked or quarantined when last looked: an answered commit never goes away.
    private var seen: [String: (state: Int64, revokedAt: Int64?)] = [:]
    /// Finished at Apple while nobody could look into the ledger.
    private var finishes: [String] = []
    private(set) var looks = 0
    /// Who was given what, when everything was looked at last.
    private var grantees: [String: String] = [:]
    /// The last event that was looked at.
    private var position: Int64 = 0

    init(_ parts: WorldParts, _ truth: Truth, _ apple: AppleHost) {
        self.parts = parts
        self.truth = truth
        self.apple = apple
    }

    func complain(_ kind: Violation.Kind, _ text: String, about: [String]) {
        // Each thing once: a broken book is as broken at the next look.
        guard complained.insert("\(kind.rawValue) \(about.joined(separator: " "))").inserted else { return }
        violations.append(
            Violation(kind: kind, seed: parts.seed, at: parts.clockwork.now, about: about, text: text))
        parts.story.tell("auditor", "\(kind.rawValue): \(text)", about: about)
    }

    // MARK: Safety

    /// Everything that must hold at any moment.
    func look(_ ledger: any Database) async {
        guard
            let books = try? await ledger.read({ session in
                (
                    try LedgerEye(session), try LedgerTable(session).unbalanced(), try LedgerEye.illegalMoves(session)
                )
            }), let sold = try? await apple.transactions()
        else { return }
        looks += 1
        for (key, state) in seen where books.0.entries[key] == nil {
            complain(
                .forgotten, "transaction \(key), recorded as \(state.state), is gone",
                about: ["transaction \(key.dropFirst(2))"])
        }
        let bought = Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        check(books.0, against: bought)
        let granted = books.0.entries.values.compactMap { entry in entry.grantUser.map { (entry.id, $0) } }
        grantees = Dictionary(granted, uniquingKeysWith: { first, _ in first })
        for line in books.1 {
            complain(.unbalanced, "the balance \(line) is not the sum of its postings", about: [line])
        }
        for (order, move) in books.2 {
            complain(.illegalMove, "order \(order) moved \(move)", about: ["order \(order)"])
        }
    }

    /// What must hold of whatever a commit was about.
    func glance(_ ledger: any Database) async {
        let position = position
        guard
            let new = try? await ledger.read({ session in
                try session.query(
                    "SELECT sequence, transaction_sequence FROM outbox WHERE sequence > ? ORDER BY sequence",
                    [.integer(position)]
                ) { ($0.integer(0), $0.isNull(1) ? nil : $0.integer(1)) }
            }), let last = new.last
        else { return }
        self.position = last.0
        await checkErrands(ledger)
        for sequence in Set(new.compactMap(\.1)).sorted() {
            guard let eye = try? await ledger.read({ try LedgerEye($0, only: sequence) }),
                let entry = eye.entries.values.first, let sold = try? await apple.transactions(around: entry.id)
            else { continue }
            looks += 1
            check(eye, against: Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }))
        }
    }

    private func check(_ books: LedgerEye, against bought: [String: AppleHost.Sold]) {
        for (key, entry) in books.entries.sorted(by: { $0.key < $1.key }) {
            let before = seen.updateValue((entry.state, entry.revokedAt), forKey: key)
            let about = ["transaction \(entry.id)"]
            if entry.environment != 1 {
                complain(
                    .wrongEnvironment, "\(entry.id) of environment \(entry.environment) is in the books", about: about)
            }
            guard let sale = bought[entry.id] else {
                let kind: Violation.Kind = entry.grantUser == nil ? .drift : .forgedGranted
                complain(kind, "\(entry.id) is in the books, and Apple knows none", about: about)
                continue
            }
            if let before, before.state == 3, entry.state != 3, before.revokedAt == sale.revokedAt?.milliseconds {
                complain(
                    .drift, "\(entry.id) is refunded at Apple and was here, until an older word came", about: about)
            }
            if !entry.hasProof { complain(.dropped, "\(entry.id) has lost its proof", about: about) }
            check(entry, sale, bought)
        }
    }

    private func check(_ entry: LedgerEye.Entry, _ sale: AppleHost.Sold, _ bought: [String: AppleHost.Sold]) {
        let owner = truth.owner(of: sale, in: bought)
        var about = ["transaction \(entry.id)"]
        if let token = sale.token { about.append("order \(token.lowercased())") }
        guard let user = entry.grantUser else {
            if entry.state == 1 {
                complain(.torn, "\(entry.id) is recorded as granted, and has no grant", about: about)
            }
            if entry.purchases > 0 { complain(.torn, "\(entry.id) has postings and no grant", about: about) }
            return
        }
        about.append("user \(user)")
        if !sale.isPaid { complain(.forgedGranted, "\(entry.id) was granted and never paid", about: about) }
        if let owner, user != owner {
            let isExcused = !truth.isSigned(sale) && truth.candidates(for: sale, in: bought).contains(user)
            if !isExcused { complain(.misattributed, "\(entry.id) of \(owner) was granted to \(user)", about: about) }
        }
        if owner == nil, !truth.strays.contains(sale.id), !truth.strays.contains(sale.originalID) {
            complain(.misattributed, "\(entry.id) was granted to \(user), and nobody tapped for it", about: about)
        }
        let points = SimulatedShop.points(of: entry.product, quantity: entry.quantity)
        let expected = points == 0 ? 0 : 1
        if entry.purchases > Int64(expected) || entry.grantedDecisions > 1 || entry.events > 1 {
            complain(
                .grantedTwice,
                "\(entry.id) has \(entry.purchases) purchase postings, \(entry.grantedDecisions) decisions and "
                    + "\(entry.events) events", about: about)
        }
        if entry.purchases < Int64(expected) || entry.grantedDecisions < 1 || entry.events < 1
            || entry.orderUser != user
        {
            complain(
                .torn,
                "\(entry.id) is granted with \(entry.purchases) postings, \(entry.grantedDecisions) decisions, "
                    + "\(entry.events) events, and an order of \(entry.orderUser ?? "nobody")", about: about)
        }
        let sum = entry.state == 3 ? nil : Optional(points)
        if let sum, entry.sum != sum {
            complain(.unbalanced, "\(entry.id) comes to \(entry.sum) points, not \(sum)", about: about)
        }
    }

    // MARK: Finishing

    /// A transaction is taken out of Apple's queue: it must be durable here by now.
    func check(finished id: String, _ ledger: (any Database)?) async {
        guard let ledger else {
            finishes.append(id)
            return
        }
        await check(finishes: [id], ledger)
    }

    /// The server is up again, and has done nothing yet.
    func checkFinishes(_ ledger: any Database) async {
        let old = finishes
        finishes = []
        await check(finishes: old, ledger)
    }

    /// What was refunded may have been finished on that word while its refund was taken back, and nobody can call back
    /// what is on its way. What is yet to be told to Apple can be: `checkErrands`.
    private func check(finishes ids: [String], _ ledger: any Database) async {
        for id in ids {
            let state: Int64?
            do {
                state = try await ledger.read { session in
                    try session.first(
                        """
                        SELECT state FROM transactions WHERE environment = 1 AND id = ?1 AND state <> 2 UNION ALL \
                        SELECT 0 FROM saved_proofs WHERE environment = 1 AND transaction_id = ?1 UNION ALL \
                        SELECT 3 FROM transactions t JOIN evidence e ON e.transaction_sequence = t.sequence \
                        WHERE t.environment = 1 AND t.id = ?1 AND e.decision = 'revoked' UNION ALL \
                        SELECT state FROM transactions WHERE environment = 1 AND id = ?1
                        """, [.text(id)]
                    ) { $0.integer(0) }
                }
            } catch {
                // A ledger that can't be read tells nothing; it is looked at when it can.
                finishes.append(id)
                continue
            }
            if state == nil || state == 2 {
                complain(.finishedTooEarly, "\(id) was finished, and is not granted", about: ["transaction \(id)"])
            }
        }
    }

    /// Nothing is to be finished that nobody has been given.
    private func checkErrands(_ ledger: any Database) async {
        let early = try? await ledger.read { session in
            try session.query(
                """
                SELECT t.id FROM errands e JOIN transactions t ON t.sequence = e.transaction_sequence \
                WHERE e.kind = 1 AND t.state = 2
                """, []
            ) { $0.text(0) }
        }
        for id in early ?? [] {
            complain(.finishedTooEarly, "\(id) is to be finished, and is not granted", about: ["transaction \(id)"])
        }
    }

    // MARK: Liveness

    /// Faults are over, and days have passed.
    func judge(_ ledger: any Database, _ backend: Backend, _ receiver: WebhookReceiver) async {
        await look(ledger)
        await judge(backend, ledger)
        await judge(receiver, ledger)
        guard let books = try? await ledger.read({ try LedgerEye($0) }), let sold = try? await apple.transactions()
        else { return complain(.stuck, "the books can't be read", about: []) }
        let bought = Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for sale in sold where sale.isPaid { judge(sale, books[sale.id], bought) }
        await judgeQueues(ledger)
    }

    private func judge(_ sale: AppleHost.Sold, _ entry: LedgerEye.Entry?, _ bought: [String: AppleHost.Sold]) {
        var about = ["transaction \(sale.id)"]
        if let token = sale.token { about.append("order \(token.lowercased())") }
        let owner = truth.owner(of: sale, in: bought)
        if let owner { about.append("user \(owner)") }
        guard let entry else {
            return complain(.lost, "\(sale.id) of \(owner ?? "nobody") (\(sale.product)) never arrived", about: about)
        }
        if sale.revokedAt != nil {
            if entry.state != 3 { complain(.drift, "\(sale.id) was refunded, and is not here", about: about) }
            if entry.sum != 0 {
                complain(.unbalanced, "\(sale.id) was refunded, and \(entry.sum) points are left of it", about: about)
            }
            return
        }
        if entry.state == 3 { return complain(.drift, "\(sale.id) is refunded here, and not at Apple", about: about) }
        let isSold = SimulatedShop.catalog[ProductID(sale.product)] != nil
        if entry.grantUser == nil, isSold, owner != nil {
            complain(.lost, "\(sale.id) of \(owner ?? "nobody") (\(sale.product)) is not granted", about: about)
        }
        if !sale.isFinished, entry.grantUser != nil, !sale.isRenewal {
            complain(.stuck, "\(sale.id) is granted, and still in the store's queue", about: about)
        }
    }

    /// Whoever was told that points were taken has them taken, once; and nobody else has.
    private func judge(_ backend: Backend, _ ledger: any Database) async {
        let taken = try? await ledger.read { session in
            try session.query(
                "SELECT reference, user, -amount, kind FROM postings WHERE grant_sequence IS NULL", []
            ) { (reference: $0.text(0), user: $0.text(1), amount: $0.integer(2), kind: $0.text(3)) }
        }
        guard let taken else { return }
        for reference in backend.answered.sorted() where !taken.contains(where: { $0.reference == reference }) {
            complain(.forgotten, "the debit \(reference) was answered, and is gone", about: [reference])
        }
        for debit in taken {
            let asked = backend.asked[debit.reference]
            if debit.kind != "debit" || asked?.user != debit.user || asked?.amount != debit.amount {
                complain(
                    .grantedTwice, "\(-debit.amount) points of \(debit.user) come from nowhere (\(debit.kind))",
                    about: ["user \(debit.user)", debit.reference])
            }
        }
    }

    /// Nobody's phone waits for anything that is over.
    func judge(_ owner: Owner) {
        // What the catalogue does not know is nobody's until it does.
        for order in owner.waiting where SimulatedShop.catalog[order.productID] != nil {
            let id = order.orderNumber.lowercased()
            // Where Apple loses tokens, another customer of the Apple Account may have it; then its buyer is told so.
            if order.note == Trouble.settledElsewhere.sentence, let paid = order.transactionID,
                let grantee = grantees[paid.text], grantee != truth.orders[id]?.user
            {
                continue
            }
            let paid = order.transactionID.map { ", paid by \($0)" } ?? ""
            let note = order.note.map { ": \($0.en)" } ?? ""
            complain(
                .stuck, "\(owner.phone.name) still waits for order \(id) (\(order.productID)\(paid))\(note)",
                about: ["order \(id)"] + (order.transactionID.map { ["transaction \($0)"] } ?? []))
        }
    }

    func judge(_ comparison: BookComparison) {
        for difference in comparison.differences where difference.kind.isDrift {
            complain(.drift, "Apple says otherwise: \(difference)", about: ["\(difference)"])
        }
    }

    /// The app's backend has heard everything, once, and what it has heard comes to what the books say.
    private func judge(_ receiver: WebhookReceiver, _ ledger: any Database) async {
        for complaint in receiver.complaints { complain(.untold, complaint, about: [complaint]) }
        let told = try? await ledger.read { session in
            (
                try session.first("SELECT count(*) FROM outbox", []) { $0.integer(0) } ?? 0,
                try session.query(
                    """
                    SELECT user, sum(amount) FROM postings WHERE grant_sequence IS NOT NULL AND currency = 'points' \
                    GROUP BY user
                    """, []
                ) { ($0.text(0), $0.integer(1)) }
            )
        }
        guard let (events, sums) = told else { return }
        if receiver.received.count != events {
            complain(.untold, "\(events) events, of which \(receiver.received.count) were heard", about: ["events"])
        }
        for (user, sum) in sums where receiver.points[user, default: 0] != sum {
            complain(
                .untold,
                "\(user) has \(sum) points of purchases, and the backend heard of "
                    + "\(receiver.points[user, default: 0])", about: ["user \(user)"])
        }
    }

    private func judgeQueues(_ ledger: any Database) async {
        let waiting = try? await ledger.read { session in
            try session.query(
                """
                SELECT 'notifications', count(*) FROM notifications WHERE state = 0 UNION ALL \
                SELECT 'receipts', count(*) FROM waiting_proofs UNION ALL \
                SELECT 'saved proofs', count(*) FROM saved_proofs UNION ALL \
                SELECT 'errands', count(*) FROM errands WHERE state = 0
                """, []
            ) { ($0.text(0), $0.integer(1)) }
        }
        for (queue, count) in waiting ?? [] where count > 0 {
            complain(.stuck, "\(count) \(queue) still wait", about: [queue])
        }
    }
}

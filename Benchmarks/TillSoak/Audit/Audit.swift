import TillBilling

/// Compares the ledger with the store's records of payments and with the observed owners of orders. It is independent
/// of the server's code.
struct Audit: Sendable {
    struct Finding: Sendable, Hashable, CustomStringConvertible {
        enum Kind: String, Sendable, CaseIterable {
            /// Paid, and not granted or not granted completely.
            case lost
            /// More was granted than was paid.
            case grantedTwice = "granted twice"
            /// Granted to the wrong customer.
            case misattributed
            /// Granted and never paid.
            case forgedGranted = "granted unpaid"
            /// A refund without a reversal of the grant, or the other way round.
            case refund
            /// The ledger contradicts itself.
            case contents
            /// Something is still pending without a reason.
            case unprocessed
        }

        let kind: Kind
        /// Nil if the finding concerns no transaction.
        let transaction: String?
        let sentence: String

        var description: String { "\(kind.rawValue): \(transaction.map { "transaction \($0): " } ?? "")\(sentence)" }
    }

    let sales: [Sale]
    /// The user who opened each order, as observed on the network.
    let owners: [OrderID: String]
    /// Users who never paid.
    let strangers: Set<String>
    /// By transaction, the user to whom support assigned a purchase without a token.
    var claims: [String: String] = [:]
    /// The points of a transaction; nil for a product that is not sold.
    let points: @Sendable (_ product: String, _ quantity: Int64) -> Int64?

    struct Result: Sendable {
        var findings: [Finding] = []
        /// Paid transactions without an owner, for which Apple signed no token: they are in quarantine with their
        /// proof, where support finds them.
        var unattributed: [String] = []
        /// Milliseconds from payment to grant, for purchases that customers made.
        var waits: [Int64] = []

        fileprivate mutating func note(_ kind: Finding.Kind, _ transaction: String?, _ sentence: String) {
            findings.append(Finding(kind: kind, transaction: transaction, sentence: sentence))
        }
    }

    func run(_ contents: LedgerContents) -> Result {
        var result = Result()
        let grants = Dictionary(grouping: contents.grants, by: \.transaction)
        var known: Set<String> = []
        for sale in sales {
            known.insert(sale.id)
            check(sale, grants[sale.id] ?? [], contents, &result)
        }
        for grant in contents.grants where !known.contains(grant.transaction) {
            result.note(.forgedGranted, grant.transaction, "\(grant.user) has it, and the store knows nothing of it")
        }
        for (order, moves) in contents.moves {
            for (before, after) in zip(moves, moves.dropFirst()) where !before.mayMove(to: after) {
                result.note(.contents, nil, "the order \(order) went from \(before.name) to \(after.name)")
            }
        }
        for line in contents.violations { result.note(.contents, nil, line) }
        for line in contents.damage { result.note(.contents, nil, line) }
        for line in contents.waiting { result.note(.unprocessed, nil, line) }
        return result
    }

    private func check(
        _ sale: Sale, _ grants: [LedgerContents.Grant], _ contents: LedgerContents, _ result: inout Result
    ) {
        guard let grant = grants.first else { return check(ungranted: sale, contents.records[sale.id], &result) }
        if grants.count > 1 { result.note(.grantedTwice, sale.id, "\(grants.count) grants") }
        checkOwner(sale, grant, &result)
        if grant.product != sale.product || grant.quantity != sale.quantity {
            result.note(
                .contents, sale.id,
                "granted as \(grant.quantity) of \(grant.product), paid as \(sale.quantity) of \(sale.product)")
        }
        checkPoints(sale, grant, contents.records[sale.id], &result)
        // Money outranks every earlier status.
        if grant.orderStatus != .completed, grant.orderStatus != .refunded {
            result.note(.contents, sale.id, "its order is \(grant.orderStatus?.name ?? "nothing known")")
        }
        if !sale.isFinished {
            result.note(.unprocessed, sale.id, "granted, and still in the queue of \(sale.account)")
        }
        if !sale.isRenewal { result.waits.append(grant.at.milliseconds - sale.purchased.milliseconds) }
    }

    private func check(ungranted sale: Sale, _ record: LedgerContents.Record?, _ result: inout Result) {
        // Revoked before it was granted, so nothing has to be reversed.
        if sale.isRevoked { return }
        guard let record else { return result.note(.lost, sale.id, "paid, and the ledger has never heard of it") }
        guard record.state == 2, let reason = record.quarantine else {
            return result.note(.lost, sale.id, "paid, in the state \(record.state), and without a grant")
        }
        guard sale.token == nil else { return result.note(.lost, sale.id, "paid, and in quarantine: \(reason)") }
        result.unattributed.append(sale.id)
    }

    private func checkOwner(_ sale: Sale, _ grant: LedgerContents.Grant, _ result: inout Result) {
        if strangers.contains(grant.user) {
            return result.note(.misattributed, sale.id, "\(grant.user) has it, who never paid for anything")
        }
        // Since then Apple may have received, and now signs, the token of the order that was opened for it.
        if let claimant = claims[sale.id] {
            if grant.user != claimant {
                result.note(.misattributed, sale.id, "\(grant.user) has it; support gave it to \(claimant)")
            }
            return
        }
        // Without a signed token, the order sent with the proof decides.
        guard let order = sale.token ?? grant.order else { return }
        guard let owner = owners[order] else {
            if sale.token != nil { result.note(.contents, sale.id, "no app opened the order \(order)") }
            return
        }
        if grant.user != owner {
            result.note(.misattributed, sale.id, "\(grant.user) has it; \(owner) asked for the order \(order)")
        }
    }

    private func checkPoints(
        _ sale: Sale, _ grant: LedgerContents.Grant, _ record: LedgerContents.Record?, _ result: inout Result
    ) {
        guard let whole = points(sale.product, sale.quantity) else {
            return result.note(.contents, sale.id, "\(sale.product) is not sold")
        }
        let due = sale.isRevoked ? 0 : whole
        let sentence = "\(grant.user) has \(grant.points) points of it and should have \(due)"
        let isTakenBack = record?.state == 3
        if isTakenBack != sale.isRevoked {
            result.note(
                .refund, sale.id,
                "\(sale.isRevoked ? "taken back" : "not taken back") at the store, and in the ledger it is otherwise; "
                    + sentence)
        } else if grant.points > due {
            result.note(.grantedTwice, sale.id, sentence)
        } else if grant.points < due {
            result.note(.lost, sale.id, sentence)
        }
    }
}

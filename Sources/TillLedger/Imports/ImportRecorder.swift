import TillBilling
import TillSQL

/// Decides and records the rows of an import, inside a write; on a connection that only reads, it decides them.
struct ImportRecorder {
    let processor: PurchaseProcessor
    let run: ImportRun
    let inputs: CommitInputs
    let connection: any Connection
    /// Whether the rows are only checked.
    let isDry: Bool

    private var rows: ImportedRowTable { ImportedRowTable(connection) }

    func outcomes(of row: PreparedRow) throws -> [ImportOutcome] {
        func outcome(_ result: ImportOutcome.Result, _ subject: String?, _ user: UserID?) -> ImportOutcome {
            ImportOutcome(line: row.line, result: result, subject: subject, user: user)
        }
        switch row.content {
        case .refused(let refusal): return [outcome(.refused(refusal), nil, nil)]
        case .waiting(let delay): return [outcome(.waiting(delay), nil, nil)]
        case .purchases(let all):
            return try all.map { outcome(try purchase($0, line: row.line), $0.transaction.id.text, $0.user) }
        case .balance(let balance):
            return [outcome(try self.balance(balance, line: row.line), balance.currency, balance.user)]
        case .accountToken(let token, let user):
            return [outcome(try accountToken(token, of: user), token.description, user)]
        }
    }

    // MARK: Purchases

    private func purchase(_ purchase: PreparedPurchase, line: Int64) throws -> ImportOutcome.Result {
        let transaction = purchase.transaction
        guard transaction.environment == run.environment else { return .refused(.otherEnvironment(run.environment)) }
        if let refusal = purchase.refusal { return .refused(refusal) }
        var order = purchase.orderID
        let known = try order.flatMap { try OrderTable(connection).find($0)?.order }
        // Renewals, and further purchases under one order of the old system, get the first one's order or a new one.
        if let known, known.userID == purchase.user, known.idSource == .imported { order = nil }
        let origin = run.origin(for: purchase, opening: order)
        let recorder = try processor.decide(transaction, purchase.proof, from: origin, inputs, connection)
        if let answer = try answer(recorder, purchase, known, opening: order) { return answer }
        guard !isDry else { return .imported }
        try record(recorder, purchase, line: line)
        return .imported
    }

    /// Nil if the purchase is to be recorded.
    private func answer(
        _ recorder: PurchaseRecorder, _ purchase: PreparedPurchase, _ known: Order?, opening order: OrderID?
    ) throws -> ImportOutcome.Result? {
        let (shared, user) = (recorder.shared, purchase.user)
        func isSame(_ owner: UserID) -> Bool { owner == user || owner == shared.account(of: user) }
        switch recorder.decision.outcome {
        case .alreadyGranted(let grant):
            return isSame(grant.userID) ? .unchanged : .refused(.ownedByAnother)
        case .revoke(let grant), .reinstate(let grant):
            return .refused(isSame(grant.userID) ? .newerThanLedger : .ownedByAnother)
        case .revoked:
            guard let stored = recorder.stored else {
                return recorder.decision.refundedOrder == nil ? nil : .refused(.orderInUse)
            }
            guard stored.state == .revoked else { return .refused(.waitsInQuarantine) }
            guard let grant = recorder.context.grant else { return .unchanged }
            return isSame(grant.userID) ? .unchanged : .refused(.ownedByAnother)
        case .quarantine(.unknownProduct):
            return .refused(.unknownProduct(purchase.transaction.productID))
        case .quarantine(let reason):
            return .refused(recorder.stored == nil ? .undecided(reason) : .waitsInQuarantine)
        case .grant(let named, let matched, _, _):
            guard recorder.stored == nil else { return .refused(.waitsInQuarantine) }
            let owner = shared.newOwner(of: named, under: matched?.id).user
            guard isSame(owner) else { return .refused(.namesAnother) }
            // An order of this ledger is paid by the purchase that the app submits for it.
            guard matched == nil || purchase.transaction.isRenewal else { return .refused(.orderInUse) }
            if let order, try known != nil || AccountTokenTable(connection).find(order) != nil {
                return .refused(.orderInUse)
            }
            if purchase.transaction.isSubscription, purchase.transaction.terms.expiresAt == nil {
                return .refused(.needsExpiry)
            }
            return nil
        }
    }

    private func record(_ recorder: PurchaseRecorder, _ purchase: PreparedPurchase, line: Int64) throws {
        let (transaction, customers) = (purchase.transaction, CustomerTable(connection))
        let isKnown = try customers.number(of: purchase.user) != nil
        try customers.recordNamed(purchase.user, under: processor.settings.guests, at: inputs.now)
        var chains = SubscriptionChanges(now: inputs.now, knowing: nil, connection)
        let mayRelease = try processor.isAwaited(transaction, connection)
        try chains.watch(transaction)
        let owner = try recorder.recordImported() ?? purchase.user
        guard let rowID = recorder.recordedRowID else {
            preconditionFailure("an imported purchase is recorded as a new transaction")
        }
        let customer = try customers.id(of: owner, at: inputs.now)
        try rows.insert(
            rowID, of: run.rowID, line: line, customer: customer, signedAt: transaction.signedAt,
            isSigned: purchase.isSigned)
        if isKnown || owner != purchase.user { try countInOpeningBalance(rowID, transaction, of: owner) }
        if try !mayRelease && chains.listFirst(transaction, rowID) { return }
        let links = try chains.list(transaction, rowID)
        var given: [PaidTransaction] = []
        if mayRelease {
            given = try processor.processWaiting(for: [transaction], .reconciliation, &chains, inputs, connection)
        }
        given += try processor.align(chainOf: transaction, knowing: links, .reconciliation, inputs, connection)
        if !given.isEmpty { chains.forgetLinks() }
        try processor.recordReplacedTime(
            inChainOf: transaction, knowing: given.isEmpty ? links : nil, .imported, inputs, connection)
        // What waited here for the imported purchase is news, with its events and reminders.
        guard !given.isEmpty else { return }
        try processor.remind(
            about: given, and: try chains.recordEvents(), isWhole: true, inputs.now, connection)
    }

    // MARK: Opening balances

    /// The old system's balance contains what was bought before it was stated, so the points of such a purchase are
    /// taken out again.
    private func countInOpeningBalance(_ rowID: Int64, _ transaction: PaidTransaction, of owner: UserID) throws {
        guard processor.catalog[transaction.productID]?.points.isEmpty == false else { return }
        let balances = try rows.balances(of: owner, in: run.environment)
            .filter { transaction.purchasedAt <= $0.statedAt }
        guard !balances.isEmpty else { return }
        let postings = try LedgerTable(connection).postings(grantOf: rowID).map(\.posting)
        for balance in balances {
            let isRefundCounted = transaction.revokedAt.map { $0 <= balance.statedAt } ?? false
            let points = postings.filter {
                $0.currency == balance.currency && (isRefundCounted || $0.kind == .purchase)
            }
            .reduce(0) { $0 + $1.amount }
            try correct(
                -points, of: balance.currency, in: owner, reference: "transaction \(transaction.id.text)")
        }
    }

    private func balance(_ balance: ImportRow.Balance, line: Int64) throws -> ImportOutcome.Result {
        guard (balance.environment ?? run.environment) == run.environment else {
            return .refused(.otherEnvironment(run.environment))
        }
        guard processor.catalog.products.contains(where: { $0.points[balance.currency] != nil }) else {
            return .refused(.unknownPoints(balance.currency))
        }
        let customers = CustomerTable(connection)
        let owner = try customers.account(of: balance.user) ?? balance.user
        connection.lock([.customer(owner)])
        let statedAt = balance.statedAt ?? run.beganAt
        if let known = try rows.balances(of: owner, in: run.environment).first(where: {
            $0.currency == balance.currency
        }) {
            let isSame = known.amount == balance.amount && (balance.statedAt ?? known.statedAt) == known.statedAt
            return isSame ? .unchanged : .refused(.otherOpeningBalance)
        }
        guard !isDry else { return .imported }
        try customers.recordNamed(owner, under: processor.settings.guests, at: inputs.now)
        let counted = try rows.points(
            of: owner, in: run.environment, currency: balance.currency, paidUpTo: statedAt)
        try rows.insert(
            balance, of: run.rowID, line: line, customer: try customers.id(of: owner, at: inputs.now),
            in: run.environment, statedAt: statedAt)
        try correct(
            balance.amount - counted, of: balance.currency, in: owner, reference: "line \(line)")
        return .imported
    }

    private func correct(_ amount: Int64, of currency: String, in user: UserID, reference: String) throws {
        guard amount != 0 else { return }
        var posting = Posting(
            environment: run.environment, userID: user, contra: .corrected, currency: currency, amount: amount,
            kind: .correction, reference: ImportedRowTable.reference(run.id, reference), at: inputs.now)
        posting.note = Posting.Note(reason: "opening_balance", actor: run.actor)
        try LedgerTable(connection).post(posting, grant: nil)
    }

    // MARK: Account tokens

    private func accountToken(_ token: UniqueID, of user: UserID) throws -> ImportOutcome.Result {
        let tokens = AccountTokenTable(connection)
        if let known = try tokens.find(token) { return known.user == user ? .unchanged : .refused(.tokenInUse) }
        guard try OrderTable(connection).find(token) == nil else { return .refused(.tokenInUse) }
        guard !isDry else { return .imported }
        connection.lock([.order(token), .customer(user)])
        try CustomerTable(connection).recordNamed(user, under: processor.settings.guests, at: inputs.now)
        try tokens.insert(AccountTokenTable.Entry(token: token, user: user, since: inputs.now))
        try rows.insert(token, of: run.rowID, customer: try CustomerTable(connection).id(of: user, at: inputs.now))
        try processor.release(paidUnder: token, inputs, connection)
        return .imported
    }
}

extension PurchaseRecorder {
    /// Records a purchase that the ledger does not know.
    ///
    /// - Returns: its owner; nil if Apple revoked it before, and nothing is granted.
    func recordImported() throws -> UserID? {
        guard case .grant(let user, let order, let newOrderID, let match) = decision.outcome,
            let product = shared.facts.product
        else {
            _ = try recordRevocation()
            return nil
        }
        let target = try target(order, newOrderID, for: user, product: product, reason: match.rawValue)
        let given = try grant(to: target, product: product, match)
        if transaction.revokedAt != nil { _ = try afterRecording().revoke(given) }
        return given.userID
    }
}

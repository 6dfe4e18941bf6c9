import TillBilling
import TillSQL

/// Records what was decided about one purchase, in the commit that read its facts: order, transaction, proof, evidence,
/// grant, postings, tasks for Apple and events. A class, because copies of the facts would cost as much as a statement.
final class PurchaseRecorder {
    let connection: any Connection
    let context: PurchaseContext
    let decision: PurchaseDecision
    let proof: PurchaseProof
    let origin: PurchaseOrigin
    let inputs: CommitInputs
    let terms: PurchaseTerms
    let orders: OrderTable
    let transactions: TransactionTable
    let evidence: EvidenceTable
    let ledger: LedgerTable
    let events: EventRecorder
    let grantOwners: GrantOwnerTable
    let ownership: OwnershipTable
    let tasks: AppleTasks
    /// The transaction that it recorded last.
    private(set) var recordedRowID: Int64?

    init(
        _ connection: any Connection, _ context: PurchaseContext, _ decision: PurchaseDecision, proof: PurchaseProof,
        from origin: PurchaseOrigin, _ inputs: CommitInputs, _ terms: PurchaseTerms
    ) {
        self.connection = connection
        self.context = context
        self.decision = decision
        self.proof = proof
        self.origin = origin
        self.inputs = inputs
        self.terms = terms
        orders = OrderTable(connection)
        transactions = TransactionTable(connection)
        evidence = EvidenceTable(connection)
        ledger = LedgerTable(connection)
        events = EventRecorder(connection, isSilent: origin.isImport)
        grantOwners = GrantOwnerTable(connection)
        ownership = OwnershipTable(connection)
        tasks = AppleTasks(connection, under: terms.tasks, now: inputs.now)
    }

    var shared: SharedFacts { context.shared }
    /// The newest copy.
    var transaction: PaidTransaction { context.transaction }
    var stored: TransactionTable.Stored? { context.stored }
    var isNew: Bool { context.isNew }

    var now: Instant { inputs.now }

    func freshID() -> UniqueID { inputs.freshID() }

    // MARK: Decisions

    /// Whether the ledger has this copy or a newer one, and the decision changes nothing.
    var isUnchanged: Bool {
        guard let stored, !isNew else { return false }
        return switch decision.outcome {
        case .alreadyGranted: decision.ownership.decision == .keep && !context.isDeviceMissing
        case .revoked: stored.state == .revoked
        case .quarantine: stored.state == .quarantined
        case .grant, .revoke, .reinstate: false
        }
    }

    func record() throws -> PurchaseOutcome {
        let outcome = try recordDecision()
        noteInLog(outcome)
        return outcome
    }

    private func recordDecision() throws -> PurchaseOutcome {
        if let grant = decision.outcome.recordedGrant {
            precondition(
                grant.transactionID == transaction.id && grant.environment == transaction.environment,
                "a decision about a purchase changes that purchase alone (invariants 1 and 7)")
        }
        switch decision.outcome {
        case .grant(let user, let order, let newOrderID, let match):
            guard let product = shared.facts.product else {
                preconditionFailure("nothing is granted for an unknown product")
            }
            let target = try target(order, newOrderID, for: user, product: product, reason: match.rawValue)
            let given = try grant(to: target, product: product, match)
            guard transaction.revokedAt != nil else { return .granted(given) }
            return .revoked(try afterRecording().revoke(given))
        case .alreadyGranted(let grant):
            #if PLANTED_MISTAKES
                if PlantedMistake.grantsAgain.isPlanted, origin.source == .notification {
                    try repeatPoints(of: grant)
                }
            #endif
            try nameDevice(of: grant)
            if let stored, isNew, !transaction.hidesToken {
                try record(.granted, quarantine: nil, orderRowID: stored.orderRowID)
            }
            return try changeOwner(of: grant) ?? .alreadyGranted(grant)
        case .revoke(let grant):
            return .revoked(try revoke(grant))
        case .reinstate(let grant):
            let given = try reinstate(grant)
            return try changeOwner(of: given) ?? .granted(given)
        case .revoked:
            return try recordRevocation()
        case .quarantine(let reason):
            return .quarantined(try quarantine(reason))
        }
    }

    /// A recorder with the row that this commit has written for the first time.
    func afterRecording() throws -> PurchaseRecorder {
        let row = try transactions.find(transaction.id, in: transaction.environment)
        return PurchaseRecorder(
            connection, context.recorded(as: row), decision, proof: proof, from: origin, inputs, terms)
    }

    func grant(to target: OrderTable.Stored, product: CatalogProduct, _ match: OwnerMatch) throws -> Grant {
        let points = product.points(quantity: transaction.quantity) ?? []
        #if PLANTED_MISTAKES
            var owner = shared.newOwner(of: target.order.userID, under: target.order.id)
            if PlantedMistake.trustsCaller.isPlanted, case .user(let user) = origin.caller {
                owner = NewOwner(buyer: user, currentChainOwner: nil, account: nil)
            }
        #else
            let owner = shared.newOwner(of: target.order.userID, under: target.order.id)
        #endif
        // Not always the customer of the order, whose key the decision names: a guest's account, or the chain's owner.
        connection.lock([.customer(owner.user)])
        if let again = try grantAgain(to: target, newOwner: owner.user, match) { return again }
        let grant = Grant(
            id: DerivedID.grant(app: terms.settings.apple.bundleID, transaction.id, in: transaction.environment),
            environment: transaction.environment, transactionID: transaction.id,
            orderID: target.order.id, userID: owner.user, productID: product.id, quantity: transaction.quantity,
            points: points.map { GrantedPoints(currency: $0.kind, amount: $0.amount) },
            entitlement: product.entitlement, at: now)
        let postings = grant.postings(at: now)
        precondition(
            postings.allSatisfy { $0.environment == transaction.environment && $0.userID == owner.user },
            "points go to the owner, in the environment that was paid in (invariants 1 and 7)")
        let rowID = try record(.granted, quarantine: nil, orderRowID: target.rowID)
        let customer = try context.number(of: owner.user) ?? CustomerTable(connection).id(of: owner.user, at: now)
        // A match by a signed token needs no detail; other matches record what was ruled out.
        let needsNoDetail = match.needsNoDetail && !transaction.isFromReceipt
        let isPlain = needsNoDetail && stored == nil && lateness == nil && !connection.isShared
        let plain = isPlain ? GrantDecision(match, from: origin, owner: owner.user) : nil
        try GrantTable(connection).insert(
            grant, transaction: rowID, orderRowID: target.rowID, catalogVersion: terms.catalogs.number,
            customer: customer, decision: plain)
        for posting in postings { try ledger.post(posting, grant: rowID, customer: customer) }
        if owner.user != target.order.userID || match == .claim {
            try grantOwners.set(owner.user, ownedGrant(rowID))
        }
        try setBasis(of: rowID, owner: owner.user, foundBy: match)
        if !origin.isImport {
            try tasks.repairToken(transaction, rowID, order: target.order.id, foundBy: match)
        }
        if plain == nil {
            try note(rowID, "granted", ground: match.rawValue, detail: needsNoDetail ? nil : explanation)
        } else {
            try noteUnknownRevocation(rowID)
        }
        if let ground = owner.ground { try note(rowID, "succeeded", ground: ground.rawValue) }
        try recordGrant(grant, rowID, customer)
        return grant
    }

    /// Names the device of a granted plan that has none, once, as soon as its customer submits it from a device.
    private func nameDevice(of grant: Grant) throws {
        guard context.isDeviceMissing, try isSaid(by: grant.userID), let device = origin.device, let stored,
            let rowID = stored.orderRowID
        else { return }
        try orders.name(device, of: rowID)
        // The order names it. Evidence is never edited, so it names no device.
        try note(stored.rowID, "device_named", ground: "brought_from_device")
    }

    // MARK: Transactions

    /// Writes the transaction's state, for the first time or again, and keeps the proof that decided it.
    @discardableResult
    func record(
        _ state: RecordedTransaction.State, quarantine: QuarantineReason?, orderRowID: Int64?
    ) throws -> Int64 {
        precondition(
            (state == .quarantined) == (quarantine != nil), "what waits says why, and only that does (invariant 6)")
        precondition(
            state != .quarantined || orderRowID == nil, "a quarantined transaction has no order (invariant 6)")
        precondition(
            stored != nil || !proof.bytes.isEmpty, "what is paid is recorded with its proof (invariants 3 and 6)")
        // The imported order has this id from the start, so no other order took the token.
        if stored == nil || isNew, let token = context.unmatchedToken, token != origin.importedOrder {
            try UnmatchedTokenTable(connection).insert(token, in: transaction.environment, at: now)
        }
        guard let stored else {
            let proofs = ProofTable(connection, knowing: terms.proofHeaders)
            let prepared = try proofs.prepare(kind: proof.kind, body: proof.bytes)
            inputs.remember(prepared, in: terms.proofHeaders)
            let rowID = try transactions.insert(
                transaction, state: state, quarantine: quarantine, orderRowID: orderRowID, at: now)
            var isKept = true
            #if PLANTED_MISTAKES
                isKept = state != .quarantined || !PlantedMistake.dropsProofs.isPlanted
            #endif
            if isKept { try proofs.insert(prepared, transaction: rowID) }
            recordedRowID = rowID
            // The system that an import comes from has finished it, and no purchase of it is late.
            guard !origin.isImport else { return rowID }
            try noteLateness(rowID)
            if state != .quarantined { try tasks.finish(rowID) }
            return rowID
        }
        switch (stored.state, state) {
        case (.quarantined, .granted), (.quarantined, .revoked): try tasks.finish(stored.rowID)
        case (.granted, .quarantined), (.revoked, .quarantined): try tasks.withdrawFinish(stored.rowID)
        default: break
        }
        try transactions.update(
            stored.rowID, state: state, quarantine: quarantine, orderRowID: orderRowID,
            signedAt: transaction.signedAt, revokedAt: transaction.revokedAt)
        guard isNew else { return stored.rowID }
        // A receipt says less about a purchase than a signed transaction, even if the receipt is newer.
        if !transaction.isFromReceipt || shared.facts.known?.isFromReceipt == true {
            try transactions.update(stored.rowID, to: transaction)
        }
        try ProofTable(connection).replace(transaction: stored.rowID, kind: proof.kind, body: proof.bytes)
        return stored.rowID
    }

    private var lateness: Int64? {
        terms.settings.delivery.lateness(ofPurchaseAt: transaction.purchasedAt, recordedAt: now)
    }

    /// Marks a purchase that is older than the window when it is first recorded. The mark decides nothing.
    private func noteLateness(_ rowID: Int64) throws {
        let delivery = terms.settings.delivery
        guard let late = lateness else { return }
        let (days, hours) = (late / 86_400, late % 86_400 / 3_600)
        try evidence.insert(
            transaction: rowID,
            EvidenceTable.Entry(
                at: now, decision: "late", ground: "purchase_date", source: origin.source.rawValue,
                caller: origin.callerName,
                detail: "purchased \(transaction.purchasedAt.rfc3339), \(days) days \(hours) hours before it was "
                    + "recorded; the window is \(delivery.lateAfterDays) days"))
    }

    // MARK: Orders

    /// The order that this purchase pays: the matched one, or a new one.
    func target(
        _ order: Order?, _ newOrderID: OrderID?, for user: UserID, product: CatalogProduct, reason: String
    ) throws -> OrderTable.Stored {
        try order.map { try move($0, to: .completed, reason: reason) }
            ?? openOrder(
                newOrderID ?? origin.importedOrder ?? freshID(),
                newOrderID != nil ? .proven : origin.isImport ? .imported : .payment, for: user, product: product,
                reason: reason)
    }

    private func openOrder(
        _ id: OrderID, _ source: OrderIDSource, for user: UserID, product: CatalogProduct, reason: String
    ) throws -> OrderTable.Stored {
        let (price, overflow) = product.price.amount.multipliedReportingOverflow(by: Int64(transaction.quantity))
        let opened = try orders.insert(
            Order(
                id: id, userID: user, productID: product.id, quantity: transaction.quantity,
                price: Money(amount: overflow ? product.price.amount : price, currency: product.price.currency),
                deviceID: Plan(soldBy: product)?.scope == .device ? try device(of: user) : nil,
                createdAt: origin.isImport ? min(transaction.purchasedAt, now) : now, updatedAt: now, idSource: source),
            reason: origin.isImport ? "imported" : "opened_for_payment")
        return try orders.move(
            opened, along: [.completed], at: now, reason: reason, transaction: transaction.id,
            environment: transaction.environment)
    }

    /// The device of a plan that was paid without an order of its own: the one that its customer states, or that of the
    /// order whose id is the token. Statements of others beside a proof decide nothing.
    private func device(of user: UserID) throws -> DeviceID? {
        if try isSaid(by: user) { return origin.device }
        return shared.facts.tokenOrder.flatMap {
            $0.userID == user && $0.productID == transaction.productID ? $0.deviceID : nil
        }
    }

    private func isSaid(by user: UserID) throws -> Bool {
        let customers = CustomerTable(connection)
        return switch origin.caller {
        case .backend: true
        case .user(let caller):
            try caller == user || customers.account(of: caller) == customers.account(of: user) ?? user
        case .apple: false
        }
    }

    /// Moves an order as far as it may go towards `status`. A renewal pays for a new period, not for the order again.
    func move(_ order: Order, to status: OrderStatus, reason: String) throws -> OrderTable.Stored {
        guard let stored = context.orders[order.id] else {
            preconditionFailure("a decision names only orders it was given")
        }
        guard !transaction.isRenewal else { return stored }
        let (id, environment) = (transaction.id, transaction.environment)
        // A production purchase replaces a sandbox purchase in an order, whatever the order's status.
        let takesPlace = order.isFree(for: id, in: environment) && !order.isPaid(by: id, in: environment)
        guard let way = stored.order.status.way(to: status) ?? (takesPlace ? [] : nil) else { return stored }
        return try orders.move(
            stored, along: way, at: now, reason: reason, transaction: transaction.id,
            environment: transaction.environment)
    }

    // MARK: Evidence and events

    /// What owner matching examined and what each step found, with further evidence that does not decide.
    var explanation: String {
        var parts = [decision.explanation]
        if origin.submittingDevice != nil { parts.append("device_id sent") }
        if transaction.isFromReceipt, transaction.token != nil { parts.append("token_source verify_receipt") }
        if let id = transaction.appTransactionID { parts.append("app_transaction_id \(EvidenceText.value(id))") }
        if let reason = origin.claimReason { parts.append("reason \(reason)") }
        return parts.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    func note(_ rowID: Int64, _ decision: String, ground: String, detail: String? = nil) throws {
        try insertNote(rowID, decision, ground: ground, detail: detail)
        try noteUnknownRevocation(rowID)
    }

    private func noteUnknownRevocation(_ rowID: Int64) throws {
        guard proof.isRevocationUnknown else { return }
        try insertNote(rowID, Refusal.revocationUnknown.rawValue, ground: "accepted_on_signature", detail: nil)
    }

    private func insertNote(_ rowID: Int64, _ decision: String, ground: String, detail: String?) throws {
        try evidence.insert(
            transaction: rowID,
            EvidenceTable.Entry(
                at: now, decision: decision, ground: ground, source: origin.source.rawValue,
                caller: origin.callerName, detail: detail))
    }

    /// - Parameters:
    ///   - postings: the points that moved, if they differ from the grant's own.
    ///   - happensOnce: whether a transaction has at most one event of this type.
    func recordEvent(
        _ type: String, _ grant: Grant, _ rowID: Int64, moved postings: [Posting]? = nil, happensOnce: Bool = false
    ) throws {
        precondition(
            postings?.allSatisfy { $0.userID == grant.userID && $0.environment == grant.environment } ?? true,
            "an event tells of its own customer's points (invariants 2 and 7)")
        try events.record(
            type: type, user: grant.userID, transaction: rowID, happensOnce: happensOnce,
            body: postings.map { EventBody.moved($0, under: grant.orderID) } ?? [:], at: now)
    }

    /// A transaction that was recorded before is read, because its row may know more than this proof.
    private func recordGrant(_ grant: Grant, _ rowID: Int64, _ customer: Int64) throws {
        #if PLANTED_MISTAKES
            if PlantedMistake.recordsEventApart.isPlanted { return }
        #endif
        guard stored == nil else {
            return try recordEvent(EventType.grantCreated.rawValue, grant, rowID, happensOnce: true)
        }
        try events.record(grant, of: transaction, rowID: rowID, customer: customer, at: now)
    }
}

extension PurchaseDecision.Outcome {
    /// The grant that existed before.
    fileprivate var recordedGrant: Grant? {
        switch self {
        case .alreadyGranted(let grant), .revoke(let grant), .reinstate(let grant): grant
        case .grant, .revoked, .quarantine: nil
        }
    }
}

/// Formats values chosen by others in the text of evidence, whose fields are separated by semicolons, commas and
/// blanks.
enum EvidenceText {
    /// The value unchanged if it cannot look like another field; otherwise in quotation marks.
    static func value(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "-_.:".utf8.contains(byte)
        }
        guard !isPlain || text.isEmpty else { return text }
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { quoted.append("\\") }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}

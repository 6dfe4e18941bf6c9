import TillBilling
import TillSQL

/// Moves purchases from one customer to another, inside a write. It lives inside one commit, so the transfer, the new
/// owners, the points and the events are recorded together or not at all.
package struct TransferRecorder {
    private let now: Instant
    private let freshID: UniqueID
    private let actor: String
    private let connection: any Connection
    private let transfers: TransferTable
    private let grantOwners: GrantOwnerTable
    private let ownership: OwnershipTable
    private let customers: CustomerTable
    private let transactions: TransactionTable
    private let ledger: LedgerTable
    private let events: EventRecorder
    private let reminders: Reminders

    /// - Parameters:
    ///   - actor: the requester, as in evidence.
    ///   - freshID: the id of the transfer, if one is made.
    package init(_ connection: any Connection, actor: String, now: Instant, freshID: UniqueID, reminders: Reminders) {
        self.now = now
        self.freshID = freshID
        self.actor = actor
        self.connection = connection
        transfers = TransferTable(connection)
        grantOwners = GrantOwnerTable(connection)
        ownership = OwnershipTable(connection)
        customers = CustomerTable(connection)
        transactions = TransactionTable(connection)
        ledger = LedgerTable(connection)
        events = EventRecorder(connection)
        self.reminders = reminders
    }

    /// A transfer, and whether it was made just now.
    package struct RecordedTransfer {
        package let stored: TransferTable.Stored
        package let isNew: Bool
    }

    // MARK: Guests

    /// Gives the account everything that a guest owns, and everything that the guest pays from now on. Repeating the
    /// merge of the same pair returns the same transfer.
    package func merge(
        guest: UserID, into account: UserID, reason: String, for requester: MergeRequester, under terms: GuestTerms
    ) throws -> RecordedTransfer {
        guard guest != account else { throw RefusalError(.sameUser) }
        if let entry = try customers.merge(of: guest) {
            guard entry.account == account, let stored = try transfers.find(rowID: entry.transferRowID) else {
                throw RefusalError(.guestTaken)
            }
            return RecordedTransfer(stored: stored, isNew: false)
        }
        guard try customers.merge(of: account) == nil else { throw RefusalError(.accountMerged) }
        guard requester.mayMerge(try customers.kind(of: guest, under: terms)) else { throw RefusalError(.notAGuest) }
        try customers.record(guest, as: .guest, under: terms, at: now)
        if requester == .backend { try customers.recordNamed(account, under: terms, at: now) }
        let points = try StoreEnvironment.allCases.flatMap { try everything(of: guest, in: $0) }
        let stored = try record(
            transfer(.guestMerge, from: guest, to: account, reason: reason), try grantOwners.all(of: guest), points)
        try customers.merge(guest, into: account)
        // Both customers get an event.
        for user in [guest, account] {
            try events.record(
                type: "guest.merged", user: user, transfer: stored.rowID,
                about: "\(stored.transfer.id) \(user)", happensOnce: true, at: now)
        }
        return RecordedTransfer(stored: stored, isNew: true)
    }

    /// The remaining points of each purchase, so that a later refund takes them from the account; then the rest of the
    /// balance, debts included, because guest and account are the same person.
    private func everything(of guest: UserID, in environment: StoreEnvironment) throws -> [MovedPoints] {
        let balances = try ledger.wallet(of: guest, in: environment).balances
        return try balances.sorted { $0.key < $1.key }.flatMap { currency, balance -> [MovedPoints] in
            let lots = try ledger.lots(of: guest, in: environment, currency: currency).lotsAndDebt().lots
            let purchases = try lots.filter { $0.remaining > 0 }.compactMap { lot -> MovedPoints? in
                guard let id = lot.opening.transactionID, let paid = try transactions.find(id, in: environment) else {
                    return nil
                }
                return MovedPoints(
                    environment: environment, currency: currency, amount: lot.remaining, grant: paid.rowID)
            }
            let rest = purchases.reduce(balance) { $0 - $1.amount }
            guard rest != 0 else { return purchases }
            return purchases + [MovedPoints(environment: environment, currency: currency, amount: rest)]
        }
    }

    // MARK: Chains

    /// Moves a customer's purchases of one chain to another customer, with the remaining points that came with them.
    package func move(
        chain original: TransactionID, in environment: StoreEnvironment, from: UserID, to: UserID, kind: Transfer.Kind,
        reason: String, by operatorName: String? = nil, under terms: GuestTerms
    ) throws -> TransferTable.Stored {
        guard from != to else { throw RefusalError(.sameUser) }
        guard try customers.merge(of: to) == nil else { throw RefusalError(.accountMerged) }
        let moved = try grantOwners.chain(of: original, in: environment, ownedBy: from)
        guard !moved.isEmpty else { throw RefusalError(.notTheOwner) }
        if kind == .support { try customers.recordNamed(to, under: terms, at: now) }
        return try record(
            transfer(kind, from: from, to: to, reason: reason, by: operatorName), moved,
            try RemainingPoints(connection).of(moved, in: from))
    }

    /// Moves grants by receipts to the customer whom Apple's signature names, in full: points already spent become the
    /// previous owner's debt, regardless of the debt policy.
    ///
    /// - Parameter order: the previous owner's order.
    func moveToSignedBuyer(
        _ grants: [OwnedGrant], from: UserID, to: UserID, reason: String, under order: OrderID
    ) throws {
        let points = try grants.flatMap { grant in
            try ownership.left(of: grant.rowID).map { currency, amount in
                MovedPoints(
                    environment: grant.environment, currency: currency, amount: amount, grant: grant.rowID)
            }
        }
        let transfer = transfer(.signedBuyer, from: from, to: to, reason: reason)
        let stored = try record(transfer, grants, points)
        for grant in grants {
            let taken = points.filter { $0.grant == grant.rowID }.map { $0.postings(transfer)[0] }
            try events.record(
                type: "grant.withdrawn", user: from, transaction: grant.rowID, transfer: stored.rowID,
                body: EventBody.withdrawn(reason, taken, under: order), at: now)
        }
    }

    // MARK: Reversal

    /// Reverses a transfer, once: moves back everything that still belongs to its receiver. Purchases transferred
    /// further stay where they are, and spent points stay spent.
    package func reverse(
        _ id: UniqueID, reason: String, by operatorName: String, terms: GuestTerms
    ) throws -> RecordedTransfer {
        guard let original = try transfers.find(id) else { throw RefusalError(.unknownTransfer) }
        if let known = try transfers.reversal(of: original.rowID) {
            return RecordedTransfer(stored: known, isNew: false)
        }
        connection.lock([.customer(original.transfer.from), .customer(original.transfer.to)])
        let reversal = try TransferReversal(of: original, under: terms, at: now, connection)
        if original.transfer.kind == .guestMerge { try customers.separate(original.transfer.from) }
        let stored = try record(
            transfer(.reversal, from: reversal.giver, to: reversal.taker, reason: reason, by: operatorName),
            reversal.grants, reversal.points, reverses: original)
        return RecordedTransfer(stored: stored, isNew: true)
    }

    // MARK: Writing

    private func transfer(
        _ kind: Transfer.Kind, from: UserID, to: UserID, reason: String, by operatorName: String? = nil
    ) -> Transfer {
        Transfer(
            id: freshID, kind: kind, from: from, to: to, reason: reason, actor: actor, operatorName: operatorName,
            at: now)
    }

    private func record(
        _ transfer: Transfer, _ grants: [OwnedGrant], _ points: [MovedPoints],
        reverses: TransferTable.Stored? = nil
    ) throws -> TransferTable.Stored {
        let chains = grants.map { LockKey.chain($0.originalID, $0.environment) }
        connection.lock(chains + [.customer(transfer.from), .customer(transfer.to)])
        let isDecision =
            transfer.kind == .support || reverses.map { $0.transfer.kind != .guestMerge } ?? false
        let stored = try transfers.insert(transfer, reverses: reverses?.rowID)
        try transfers.add(grants, to: stored.rowID)
        try transfers.add(points, to: stored.rowID)
        try events.record(
            type: "transfer.created", user: transfer.to, transfer: stored.rowID, about: transfer.id.description,
            happensOnce: true, at: now)
        for grant in grants {
            try grantOwners.set(transfer.to, grant)
            // A merge or a restore is no proof of ownership, so a grant that rests on a receipt still does.
            if isDecision {
                try ownership.set(.person, of: grant, owner: transfer.to)
            } else {
                try ownership.move(grant.rowID, to: transfer.to)
            }
            try events.record(
                type: "grant.moved", user: transfer.to, transaction: grant.rowID, transfer: stored.rowID,
                about: transfer.id.description, happensOnce: true, at: now)
        }
        for points in points {
            for posting in points.postings(transfer) {
                try ledger.post(posting, grant: points.grant, transfer: stored.rowID)
            }
        }
        if !grants.isEmpty {
            for environment in StoreEnvironment.allCases {
                for user in [transfer.from, transfer.to] { try reminders.update(user, in: environment, at: now) }
            }
        }
        return stored
    }
}

extension CustomerTable {
    /// Throws if the user is a guest merged into an account: the account then owns the guest's purchases and later
    /// payments, so the guest's id may start nothing new. The same holds for an id that stands for an erased customer.
    package func requireUnmerged(_ user: UserID) throws {
        guard !user.isPseudonym else { throw RefusalError(.unknownUser) }
        guard try merge(of: user) == nil else { throw RefusalError(.guestMerged) }
    }
}

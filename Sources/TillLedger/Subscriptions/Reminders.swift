import TillBilling
import TillCrypto
import TillSQL

/// A customer's reminders, inside a write. They are set in the commit that changes what the customer has, so that a
/// crash cannot leave an end without its reminder, or keep the reminder of an end that was moved.
package struct Reminders {
    let connection: any Connection
    let catalogs: CatalogHistory
    let policy: ReminderPolicy

    /// Updates the reminders to what the customer has now.
    func update(_ user: UserID, in environment: StoreEnvironment, at now: Instant) throws {
        connection.lock([.customer(user)])
        let rights = try Rights.load(of: user, in: environment, at: now, catalogs: catalogs, connection: connection)
        let scheduled = try ReminderTable(connection).list(user: user, in: environment)
        try change(scheduled, to: rights.active, of: user, in: environment, at: now)
    }

    /// Updates the reminders of one subscription, if nothing else of the customer's has changed: the cost does not grow
    /// with what else the customer owns.
    func update(
        _ user: UserID, subscription original: TransactionID, in environment: StoreEnvironment, at now: Instant
    ) throws {
        connection.lock([.customer(user)])
        let rights = try SubscriptionRights(
            original, of: user, in: environment, at: now, catalog: catalogs.current, connection)
        guard let rights else { return try update(user, in: environment, at: now) }
        let scheduled = try ReminderTable(connection).list(
            user: user, subject: ServiceEnd.subject(ofSubscription: original), in: environment)
        try change(
            scheduled, to: Rights.sorted(rights.rights).filter(\.isAllowed), of: user, in: environment, at: now)
    }

    /// Sets the reminders of a subscription that this commit has begun: there are none yet.
    func begin(
        _ begun: SubscriptionChanges.BegunSubscription, of user: UserID, in environment: StoreEnvironment,
        at now: Instant
    ) throws {
        connection.lock([.customer(user)])
        let rights = SubscriptionRights(begun, at: now, catalog: catalogs.current)
        try change([], to: Rights.sorted(rights.rights).filter(\.isAllowed), of: user, in: environment, at: now)
    }

    private func change(
        _ stored: [ReminderTable.Stored], to active: [Right], of user: UserID, in environment: StoreEnvironment,
        at now: Instant
    ) throws {
        let table = ReminderTable(connection)
        let scheduled = stored.map { stored in
            ReminderChanges.ScheduledReminder(
                rowID: stored.rowID, reminder: stored.reminder, isSent: stored.sentAt != nil)
        }
        let changes = ReminderChanges(
            from: scheduled, to: active.compactMap(ServiceEnd.init), policy: policy, at: now)
        for rowID in changes.removed { try table.remove(rowID) }
        for reminder in changes.set { try table.set(reminder, for: user, in: environment) }
    }

    /// Writes the events of the due reminders; returns how many. If several reminders of one end are due together,
    /// because no server was running, only the last one is sent.
    func recordEvents(_ user: UserID, in environment: StoreEnvironment, at now: Instant) throws -> Int {
        let table = ReminderTable(connection)
        let due = try table.list(user: user, in: environment).filter { $0.sentAt == nil && $0.reminder.dueAt <= now }
        var recorded = 0
        for (index, one) in due.enumerated() {
            let isOutdone = due.dropFirst(index + 1).contains { $0.reminder.end.subject == one.reminder.end.subject }
            if !isOutdone {
                try EventRecorder(connection).record(
                    type: one.reminder.kind.event, user: user, about: one.subject,
                    body: EventBody.reminder(one), at: now)
                recorded += 1
            }
            try table.markSent(one.rowID, at: now)
        }
        return recorded
    }
}

extension ServiceEnd {
    /// Nil for a permanent right.
    init?(_ right: Right) {
        guard let until = right.until else { return nil }
        let subject =
            switch right.kind {
            case .subscription: Self.subject(ofSubscription: right.originalID ?? right.transactionID)
            case .service, .lasting:
                Self.subject(ofPlan: right.planID?.text ?? right.productID.text, on: right.deviceIDs ?? [])
            }
        self.init(
            subject: subject, entitlement: right.entitlement, productID: right.productID, expiresAt: until,
            renews: right.willRenew == true)
    }

    fileprivate static func subject(ofSubscription original: TransactionID) -> String { "subscription:\(original)" }

    /// A digest stands for the devices: events are never edited, so they name no device.
    private static func subject(ofPlan plan: String, on devices: [DeviceID]) -> String {
        guard !devices.isEmpty else { return "plan:\(plan)" }
        let names = devices.map(\.text).joined(separator: "\0")
        return "plan:\(plan)@\(hexadecimal(Digest.sha256.hash(names.utf8).prefix(8)))"
    }
}

extension PurchaseProcessor {
    /// Updates the reminders of the owners of processed purchases, and of customers whose subscriptions changed.
    /// Permanent products and points have no end date.
    ///
    /// - Parameters:
    ///   - isWhole: whether the commit may have changed more than these subscriptions.
    ///   - ownerOf: the owner of a granted purchase; nil if it has to be looked up.
    func remind(
        about processed: [PaidTransaction], and changed: [SubscriptionChanges.Changed], isWhole: Bool = false,
        ownerOf: (PaidTransaction) -> UserID? = { _ in nil }, _ now: Instant, _ connection: any Connection
    ) throws {
        let reminders = Reminders(connection: connection, catalogs: catalogs, policy: settings.reminders)
        var all: [SubscriptionChanges.Changed] = []
        for transaction in processed where sellsTime(transaction) {
            guard let user = try ownerOf(transaction) ?? presentOwner(of: transaction, connection) else { continue }
            // Without a signed type, the catalogue decides what it is.
            let original = transaction.terms.type == .autoRenewable ? transaction.originalID : nil
            all.append(
                SubscriptionChanges.Changed(user: user, environment: transaction.environment, originalID: original))
        }
        all += changed
        if isWhole { all = all.map(\.ofCustomer) }
        let whole = Set(all.filter { $0.originalID == nil })
        var seen: Set<SubscriptionChanges.Changed> = []
        for one in all where seen.insert(one).inserted {
            if let original = one.originalID {
                guard !whole.contains(one.ofCustomer) else { continue }
                try reminders.update(one.user, subscription: original, in: one.environment, at: now)
            } else {
                try reminders.update(one.user, in: one.environment, at: now)
            }
        }
    }

    private func presentOwner(of transaction: PaidTransaction, _ connection: any Connection) throws -> UserID? {
        guard let stored = try TransactionTable(connection).find(transaction.id, in: transaction.environment),
            let grant = try GrantTable(connection).find(transaction: stored.rowID)
        else { return nil }
        return try GrantOwnerTable(connection).present(grant, of: stored.rowID).userID
    }

    private func sellsTime(_ transaction: PaidTransaction) -> Bool {
        transaction.terms.type == .autoRenewable || transaction.terms.expiresAt != nil
            || catalog[transaction.productID]?.plan != nil
    }
}

extension ReminderTable.Stored {
    /// The subject of the event about it.
    fileprivate var subject: String {
        let end = reminder.end
        return "\(environment.rawValue):\(userID):\(end.subject):\(reminder.kind.name):\(end.expiresAt.milliseconds)"
    }
}

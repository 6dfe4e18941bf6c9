import TillBilling
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
        let table = ReminderTable(connection)
        let scheduled = try table.list(user: user, in: environment).map { stored in
            ReminderChanges.ScheduledReminder(
                rowID: stored.rowID, reminder: stored.reminder, isSent: stored.sentAt != nil)
        }
        let rights = try Rights.load(of: user, in: environment, at: now, catalogs: catalogs, connection: connection)
        let changes = ReminderChanges(
            from: scheduled, to: rights.active.compactMap(ServiceEnd.init), policy: policy, at: now)
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
            case .subscription: "subscription:\(right.originalID ?? right.transactionID)"
            case .service, .lasting:
                (["plan:\(right.planID?.text ?? right.productID.text)"] + (right.deviceIDs ?? []).map(\.text)).joined(
                    separator: "@")
            }
        self.init(
            subject: subject, entitlement: right.entitlement, productID: right.productID, expiresAt: until,
            renews: right.willRenew == true)
    }
}

extension PurchaseProcessor {
    /// Updates the reminders of the owners of processed purchases, and of customers whose subscriptions changed.
    /// Permanent products and points have no end date.
    func remind(
        about processed: [PaidTransaction], and changed: [SubscriptionChanges.Changed], _ now: Instant,
        _ connection: any Connection
    ) throws {
        let reminders = Reminders(connection: connection, catalogs: catalogs, policy: settings.reminders)
        var seen: Set<SubscriptionChanges.Changed> = []
        for transaction in processed where sellsTime(transaction) {
            guard let stored = try TransactionTable(connection).find(transaction.id, in: transaction.environment),
                let grant = try GrantTable(connection).find(transaction: stored.rowID),
                case let user = try GrantOwnerTable(connection).present(grant, of: stored.rowID).userID,
                seen.insert(SubscriptionChanges.Changed(user: user, environment: transaction.environment)).inserted
            else { continue }
            try reminders.update(user, in: transaction.environment, at: now)
        }
        for one in changed where seen.insert(one).inserted {
            try reminders.update(one.user, in: one.environment, at: now)
        }
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

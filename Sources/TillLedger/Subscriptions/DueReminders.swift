import TillBilling

/// Reports to the app's backend, by events in the outbox, which service is about to end for a customer and which has
/// ended.
public struct DueReminders: Sendable {
    private let ledger: Ledger
    private static let batch = 50

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Writes the events of all due reminders; returns how many. Each event and its mark are written in one commit, so
    /// a crash cannot cause a second event.
    @discardableResult
    public func recordAll() async throws -> Int {
        var recorded = 0
        while true {
            let now = ledger.clock()
            let due = try await ledger.database.read { try ReminderTable($0).due(at: now, limit: Self.batch) }
            guard !due.isEmpty else { return recorded }
            var seen: Set<Customer> = []
            for one in due where seen.insert(Customer(user: one.userID, environment: one.environment)).inserted {
                recorded += try await recordEvents(Customer(user: one.userID, environment: one.environment), at: now)
            }
        }
    }

    private struct Customer: Hashable, Sendable {
        let user: UserID
        let environment: StoreEnvironment
    }

    /// Writes all due events of one customer in one commit, after updating the customer's reminders.
    private func recordEvents(_ customer: Customer, at now: Instant) async throws -> Int {
        try await ledger.database.write(locking: [.customer(customer.user)]) { [ledger] connection in
            let reminders = ledger.reminders(connection)
            try reminders.update(customer.user, in: customer.environment, at: now)
            return try reminders.recordEvents(customer.user, in: customer.environment, at: now)
        }
    }
}

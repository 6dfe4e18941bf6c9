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
    public func tellAll() async throws -> Int {
        var told = 0
        while true {
            let now = ledger.clock()
            let due = try await ledger.database.read { try ReminderTable($0).due(at: now, limit: Self.batch) }
            guard !due.isEmpty else { return told }
            var seen: Set<Customer> = []
            for one in due where seen.insert(Customer(user: one.userID, environment: one.environment)).inserted {
                told += try await tell(Customer(user: one.userID, environment: one.environment), at: now)
            }
        }
    }

    private struct Customer: Hashable, Sendable {
        let user: UserID
        let environment: Environment
    }

    /// Writes all due events of one customer in one commit, after updating the customer's reminders.
    private func tell(_ customer: Customer, at now: Instant) async throws -> Int {
        try await ledger.database.write(locking: [.customer(customer.user)]) { [ledger] connection in
            let book = ledger.reminders(connection)
            try book.update(customer.user, in: customer.environment, at: now)
            return try book.tell(customer.user, in: customer.environment, at: now)
        }
    }
}

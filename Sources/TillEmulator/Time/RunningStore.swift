import TillBilling
import TillSQL

/// What the store does by itself while time passes.
extension Store {
    /// Lets happen what falls due and sends what is to be sent, each time it is woken, until its task is cancelled. One
    /// `run` at a time.
    func run() async {
        for await _ in notifications.rings() {
            // What a database that fails could not do now, the next ring tries again: never at once.
            try? await catchUp()
            await notifications.sendDue()
            _ = try? await sweep()
        }
    }

    /// Forgets some of the notifications that no history shows any more.
    /// - Returns: whether there may be others.
    func sweep() async throws -> Bool {
        let now = clock.now
        guard try await database.read({ try NotificationTable.hasOutlived(at: now, $0) }) else { return false }
        return try await database.write { try NotificationTable.sweep(at: now, limit: 256, $0) == 256 }
    }
}

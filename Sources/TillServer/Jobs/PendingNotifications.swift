import TillAppStore
import TillBilling
import TillStorage

/// Takes up what was stored but not settled: after a crash between the two, or a full disk.
public struct PendingNotifications: Sendable {
    private let server: Server

    public init(_ server: Server) { self.server = server }

    /// One walk over all pending notifications, oldest first. Returns how many were settled. One that can't be settled
    /// never stands in the way of the next.
    @discardableResult
    public func settleAll() async throws -> Int {
        var settled = 0
        var position: Int64 = 0
        while true {
            let after = position
            let pending = try await server.database.read { try NotificationTable($0).pending(after: after, limit: 50) }
            guard let last = pending.last else { return settled }
            position = last.sequence
            for stored in pending where await settle(stored) { settled += 1 }
        }
    }

    private func settle(_ stored: NotificationTable.Stored) async -> Bool {
        do throws(ProofRefusal) {
            let notification = try server.verifier.notification(stored.payload)
            return (try? await server.settleNotification(stored.sequence, notification)) != nil
        } catch {
            // It was Apple's when it came: the configuration has changed since.
            let detail = "\(error.refusal.rawValue): \(error.detail)"
            _ = try? await server.database.write { session in
                try NotificationTable(session).mark(stored.sequence, .stuck, detail: detail)
            }
            return false
        }
    }
}

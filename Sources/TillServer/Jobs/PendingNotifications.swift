import TillAppStore
import TillBilling
import TillLedger

/// Takes up what was stored but not settled: after a crash between the two, a full disk, or while Apple could not be
/// asked about its certificates; and what was another app's until the configuration changed.
public struct PendingNotifications: Sendable {
    private let server: Server
    private static let batch = 50

    public init(_ server: Server) { self.server = server }

    /// One walk over all pending notifications, oldest first. Returns how many were settled. One that can't be settled
    /// never stands in the way of the next.
    @discardableResult
    public func settleAll() async throws -> Int {
        _ = try? await adoptForeign()
        var settled = 0
        var position: Int64 = 0
        while true {
            let after = position
            let pending = try await server.database.read { session in
                try NotificationTable(session).pending(after: after, limit: Self.batch)
            }
            guard let last = pending.last else { return settled }
            position = last.sequence
            for stored in pending where await settle(stored) { settled += 1 }
        }
    }

    private func settle(_ stored: NotificationTable.Stored) async -> Bool {
        do throws(ProofRefusal) {
            switch try await server.verifier.notification(stored.payload) {
            case .ours(let notification, let isUnderDoubt):
                let isSettled: Void? = try? await server.settleNotification(
                    stored.sequence, notification, isUnderDoubt: isUnderDoubt)
                return isSettled != nil
            // It stays pending.
            case .undecided: return false
            case .foreign(_, let reason): await stick(stored, reason)
            }
        } catch {
            await stick(stored, error)
        }
        return false
    }

    /// It was ours and Apple's when it came: the configuration has changed since, or a certificate was revoked.
    private func stick(_ stored: NotificationTable.Stored, _ reason: ProofRefusal) async {
        let detail = "\(reason.refusal.rawValue): \(reason.detail)"
        _ = try? await server.database.write { session in
            try NotificationTable(session).mark(stored.sequence, .stuck, detail: detail)
        }
    }

    // MARK: Foreign ones

    /// Notifications of an app that was not ours and is now: whoever mistyped the bundle id loses nothing by it. Only
    /// those that state the configured app are looked at, and none twice.
    private func adoptForeign() async throws {
        let apple = server.configuration.apple
        var position: Int64 = 0
        while true {
            let after = position
            let found = try await server.database.read { session in
                try ForeignNotificationTable(session).stating(
                    bundleID: apple.bundleID, appAppleID: apple.appAppleID, refusedAs: Refusal.wrongApp.rawValue,
                    after: after, limit: Self.batch)
            }
            guard let last = found.last else { return }
            position = last.sequence
            for (sequence, entry) in found { try await adopt(sequence, entry) }
        }
    }

    private func adopt(_ sequence: Int64, _ entry: ForeignNotificationTable.Entry) async throws {
        let notification: VerifiedNotification
        do throws(ProofRefusal) {
            switch try await server.verifier.notification(entry.payload) {
            case .ours(let ours, _), .undecided(let ours): notification = ours
            case .foreign(_, let reason): throw reason
            }
        } catch {
            let (code, detail) = (error.refusal.rawValue, error.detail)
            try await server.database.write { session in
                try ForeignNotificationTable(session).mark(sequence, code: code, detail: detail)
            }
            return
        }
        let (environment, signedAt) = (notification.environment, notification.signedDate)
        try await server.database.write { session in
            try ForeignNotificationTable(session).remove(sequence)
            _ = try NotificationTable(session).insert(
                uuid: entry.uuid, environment: environment, type: entry.type, subtype: entry.subtype,
                signedAt: signedAt, at: entry.receivedAt, payload: entry.payload)
        }
    }
}

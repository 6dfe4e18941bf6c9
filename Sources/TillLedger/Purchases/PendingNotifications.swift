import TillAppStore
import TillBilling

/// Processes notifications that were stored but not processed: after a crash between the two steps, a full disk, or
/// while Apple did not answer about its certificates; and those that belonged to another app until the configuration
/// changed.
public struct PendingNotifications: Sendable {
    private let ledger: Ledger
    private static let batch = 50

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Processes all pending notifications once, oldest first. Returns how many were processed. A notification that
    /// fails does not block the next.
    @discardableResult
    public func processAll() async throws -> Int {
        do {
            try await adoptForeign()
        } catch {
            // The pending ones below are processed all the same.
            ledger.log.write(.workFailed, ["work": "foreign_notifications", "cause": .cause(error)])
        }
        var processed = 0
        var position: Int64 = 0
        while true {
            let after = position
            let pending = try await ledger.database.read { connection in
                try NotificationTable(connection).pending(after: after, limit: Self.batch)
            }
            guard let last = pending.last else { return processed }
            position = last.rowID
            for stored in pending where await process(stored) { processed += 1 }
        }
    }

    private func process(_ stored: NotificationTable.Stored) async -> Bool {
        if let damage = stored.damage {
            ledger.workFailed("notification", stored.uuid, damage)
            return false
        }
        do throws(ProofError) {
            switch try await ledger.verifier.notification(Array(stored.payload.utf8)) {
            case .ours(let notification, let isRevocationUnknown):
                return await process(notification, stored, isRevocationUnknown: isRevocationUnknown)
            // It stays pending.
            case .undecided: return false
            case .foreign(_, let reason): await markStuck(stored, reason)
            }
        } catch {
            await markStuck(stored, error)
        }
        return false
    }

    private func process(
        _ notification: VerifiedNotification, _ stored: NotificationTable.Stored, isRevocationUnknown: Bool
    ) async -> Bool {
        do {
            try await ledger.process(notification, stored.rowID, isRevocationUnknown: isRevocationUnknown)
            return true
        } catch {
            ledger.workFailed("notification", stored.uuid, error)
            return false
        }
    }

    /// The notification was valid and for this app when it arrived: since then the configuration has changed, or a
    /// certificate was revoked.
    private func markStuck(_ stored: NotificationTable.Stored, _ reason: ProofError) async {
        let detail = "\(reason.refusal.rawValue): \(reason.detail)"
        ledger.log.write(
            .notificationStuck,
            ["id": .text(stored.uuid), "code": .text(reason.refusal.rawValue), "cause": .text(reason.detail)])
        do {
            try await ledger.database.write(locking: [.notification(stored.uuid)]) { connection in
                try NotificationTable(connection).mark(stored.rowID, .stuck, detail: detail)
            }
        } catch {
            ledger.workFailed("notification", stored.uuid, error)
        }
    }

    // MARK: Foreign ones

    /// Adopts notifications of an app that was not configured and is now, so that a mistyped bundle id loses nothing.
    /// Only those that state the configured app are verified, and each only once.
    private func adoptForeign() async throws {
        let apple = ledger.settings.apple
        var position: Int64 = 0
        while true {
            let after = position
            let found = try await ledger.database.read { connection in
                try ForeignNotificationTable(connection).stating(
                    bundleID: apple.bundleID, appAppleID: apple.appAppleID, refusedAs: Refusal.wrongApp.rawValue,
                    after: after, limit: Self.batch)
            }
            guard let last = found.last else { return }
            position = last.rowID
            for (rowID, entry) in found { try await adopt(rowID, entry) }
        }
    }

    private func adopt(_ rowID: Int64, _ entry: ForeignNotificationTable.Entry) async throws {
        let payload = Array(entry.payload.utf8)
        let notification: VerifiedNotification
        do throws(ProofError) {
            switch try await ledger.verifier.notification(payload) {
            case .ours(let ours, _), .undecided(let ours): notification = ours
            case .foreign(_, let reason): throw reason
            }
        } catch {
            let (code, detail) = (error.refusal.rawValue, error.detail)
            try await ledger.database.write(locking: [.notification(entry.uuid)]) { connection in
                try ForeignNotificationTable(connection).mark(rowID, code: code, detail: detail)
            }
            return
        }
        let (environment, signedAt) = (notification.environment, notification.signedDate)
        try await ledger.database.write(locking: [.notification(entry.uuid)]) { connection in
            try ForeignNotificationTable(connection).remove(rowID)
            _ = try NotificationTable(connection).insert(
                uuid: entry.uuid, environment: environment, type: entry.type, subtype: entry.subtype,
                signedAt: signedAt, at: entry.receivedAt, payload: payload)
        }
    }
}

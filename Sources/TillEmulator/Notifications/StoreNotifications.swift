import TillBilling
import TillSQL

extension Store {
    /// Where notifications go from now on; nil turns them off. What was noted before goes there too.
    public func setNotificationURL(_ url: String?) async throws {
        try await change { turn in try SettingTable.set(.notificationURL, to: url, turn.session) }
    }

    /// A notification of type TEST.
    /// - Returns: its id; nil if there is no URL to send it to.
    public func sendTestNotification(bundleID: String) async throws -> UniqueID? {
        try await change { turn in try turn.note(Notice(.test, bundleID: bundleID)) }
    }

    /// A notification of type TEST that was tried at least once, with its attempts.
    func testNotification(
        _ uuid: UniqueID
    ) async throws -> (notification: StoredNotification, attempts: [SendAttempt])? {
        try await ask { session in
            guard let found = try NotificationTable.find(uuid, session), found.type == "TEST", found.attempts > 0 else {
                return nil
            }
            return (found, try NotificationTable.attempts(of: found.number, session))
        }
    }
}

import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillSQL
import TillThreads

/// Posts notifications V2 to the developer's server: in order, one at a time, with retries.
///
/// A notification is stored in the same commit as its event, so a restart loses none. Sending one at a time delivers
/// first attempts in the order of the events and makes a repeated run identical.
struct NotificationSender: Sendable {
    let database: any Database
    let payload: SignedNotification
    let configuration: EmulatorConfiguration
    let clock: StoreClock
    let send: HTTPSend

    private struct Work {
        /// A sender is running, or a clock advance holds the sending.
        var isUnderWay = false
        var isAsked = false
        /// The clock advance that waits to take over the sending.
        var successor: CheckedContinuation<Void, Never>?
    }

    /// The payloads that were signed last.
    private struct SignedPayloads {
        private(set) var texts: [UniqueID: String] = [:]
        private var notifications: [UniqueID] = []
        private static let limit = 256

        mutating func insert(_ text: String, of notification: UniqueID) {
            guard texts.updateValue(text, forKey: notification) == nil else { return }
            notifications.append(notification)
            // Half at once, so that the list moves seldom.
            guard notifications.count > Self.limit else { return }
            for oldest in notifications.prefix(Self.limit / 2) { texts[oldest] = nil }
            notifications.removeFirst(Self.limit / 2)
        }
    }

    private enum Progress {
        /// Nothing more is due.
        case done
        case more
        /// The sender is stopping, or a clock advance wants to send.
        case halted
    }

    private let work = Locked(Work())
    private let signed = Locked(SignedPayloads())
    /// Wakes `run` while it is running.
    private let signal = Locked<AsyncStream<Void>.Continuation?>(nil)

    init(
        database: any Database, issuer: Issuer, configuration: EmulatorConfiguration,
        clock: StoreClock, send: @escaping HTTPSend
    ) {
        self.database = database
        self.configuration = configuration
        self.clock = clock
        self.send = send
        payload = SignedNotification(issuer: issuer, configuration: configuration)
    }

    /// The whole signed payload with its nested tokens (facts/jws §7). It is the same for each attempt and in the
    /// history; those that were sent lately need not be signed again.
    func signedPayload(_ notification: StoredNotification) throws -> String {
        if let text = signed.withLock({ $0.texts[notification.uuid] }) { return text }
        let text = try payload.text(notification)
        signed.withLock { $0.insert(text, of: notification.uuid) }
        return text
    }

    // MARK: Waking

    /// Makes `run` check for due notifications.
    func wake() { _ = signal.withLock { $0?.yield() } }

    /// One element to start with and one for each wake; wakes that are not consumed yet count as one.
    func signals() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        signal.withLock { $0 = continuation }
        continuation.yield()
        return stream
    }

    // MARK: Sending

    /// Sends everything that is due now. A running sender is asked to check again instead; during a clock advance, the
    /// advance sends.
    func sendDue() async {
        let isMine = work.withLock { work in
            defer { (work.isUnderWay, work.isAsked) = (true, work.isUnderWay) }
            return !work.isUnderWay
        }
        guard isMine else { return }
        repeat {
            // If the database fails, the notifications stay stored and the next wake tries again.
            while let progress = try? await sendBatch(), progress == .more {}
        } while mustLookAgain()
    }

    private func mustLookAgain() -> Bool {
        let (isAsked, successor) = work.withLock { work in
            defer { (work.isAsked, work.successor) = (false, nil) }
            // Sending stays marked as under way while it passes to the clock advance.
            let continues = work.isAsked && work.successor == nil
            work.isUnderWay = continues || work.successor != nil
            return (continues, work.successor)
        }
        successor?.resume()
        return isAsked
    }

    /// Takes over the sending until `release`, after the attempt under way has ended. The clock allows one advance at a
    /// time, so one caller holds it at most.
    func hold() async {
        await withCheckedContinuation { continuation in
            let isFree = work.withLock { work in
                guard work.isUnderWay else {
                    work.isUnderWay = true
                    return true
                }
                work.successor = continuation
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Sends everything that is due now; the caller holds the sending.
    /// - Returns: false if the sender is stopping.
    func sendHeld() async throws -> Bool {
        while true {
            switch try await sendBatch() {
            case .done: return true
            case .halted: return false
            case .more: continue
            }
        }
    }

    func release() {
        work.withLock { $0 = Work() }
        wake()
    }

    /// Whether this sender may start the next attempt.
    private var continues: Bool {
        !Task.isCancelled && !clock.isEnding && work.withLock { $0.successor == nil }
    }

    private func sendBatch() async throws -> Progress {
        let now = clock.now
        let batch = 32
        let (url, due) = try await database.read { connection in
            (
                try SettingTable.value(.notificationURL, connection),
                try NotificationTable.due(at: now, limit: batch, connection)
            )
        }
        guard let url else { return .done }
        for notification in due {
            guard continues else { return .halted }
            let began = clock.now
            // A notification that can't be signed must not block the others for ever.
            let text = try? notification.signedPayload ?? signedPayload(notification)
            let result = if let text { await post(text, to: url) } else { SendAttemptResult?.some(.other) }
            guard let result else { return .halted }
            let retries = configuration.retries
            let attempt = Int(clamping: notification.attempts)
            let isTriedAgain = result != .success && text != nil && attempt < retries.count
            let next = isTriedAgain ? began.adding(milliseconds: max(0, retries[attempt])) : nil
            try await database.write { connection in
                try NotificationTable.record(
                    notification, SendAttempt(at: began, result: result.rawValue), next: next,
                    keeping: next == nil ? nil : text, connection)
            }
        }
        return due.count < batch ? .done : .more
    }

    /// Nil if the sender itself is stopping.
    private func post(_ payload: String, to url: String) async -> SendAttemptResult? {
        var headers = HTTPHeaders()
        headers.add("Content-Type", "application/json")
        let body = JSONValue.object(["signedPayload": .string(payload)]).encoded()
        let request = HTTPRequest(method: .post, path: "", headers: headers, body: Array(body.utf8))
        do throws(HTTPError) {
            return SendAttemptResult(try await send(url, request))
        } catch {
            return SendAttemptResult(error)
        }
    }
}

/// Deletes notifications that no history lists any more, so that a store that runs for years stays small.
extension NotificationTable {
    private static let day: Int64 = 86_400
    /// Seconds that the notification history reaches back (facts/server-api §4.3).
    static let lifetime = 180 * day
    /// A test notification's status is available for six months; 184 days is the longest six months.
    static let testLifetime = 184 * day

    /// Whether anything can be deleted.
    static func hasOutlived(at now: Instant, _ connection: any Connection) throws -> Bool {
        try !outlived(at: now, limit: 1, connection).isEmpty
    }

    /// Deletes the oldest notifications beyond the history's reach, `limit` at most.
    /// - Returns: how many were deleted.
    static func sweep(at now: Instant, limit: Int, _ connection: any Connection) throws -> Int {
        let old = try outlived(at: now, limit: limit, connection)
        for entry in old {
            try connection.execute("DELETE FROM send_attempts WHERE notification = ?", [.integer(entry.number)])
            try connection.execute("DELETE FROM notifications WHERE number = ?", [.integer(entry.number)])
        }
        let pending = old.count { $0.isPending }
        if pending > 0 { try Counter.pendingNotifications.add(-Int64(pending), connection) }
        return old.count
    }

    private static func outlived(
        at now: Instant, limit: Int, _ connection: any Connection
    ) throws -> [(number: Int64, isPending: Bool)] {
        try connection.query(
            """
            SELECT number, due_at IS NOT NULL AS is_pending FROM notifications WHERE created_at < ? \
            AND (type <> 'TEST' OR created_at < ?) ORDER BY created_at LIMIT ?
            """,
            [
                .integer(now.adding(seconds: -lifetime).milliseconds),
                .integer(now.adding(seconds: -testLifetime).milliseconds), .integer(Int64(limit)),
            ]
        ) { ($0.integer("number"), $0.flag("is_pending")) }
    }
}

extension Store {
    /// Sets the URL that notifications are sent to, already recorded ones included; nil turns them off.
    public func setNotificationURL(_ url: String?) async throws {
        try await change { change in try SettingTable.set(.notificationURL, to: url, change.connection) }
    }

    /// Sends a notification of type TEST.
    /// - Returns: its id; nil if no URL is configured.
    public func sendTestNotification(bundleID: String) async throws -> UniqueID? {
        try await change { change in try change.note(NotificationDraft(.test, bundleID: bundleID)) }
    }

    /// A notification of type TEST that was attempted at least once, with its attempts.
    func testNotification(
        _ uuid: UniqueID
    ) async throws -> (notification: StoredNotification, attempts: [SendAttempt])? {
        try await ask { connection in
            guard let found = try NotificationTable.find(uuid, connection), found.type == "TEST", found.attempts > 0
            else {
                return nil
            }
            return (found, try NotificationTable.attempts(of: found.number, connection))
        }
    }
}

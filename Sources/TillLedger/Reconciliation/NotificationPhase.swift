import TillAppStore
import TillBilling
import TillSQL

/// Reads Apple's notification history (facts/server-api §4.3): what was sent since the last run, one month at a time,
/// so that an expired page token costs at most a month of pages and not half a year.
extension ReconciliationRunner {
    /// Milliseconds that one query spans.
    private static let slice: Int64 = 30 * 86_400_000
    /// Milliseconds between the earliest moment that Apple answers for and the first moment requested.
    private static let margin: Int64 = 3_600_000
    /// How often a month is started again because Apple rejects its page token.
    private static let restarts = 3
    /// How many times an answer that cannot be read is requested.
    static let readings: Int64 = 5

    mutating func readNotifications() async throws {
        let end = run.beganAt.adding(milliseconds: 1)
        if progress.position == 0 {
            let start = try await firstMoment()
            progress.position = start.milliseconds
        }
        var restarts = 0
        while progress.position < end.milliseconds {
            let earliest = ledger.clock().adding(milliseconds: Self.margin - NotificationQuery.reach)
            if progress.position < earliest.milliseconds {
                // The run waited so long that Apple has dropped the earlier notifications.
                progress.position = earliest.milliseconds
                progress.token = nil
                guard progress.position < end.milliseconds else { return }
            }
            let start = Instant(milliseconds: progress.position)
            let query = NotificationQuery(from: start, to: min(start.adding(milliseconds: Self.slice), end))
            let page: NotificationPage
            do throws(ServerAPIError) {
                page = try await ask(query)
            } catch {
                let isTokenBad = error.code == .invalidPaginationToken || error.code == .paginationTokenExpired
                if isTokenBad, progress.token != nil, restarts < Self.restarts {
                    restarts += 1
                    progress.token = nil
                    continue
                }
                guard error.isUnreadable, failures >= Self.readings else { throw error }
                try await pass(over: query, error)
                continue
            }
            try await take(page, of: query)
        }
    }

    private func ask(_ query: NotificationQuery) async throws(ServerAPIError) -> NotificationPage {
        let (token, environment) = (progress.token, environment)
        let page = try await api.retrying(.brief) { (api) async throws(ServerAPIError) in
            try await api.notificationHistory(query, paginationToken: token, in: environment)
        }
        if page.hasMore, page.paginationToken == token { throw .endless }
        return page
    }

    private func firstMoment() async throws -> Instant {
        let (environment, overlap) = (environment, settings.overlap)
        let last = try await ledger.database.read { try ReconciliationTable($0).lastFinished(in: environment) }
        let earliest = ledger.clock().adding(milliseconds: Self.margin - NotificationQuery.reach)
        return max(run.since ?? last?.beganAt.adding(milliseconds: -overlap) ?? earliest, earliest)
    }

    private mutating func pass(over query: NotificationQuery, _ error: ServerAPIError) async throws {
        var next = progress
        next.position = query.end.milliseconds
        next.token = nil
        let difference = Difference(
            .responseUnreadable, in: environment, was: "notifications: \(query.start.rfc3339)", now: error.kind)
        try await commit(next) { _ in [difference] }
    }

    // MARK: A page

    private mutating func take(_ page: NotificationPage, of query: NotificationQuery) async throws {
        var answers = VerifiedResponses()
        var missed: [MissedNotification] = []
        for sent in page.notifications {
            do throws(ProofError) {
                let payload = Array(sent.notification.jws.utf8)
                switch try await ledger.verifier.notification(payload) {
                case .ours(let notification, let isRevocationUnknown):
                    missed.append(
                        MissedNotification(
                            notification, payload, isRevocationUnknown, isDecided: true, ledger.verifier))
                case .undecided(let notification):
                    missed.append(
                        MissedNotification(
                            notification, payload, false, isDecided: false, ledger.verifier))
                case .foreign(let envelope, let reason):
                    await keep(envelope, reason, payload)
                }
            } catch {
                try await answers.refuse(error, from: environment, by: ledger)
            }
        }
        missed = try await unknown(missed)
        for one in missed { if let copy = one.copy { answers.append(copy) } }
        var next = progress
        next.done += 1
        if page.hasMore {
            next.token = page.paginationToken
        } else {
            next.position = query.end.milliseconds
            next.token = nil
        }
        let (now, stored) = (ledger.clock(), missed)
        try await process(
            answers, next: next,
            counting: [("notifications", page.notifications.count), ("new_notifications", missed.count)],
            before: { connection in try stored.compactMap { try $0.store(at: now, connection) } })
        for one in missed where one.isDecided { await mark(one) }
    }

    private func keep(_ envelope: NotificationEnvelope, _ reason: ProofError, _ payload: [UInt8]) async {
        // Kept like a posted one, in case the configuration is wrong; the run goes on if that fails.
        do {
            _ = try await ledger.take(.foreign(envelope, reason), payload: payload, from: .reconciliation)
        } catch {
            ledger.workFailed("foreign_notification", envelope.id, error)
        }
    }

    /// The notifications that the ledger does not have.
    private func unknown(_ all: [MissedNotification]) async throws -> [MissedNotification] {
        let ids = all.map(\.notification.id)
        let known = try await ledger.database.read { connection in
            try ids.map { try NotificationTable(connection).contains($0) }
        }
        return zip(all, known).filter { !$0.1 }.map(\.0)
    }

    /// The transaction has been processed; this processes the rest of the notification. If that fails, it stays
    /// pending.
    private func mark(_ one: MissedNotification) async {
        let uuid = one.notification.id
        do {
            let stored = try await ledger.database.read { try NotificationTable($0).find(uuid: uuid) }
            guard let stored, stored.state == .pending else { return }
            try await ledger.process(
                one.notification, stored.rowID, isRevocationUnknown: one.isRevocationUnknown, from: .reconciliation)
        } catch {
            ledger.workFailed("notification", uuid, error)
        }
    }
}

/// A notification for this app that never arrived.
private struct MissedNotification: Sendable {
    let notification: VerifiedNotification
    let payload: [UInt8]
    /// Nil while the notification must not be processed.
    let copy: VerifiedCopy?
    let isRevocationUnknown: Bool
    /// Apple has answered about its certificates.
    let isDecided: Bool

    init(
        _ notification: VerifiedNotification, _ payload: [UInt8], _ isRevocationUnknown: Bool, isDecided: Bool,
        _ verifier: ProofVerifier
    ) {
        self.notification = notification
        self.payload = payload
        self.isRevocationUnknown = isRevocationUnknown
        self.isDecided = isDecided
        if isDecided, verifier.accepts(notification.environment), let transaction = notification.transaction,
            let token = notification.signedTransaction
        {
            copy = VerifiedCopy(
                transaction: PaidTransaction(transaction),
                proof: PurchaseProof(
                    kind: .signedTransaction, bytes: Array(token.utf8), isRevocationUnknown: isRevocationUnknown),
                renewal: notification.renewal)
        } else {
            copy = nil
        }
    }

    /// Stored as signed before it is processed: if the server stops in between, `PendingNotifications` continues.
    ///
    /// - Returns: the difference that it was missing.
    func store(at now: Instant, _ connection: any Connection) throws -> Difference? {
        guard (1...64).contains(notification.id.utf8.count) else { return nil }
        let rowID = try NotificationTable(connection).insert(
            uuid: notification.id, environment: notification.environment, type: notification.type?.rawValue ?? "",
            subtype: notification.subtype?.rawValue, signedAt: notification.signedDate, at: now, payload: payload)
        guard rowID != nil else { return nil }
        var difference = Difference(
            .notificationMissed, in: notification.environment, transaction: notification.transaction?.id,
            was: "unknown", now: notification.type?.rawValue ?? "")
        difference.notificationID = notification.id
        return difference
    }
}

extension ServerAPIError {
    /// A page that leads to itself.
    static let endless = ServerAPIError.unreadable(
        UnreadableResponse(.endless, status: 200, "a page refers to itself as the next page"))

    var isUnreadable: Bool { if case .unreadable = self { true } else { false } }
}

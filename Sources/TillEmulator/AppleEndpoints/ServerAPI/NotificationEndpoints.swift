import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// Test notifications and the notification history (facts/server-api §3: 10, 11, 12).
extension ServerAPIEndpoint {
    /// How far back a history reaches, in seconds (facts/limits §2).
    private static let historyReach: Int64 = 180 * 86_400
    /// Apple's page tokens expire; Apple does not publish when.
    private static let pageLifetime: Int64 = 86_400
    /// The most attempts that an entry lists (facts/limits §2).
    private static let attemptLimit = 6

    func testNotification(_ call: APICall) async throws -> HTTPResponse {
        guard let id = try await store.sendTestNotification(bundleID: call.bundleID) else {
            throw APIError(.serverNotificationURLNotFound)
        }
        return .json(["testNotificationToken": .string(id.description)])
    }

    /// The token is valid for six months.
    func testNotificationStatus(_ call: APICall) async throws -> HTTPResponse {
        guard let id = UniqueID(call.id) else { throw APIError(.invalidTestNotificationToken) }
        guard let (notification, attempts) = try await store.testNotification(id),
            notification.bundleID == call.bundleID,
            store.now < SubscriptionPeriod.sixMonths.end(from: notification.created)
        else { throw APIError(.testNotificationNotFound) }
        return .json(try json(NotificationHistory.Entry(notification: notification, attempts: attempts)))
    }

    func notificationHistory(_ call: APICall) async throws -> HTTPResponse {
        let now = store.now
        let asked = try NotificationHistoryRequest(try call.body(), now: now, reach: Self.historyReach)
        let text = try call.value("paginationToken", else: .invalidPaginationToken)
        let apiKey = apiKey
        let (page, next) = try await store.ask { connection in
            let account = try asked.transactionID.map { try call.customer(of: $0, connection).account }
            let question = NotificationHistory.Query(
                bundleID: call.bundleID, start: asked.start, end: asked.end, type: asked.type,
                subtype: asked.subtype, account: account, onlyFailures: asked.onlyFailures)
            let token = PageToken(question: call.question(question), apiKey: apiKey)
            let place = try text.map { text in
                guard let place = token.place(text, of: 3) else { throw APIError(.invalidPaginationToken) }
                guard now < Instant(milliseconds: place[2]).adding(seconds: Self.pageLifetime) else {
                    throw APIError(.paginationTokenExpired)
                }
                return (created: Instant(milliseconds: place[0]), number: place[1])
            }
            let found = try NotificationHistory.page(of: question, after: place, limit: Self.pageSize + 1, connection)
            let page = Array(found.prefix(Self.pageSize))
            guard found.count > Self.pageSize, let last = page.last?.notification else { return (page, String?.none) }
            return (page, token.text(at: [last.created.milliseconds, last.number, now.milliseconds]))
        }
        var members: [String: JSONValue] = [
            "notificationHistory": .array(try page.map(json)), "hasMore": .bool(next != nil),
        ]
        members["paginationToken"] = next.map { .string($0) }
        return .json(.object(members))
    }

    /// The payload as first sent, and the attempts, oldest first.
    private func json(_ entry: NotificationHistory.Entry) throws -> JSONValue {
        let notification = entry.notification
        let payload = try notification.signedPayload ?? store.notifications.signedPayload(notification)
        let attempts = entry.attempts.prefix(Self.attemptLimit).map { attempt -> JSONValue in
            ["attemptDate": .int(attempt.at.milliseconds), "sendAttemptResult": .string(attempt.result)]
        }
        return ["signedPayload": .string(payload), "sendAttempts": .array(attempts)]
    }
}

/// A validated NotificationHistoryRequest (facts/server-api §4.3).
private struct NotificationHistoryRequest: Sendable {
    let start: Instant
    let end: Instant
    let type: String?
    let subtype: String?
    let transactionID: String?
    let onlyFailures: Bool

    /// - Parameter reach: how many seconds the start may lie back.
    init(_ body: APIBody, now: Instant, reach: Int64) throws(APIError) {
        start = Instant(milliseconds: try body.required("startDate", else: .invalidStartDate) { $0.int })
        end = Instant(milliseconds: try body.required("endDate", else: .invalidEndDate) { $0.int })
        guard start >= now.adding(seconds: -reach) else { throw APIError(.startDateTooFarInPast) }
        guard start < end else { throw APIError(.startDateAfterEndDate) }
        type = try body.optional("notificationType", else: .invalidNotificationType) { value in
            value.string.flatMap { NotificationType.known.contains(NotificationType(rawValue: $0)) ? $0 : nil }
        }
        subtype = try body.optional("notificationSubtype", else: .invalidNotificationType) { value in
            value.string.flatMap { NotificationSubtype.known.contains(NotificationSubtype(rawValue: $0)) ? $0 : nil }
        }
        guard subtype == nil || type != nil else { throw APIError(.invalidNotificationType) }
        transactionID = try body.optional("transactionId", else: .invalidTransactionID) { $0.string }
        guard transactionID == nil || type == nil else { throw APIError(.multipleFiltersSupplied) }
        onlyFailures = try body.optional("onlyFailures", else: .generalBadRequest) { $0.bool } ?? false
    }
}

extension APICall {
    /// Everything that a page token is bound to.
    fileprivate func question(_ question: NotificationHistory.Query) -> JSONValue {
        [
            .string(route.rawValue), .string(question.bundleID), .int(question.start.milliseconds),
            .int(question.end.milliseconds), .string(question.type ?? ""), .string(question.subtype ?? ""),
            .string(question.account.map { "account \($0)" } ?? ""), .bool(question.onlyFailures),
        ]
    }
}

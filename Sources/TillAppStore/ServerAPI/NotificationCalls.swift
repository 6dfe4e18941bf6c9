import TillBilling
import TillJSON

/// Notifications (facts/server-api §3: 10, 11, 12).
extension ServerAPI {
    /// Request a Test Notification: Apple sends one to the URL configured in App Store Connect.
    ///
    /// - Returns: its token, valid for six months.
    public func requestTestNotification(in environment: StoreEnvironment) async throws(ServerAPIError) -> String {
        let call = ServerAPICall(.testNotification, .post, "/inApps/v1/notifications/test")
        return try await ask(call, in: environment) { (fields) throws(ServerAPIError) in
            try fields.required("testNotificationToken", fields.string("testNotificationToken"))
        }
    }

    /// Get Test Notification Status. For a while after the request, Apple answers with error 4040008.
    public func testNotificationStatus(
        of token: String, in environment: StoreEnvironment
    ) async throws(ServerAPIError) -> SentNotification {
        let target = try valid { () throws(InvalidRequestError) in
            try RequestPath("/inApps/v1/notifications/test")
                .segment(token, "testNotificationToken", limit: RequestPath.tokenLimit)
        }
        return try await ask(ServerAPICall(.testNotificationStatus, .get, target.text), in: environment) {
            (fields) throws(ServerAPIError) in try SentNotification(fields)
        }
    }

    /// Get Notification History: the page after `paginationToken`, or the first one.
    public func notificationHistory(
        _ query: NotificationQuery, paginationToken: String? = nil, in environment: StoreEnvironment
    ) async throws(ServerAPIError) -> NotificationPage {
        let now = effects.clock()
        let (target, body) = try valid { () throws(InvalidRequestError) in
            var target = RequestPath("/inApps/v1/notifications/history")
            try target.query("paginationToken", paginationToken, limit: RequestPath.tokenLimit)
            return (target, try query.body(now: now))
        }
        var call = ServerAPICall(.notificationHistory, .post, target.text, body: body)
        call.responseLimit = ServerAPICall.pageLimit
        return try await ask(call, in: environment) { (fields) throws(ServerAPIError) in
            try NotificationPage(fields)
        }
    }

    /// All pages of the notifications in a time range.
    public func notificationPages(
        _ query: NotificationQuery, after paginationToken: String? = nil, in environment: StoreEnvironment,
        pageLimit: Int = 100 * PageSequence<NotificationPage>.usualPageLimit, retrying policy: RetryPolicy = .persistent
    ) -> PageSequence<NotificationPage> {
        PageSequence(start: paginationToken, environment: environment, pageLimit: pageLimit) {
            (token, _) async throws(ServerAPIError) in
            let page = try await retrying(policy) { (api) async throws(ServerAPIError) in
                try await api.notificationHistory(query, paginationToken: token, in: environment)
            }
            return EnvironmentResult(page, from: environment)
        }
    }
}

/// Selects notifications (facts/server-api §4.3).
public struct NotificationQuery: Sendable, Hashable {
    public enum Filter: Sendable, Hashable {
        case all
        /// Notifications of this type and subtype; a nil subtype matches any.
        case type(NotificationType, NotificationSubtype? = nil)
        case transaction(TransactionID)
    }

    /// First sent at this time or later, at most 180 days ago.
    public var start: Instant
    /// First sent before this time.
    public var end: Instant
    public var filter: Filter
    /// Only those that this server did not acknowledge, including those that Apple still retries.
    public var onlyFailures: Bool

    public init(from start: Instant, to end: Instant, filter: Filter = .all, onlyFailures: Bool = false) {
        self.start = start
        self.end = end
        self.filter = filter
        self.onlyFailures = onlyFailures
    }

    /// The earliest possible start, in milliseconds before now.
    public static let reach: Int64 = 180 * 86_400_000

    func body(now: Instant) throws(InvalidRequestError) -> JSONValue {
        guard start < end else { throw InvalidRequestError("endDate", .contradiction) }
        guard start >= now.adding(milliseconds: -Self.reach) else {
            throw InvalidRequestError("startDate", .outOfRange)
        }
        var body: [String: JSONValue] = ["startDate": .int(start.milliseconds), "endDate": .int(end.milliseconds)]
        switch filter {
        case .all: break
        case .type(let type, let subtype):
            body["notificationType"] = .string(try Self.name(type.rawValue, "notificationType"))
            if let subtype {
                body["notificationSubtype"] = .string(try Self.name(subtype.rawValue, "notificationSubtype"))
            }
        case .transaction(let id):
            body["transactionId"] = .string(try Self.name(id.text, "transactionId"))
        }
        if onlyFailures { body["onlyFailures"] = true }
        return .object(body)
    }

    private static func name(_ text: String, _ field: String) throws(InvalidRequestError) -> String {
        guard !text.isEmpty else { throw InvalidRequestError(field, .missing) }
        guard text.utf8.count <= RequestPath.idLimit else { throw InvalidRequestError(field, .tooLong) }
        return text
    }
}

/// A notification as Apple first sent it, and its delivery attempts.
public struct SentNotification: Sendable, Hashable {
    public let notification: SignedNotification
    /// At most six.
    public let attempts: [SendAttempt]

    init(_ fields: ResponseFields) throws(ServerAPIError) {
        notification = SignedNotification(jws: try fields.required("signedPayload", fields.string("signedPayload")))
        attempts = try (fields.objects("sendAttempts") ?? []).map { attempt throws(ServerAPIError) in
            SendAttempt(
                date: try attempt.instant("attemptDate"),
                result: try attempt.string("sendAttemptResult").map(SendAttempt.Result.init(rawValue:)))
        }
    }
}

public struct SendAttempt: Sendable, Hashable {
    /// The outcome of Apple's delivery attempt; an unknown value survives.
    public struct Result: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let success = Result(rawValue: "SUCCESS")
        public static let timedOut = Result(rawValue: "TIMED_OUT")
        public static let tlsIssue = Result(rawValue: "TLS_ISSUE")
        public static let circularRedirect = Result(rawValue: "CIRCULAR_REDIRECT")
        public static let noResponse = Result(rawValue: "NO_RESPONSE")
        public static let socketIssue = Result(rawValue: "SOCKET_ISSUE")
        public static let unsupportedCharset = Result(rawValue: "UNSUPPORTED_CHARSET")
        public static let invalidResponse = Result(rawValue: "INVALID_RESPONSE")
        public static let prematureClose = Result(rawValue: "PREMATURE_CLOSE")
        public static let unsuccessfulStatus = Result(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        public static let other = Result(rawValue: "OTHER")
    }

    public let date: Instant?
    public let result: Result?
}

/// A page of notifications.
public struct NotificationPage: ServerAPIPage, Hashable {
    public let notifications: [SentNotification]
    public let paginationToken: String?
    public let hasMore: Bool

    public var nextToken: String? { paginationToken }

    init(_ fields: ResponseFields) throws(ServerAPIError) {
        notifications = try (fields.objects("notificationHistory") ?? [])
            .map { item throws(ServerAPIError) in try SentNotification(item) }
        hasMore = try fields.required("hasMore", fields.bool("hasMore"))
        paginationToken = try HistoryPage.token("paginationToken", fields, isNeeded: hasMore)
    }
}

import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillStorage

/// Posts notifications V2 to the developer's server: in order, one at a time, again after a failure.
///
/// A notification is stored in the same commit as what it tells of, so a restart loses none.
struct NotificationSender: Sendable {
    let database: any Database
    let issuer: Issuer
    let configuration: EmulatorConfiguration
    let clock: StoreClock
    let send: HTTPSend

    private enum Work {
        case none
        case underWay
        case underWayAndAsked
    }

    private let work = Locked<Work>(.none)
    /// What wakes `run`, while there is one.
    private let bell = Locked<AsyncStream<Void>.Continuation?>(nil)

    init(
        database: any Database, issuer: Issuer, configuration: EmulatorConfiguration,
        clock: StoreClock, send: @escaping HTTPSend
    ) {
        self.database = database
        self.issuer = issuer
        self.configuration = configuration
        self.clock = clock
        self.send = send
    }

    /// The whole payload, signed, with its nested tokens (facts/jws §7).
    func signedPayload(_ notification: StoredNotification) throws -> String {
        let content = try JSONValue(decoding: notification.content)
        let app = configuration.app(notification.bundleID)
        var data: [String: JSONValue] = [
            "environment": .string(configuration.environment.rawValue),
            "bundleId": .string(app.bundleID),
            "bundleVersion": .string(app.version),
        ]
        // Apple's sandbox has no app id (facts/jws §7).
        if configuration.environment == .production { data["appAppleId"] = .int(app.appleID) }
        data["signedTransactionInfo"] = try content["transaction"]?.object.map { .string(try issuer.sign($0)) }
        data["signedRenewalInfo"] = try content["renewal"]?.object.map { .string(try issuer.sign($0)) }
        data["status"] = content["status"]
        data["consumptionRequestReason"] = content["consumptionRequestReason"]
        var payload: [String: JSONValue] = [
            "notificationType": .string(notification.type),
            "notificationUUID": .string(notification.uuid.description),
            "version": "2.0",
            "signedDate": .int(notification.created.milliseconds),
            "data": .object(data),
        ]
        payload["subtype"] = notification.subtype.map { .string($0) }
        return try issuer.sign(payload)
    }

    // MARK: Sending

    /// Tells `run` to look for what is due.
    func wake() { _ = bell.withLock { $0?.yield() } }

    /// Sends what is due each time it is woken, until its task is cancelled. One `run` at a time.
    func run() async {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        bell.withLock { $0 = continuation }
        continuation.yield()
        for await _ in stream { await sendDue() }
    }

    /// Sends everything that is due now. If that is going on already, it is told to look once more.
    func sendDue() async {
        let isMine = work.withLock { work in
            defer { work = work == .none ? .underWay : .underWayAndAsked }
            return work == .none
        }
        guard isMine else { return }
        repeat {
            work.withLock { $0 = .underWay }
            // A database that fails keeps the notifications; the next wake tries again.
            while let sentAll = try? await sendBatch(), !sentAll {}
        } while work.withLock({ work in
            let isAsked = work == .underWayAndAsked
            if !isAsked { work = .none }
            return isAsked
        })
    }

    /// - Returns: whether nothing more is due.
    private func sendBatch() async throws -> Bool {
        let now = clock.now
        let batch = 32
        let (url, due) = try await database.read { session in
            (
                try SettingTable.value(.notificationURL, session),
                try NotificationTable.due(at: now, limit: batch, session)
            )
        }
        guard let url else { return true }
        for notification in due {
            let payload = try notification.signedPayload ?? signedPayload(notification)
            let result = await post(payload, to: url)
            guard let result else { return true }
            let sent = clock.now
            let retries = configuration.retries
            let attempt = Int(notification.attempts)
            let next =
                result != "SUCCESS" && attempt < retries.count ? sent.adding(milliseconds: retries[attempt]) : nil
            try await database.write { session in
                try NotificationTable.record(
                    notification, result: result, at: sent, next: next, keeping: next == nil ? nil : payload, session)
            }
        }
        return due.count < batch
    }

    /// How Apple would name the end of this attempt (facts/server-api §4.3); nil if the sender itself is stopping.
    private func post(_ payload: String, to url: String) async -> String? {
        var headers = HTTPHeaders()
        headers.add("Content-Type", "application/json")
        let body = JSONValue.object(["signedPayload": .string(payload)]).encoded()
        let request = HTTPRequest(method: .post, path: "", headers: headers, body: Array(body.utf8))
        do throws(HTTPFault) {
            let response = try await send(url, request)
            return (200...206).contains(response.status) ? "SUCCESS" : "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        } catch {
            switch error.kind {
            case .stopped: return nil
            case .timedOut: return "TIMED_OUT"
            case .tls: return "TLS_ISSUE"
            case .cannotConnect: return "SOCKET_ISSUE"
            case .connectionLost: return "PREMATURE_CLOSE"
            case .cannotResolve: return "NO_RESPONSE"
            case .answerTooLarge: return "INVALID_RESPONSE"
            case .badURL, .other: return "OTHER"
            }
        }
    }
}

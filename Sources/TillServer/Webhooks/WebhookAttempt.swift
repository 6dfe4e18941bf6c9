import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

/// The result of sending one event once.
struct WebhookAttempt: Sendable, Hashable {
    enum Outcome: Sendable, Hashable {
        case delivered
        /// Not accepted, with the reason in English for operators.
        case failed(String)
    }

    let outcome: Outcome
    /// Nil without an answer.
    let status: Int?
    /// The time at which the receiver asks for the next attempt; not yet bounded.
    let requestedRetryAt: Instant?

    /// 410: the receiver wants no more events.
    var isGone: Bool { status == 410 }
    var isDelivered: Bool { outcome == .delivered }
    /// The receiver is unreachable or overloaded, which says nothing about this event.
    var isNoResponse: Bool { status.map { [429, 502, 503, 504].contains($0) } ?? true }
    /// The receiver asks to pause all deliveries.
    var asksForRest: Bool { status == 429 || status == 503 }

    /// Why it failed, for the log: without the receiver's answer, which may repeat what was sent. Nil if it succeeded.
    var logCause: String? {
        guard case .failed(let error) = outcome else { return nil }
        guard let status else { return error }
        return (300..<400).contains(status) ? "redirected, which is not followed" : "answered \(status)"
    }

    /// Bytes of an answer that are kept for troubleshooting.
    private static let excerptLength = 200

    /// Sends the event once. The sender bounds the answer. Nil if the attempt was stopped because this process is
    /// ending, which says nothing about the receiver.
    static func make(
        _ id: String, _ body: [UInt8], to endpoint: WebhookEndpoint, over send: HTTPSend, clock: Server.Clock
    ) async -> WebhookAttempt? {
        let request = WebhookSignature.request(id: id, body: body, secrets: endpoint.secrets, at: clock())
        do {
            return WebhookAttempt(try await send(endpoint.url.description, request), at: clock())
        } catch {
            guard error.kind != .stopped else { return nil }
            return WebhookAttempt(
                outcome: .failed("\(error.kind.rawValue): \(excerpt(error.detail.utf8))"), status: nil,
                requestedRetryAt: nil)
        }
    }

    private init(outcome: Outcome, status: Int?, requestedRetryAt: Instant?) {
        self.outcome = outcome
        self.status = status
        self.requestedRetryAt = requestedRetryAt
    }

    private init(_ answer: HTTPResponse, at now: Instant) {
        if (200..<300).contains(answer.status), !answer.isHangUp {
            self.init(outcome: .delivered, status: answer.status, requestedRetryAt: nil)
        } else if answer.isHangUp {
            self.init(outcome: .failed("no answer"), status: nil, requestedRetryAt: nil)
        } else {
            // Redirects are not followed: the target's address is unchecked, and a redirected POST may become a GET.
            let verb = (300..<400).contains(answer.status) ? "redirected, which is not followed" : "answered"
            let said = Self.excerpt(answer.body)
            self.init(
                outcome: .failed("\(verb) \(answer.status)" + (said.isEmpty ? "" : ": \(said)")), status: answer.status,
                requestedRetryAt: RetryAfter.instant(
                    answer.headers["Retry-After"], now: now, longest: WebhookSchedule.longestRequestedDelay))
        }
    }

    private static func excerpt(_ bytes: some Collection<UInt8>) -> String {
        let text = String(decoding: bytes.prefix(excerptLength), as: UTF8.self)
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }
}

/// When an event that was not accepted is sent again: nine more times within three days and a few hours, as Standard
/// Webhooks advises.
enum WebhookSchedule {
    /// Seconds from one attempt to the next.
    static let pauses: [Int64] = [
        5, 5 * 60, 30 * 60, 2 * 3_600, 5 * 3_600, 10 * 3_600, 14 * 3_600, 20 * 3_600, 24 * 3_600,
    ]
    /// Milliseconds by which a receiver may delay one event with `Retry-After`.
    static let longestRequestedDelay: Int64 = 24 * 3_600_000
    /// Milliseconds by which a receiver may delay all events with a 429 or a 503.
    static let longestRest: Int64 = 3_600_000

    /// The time of the next attempt; nil after the last one.
    ///
    /// - Parameters:
    ///   - attempts: failed attempts, including this one.
    ///   - wish: the time that the receiver asked for. It applies if it is later than the schedule.
    static func next(after attempts: Int64, event: Int64, at now: Instant, requestedRetryAt: Instant?) -> Instant? {
        guard attempts >= 1, attempts <= Int64(pauses.count) else { return nil }
        let pause = pauses[Int(attempts - 1)] * 1_000
        // Adds up to a tenth, different for each event, so that events that failed together are not retried together.
        let due = now.adding(milliseconds: pause + pause / 1_000 * (event &* 37 % 100))
        return max(due, min(requestedRetryAt ?? due, now.adding(milliseconds: longestRequestedDelay)))
    }
}

/// Signs events as Standard Webhooks specifies: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; one
/// signature per secret, separated by a space.
enum WebhookSignature {
    /// - Parameter seconds: since 1970, of the attempt and not of the event, so that a receiver can refuse a recorded
    ///   request that is sent again.
    static func header(id: String, seconds: Int64, body: [UInt8], secrets: [WebhookSecret]) -> String {
        let signed = Array("\(id).\(seconds).".utf8) + body
        return secrets.map { "v1," + Base64.encode(HMACSHA256.code(for: signed, key: $0.bytes)) }
            .joined(separator: " ")
    }

    /// The whole request for one attempt.
    static func request(id: String, body: [UInt8], secrets: [WebhookSecret], at now: Instant) -> HTTPRequest {
        HTTPRequest(
            method: .post, path: "/",
            headers: HTTPHeaders([
                ("Content-Type", "application/json"), ("User-Agent", "Till"), ("webhook-id", id),
                ("webhook-timestamp", String(now.seconds)),
                ("webhook-signature", header(id: id, seconds: now.seconds, body: body, secrets: secrets)),
            ]), body: body)
    }
}

import TillBilling
import TillCrypto

/// Why the App Store Server API did not give what it was asked for.
public enum ServerAPIFault: Error, Sendable, Equatable {
    /// Apple answered with an error of its own.
    case refused(ServerAPIRefusal)
    /// 401: Apple does not take our bearer token. A matter of configuration.
    case unauthorized(Environment)
    /// 429: Apple's quota is spent; nil if Apple did not say until when.
    case rateLimited(until: Instant?)
    /// Not asked: our own budget has no turn left within the caller's patience. Not before then.
    case overBudget(until: Instant)
    /// No answer, or none that was taken. What was asked may have been done all the same.
    case outage(AppleOutage)
    /// An answer that is not Apple's: a proxy's page, a redirect, half a body.
    case unreadable(UnreadableAnswer)
    /// Not asked: the request is one that Apple would refuse.
    case invalid(InvalidRequest)
    /// Not asked: no bearer token could be made.
    case signing(IssuingFault)
}

/// An answer that is not in Apple's format. It says nothing about what was asked (P2, P11).
public struct UnreadableAnswer: Sendable, Hashable {
    public enum Reason: String, Sendable {
        case html
        case contentType
        case empty
        case redirect
        /// A status without the error body that Apple sends with it.
        case status
        case malformed
        /// An error code that contradicts the HTTP status.
        case contradiction
        /// Pages that never end: one was answered twice, or there were more than the walk takes.
        case endless
    }

    public let reason: Reason
    /// Of HTTP.
    public let status: Int
    /// For people, in English; nothing is decided by it.
    public let detail: String

    public init(_ reason: Reason, status: Int, _ detail: String = "") {
        self.reason = reason
        self.status = status
        self.detail = detail
    }
}

/// When the same request may succeed.
public enum RetryAdvice: Sendable, Hashable {
    case never
    /// With the usual back-off.
    case soon
    /// After a long back-off.
    case late
    case at(Instant)
}

extension ServerAPIFault {
    public var retry: RetryAdvice {
        switch self {
        case .refused(let refusal): refusal.code.retry
        case .rateLimited(let until): until.map(RetryAdvice.at) ?? .late
        case .overBudget(let until): .at(until)
        case .outage: .soon
        case .unreadable(let answer): answer.reason == .endless ? .late : .soon
        case .unauthorized, .invalid, .signing: .never
        }
    }

    public var isRetryable: Bool { retry != .never }

    /// Not before then; nil if nobody said.
    public var retryAfter: Instant? {
        if case .at(let instant) = retry { instant } else { nil }
    }

    /// A stable word for machines.
    public var kind: String {
        switch self {
        case .refused: "refused"
        case .unauthorized: "unauthorized"
        case .rateLimited: "rate_limited"
        case .overBudget: "over_budget"
        case .outage: "outage"
        case .unreadable: "unreadable"
        case .invalid: "invalid_request"
        case .signing: "signing"
        }
    }

    /// Apple's error code, if it was Apple that refused.
    public var code: ServerAPIErrorCode? {
        if case .refused(let refusal) = self { refusal.code } else { nil }
    }

    /// What happened and what to do, for an operator.
    public var sentence: Text {
        switch self {
        case .refused(let refusal): refusal.sentence
        case .unauthorized:
            Text(
                en: "Apple doesn't accept our API key (401). Check the key id, the issuer id, the bundle id, that the "
                    + "key is an In-App Purchase key that wasn't revoked, and this machine's clock.",
                zh: "Apple 不接受我们的 API 密钥（401）。请检查 Key ID、Issuer ID、Bundle ID、密钥是否为未撤销的“App 内购买项目”密钥，以及本机时钟。")
        case .rateLimited:
            Text(
                en: "Apple's request quota is used up. The request is sent again when Apple allows it.",
                zh: "Apple 的请求配额已用完，到 Apple 允许时会重新请求。")
        case .overBudget:
            Text(
                en: "Too many requests are waiting for Apple. Try again a little later.",
                zh: "等待向 Apple 发送的请求过多，请稍后再试。")
        case .outage:
            Text(
                en: "Apple didn't answer. Nothing is lost; the request is sent again.",
                zh: "Apple 没有应答。不会丢失任何内容，将重新请求。")
        case .unreadable:
            Text(
                en: "What answered isn't Apple's service, or the answer is damaged. The request is sent again. If it "
                    + "stays so, look at the proxy in between.",
                zh: "应答并非来自 Apple 的服务或已损坏，将重新请求。若持续如此，请检查中间的代理。")
        case .invalid(let request): request.sentence
        case .signing:
            Text(
                en: "The API key can't sign. Check the private key (.p8) in the configuration.",
                zh: "API 密钥无法签名，请检查配置中的私钥（.p8）。")
        }
    }
}

extension ServerAPIRefusal {
    var sentence: Text {
        let name = code.name ?? String(code.rawValue)
        return switch code.retry {
        case .never:
            Text(
                en: "Apple refused the request: \(name). Sending it again won't help.",
                zh: "Apple 拒绝了请求：\(name)。重新发送没有帮助。")
        default:
            Text(
                en: "Apple can't answer just now: \(name). The request is sent again.",
                zh: "Apple 暂时无法应答：\(name)。将重新请求。")
        }
    }
}

extension InvalidRequest {
    var sentence: Text {
        Text(
            en: "The request wasn't sent: \"\(field)\" isn't acceptable (\(rule.rawValue)).",
            zh: "请求未发送：\"\(field)\" 不可接受（\(rule.rawValue)）。")
    }
}

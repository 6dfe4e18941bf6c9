import TillBilling

/// Asks Apple's verifyReceipt about a receipt (P2): production first, the other environment once if Apple says that the
/// receipt belongs there. It asks each once and does not wait; when to ask again is `VerifyReceiptSchedule`'s.
///
/// Only an answer that was bounded and read whole comes out as one. Everything else (a page instead of JSON, an empty
/// body, a redirect, any HTTP status but 200, a wrong type, a broken connection) says nothing about the purchase.
public struct VerifyReceiptClient: Sendable {
    private let exchange: AppleExchange
    private let hosts: AppleHosts
    private let secret: AppSharedSecret?
    private let answerLimit: Int

    /// Bytes. A receipt of 4 MiB has some 10,000 purchases, and each is told twice in a kilobyte
    /// (facts/verify-receipt §10).
    public static let usualAnswerLimit = 32 << 20

    /// - Parameters:
    ///   - exchange: how Apple is asked; its own limits are time-outs and the like.
    ///   - secret: needed for receipts with subscriptions.
    ///   - answerLimit: the longest answer that is taken, in bytes.
    public init(
        exchange: @escaping AppleExchange, hosts: AppleHosts = .apple, secret: AppSharedSecret?,
        answerLimit: Int = usualAnswerLimit
    ) {
        self.exchange = exchange
        self.hosts = hosts
        self.secret = secret
        self.answerLimit = answerLimit
    }

    public func verify(_ request: VerifyReceiptRequest) async -> VerifyReceiptOutcome {
        let body = request.body(secret: secret)
        var environment = Environment.production
        var hasSwitched = false
        while true {
            let answer: VerifyReceiptAnswer
            switch await ask(environment, body) {
            case .success(let read): answer = read
            case .failure(let retry): return .retry(retry.trouble, after: retry.after)
            }
            let status = answer.status
            guard case .otherEnvironment(let other) = status.treatment else {
                return Self.outcome(answer, from: environment)
            }
            // Neither of the two wants it, or the one that was asked sends it to itself.
            guard other != environment, !hasSwitched else { return .retry(.environmentsDisagree(status), after: nil) }
            environment = other
            hasSwitched = true
        }
    }

    private struct Retry: Error {
        let trouble: VerifyReceiptTrouble
        var after: Int64?
    }

    private func ask(_ environment: Environment, _ body: [UInt8]) async -> Result<VerifyReceiptAnswer, Retry> {
        let json = AppleRequest.Header("Content-Type", "application/json")
        let request = AppleRequest(
            .post, hosts.verifyReceipt[environment] ?? "",
            headers: [json, AppleRequest.Header("Accept", "application/json")], body: body, answerLimit: answerLimit)
        let answer: AppleAnswer
        do throws(AppleOutage) {
            answer = try await exchange(request)
        } catch {
            return .failure(Retry(trouble: .outage(error.reason)))
        }
        guard answer.body.count <= answerLimit else { return .failure(Retry(trouble: .outage(.answerTooLarge))) }
        guard answer.status == 200 else {
            return .failure(Retry(trouble: .httpStatus(answer.status), after: Self.retryAfter(answer)))
        }
        if Self.isPage(answer.header("Content-Type") ?? "") { return .failure(Retry(trouble: .page)) }
        do throws(VerifyReceiptAnswer.Unusable) {
            return .success(try VerifyReceiptAnswer(decoding: answer.body))
        } catch {
            return .failure(Retry(trouble: .unusable(error)))
        }
    }

    private static func outcome(_ answer: VerifyReceiptAnswer, from environment: Environment) -> VerifyReceiptOutcome {
        switch answer.status.treatment {
        case .genuine, .expired: .answered(answer, from: environment)
        case .forged: .refused(answer.status, isFinal: false)
        case .final: .refused(answer.status, isFinal: true)
        case .configuration: .misconfigured(answer.status)
        case .byFlag where answer.isRetryable == false: .refused(answer.status, isFinal: true)
        case .byFlag, .retry, .retryThenRefreshReceipt, .otherEnvironment: .retry(.status(answer.status), after: nil)
        }
    }

    /// `text/html; charset=UTF-8` and the like: what proxies and services in trouble send, whatever is in it.
    private static func isPage(_ type: String) -> Bool {
        let name = type.prefix { $0 != ";" }.lowercased()
        return name.contains("html")
    }

    /// `Retry-After` in seconds; a date, or more than a day, is not obeyed.
    private static func retryAfter(_ answer: AppleAnswer) -> Int64? {
        guard let seconds = answer.header("Retry-After").flatMap({ Int64($0) }), (0...86_400).contains(seconds) else {
            return nil
        }
        return seconds * 1_000
    }
}

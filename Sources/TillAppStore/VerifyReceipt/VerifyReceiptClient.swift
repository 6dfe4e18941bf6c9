import TillBilling
import TillCrypto
import TillJSON

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

/// What verifyReceipt is asked (facts/verify-receipt §2).
public struct VerifyReceiptRequest: Sendable {
    /// Standard base64 without line breaks: an app receipt, or an old-style transaction receipt.
    public let receiptData: String
    /// Of receipts with auto-renewables, only the newest transaction of each subscription is wanted.
    public let excludesOldTransactions: Bool

    /// Why a text is not worth asking Apple about.
    public enum Unusable: Error, Sendable, Equatable {
        case empty
        case notBase64
        case tooLong
    }

    /// - Parameter base64: as clients send it; ASCII white space inside is dropped, any other odd character is not
    ///   forgiven. At most 8 MiB of receipt.
    public init(base64 text: some StringProtocol, excludesOldTransactions: Bool = false) throws(Unusable) {
        guard text.utf8.count <= SignedDataVerifier.receiptTextLimit else { throw .tooLong }
        guard let bytes = Base64.decode(ignoringBlanks: text) else { throw .notBase64 }
        try self.init(receipt: bytes, excludesOldTransactions: excludesOldTransactions)
    }

    /// - Parameter bytes: the receipt itself, at most 8 MiB.
    public init(receipt bytes: [UInt8], excludesOldTransactions: Bool = false) throws(Unusable) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= SignedDataVerifier.receiptLimit else { throw .tooLong }
        receiptData = Base64.encode(bytes)
        self.excludesOldTransactions = excludesOldTransactions
    }

    /// The JSON that is posted.
    func body(secret: AppSharedSecret?) -> [UInt8] {
        var members: [String: JSONValue] = ["receipt-data": .string(receiptData)]
        if let secret { members["password"] = .string(secret.text) }
        if excludesOldTransactions { members["exclude-old-transactions"] = true }
        return Array(JSONValue.object(members).encoded().utf8)
    }
}

extension SignedDataVerifier {
    /// The longest base64 text of a receipt that is looked at, in bytes: the longest receipt, and a mebibyte for line
    /// breaks and the like.
    public static let receiptTextLimit = receiptLimit / 3 * 4 + (1 << 20)
}

/// The shared secret of App Store Connect: the app's own, or the account's primary one. It comes from configuration,
/// never from a client (T7), and shows itself to nobody: not in texts, dumps or errors.
public struct AppSharedSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    /// - Parameter text: as App Store Connect shows it, usually 32 hexadecimal digits.
    public init(_ text: String) { self.text = text }

    public var description: String { "(a shared secret)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// What came of asking verifyReceipt.
public enum VerifyReceiptOutcome: Sendable, Equatable {
    /// Apple vouches for the receipt (or says that its subscription is over, `.expired`), as the host of that
    /// environment. Nothing is paid before `VerifyReceiptClaim` finds nothing wrong with it.
    case answered(VerifyReceiptAnswer, from: Environment)
    /// Apple does not vouch for the receipt: nothing is granted. If that is not final, another receipt from the same
    /// device may be better.
    case refused(VerifyReceiptStatus, isFinal: Bool)
    /// Nothing was learned: ask again, after so many milliseconds if Apple said how many.
    case retry(VerifyReceiptTrouble, after: Int64?)
    /// Our own set-up is wrong. Nobody's order is at fault, and all of them wait.
    case misconfigured(VerifyReceiptStatus)
}

/// Why nothing was learned about a receipt. Always worth another attempt.
public enum VerifyReceiptTrouble: Sendable, Equatable {
    /// Apple says that it is in trouble.
    case status(VerifyReceiptStatus)
    /// No answer came, or one too large.
    case outage(AppleOutage.Reason)
    /// Of HTTP: not 200. A redirect is none of Apple's.
    case httpStatus(Int)
    /// HTML.
    case page
    case unusable(VerifyReceiptAnswer.Unusable)
    /// Each environment says that the receipt belongs to the other one.
    case environmentsDisagree(VerifyReceiptStatus)
}

/// When verifyReceipt is asked again about a receipt (facts/limits §7): after 5 seconds, then each time twice as long
/// up to an hour, for a day; then daily, up to 30 days. A pure function of the number of attempts, so that whoever
/// keeps the count in a database needs to keep nothing else.
public enum VerifyReceiptSchedule {
    /// Milliseconds from the end of that attempt to the next one; nil when there is none any more.
    ///
    /// - Parameters:
    ///   - attempt: how many attempts there were, from 1.
    ///   - trouble: what the last one ended with. A receipt that Apple still calls malformed after a day is no trouble
    ///     of Apple's: the client is asked for another one (facts/verify-receipt §3).
    public static func delay(afterAttempt attempt: Int, _ trouble: VerifyReceiptTrouble? = nil) -> Int64? {
        let attempt = max(1, attempt)
        if attempt <= growing.count { return growing[attempt - 1] }
        if attempt <= growing.count + hourly { return hour }
        if case .status(let status)? = trouble, status.treatment == .retryThenRefreshReceipt { return nil }
        return attempt <= growing.count + hourly + daily ? day : nil
    }

    private static let hour: Int64 = 3_600_000
    private static let day = 24 * hour

    /// 5 s, 10 s, … 2560 s.
    private static let growing: [Int64] = (0..<10).map { 5_000 << $0 }
    /// So many hours that a day is over with them.
    private static let hourly = Int((day - growing.reduce(0, +) + hour - 1) / hour)
    /// So many days that 30 are not over with them.
    private static let daily = Int((30 * day - growing.reduce(0, +) - Int64(hourly) * hour) / day)
}

/// The verdict of verifyReceipt: a number beside HTTP's 200 (facts/verify-receipt §3). Unknown ones survive.
public struct VerifyReceiptStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The receipt is genuine. It says nothing about any one purchase in it: that is for `VerifyReceiptClaim`.
    public static let genuine = VerifyReceiptStatus(rawValue: 0)
    public static let notPost = VerifyReceiptStatus(rawValue: 21000)
    /// Of older days; the same as `malformed`.
    public static let malformedJSON = VerifyReceiptStatus(rawValue: 21001)
    /// The receipt's text is no receipt; or Apple is in trouble, and says so of every receipt for an evening.
    public static let malformed = VerifyReceiptStatus(rawValue: 21002)
    public static let notAuthentic = VerifyReceiptStatus(rawValue: 21003)
    public static let wrongSecret = VerifyReceiptStatus(rawValue: 21004)
    public static let unavailable = VerifyReceiptStatus(rawValue: 21005)
    /// Genuine, and the subscription it is about has ended. Old-style receipts only.
    public static let expired = VerifyReceiptStatus(rawValue: 21006)
    /// A sandbox receipt was sent to production.
    public static let sandboxReceipt = VerifyReceiptStatus(rawValue: 21007)
    /// A production receipt was sent to the sandbox.
    public static let productionReceipt = VerifyReceiptStatus(rawValue: 21008)
    public static let dataAccess = VerifyReceiptStatus(rawValue: 21009)
    /// The customer's account is gone, or was never allowed to buy.
    public static let accountNotFound = VerifyReceiptStatus(rawValue: 21010)
    /// Trouble inside Apple's service, retryable or not as the answer's own flag says.
    public static let internalDataAccess: ClosedRange<Int64> = 21100...21199

    /// What to do about a status.
    public enum Treatment: Hashable, Sendable {
        /// The content decides.
        case genuine
        /// The content counts, and gives no access.
        case expired
        /// Try again: it says nothing about the purchase.
        case retry
        /// Try again as for `retry`, but not for ever: then the receipt itself is bad, and the client is asked for
        /// another one. The order stays open.
        case retryThenRefreshReceipt
        /// Not signed by Apple, or altered: never granted, counted as a possible forgery.
        case forged
        /// Genuine or not, it will never be granted.
        case final
        /// The receipt belongs there: ask there, once.
        case otherEnvironment(Environment)
        /// Nobody's purchase is at fault but our own set-up: alarm, and keep the orders open.
        case configuration
        /// As `is-retryable` says: `retry` or `final`; without a word, `retry`.
        case byFlag
    }

    /// Codes that Apple has not published are troubles of Apple's: an unknown word never makes a purchase invalid.
    public var treatment: Treatment { Self.known[rawValue]?.treatment ?? (isInternal ? .byFlag : .retry) }

    /// For logs and people who look things up, in English; stable.
    public var name: String {
        Self.known[rawValue]?.name ?? (isInternal ? "internal_data_access" : "unknown_\(rawValue)")
    }

    /// Every code that has a meaning of its own.
    public static let published: [VerifyReceiptStatus] = known.keys.sorted().map(VerifyReceiptStatus.init(rawValue:))

    private var isInternal: Bool { Self.internalDataAccess.contains(rawValue) }

    private static let known: [Int64: (name: String, treatment: Treatment)] = [
        0: ("genuine", .genuine),
        21000: ("not_post", .configuration),
        21001: ("malformed_json", .retryThenRefreshReceipt),
        21002: ("malformed", .retryThenRefreshReceipt),
        21003: ("not_authentic", .forged),
        21004: ("wrong_secret", .configuration),
        21005: ("unavailable", .retry),
        21006: ("expired", .expired),
        21007: ("sandbox_receipt", .otherEnvironment(.sandbox)),
        21008: ("production_receipt", .otherEnvironment(.production)),
        21009: ("data_access", .retry),
        21010: ("account_not_found", .final),
    ]
}

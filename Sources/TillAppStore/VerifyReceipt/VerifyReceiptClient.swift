import TillBilling
import TillCrypto
import TillJSON

/// Sends a receipt to Apple's verifyReceipt: to production first, and once to the other environment if Apple says that
/// the receipt belongs there. Each host is asked once, without waiting; the caller plans the retries.
///
/// The result contains an answer only if the response was complete and within the limits. Everything else (an HTML
/// page, an empty body, a redirect, any HTTP status except 200, a wrong type, a broken connection) says nothing about
/// the purchase.
public struct VerifyReceiptClient: Sendable {
    private let exchange: AppleSend
    private let hosts: AppleHosts
    private let secret: AppSharedSecret?
    private let responseLimit: Int

    /// In bytes. A receipt of 4 MiB has about 10,000 purchases, each of which occurs twice, in about a kilobyte
    /// (facts/verify-receipt §10).
    public static let usualAnswerLimit = 32 << 20

    /// - Parameters:
    ///   - exchange: sends the request to Apple, with its own limits such as time-outs.
    ///   - secret: required for receipts with subscriptions.
    ///   - answerLimit: the longest response that is accepted, in bytes.
    public init(
        exchange: @escaping AppleSend, hosts: AppleHosts = .apple, secret: AppSharedSecret?,
        responseLimit: Int = usualAnswerLimit
    ) {
        self.exchange = exchange
        self.hosts = hosts
        self.secret = secret
        self.responseLimit = responseLimit
    }

    public func verify(_ request: VerifyReceiptRequest) async -> VerifyReceiptOutcome {
        let body = request.body(secret: secret)
        var environment = StoreEnvironment.production
        var hasSwitched = false
        while true {
            let answer: VerifyReceiptResponse
            switch await ask(environment, body) {
            case .response(let read): answer = read
            case .retry(let reason, let delay): return .retry(reason, after: delay)
            }
            let status = answer.status
            guard case .otherEnvironment(let other) = status.treatment else {
                return Self.outcome(answer, from: environment)
            }
            // Both environments refuse the receipt, or a host refers it to itself.
            guard other != environment, !hasSwitched else { return .retry(.environmentsDisagree(status), after: nil) }
            environment = other
            hasSwitched = true
        }
    }

    /// One host's answer, or why and when to ask again.
    private enum Attempt {
        case response(VerifyReceiptResponse)
        case retry(VerifyReceiptRetryReason, after: Int64? = nil)
    }

    private func ask(_ environment: StoreEnvironment, _ body: [UInt8]) async -> Attempt {
        let json = AppleRequest.Header("Content-Type", "application/json")
        let request = AppleRequest(
            .post, hosts.verifyReceipt[environment] ?? "",
            headers: [json, AppleRequest.Header("Accept", "application/json")], body: body, responseLimit: responseLimit
        )
        let answer: AppleResponse
        do throws(AppleConnectionError) {
            answer = try await exchange(request)
        } catch {
            return .retry(.outage(error.reason))
        }
        guard answer.body.count <= responseLimit else { return .retry(.outage(.responseTooLarge)) }
        guard answer.status == 200 else {
            return .retry(.httpStatus(answer.status), after: Self.retryAfter(answer))
        }
        if Self.isPage(answer.header("Content-Type") ?? "") { return .retry(.page) }
        do throws(VerifyReceiptResponse.FormatError) {
            return .response(try VerifyReceiptResponse(decoding: answer.body))
        } catch {
            return .retry(.unusable(error))
        }
    }

    private static func outcome(_ answer: VerifyReceiptResponse, from environment: StoreEnvironment)
        -> VerifyReceiptOutcome
    {
        switch answer.status.treatment {
        case .genuine, .expired: .answered(answer, from: environment)
        case .forged: .refused(answer.status, isFinal: false)
        case .final: .refused(answer.status, isFinal: true)
        case .configuration: .misconfigured(answer.status)
        case .byFlag where answer.isRetryable == false: .refused(answer.status, isFinal: true)
        case .byFlag, .retry, .retryThenRefreshReceipt, .otherEnvironment: .retry(.status(answer.status), after: nil)
        }
    }

    /// `text/html; charset=UTF-8` and similar types, which proxies and failing services send.
    private static func isPage(_ type: String) -> Bool {
        let name = type.prefix { $0 != ";" }.lowercased()
        return name.contains("html")
    }

    /// `Retry-After` in seconds; a date, or more than a day, is ignored.
    private static func retryAfter(_ answer: AppleResponse) -> Int64? {
        guard let seconds = answer.header("Retry-After").flatMap({ Int64($0) }), (0...86_400).contains(seconds) else {
            return nil
        }
        return seconds * 1_000
    }
}

/// A request to verifyReceipt (facts/verify-receipt §2).
public struct VerifyReceiptRequest: Sendable {
    /// Standard base64 without line breaks: an app receipt, or an old-style transaction receipt.
    public let receiptData: String
    /// Whether the response shall contain only the newest transaction of each auto-renewable subscription.
    public let excludesOldTransactions: Bool

    /// - Parameter base64: as clients send it, at most 8 MiB of receipt. ASCII white space is removed; any other
    ///   foreign character is an error.
    public init(base64 text: some StringProtocol, excludesOldTransactions: Bool = false) throws(InvalidRequestError) {
        guard text.utf8.count <= SignedDataVerifier.receiptTextLimit else { throw Self.invalid(.tooLong) }
        guard let bytes = Base64.decode(ignoringBlanks: text) else { throw Self.invalid(.badText) }
        try self.init(receipt: bytes, excludesOldTransactions: excludesOldTransactions)
    }

    /// - Parameter bytes: the receipt itself, at most 8 MiB.
    public init(receipt bytes: [UInt8], excludesOldTransactions: Bool = false) throws(InvalidRequestError) {
        guard !bytes.isEmpty else { throw Self.invalid(.missing) }
        guard bytes.count <= SignedDataVerifier.receiptLimit else { throw Self.invalid(.tooLong) }
        receiptData = Base64.encode(bytes)
        self.excludesOldTransactions = excludesOldTransactions
    }

    private static func invalid(_ rule: InvalidRequestError.Rule) -> InvalidRequestError {
        InvalidRequestError("receipt-data", rule)
    }

    /// The JSON body of the request.
    func body(secret: AppSharedSecret?) -> [UInt8] {
        var members: [String: JSONValue] = ["receipt-data": .string(receiptData)]
        if let secret { members["password"] = .string(secret.text) }
        if excludesOldTransactions { members["exclude-old-transactions"] = true }
        return JSONValue.object(members).encodedBytes()
    }
}

extension SignedDataVerifier {
    /// The longest base64 text of a receipt, in bytes: the longest receipt plus one mebibyte for line breaks and other
    /// white space.
    public static let receiptTextLimit = receiptLimit / 3 * 4 + (1 << 20)
}

/// The shared secret of App Store Connect: the app's own, or the account's primary one. It comes from configuration,
/// never from a client, and is hidden in descriptions, dumps and errors.
public struct AppSharedSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    /// - Parameter text: as App Store Connect shows it, usually 32 hexadecimal digits.
    public init(_ text: String) { self.text = text }

    public var description: String { "(a shared secret)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The result of a verifyReceipt request.
public enum VerifyReceiptOutcome: Sendable, Equatable {
    /// The host of this environment confirms that the receipt is genuine, or that its subscription has expired
    /// (`.expired`). Grant a purchase only if `ReceiptExpectation` finds no difference.
    case answered(VerifyReceiptResponse, from: StoreEnvironment)
    /// Apple does not confirm the receipt: grant nothing. If the refusal is not final, another receipt from the same
    /// device may succeed.
    case refused(VerifyReceiptStatus, isFinal: Bool)
    /// No result: retry, after this many milliseconds if Apple stated a time.
    case retry(VerifyReceiptRetryReason, after: Int64?)
    /// The server's own configuration is wrong. No order is at fault, and all orders wait.
    case misconfigured(VerifyReceiptStatus)
}

/// Why there is no result about a receipt. Every case is retryable.
public enum VerifyReceiptRetryReason: Sendable, Equatable {
    /// Apple reports an internal problem.
    case status(VerifyReceiptStatus)
    /// No response arrived, or one that is too large.
    case outage(AppleConnectionError.Reason)
    /// An HTTP status other than 200. Apple sends no redirects.
    case httpStatus(Int)
    /// HTML.
    case page
    case unusable(VerifyReceiptResponse.FormatError)
    /// Each environment says that the receipt belongs to the other one.
    case environmentsDisagree(VerifyReceiptStatus)
}

/// The status of verifyReceipt, in the body of an HTTP 200 (facts/verify-receipt §3). Unknown values survive.
public struct VerifyReceiptStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The receipt is genuine. `ReceiptExpectation` checks the individual purchase in it.
    public static let genuine = VerifyReceiptStatus(rawValue: 0)
    public static let notPost = VerifyReceiptStatus(rawValue: 21000)
    /// From earlier days; the same as `malformed`.
    public static let malformedJSON = VerifyReceiptStatus(rawValue: 21001)
    /// The text is not a receipt; or Apple has an outage, during which it returns this status for every receipt.
    public static let malformed = VerifyReceiptStatus(rawValue: 21002)
    public static let notAuthentic = VerifyReceiptStatus(rawValue: 21003)
    public static let wrongSecret = VerifyReceiptStatus(rawValue: 21004)
    public static let unavailable = VerifyReceiptStatus(rawValue: 21005)
    /// Genuine, but its subscription has expired. Old-style receipts only.
    public static let expired = VerifyReceiptStatus(rawValue: 21006)
    /// A sandbox receipt was sent to production.
    public static let sandboxReceipt = VerifyReceiptStatus(rawValue: 21007)
    /// A production receipt was sent to the sandbox.
    public static let productionReceipt = VerifyReceiptStatus(rawValue: 21008)
    public static let dataAccess = VerifyReceiptStatus(rawValue: 21009)
    /// The customer's account was deleted, or was never allowed to buy.
    public static let accountNotFound = VerifyReceiptStatus(rawValue: 21010)
    /// Internal errors of Apple's service, retryable if the response's own flag says so.
    public static let internalDataAccess: ClosedRange<Int64> = 21100...21199

    /// How to handle a status.
    public enum Treatment: Hashable, Sendable {
        /// The content decides.
        case genuine
        /// The content counts, and gives no access.
        case expired
        /// Retry: the status says nothing about the purchase.
        case retry
        /// Retry as for `retry`, for a limited time. After that the receipt itself is bad, and the client is asked for
        /// another one. The order stays open.
        case retryThenRefreshReceipt
        /// Not signed by Apple, or altered: never granted, and counted as a possible forgery.
        case forged
        /// Never granted, genuine or not.
        case final
        /// The receipt belongs to this environment: ask there, once.
        case otherEnvironment(StoreEnvironment)
        /// The server's own configuration is wrong: alert the operator, and keep the orders open.
        case configuration
        /// `retry` or `final`, as `is-retryable` says; `retry` without the flag.
        case byFlag
    }

    /// Codes that Apple has not published count as Apple's internal errors: an unknown code never makes a purchase
    /// invalid.
    public var treatment: Treatment { Self.known[rawValue]?.treatment ?? (isInternal ? .byFlag : .retry) }

    /// For logs and operators, in English; stable.
    public var name: String {
        Self.known[rawValue]?.name ?? (isInternal ? "internal_data_access" : "unknown_\(rawValue)")
    }

    /// Every code with its own meaning.
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

import TillBilling

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

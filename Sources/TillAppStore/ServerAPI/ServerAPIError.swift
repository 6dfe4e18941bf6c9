import TillBilling
import TillCrypto

/// Why a request to the App Store Server API failed.
public enum ServerAPIError: Error, Sendable, Equatable {
    /// Apple answered with an error.
    case refused(ServerAPIRefusal)
    /// 401: Apple refuses the bearer token. The configuration is wrong. An emulated store gives its reason, in English.
    case unauthorized(StoreEnvironment, reason: String? = nil)
    /// 429: Apple's quota is used up; nil if Apple stated no time.
    case rateLimited(until: Instant?)
    /// Not sent: the app's own budget has no slot within the caller's patience. Retry at `until` or later.
    case overBudget(until: Instant)
    /// No response, or none that was accepted. Apple may have carried out the request.
    case outage(AppleConnectionError)
    /// A response that is not Apple's: a proxy's page, a redirect, a truncated body.
    case unreadable(UnreadableResponse)
    /// Not sent: Apple would refuse the request.
    case invalid(InvalidRequestError)
    /// Not sent: the bearer token could not be created.
    case signing(SigningError)
}

/// A response that is not in Apple's format. It says nothing about the purchase.
public struct UnreadableResponse: Sendable, Hashable {
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
        /// Endless pages: one was repeated, or there were more than the walk accepts.
        case endless
    }

    public let reason: Reason
    /// The HTTP status.
    public let status: Int
    /// For people, in English. No decision depends on it.
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
    /// After the usual back-off.
    case soon
    /// After a long back-off.
    case late
    case at(Instant)
}

extension ServerAPIError {
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

    /// The earliest time of a retry; nil if it is unknown.
    public var retryAfter: Instant? {
        if case .at(let instant) = retry { instant } else { nil }
    }

    /// A stable code for programs.
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

    /// Apple's error code, if Apple refused the request.
    public var code: ServerAPIErrorCode? {
        if case .refused(let refusal) = self { refusal.code } else { nil }
    }

    /// The problem and its remedy, for an operator.
    public var sentence: LocalizedText {
        switch self {
        case .refused(let refusal): refusal.sentence
        case .unauthorized(_, let reason?):
            LocalizedText(
                en: "The emulated store doesn't accept our API key (401): \(reason)",
                zh: "模拟商店不接受我们的 API 密钥（401）：\(reason)")
        case .unauthorized:
            LocalizedText(
                en: "Apple doesn't accept our API key (401). Check the key id, the issuer id, the bundle id, that the "
                    + "key is an In-App Purchase key that wasn't revoked, and this machine's clock.",
                zh: "Apple 不接受我们的 API 密钥（401）。请检查 Key ID、Issuer ID、Bundle ID、密钥是否为未撤销的 App 内购买项目密钥，以及本机时钟。")
        case .rateLimited:
            LocalizedText(
                en: "Apple's request quota is used up. The request is sent again when Apple allows it.",
                zh: "Apple 的请求配额已用完，到 Apple 允许时会重新请求。")
        case .overBudget:
            LocalizedText(
                en: "Too many requests are waiting for Apple. Try again a little later.",
                zh: "等待向 Apple 发送的请求过多，请稍后再试。")
        case .outage:
            LocalizedText(
                en: "Apple didn't answer. Nothing is lost; the request is sent again.",
                zh: "Apple 没有应答。不会丢失任何内容，将重新请求。")
        case .unreadable:
            LocalizedText(
                en:
                    "The answer does not come from Apple's service, or it is damaged. The request is sent again. If "
                    + "this continues, check the proxy in between.",
                zh: "应答并非来自 Apple 的服务或已损坏，将重新请求。若持续如此，请检查中间的代理。")
        case .invalid(let request): request.sentence
        case .signing:
            LocalizedText(
                en: "The API key can't sign. Check the private key (.p8) in the configuration.",
                zh: "API 密钥无法签名，请检查配置中的私钥（.p8）。")
        }
    }
}

extension ServerAPIRefusal {
    var sentence: LocalizedText {
        let name = code.name ?? String(code.rawValue)
        return switch code.retry {
        case .never:
            LocalizedText(
                en: "Apple refused the request: \(name). Sending it again won't help.",
                zh: "Apple 拒绝了请求：\(name)。重新发送没有帮助。")
        default:
            LocalizedText(
                en: "Apple can't answer just now: \(name). The request is sent again.",
                zh: "Apple 暂时无法应答：\(name)。将重新请求。")
        }
    }
}

extension InvalidRequestError {
    var sentence: LocalizedText {
        let reason = rule.reason
        return LocalizedText(
            en: "The request wasn't sent: \(field) \(reason.en).", zh: "请求未发送：\(field) \(reason.zh)。")
    }
}

extension InvalidRequestError.Rule {
    /// What is wrong with the field, as the end of a sentence that begins with its name.
    fileprivate var reason: LocalizedText {
        switch self {
        case .missing: LocalizedText(en: "is missing", zh: "缺失")
        case .tooLong: LocalizedText(en: "is too long", zh: "太长")
        case .badText:
            LocalizedText(en: "contains a character that doesn't belong there", zh: "含有不允许的字符")
        case .ambiguousCase:
            LocalizedText(
                en: "contains a letter whose lower case differs between systems", zh: "含有大小写转换因系统而异的字母")
        case .notJSON: LocalizedText(en: "is not JSON", zh: "不是 JSON")
        case .outOfRange: LocalizedText(en: "is out of range", zh: "超出范围")
        case .contradiction: LocalizedText(en: "contradicts another field", zh: "与另一个字段矛盾")
        case .noConsent:
            LocalizedText(en: "needs the customer's consent, which isn't given", zh: "需要客户同意，而客户尚未同意")
        case .environmentNotAsked:
            LocalizedText(
                en: "is not among the environments that the configuration accepts (apple.environments)",
                zh: "不在配置接受的环境之中（apple.environments）")
        case .productionOnly:
            LocalizedText(
                en: "can be looked up in production only, which the configuration doesn't accept: Apple's sandbox "
                    + "sends no receipt mails and has no such request. An emulated store (apple.emulator) answers it",
                zh: "只能在生产环境查询，而配置不接受生产环境：Apple 的沙盒不发送收据邮件，也没有这种查询。"
                    + "模拟商店（apple.emulator）可以查询")
        }
    }
}

/// Why Apple refused a request: `errorCode` of the body, whose first three digits are the HTTP status (facts/server-api
/// §6). A code without a name here is preserved as its number.
public struct ServerAPIErrorCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    private init(_ code: Int64) { self.init(rawValue: code) }

    public static let generalBadRequest = Self(4_000_000)
    public static let invalidAppIdentifier = Self(4_000_002)
    public static let invalidRequestRevision = Self(4_000_005)
    public static let invalidTransactionID = Self(4_000_006)
    public static let invalidOriginalTransactionID = Self(4_000_008)
    public static let invalidExtendByDays = Self(4_000_009)
    public static let invalidExtendReasonCode = Self(4_000_010)
    public static let invalidRequestIdentifier = Self(4_000_011)
    public static let startDateTooFarInPast = Self(4_000_012)
    public static let startDateAfterEndDate = Self(4_000_013)
    public static let invalidPaginationToken = Self(4_000_014)
    public static let invalidStartDate = Self(4_000_015)
    public static let invalidEndDate = Self(4_000_016)
    public static let paginationTokenExpired = Self(4_000_017)
    public static let invalidNotificationType = Self(4_000_018)
    public static let multipleFiltersSupplied = Self(4_000_019)
    public static let invalidTestNotificationToken = Self(4_000_020)
    public static let invalidSort = Self(4_000_021)
    public static let invalidProductType = Self(4_000_022)
    public static let invalidProductID = Self(4_000_023)
    public static let invalidSubscriptionGroupIdentifier = Self(4_000_024)
    /// Deprecated by Apple.
    public static let invalidExcludeRevoked = Self(4_000_025)
    public static let invalidInAppOwnershipType = Self(4_000_026)
    public static let invalidEmptyStorefrontCountryCodeList = Self(4_000_027)
    public static let invalidStorefrontCountryCode = Self(4_000_028)
    public static let invalidRevoked = Self(4_000_030)
    public static let invalidStatus = Self(4_000_031)
    public static let invalidAccountTenure = Self(4_000_032)
    public static let invalidAppAccountToken = Self(4_000_033)
    public static let invalidConsumptionStatus = Self(4_000_034)
    public static let invalidCustomerConsented = Self(4_000_035)
    public static let invalidDeliveryStatus = Self(4_000_036)
    public static let invalidLifetimeDollarsPurchased = Self(4_000_037)
    public static let invalidLifetimeDollarsRefunded = Self(4_000_038)
    public static let invalidPlatform = Self(4_000_039)
    public static let invalidPlayTime = Self(4_000_040)
    public static let invalidSampleContentProvided = Self(4_000_041)
    public static let invalidUserStatus = Self(4_000_042)
    /// Deprecated by Apple.
    public static let invalidTransactionNotConsumable = Self(4_000_043)
    public static let invalidRefundPreference = Self(4_000_044)
    public static let invalidTransactionTypeNotSupported = Self(4_000_047)
    public static let appTransactionIDNotSupported = Self(4_000_048)
    public static let invalidAppAccountTokenUUID = Self(4_000_183)
    public static let familyTransactionNotSupported = Self(4_000_185)
    public static let transactionIDIsNotOriginalTransactionID = Self(4_000_187)
    /// Till's own name: Apple documents only the meaning.
    public static let consumptionPercentageNotAllowed = Self(4_000_209)
    public static let subscriptionExtensionIneligible = Self(4_030_004)
    public static let subscriptionMaxExtension = Self(4_030_005)
    public static let familySharedSubscriptionExtensionIneligible = Self(4_030_007)
    public static let accountNotFound = Self(4_040_001)
    public static let accountNotFoundRetryable = Self(4_040_002)
    public static let appNotFound = Self(4_040_003)
    public static let appNotFoundRetryable = Self(4_040_004)
    public static let originalTransactionIDNotFound = Self(4_040_005)
    public static let originalTransactionIDNotFoundRetryable = Self(4_040_006)
    public static let serverNotificationURLNotFound = Self(4_040_007)
    public static let testNotificationNotFound = Self(4_040_008)
    public static let statusRequestNotFound = Self(4_040_009)
    public static let transactionIDNotFound = Self(4_040_010)
    public static let appTransactionDoesNotExist = Self(4_040_019)
    public static let rateLimitExceeded = Self(4_290_000)
    public static let generalInternal = Self(5_000_000)
    public static let generalInternalRetryable = Self(5_000_001)

    /// Apple's name of the error; nil for an unknown code.
    public var name: String? { Self.names[self] }

    private static let names: [ServerAPIErrorCode: String] = [
        generalBadRequest: "GeneralBadRequest", invalidAppIdentifier: "InvalidAppIdentifier",
        invalidRequestRevision: "InvalidRequestRevision", invalidTransactionID: "InvalidTransactionId",
        invalidOriginalTransactionID: "InvalidOriginalTransactionId", invalidExtendByDays: "InvalidExtendByDays",
        invalidExtendReasonCode: "InvalidExtendReasonCode", invalidRequestIdentifier: "InvalidRequestIdentifier",
        startDateTooFarInPast: "StartDateTooFarInPast", startDateAfterEndDate: "StartDateAfterEndDate",
        invalidPaginationToken: "InvalidPaginationToken", invalidStartDate: "InvalidStartDate",
        invalidEndDate: "InvalidEndDate", paginationTokenExpired: "PaginationTokenExpired",
        invalidNotificationType: "InvalidNotificationType", multipleFiltersSupplied: "MultipleFiltersSupplied",
        invalidTestNotificationToken: "InvalidTestNotificationToken", invalidSort: "InvalidSort",
        invalidProductType: "InvalidProductType", invalidProductID: "InvalidProductId",
        invalidSubscriptionGroupIdentifier: "InvalidSubscriptionGroupIdentifier",
        invalidExcludeRevoked: "InvalidExcludeRevoked", invalidInAppOwnershipType: "InvalidInAppOwnershipType",
        invalidEmptyStorefrontCountryCodeList: "InvalidEmptyStorefrontCountryCodeList",
        invalidStorefrontCountryCode: "InvalidStorefrontCountryCode", invalidRevoked: "InvalidRevoked",
        invalidStatus: "InvalidStatus", invalidAccountTenure: "InvalidAccountTenure",
        invalidAppAccountToken: "InvalidAppAccountToken", invalidConsumptionStatus: "InvalidConsumptionStatus",
        invalidCustomerConsented: "InvalidCustomerConsented", invalidDeliveryStatus: "InvalidDeliveryStatus",
        invalidLifetimeDollarsPurchased: "InvalidLifetimeDollarsPurchased",
        invalidLifetimeDollarsRefunded: "InvalidLifetimeDollarsRefunded", invalidPlatform: "InvalidPlatform",
        invalidPlayTime: "InvalidPlayTime", invalidSampleContentProvided: "InvalidSampleContentProvided",
        invalidUserStatus: "InvalidUserStatus", invalidTransactionNotConsumable: "InvalidTransactionNotConsumable",
        invalidRefundPreference: "InvalidRefundPreference",
        invalidTransactionTypeNotSupported: "InvalidTransactionTypeNotSupported",
        appTransactionIDNotSupported: "AppTransactionIdNotSupported",
        invalidAppAccountTokenUUID: "InvalidAppAccountTokenUUID",
        familyTransactionNotSupported: "FamilyTransactionNotSupported",
        transactionIDIsNotOriginalTransactionID: "TransactionIdIsNotOriginalTransactionId",
        consumptionPercentageNotAllowed: "ConsumptionPercentageNotAllowed",
        subscriptionExtensionIneligible: "SubscriptionExtensionIneligible",
        subscriptionMaxExtension: "SubscriptionMaxExtension",
        familySharedSubscriptionExtensionIneligible: "FamilySharedSubscriptionExtensionIneligible",
        accountNotFound: "AccountNotFound", accountNotFoundRetryable: "AccountNotFoundRetryable",
        appNotFound: "AppNotFound", appNotFoundRetryable: "AppNotFoundRetryable",
        originalTransactionIDNotFound: "OriginalTransactionIdNotFound",
        originalTransactionIDNotFoundRetryable: "OriginalTransactionIdNotFoundRetryable",
        serverNotificationURLNotFound: "ServerNotificationURLNotFound",
        testNotificationNotFound: "TestNotificationNotFound", statusRequestNotFound: "StatusRequestNotFound",
        transactionIDNotFound: "TransactionIdNotFound", appTransactionDoesNotExist: "AppTransactionDoesNotExist",
        rateLimitExceeded: "RateLimitExceeded", generalInternal: "GeneralInternal",
        generalInternalRetryable: "GeneralInternalRetryable",
    ]

    /// When to retry (facts/server-api §6, last paragraph). An unnamed error of Apple's server says nothing about the
    /// purchase, so the request is repeated, after a long pause.
    var retry: RetryAdvice {
        switch self {
        case .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIDNotFoundRetryable,
            .generalInternalRetryable, .rateLimitExceeded:
            .soon
        default: rawValue / 10_000 >= 500 ? .late : .never
        }
    }
}

/// An error that Apple answered.
public struct ServerAPIRefusal: Sendable, Hashable {
    public let code: ServerAPIErrorCode
    /// Apple's text, in English, at most 500 characters. No decision depends on it.
    public let message: String
    /// The HTTP status.
    public let status: Int

    public init(code: ServerAPIErrorCode, message: String, status: Int) {
        self.code = code
        self.message = message
        self.status = status
    }
}

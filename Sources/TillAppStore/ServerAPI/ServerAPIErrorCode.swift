/// Why Apple refused a request: `errorCode` of the body, whose first three digits are the HTTP status
/// (facts/server-api §6). A code that is not named here survives as its number.
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
    /// Our name: the sheet has only the meaning.
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

    /// Apple's name of the error; nil for a code that is not known here.
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

    /// When to ask again (facts/server-api §6, last paragraph). A fault of Apple's server that has no name here says
    /// nothing about the purchase (U7), so it is asked again, but not soon.
    var retry: RetryAdvice {
        switch self {
        case .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIDNotFoundRetryable,
            .generalInternalRetryable, .rateLimitExceeded:
            .soon
        default: rawValue / 10_000 >= 500 ? .late : .never
        }
    }
}

/// Apple's answer that says no.
public struct ServerAPIRefusal: Sendable, Hashable {
    public let code: ServerAPIErrorCode
    /// Apple's, in English, at most 500 characters; nothing is decided by it.
    public let message: String
    /// Of HTTP.
    public let status: Int

    public init(code: ServerAPIErrorCode, message: String, status: Int) {
        self.code = code
        self.message = message
        self.status = status
    }
}

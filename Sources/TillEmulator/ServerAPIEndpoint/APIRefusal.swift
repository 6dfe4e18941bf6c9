import TillAppStore
import TillBilling
import TillHTTP

/// An answer of Apple's that says no: HTTP status, `errorCode` and `errorMessage` (facts/server-api §6).
struct APIRefusal: Error, Sendable, Hashable {
    let code: ServerAPIErrorCode
    let message: String

    init(_ code: ServerAPIErrorCode, _ message: String? = nil) {
        self.code = code
        self.message = message ?? Self.message(of: code)
    }

    /// The first three digits of the code.
    var status: Int { Int(code.rawValue / 10_000) }

    var response: HTTPResponse {
        .json(["errorCode": .int(code.rawValue), "errorMessage": .string(message)], status: status)
    }

    /// The app asked this endpoint too often. Apple's `Retry-After` is a Unix time in milliseconds (facts/server-api
    /// §7), where HTTP has seconds.
    static func rateLimited(until room: Instant) -> HTTPResponse {
        var response = APIRefusal(.rateLimitExceeded).response
        response.headers.add("Retry-After", String(room.milliseconds))
        return response
    }

    /// A path that nobody serves. Apple's answer there is not documented; this has the shape of its others.
    static func unserved(_ status: Int) -> HTTPResponse {
        let message = status == 405 ? "Method not allowed." : "Not found."
        return APIRefusal(ServerAPIErrorCode(rawValue: Int64(status) * 10_000), message).response
    }

    /// Apple's sentences are its names in plain words, with a few exceptions.
    private static func message(of code: ServerAPIErrorCode) -> String {
        if let known = sentences[code] { return known }
        guard let name = code.name else { return "An unknown error occurred." }
        let retry = "Retryable"
        guard name.hasSuffix(retry) else { return sentence(name) }
        return sentence(name.dropLast(retry.count)) + " Please try again."
    }

    /// `TransactionIdNotFound`: "Transaction id not found."
    private static func sentence(_ name: some StringProtocol) -> String {
        var text = ""
        for letter in name {
            if letter.isUppercase, !text.isEmpty { text += " " + letter.lowercased() } else { text.append(letter) }
        }
        return text + "."
    }

    private static let sentences: [ServerAPIErrorCode: String] = [
        .generalBadRequest: "Bad request.",
        .invalidAppAccountTokenUUID: "Invalid app account token UUID.",
        .invalidEmptyStorefrontCountryCodeList: "The list of storefront country codes is empty.",
        .consumptionPercentageNotAllowed:
            "A prorated refund of an auto-renewable subscription takes no consumption percentage.",
        .serverNotificationURLNotFound: "No App Store Server Notification URL found for provided app.",
        .testNotificationNotFound:
            "Either the test notification token is expired or the notification and status are not yet available.",
        .generalInternal: "An unknown error occurred.",
        .generalInternalRetryable: "An unknown error occurred. Please try again.",
    ]
}

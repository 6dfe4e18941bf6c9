import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillSQL

/// One authorised request and its parameters.
struct APICall: Sendable {
    let route: ServerAPIRoute
    let request: HTTPRequest
    let parameters: PathParameters
    /// The app named in the bearer token.
    let bundleID: String

    var id: String { parameters["id"] }

    // MARK: Query and body

    func values(_ name: String) -> [String] { request.query.filter { $0.name == name }.map(\.value) }

    /// A query parameter that may occur at most once.
    func value(_ name: String, else code: ServerAPIErrorCode) throws(APIError) -> String? {
        let values = values(name)
        guard values.count <= 1 else { throw APIError(code) }
        return values.first
    }

    /// The members of the body; a `null` counts as absent.
    func body() throws(APIError) -> APIBody {
        guard case .object(let members)? = try? JSONValue(decoding: request.body) else {
            throw APIError(.generalBadRequest)
        }
        return APIBody(members: members.filter { !$0.value.isNull })
    }

    // MARK: Ids

    static func number(_ id: String, else code: ServerAPIErrorCode = .invalidTransactionID) throws(APIError) -> Int64 {
        guard let number = Int64(id), number >= 0, String(number) == id else { throw APIError(code) }
        return number
    }

    /// The paid transaction of this app that the path names.
    /// - Parameter absent: the error code when no such transaction exists.
    func transaction(
        absent: ServerAPIErrorCode = .transactionIDNotFound, malformed: ServerAPIErrorCode = .invalidTransactionID,
        _ connection: any Connection
    ) throws -> StoreTransaction {
        let number = try Self.number(id, else: malformed)
        guard let found = try TransactionTable.find(number, connection), found.bundleID == bundleID,
            found.state == .purchased
        else {
            let isDownload = try DownloadTable.find(appTransaction: number, connection)?.bundleID == bundleID
            throw APIError(isDownload ? .appTransactionIDNotSupported : absent)
        }
        try Self.check(found.account, connection)
        return found
    }

    /// The customer whom `{any}` names: by any of the customer's transactions in this app, or by the app transaction
    /// (facts/server-api §3).
    func customer(_ connection: any Connection) throws -> AppDownload { try customer(of: id, connection) }

    func customer(of id: String, _ connection: any Connection) throws -> AppDownload {
        let number = try Self.number(id)
        var appTransaction = number
        if let transaction = try TransactionTable.find(number, connection) {
            guard transaction.state == .purchased, transaction.bundleID == bundleID else {
                throw APIError(.transactionIDNotFound)
            }
            appTransaction = transaction.appTransaction
        }
        guard let download = try DownloadTable.find(appTransaction: appTransaction, connection) else {
            throw APIError(appTransaction == number ? .transactionIDNotFound : .appTransactionDoesNotExist)
        }
        guard download.bundleID == bundleID else { throw APIError(.transactionIDNotFound) }
        try Self.check(download.account, connection)
        return download
    }

    private static func check(_ account: String, _ connection: any Connection) throws {
        guard try AccountTable.find(account, connection)?.isDeleted != true else { throw APIError(.accountNotFound) }
    }
}

/// A JSON object whose members each have their own error code for an invalid value.
struct APIBody: Sendable {
    let members: [String: JSONValue]

    subscript(name: String) -> JSONValue? { members[name] }

    func required<Value>(
        _ name: String, else code: ServerAPIErrorCode, _ read: (JSONValue) -> Value?
    ) throws(APIError) -> Value {
        guard let member = members[name], let value = read(member) else { throw APIError(code) }
        return value
    }

    /// Nil only if the member is absent.
    func optional<Value>(
        _ name: String, else code: ServerAPIErrorCode, _ read: (JSONValue) -> Value?
    ) throws(APIError) -> Value? {
        guard let member = members[name] else { return nil }
        guard let value = read(member) else { throw APIError(code) }
        return value
    }
}

/// The In-App Purchase Key with which callers of the server API sign their bearer tokens (facts/server-api §2). It
/// protects nothing: the control API hands it to every caller.
struct APIKey: Sendable {
    let issuerID: UniqueID
    /// Ten characters, capital letters and digits.
    let keyID: String
    let privateKey: PrivateKey
    private let publicKey: PublicKey

    init(issuerID: UniqueID, keyID: String, privateKey: PrivateKey) throws(SigningError) {
        guard let publicKey = PublicKey(der: try privateKey.publicKeyInfo()) else {
            throw SigningError("the API key has no public half")
        }
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKey = privateKey
        self.publicKey = publicKey
    }

    /// A key id from ten random bytes.
    static func keyID(_ random: [UInt8]) -> String {
        let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789".utf8)
        return String(decoding: random.prefix(10).map { letters[Int($0) % letters.count] }, as: UTF8.self)
    }

    func json(bundleID: String) throws(SigningError) -> JSONValue {
        [
            "issuerId": .string(issuerID.description), "keyId": .string(keyID), "bundleId": .string(bundleID),
            "privateKey": .string(try privateKey.pem()),
        ]
    }

    /// Apple allows a token one hour at most; a caller's clock may be one minute ahead.
    private static let longestLife: Int64 = 3_600
    private static let skew: Int64 = 60

    /// What a bearer token is worth.
    enum Check: Sendable, Equatable {
        /// It authorises requests about this app.
        case app(String)
        /// Apple would reject it.
        case refused
        /// It is valid at another time: the caller's clock differs from the store's.
        case otherTime(issued: Instant)
    }

    func check(_ header: String?, at now: Instant) -> Check {
        guard let header, header.utf8.count <= 8_192, header.hasPrefix("Bearer "),
            let token = CompactToken(header.dropFirst(7)), let headerBytes = token.header,
            let head = try? JSONValue(decoding: headerBytes), let claims = try? JSONValue(decoding: token.payload),
            head["alg"]?.string == "ES256", head["kid"]?.string == keyID,
            claims["iss"]?.string?.lowercased() == issuerID.description,
            claims["aud"]?.string == "appstoreconnect-v1",
            let expires = claims["exp"]?.int,
            let bundleID = claims["bid"]?.string, !bundleID.isEmpty,
            token.isSigned(by: publicKey)
        else { return .refused }
        if now.seconds < expires, Self.isShortLived(issued: claims["iat"], expires: expires, now: now.seconds) {
            return .app(bundleID)
        }
        guard let issued = claims["iat"]?.int, (0..<253_402_300_800).contains(issued), issued < expires,
            Self.isShortLived(issued: claims["iat"], expires: expires, now: issued),
            abs(issued - now.seconds) > Self.skew
        else { return .refused }
        return .otherTime(issued: Instant(seconds: issued))
    }

    /// Apple's documentation requires `iat`; Apple's own Python library omits it and is accepted.
    private static func isShortLived(issued: JSONValue?, expires: Int64, now: Int64) -> Bool {
        guard let issued else { return expires <= now + longestLife + skew }
        guard let issued = issued.int, issued >= 0, issued <= now + skew, expires > issued else { return false }
        return expires - issued <= longestLife
    }
}

/// A refusal of Apple's: HTTP status, `errorCode` and `errorMessage` (facts/server-api §6).
struct APIError: Error, Sendable, Hashable {
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

    /// 401 for a token of the right key and another time. Apple sends no body; this one saves a search.
    static func clocksDiffer(issued: Instant, now: Instant) -> HTTPResponse {
        let seconds = issued.seconds - now.seconds
        let difference = span(abs(seconds))
        let message = """
            The token was issued at \(issued.rfc3339), and this store's clock shows \(now.rfc3339): the clocks differ \
            by \(difference), the store is \(seconds < 0 ? "ahead" : "behind"). Sign tokens with the store's time, \
            which GET /emulator/clock returns.
            """
        return .json(["errorCode": 4_010_000, "errorMessage": .string(message)], status: 401)
    }

    /// In the largest unit of which there are at least two: "30 days", "36 hours", "90 seconds".
    private static func span(_ seconds: Int64) -> String {
        let units: [(name: String, seconds: Int64)] = [("days", 86_400), ("hours", 3_600), ("minutes", 60)]
        let unit = units.first { seconds >= 2 * $0.seconds } ?? ("seconds", 1)
        return "\((seconds + unit.seconds / 2) / unit.seconds) \(unit.name)"
    }

    /// The app exceeded this endpoint's rate limit. Apple's `Retry-After` is a Unix time in milliseconds
    /// (facts/server-api §7), where HTTP has seconds.
    static func rateLimited(until retryAt: Instant) -> HTTPResponse {
        var response = APIError(.rateLimitExceeded).response
        response.headers.add("Retry-After", String(retryAt.milliseconds))
        return response
    }

    /// A path without an endpoint. Apple does not document its answer there; this one has the shape of its other
    /// errors.
    static func unserved(_ status: Int) -> HTTPResponse {
        let message = status == 405 ? "Method not allowed." : "Not found."
        return APIError(ServerAPIErrorCode(rawValue: Int64(status) * 10_000), message).response
    }

    /// Apple's sentences are the names of the errors in plain words, with a few exceptions.
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

import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillSQL

/// One authorised request, and what can be read out of it.
struct APICall: Sendable {
    let route: ServerAPIRoute
    let request: HTTPRequest
    let parameters: PathParameters
    /// The app that the bearer token speaks for.
    let bundleID: String

    var id: String { parameters["id"] }

    // MARK: Query and body

    func values(_ name: String) -> [String] { request.query.filter { $0.name == name }.map(\.value) }

    /// A parameter that may be there once.
    func value(_ name: String, else code: ServerAPIErrorCode) throws(APIRefusal) -> String? {
        let values = values(name)
        guard values.count <= 1 else { throw APIRefusal(code) }
        return values.first
    }

    /// The members of the body; a `null` is as good as none.
    func body() throws(APIRefusal) -> APIBody {
        guard case .object(let members)? = try? JSONValue(decoding: request.body) else {
            throw APIRefusal(.generalBadRequest)
        }
        return APIBody(members: members.filter { !$0.value.isNull })
    }

    // MARK: Ids

    static func number(_ id: String, else code: ServerAPIErrorCode = .invalidTransactionID) throws(APIRefusal) -> Int64
    {
        guard let number = Int64(id), number >= 0, String(number) == id else { throw APIRefusal(code) }
        return number
    }

    /// The paid transaction of this app that the path names.
    /// - Parameter absent: the code if there is none.
    func transaction(
        absent: ServerAPIErrorCode = .transactionIDNotFound, malformed: ServerAPIErrorCode = .invalidTransactionID,
        _ session: any Connection
    ) throws -> StoreTransaction {
        let number = try Self.number(id, else: malformed)
        guard let found = try TransactionTable.find(number, session), found.bundleID == bundleID,
            found.state == .purchased
        else {
            let isDownload = try DownloadTable.find(appTransaction: number, session)?.bundleID == bundleID
            throw APIRefusal(isDownload ? .appTransactionIDNotSupported : absent)
        }
        try Self.check(found.account, session)
        return found
    }

    /// Whose `{any}` is: any of the customer's transactions in this app, or the app transaction (facts/server-api §3).
    func customer(_ session: any Connection) throws -> AppDownload { try customer(of: id, session) }

    func customer(of id: String, _ session: any Connection) throws -> AppDownload {
        let number = try Self.number(id)
        var appTransaction = number
        if let transaction = try TransactionTable.find(number, session) {
            guard transaction.state == .purchased, transaction.bundleID == bundleID else {
                throw APIRefusal(.transactionIDNotFound)
            }
            appTransaction = transaction.appTransaction
        }
        guard let download = try DownloadTable.find(appTransaction: appTransaction, session) else {
            throw APIRefusal(appTransaction == number ? .transactionIDNotFound : .appTransactionDoesNotExist)
        }
        guard download.bundleID == bundleID else { throw APIRefusal(.transactionIDNotFound) }
        try Self.check(download.account, session)
        return download
    }

    private static func check(_ account: String, _ session: any Connection) throws {
        guard try AccountTable.find(account, session)?.isDeleted != true else { throw APIRefusal(.accountNotFound) }
    }
}

/// A JSON object whose members each have a code of their own for what they may not be.
struct APIBody: Sendable {
    let members: [String: JSONValue]

    subscript(name: String) -> JSONValue? { members[name] }

    func required<Value>(
        _ name: String, else code: ServerAPIErrorCode, _ read: (JSONValue) -> Value?
    ) throws(APIRefusal) -> Value {
        guard let member = members[name], let value = read(member) else { throw APIRefusal(code) }
        return value
    }

    /// Nil only if it is not there.
    func optional<Value>(
        _ name: String, else code: ServerAPIErrorCode, _ read: (JSONValue) -> Value?
    ) throws(APIRefusal) -> Value? {
        guard let member = members[name] else { return nil }
        guard let value = read(member) else { throw APIRefusal(code) }
        return value
    }
}

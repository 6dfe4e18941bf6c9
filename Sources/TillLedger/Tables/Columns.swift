import TillBilling
import TillSQL

/// How the ledger's values are stored in columns.
extension StoreEnvironment {
    /// 1 production, 2 sandbox, 3 Xcode.
    var column: SQLValue {
        switch self {
        case .production: .integer(1)
        case .sandbox: .integer(2)
        case .xcode: .integer(3)
        }
    }

    init?(column: Int64) {
        switch column {
        case 1: self = .production
        case 2: self = .sandbox
        case 3: self = .xcode
        default: return nil
        }
    }
}

extension SQLValue {
    static func instant(_ instant: Instant) -> SQLValue { .integer(instant.milliseconds) }
    static func flag(_ flag: Bool) -> SQLValue { .integer(flag ? 1 : 0) }
    static func id(_ id: UniqueID) -> SQLValue { .blob(id.bytes) }
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
    static func optional(_ id: UniqueID?) -> SQLValue { id.map { .blob($0.bytes) } ?? .null }
}

extension Row {
    func instant(_ column: StaticString) -> Instant { Instant(milliseconds: integer(column)) }
    func optionalInstant(_ column: StaticString) -> Instant? { isNull(column) ? nil : instant(column) }

    func uniqueID(_ column: StaticString) throws -> UniqueID {
        guard let id = UniqueID(bytes: blob(column)) else { throw unreadable("an id") }
        return id
    }

    func environment(_ column: StaticString) throws -> StoreEnvironment {
        guard let environment = StoreEnvironment(column: integer(column)) else { throw unreadable("an environment") }
        return environment
    }

    func optionalEnvironment(_ column: StaticString) throws -> StoreEnvironment? {
        isNull(column) ? nil : try environment(column)
    }

    /// For a column whose value this program can't read, because another program wrote it.
    func unreadable(_ what: String) -> DatabaseError {
        DatabaseError(.corrupt, "the database holds \(what) that this version of till can't read")
    }
}

/// The caller of an action, as rows store it: `user:anna` by the customer's number, so that rows that are never edited
/// contain no user name; `key:backend`, `operator:mei` and `apple` as text.
package struct CallerColumns {
    static let names: Columns = "caller_kind, caller_customer_id, caller_key"
    private static let user = "user"

    let kind: SQLValue
    let customerID: SQLValue
    let key: SQLValue

    var values: [SQLValue] { [kind, customerID, key] }

    /// - Parameter name: as evidence shows it; nil for none.
    init(_ name: String?, at now: Instant, _ connection: any Connection) throws {
        guard let name else {
            (kind, customerID, key) = (.null, .null, .null)
            return
        }
        // By bytes: a combining mark after the colon would otherwise merge with it into one character.
        guard let colon = name.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            (kind, customerID, key) = (.text(name), .null, .null)
            return
        }
        let kind = String(decoding: name.utf8[..<colon], as: UTF8.self)
        let rest = String(decoding: name.utf8[name.utf8.index(after: colon)...], as: UTF8.self)
        let isUser = kind == Self.user
        self.kind = .text(kind)
        customerID = isUser ? .integer(try CustomerTable(connection).id(of: UserID(rest), at: now)) : .null
        key = isUser ? .null : .text(rest)
    }

    /// Reads the columns that `\(caller: "table")` selects.
    package static func name(_ row: any Row) -> String? {
        guard let kind = row.optionalText("caller_kind") else { return nil }
        let rest = kind == user ? row.optionalText("caller_user") : row.optionalText("caller_key")
        return rest.map { "\(kind):\($0)" } ?? kind
    }
}

extension SQL.StringInterpolation {
    /// A table's columns about its caller, with the user's name.
    package mutating func appendInterpolation(caller table: StaticString) {
        let kind: Columns = "caller_kind, caller_key"
        appendInterpolation(kind, of: table)
        appendLiteral(", (SELECT c.user_id FROM customers c WHERE c.customer_id = ")
        let customer: Columns = "caller_customer_id"
        appendInterpolation(customer, of: table)
        appendLiteral(") AS caller_user")
    }
}

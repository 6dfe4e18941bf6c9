import TillBilling
import TillSQL

/// Who did something, as rows name it: `user:anna` by the customer's number, so that a row that is never edited holds
/// no name; `key:backend`, `operator:mei`, `apple` by what they are.
package struct CallerColumns {
    static let names: Columns = "caller_kind, caller_customer_id, caller_key"
    private static let user = "user"

    let kind: SQLValue
    let customerID: SQLValue
    let key: SQLValue

    var values: [SQLValue] { [kind, customerID, key] }

    /// - Parameter name: as evidence shows it; nil where there is none.
    init(_ name: String?, at now: Instant, _ session: any Connection) throws {
        guard let name else {
            (kind, customerID, key) = (.null, .null, .null)
            return
        }
        // By bytes: a mark that follows the colon is not a part of it.
        let parts = name.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let isUser = parts.count == 2 && parts[0] == Self.user
        kind = .text(parts[0])
        customerID = isUser ? .integer(try CustomerTable(session).id(of: UserID(parts[1]), at: now)) : .null
        key = isUser || parts.count < 2 ? .null : .text(parts[1])
    }

    /// Of the columns that `\(caller: "table")` selects.
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

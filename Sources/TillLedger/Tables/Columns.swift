import TillBilling
import TillSQL

/// How values of the ledger stand in columns.
extension Environment {
    /// 1 production, 2 sandbox.
    var column: SQLValue { .integer(self == .production ? 1 : 2) }

    init?(column: Int64) {
        switch column {
        case 1: self = .production
        case 2: self = .sandbox
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

    func environment(_ column: StaticString) throws -> Environment {
        guard let environment = Environment(column: integer(column)) else { throw unreadable("an environment") }
        return environment
    }

    func optionalEnvironment(_ column: StaticString) throws -> Environment? {
        isNull(column) ? nil : try environment(column)
    }

    /// For a column whose value this program can't read: the file was written by something else.
    func unreadable(_ what: String) -> DatabaseError {
        DatabaseError(.corrupt, "the database holds \(what) that this version of till can't read")
    }
}

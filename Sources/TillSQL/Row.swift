/// What a statement's `?1`, `?2` and so on stand for, in order.
public enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}

/// One row of an answer, read by the names of its columns: `row.integer("signed_at")`.
///
/// A name that the statement does not answer reads as null, and the query throws when the row has been read.
public protocol Row {
    func isNull(_ column: StaticString) -> Bool
    func integer(_ column: StaticString) -> Int64
    func text(_ column: StaticString) -> String
    func blob(_ column: StaticString) -> [UInt8]
}

extension Row {
    public func optionalInteger(_ column: StaticString) -> Int64? { isNull(column) ? nil : integer(column) }
    public func optionalText(_ column: StaticString) -> String? { isNull(column) ? nil : text(column) }
}

import TillBilling
import TillJSON

/// One object of a response. It lists its members once, in `visitMembers`, for reading and for writing.
package protocol ResponseObject: Sendable, Equatable {
    init()
    /// Members that this version does not know.
    var other: [String: JSONValue] { get set }
    mutating func visitMembers<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure)
}

extension ResponseObject {
    package init(_ object: [String: JSONValue]) throws(VerifyReceiptResponse.FormatError) {
        self.init()
        var members = ResponseMembers(object)
        try visitMembers(&members)
        other = members.rest
    }

    /// The object in Apple's format.
    package var json: JSONValue {
        var (copy, writer) = (self, ResponseWriter(members: other))
        copy.visitMembers(&writer)
        return .object(writer.members)
    }
}

/// Visits the members of a response: `ResponseMembers` sets values, `ResponseWriter` reads them.
package protocol ResponseVisitor {
    associatedtype Failure: Error
    mutating func text(_ name: String, _ value: inout String?) throws(Failure)
    /// Written as a number.
    mutating func number(_ name: String, _ value: inout Int64?) throws(Failure)
    /// Written as text.
    mutating func digits(_ name: String, _ value: inout Int64?) throws(Failure)
    /// Written as `"true"` and `"false"`.
    mutating func truth(_ name: String, _ value: inout Bool?) throws(Failure)
    /// Written as `"1"` and `"0"`.
    mutating func digit(_ name: String, _ value: inout Bool?) throws(Failure)
    /// Written in three forms.
    mutating func instant(_ name: String, _ value: inout Instant?) throws(Failure)
    /// An old-style receipt's `expires_date`: written as milliseconds under its plain name.
    mutating func legacyExpiry(_ value: inout Instant?) throws(Failure)
    mutating func object<Value: ResponseObject>(_ name: String, _ value: inout Value?) throws(Failure)
    mutating func objects<Value: ResponseObject>(_ name: String, _ value: inout [Value]?) throws(Failure)
}

// Values that Apple may extend: unknown raw values survive.
extension ResponseVisitor {
    package mutating func text<Value: RawRepresentable<String>>(
        _ name: String, _ value: inout Value?
    ) throws(Failure) {
        var raw = value?.rawValue
        try text(name, &raw)
        value = raw.flatMap { Value(rawValue: $0) }
    }

    package mutating func digits<Value: RawRepresentable<Int>>(
        _ name: String, _ value: inout Value?
    ) throws(Failure) {
        var raw = value.map { Int64($0.rawValue) }
        try digits(name, &raw)
        value = raw.flatMap { Value(rawValue: Int($0)) }
    }

    package mutating func number<Value: RawRepresentable<Int>>(
        _ name: String, _ value: inout Value?
    ) throws(Failure) {
        var raw = value.map { Int64($0.rawValue) }
        try number(name, &raw)
        value = raw.flatMap { Value(rawValue: Int($0)) }
    }
}

/// The members of one object of a response. Reading removes them one by one; those that remain are unknown.
///
/// Nearly all values are text, but numbers and booleans occur too, and vice versa (facts/verify-receipt §4). A present
/// but unreadable member makes the whole response unusable: skipping an odd cancellation date would keep a refunded
/// purchase valid.
struct ResponseMembers {
    private(set) var rest: [String: JSONValue]

    init(_ members: [String: JSONValue]) { rest = members }

    private mutating func take(_ name: String) -> JSONValue? {
        guard let value = rest.removeValue(forKey: name), !value.isNull else { return nil }
        return value
    }

    func has(_ name: String) -> Bool { rest[name].map { !$0.isNull } ?? false }

    mutating func text(_ name: String) throws(VerifyReceiptResponse.FormatError) -> String? {
        switch take(name) {
        case nil: return nil
        case .string(let text)?: return text
        case .int(let number)?: return String(number)
        case .bool(let truth)?: return truth ? "true" : "false"
        // A version such as 1.5. Beyond 2⁵³, digits of an id are already lost.
        case .double(let number)? where abs(number) < 0x1p53: return String(number)
        default: throw .member(name)
        }
    }

    /// A whole number of 64 bits, or its digits; nil for an empty text.
    mutating func number(_ name: String) throws(VerifyReceiptResponse.FormatError) -> Int64? {
        switch take(name) {
        case nil, .string("")?: return nil
        case .int(let number)?: return number
        case .bool(let truth)?: return truth ? 1 : 0
        case .string(let text)?:
            guard let number = Int64(text) else { throw .member(name) }
            return number
        default: throw .member(name)
        }
    }

    /// `true` and `false`, 1 and 0, or any of them as text.
    mutating func truth(_ name: String) throws(VerifyReceiptResponse.FormatError) -> Bool? {
        switch take(name) {
        case nil, .string("")?: return nil
        case .bool(let truth)?: return truth
        case .int(1)?, .string("1")?, .string("true")?: return true
        case .int(0)?, .string("0")?, .string("false")?: return false
        default: throw .member(name)
        }
    }

    /// A moment in up to three forms: the milliseconds if present, else the text in GMT, else in Pacific time.
    private mutating func instant(
        milliseconds: String, gmt: String, pacific: String
    ) throws(VerifyReceiptResponse.FormatError) -> Instant? {
        let count = try number(milliseconds)
        let texts = [(gmt, try text(gmt)), (pacific, try text(pacific))]
        if let count { return Instant(milliseconds: count) }
        for case (let name, let text?) in texts where !text.isEmpty {
            // Some responses have milliseconds under the text's name.
            guard let instant = Int64(text).map(Instant.init(milliseconds:)) ?? AppleTime.instant(text) else {
                throw .member(name)
            }
            return instant
        }
        return nil
    }

    private mutating func objects(_ name: String) throws(VerifyReceiptResponse.FormatError) -> [[String: JSONValue]]? {
        guard let value = take(name) else { return nil }
        guard let elements = value.array else { throw .member(name) }
        var objects: [[String: JSONValue]] = []
        objects.reserveCapacity(elements.count)
        for element in elements {
            guard let members = element.object else { throw .member(name) }
            objects.append(members)
        }
        return objects
    }
}

extension ResponseMembers: ResponseVisitor {
    mutating func text(_ name: String, _ value: inout String?) throws(VerifyReceiptResponse.FormatError) {
        value = try text(name)
    }
    mutating func number(_ name: String, _ value: inout Int64?) throws(VerifyReceiptResponse.FormatError) {
        value = try number(name)
    }
    mutating func digits(_ name: String, _ value: inout Int64?) throws(VerifyReceiptResponse.FormatError) {
        value = try number(name)
    }
    mutating func truth(_ name: String, _ value: inout Bool?) throws(VerifyReceiptResponse.FormatError) {
        value = try truth(name)
    }
    mutating func digit(_ name: String, _ value: inout Bool?) throws(VerifyReceiptResponse.FormatError) {
        value = try truth(name)
    }

    mutating func instant(_ name: String, _ value: inout Instant?) throws(VerifyReceiptResponse.FormatError) {
        value = try instant(milliseconds: name + "_ms", gmt: name, pacific: name + "_pst")
    }

    mutating func legacyExpiry(_ value: inout Instant?) throws(VerifyReceiptResponse.FormatError) {
        let stated = try instant(milliseconds: "expires_date_ms", gmt: "expires_date", pacific: "expires_date_pst")
        let formatted = try instant(
            milliseconds: "expires_date_formatted_ms", gmt: "expires_date_formatted",
            pacific: "expires_date_formatted_pst")
        value = stated ?? formatted
    }

    mutating func object<Value: ResponseObject>(_ name: String, _ value: inout Value?) throws(VerifyReceiptResponse
        .FormatError)
    {
        guard let found = take(name) else { return value = nil }
        guard let members = found.object else { throw .member(name) }
        value = try Value(members)
    }

    mutating func objects<Value: ResponseObject>(_ name: String, _ value: inout [Value]?) throws(VerifyReceiptResponse
        .FormatError)
    {
        value = try objects(name)?.map(Value.init)
    }
}

/// Writes members as Apple does: nil is omitted, and nearly all values are text.
struct ResponseWriter: ResponseVisitor {
    private(set) var members: [String: JSONValue]

    init(members: [String: JSONValue]) { self.members = members }

    mutating func put(_ name: String, _ value: JSONValue?) {
        if let value { members[name] = value }
    }

    mutating func text(_ name: String, _ value: inout String?) { put(name, value.map { .string($0) }) }
    mutating func number(_ name: String, _ value: inout Int64?) { put(name, value.map { .int($0) }) }
    mutating func digits(_ name: String, _ value: inout Int64?) { put(name, value.map { .string(String($0)) }) }
    mutating func truth(_ name: String, _ value: inout Bool?) { put(name, value.map { $0 ? "true" : "false" }) }
    mutating func digit(_ name: String, _ value: inout Bool?) { put(name, value.map { $0 ? "1" : "0" }) }

    mutating func instant(_ name: String, _ value: inout Instant?) {
        put(milliseconds: name + "_ms", gmt: name, pacific: name + "_pst", value)
    }

    mutating func legacyExpiry(_ value: inout Instant?) {
        put(
            milliseconds: "expires_date", gmt: "expires_date_formatted", pacific: "expires_date_formatted_pst", value)
    }

    private mutating func put(milliseconds: String, gmt: String, pacific: String, _ instant: Instant?) {
        put(milliseconds, instant.map { .string(AppleTime.milliseconds($0)) })
        put(gmt, instant.map { .string(AppleTime.gmt($0)) })
        put(pacific, instant.map { .string(AppleTime.pacific($0)) })
    }

    mutating func object<Value: ResponseObject>(_ name: String, _ value: inout Value?) { put(name, value?.json) }

    mutating func objects<Value: ResponseObject>(_ name: String, _ value: inout [Value]?) {
        put(name, value.map { .array($0.map(\.json)) })
    }
}

import TillBilling
import TillJSON

/// The answer is no answer that anything could be decided by: something of it has another type than Apple's.
struct UnusableAnswer: Error, Equatable {
    /// The member at fault.
    let member: String
}

/// The members of one object of an answer, taken out one by one; what is left was unknown.
///
/// Nearly everything is text, but has been seen as numbers and truths too, and the other way round
/// (facts/verify-receipt §4). What is there and cannot be read is no answer: a cancellation date that is skipped
/// because it looks odd would be a purchase that stands.
struct AnswerMembers {
    private(set) var rest: [String: JSONValue]

    init(_ members: [String: JSONValue]) { rest = members }

    private mutating func take(_ name: String) -> JSONValue? {
        guard let value = rest.removeValue(forKey: name), !value.isNull else { return nil }
        return value
    }

    func has(_ name: String) -> Bool { rest[name].map { !$0.isNull } ?? false }

    mutating func text(_ name: String) throws(UnusableAnswer) -> String? {
        switch take(name) {
        case nil: return nil
        case .string(let text)?: return text
        case .int(let number)?: return String(number)
        case .bool(let truth)?: return truth ? "true" : "false"
        // A version like 1.5. Beyond 2⁵³ digits of an id are lost already.
        case .double(let number)? where abs(number) < 0x1p53: return String(number)
        default: throw UnusableAnswer(member: name)
        }
    }

    /// A whole number of 64 bits, or its digits; an empty text is none.
    mutating func number(_ name: String) throws(UnusableAnswer) -> Int64? {
        switch take(name) {
        case nil, .string("")?: return nil
        case .int(let number)?: return number
        case .bool(let truth)?: return truth ? 1 : 0
        case .string(let text)?:
            guard let number = Int64(text) else { throw UnusableAnswer(member: name) }
            return number
        default: throw UnusableAnswer(member: name)
        }
    }

    /// `true` and `false`, 1 and 0, or any of them as text.
    mutating func truth(_ name: String) throws(UnusableAnswer) -> Bool? {
        switch take(name) {
        case nil, .string("")?: return nil
        case .bool(let truth)?: return truth
        case .int(1)?, .string("1")?, .string("true")?: return true
        case .int(0)?, .string("0")?, .string("false")?: return false
        default: throw UnusableAnswer(member: name)
        }
    }

    /// A moment in up to three forms: milliseconds if they are there, else the text in GMT, else in Pacific time.
    mutating func instant(_ name: String) throws(UnusableAnswer) -> Instant? {
        try instant(milliseconds: name + "_ms", gmt: name, pacific: name + "_pst")
    }

    mutating func instant(
        milliseconds: String, gmt: String, pacific: String
    ) throws(UnusableAnswer) -> Instant? {
        let count = try number(milliseconds)
        let texts = [(gmt, try text(gmt)), (pacific, try text(pacific))]
        if let count { return Instant(milliseconds: count) }
        for case (let name, let text?) in texts where !text.isEmpty {
            // Milliseconds have been seen under the text's name.
            guard let instant = Int64(text).map(Instant.init(milliseconds:)) ?? AppleTime.instant(text) else {
                throw UnusableAnswer(member: name)
            }
            return instant
        }
        return nil
    }

    mutating func object(_ name: String) throws(UnusableAnswer) -> [String: JSONValue]? {
        guard let value = take(name) else { return nil }
        guard let members = value.object else { throw UnusableAnswer(member: name) }
        return members
    }

    mutating func objects(_ name: String) throws(UnusableAnswer) -> [[String: JSONValue]]? {
        guard let value = take(name) else { return nil }
        guard let elements = value.array else { throw UnusableAnswer(member: name) }
        var objects: [[String: JSONValue]] = []
        objects.reserveCapacity(elements.count)
        for element in elements {
            guard let members = element.object else { throw UnusableAnswer(member: name) }
            objects.append(members)
        }
        return objects
    }
}

/// How Apple writes members: nothing for nil, and nearly everything as text.
extension [String: JSONValue] {
    mutating func putText(_ name: String, _ text: String?) {
        if let text { self[name] = .string(text) }
    }

    mutating func putText(_ name: String, _ number: Int64?) {
        if let number { self[name] = .string(String(number)) }
    }

    mutating func putNumber(_ name: String, _ number: Int64?) {
        if let number { self[name] = .int(number) }
    }

    /// `"true"`, `"false"`.
    mutating func putTruth(_ name: String, _ truth: Bool?) {
        if let truth { self[name] = truth ? "true" : "false" }
    }

    /// `"1"`, `"0"`.
    mutating func putDigit(_ name: String, _ truth: Bool?) {
        if let truth { self[name] = truth ? "1" : "0" }
    }

    /// The three forms of one moment.
    mutating func putInstant(_ name: String, _ instant: Instant?) {
        putInstant(milliseconds: name + "_ms", gmt: name, pacific: name + "_pst", instant)
    }

    mutating func putInstant(milliseconds: String, gmt: String, pacific: String, _ instant: Instant?) {
        guard let instant else { return }
        self[milliseconds] = .string(AppleTime.milliseconds(instant))
        self[gmt] = .string(AppleTime.gmt(instant))
        self[pacific] = .string(AppleTime.pacific(instant))
    }
}

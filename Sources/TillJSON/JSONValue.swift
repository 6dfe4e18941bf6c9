/// Any JSON value. Integers and fractions stay distinct, as written.
///
/// An object that names a key twice is refused: parsers differ in which value they use (RFC 8259 §4).
public enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Reads one JSON text in UTF-8, at most 64 levels deep. An integer beyond 64 bits becomes a double.
    public init(decoding bytes: some Collection<UInt8>) throws(JSONError) {
        let bytes = Array(bytes)
        self = try bytes.withUnsafeBufferPointer { text throws(JSONError) in
            guard JSONText.isUTF8(text) else { throw .invalidUTF8 }
            var scanner = JSONScanner(text)
            let value = try Self.read(&scanner, depth: 0)
            guard scanner.isAtEnd() else { throw .trailing }
            return value
        }
    }

    public init(decoding text: some StringProtocol) throws(JSONError) { try self.init(decoding: text.utf8) }

    /// The error of a text and its place; nil if the text is one JSON value.
    static func mistake(in text: UnsafeBufferPointer<UInt8>) -> (JSONError, Int)? {
        var scanner = JSONScanner(text)
        do throws(JSONError) {
            _ = try read(&scanner, depth: 0)
            return scanner.isAtEnd() ? nil : (.trailing, scanner.position)
        } catch {
            return (error, scanner.mistake ?? scanner.position)
        }
    }

    private static func read(_ scanner: inout JSONScanner, depth: Int) throws(JSONError) -> JSONValue {
        let sign = try scanner.peek()
        // The scanner's depth rule: brackets count, scalars inside the innermost bracket do not.
        guard depth < JSONScanner.depthLimit || (sign != UInt8(ascii: "{") && sign != UInt8(ascii: "[")) else {
            throw .tooDeep
        }
        switch sign {
        case UInt8(ascii: "{"):
            try scanner.take(UInt8(ascii: "{"))
            var members: [String: JSONValue] = [:]
            if try scanner.peek() == UInt8(ascii: "}") {
                try scanner.take(UInt8(ascii: "}"))
                return .object(members)
            }
            repeat {
                guard try scanner.peek() == UInt8(ascii: "\"") else { throw .unexpected }
                let keyPlace = scanner.position
                let key = JSONText.string(try scanner.string(), in: scanner.text)
                try scanner.take(UInt8(ascii: ":"))
                let value = try read(&scanner, depth: depth + 1)
                guard members.updateValue(value, forKey: key) == nil else {
                    scanner.mistake = keyPlace
                    throw .duplicateKey
                }
            } while try !scanner.closes(UInt8(ascii: "}"))
            return .object(members)
        case UInt8(ascii: "["):
            try scanner.take(UInt8(ascii: "["))
            var elements: [JSONValue] = []
            if try scanner.peek() == UInt8(ascii: "]") {
                try scanner.take(UInt8(ascii: "]"))
                return .array(elements)
            }
            repeat {
                elements.append(try read(&scanner, depth: depth + 1))
            } while try !scanner.closes(
                UInt8(ascii: "]"))
            return .array(elements)
        default:
            return try leaf(try scanner.value(depth: depth), in: scanner.text)
        }
    }

    private static func leaf(
        _ value: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>
    ) throws(JSONError) -> JSONValue {
        switch value.kind {
        case .null, .array, .object: return .null
        case .trueLiteral: return .bool(true)
        case .falseLiteral: return .bool(false)
        case .string, .escapedString: return .string(JSONText.string(value, in: text))
        case .integer:
            if let integer = JSONText.int64(value, in: text) { return .int(integer) }
            fallthrough
        case .fraction:
            guard let double = JSONText.double(value, in: text) else { throw .unexpected }
            return .double(double)
        }
    }
}

extension JSONValue {
    /// The member of an object; nil if the member is missing or the value is not an object.
    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    public var string: String? { if case .string(let text) = self { text } else { nil } }
    public var int: Int64? { if case .int(let number) = self { number } else { nil } }
    public var bool: Bool? { if case .bool(let truth) = self { truth } else { nil } }
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

    /// A number in either form, as a double.
    public var number: Double? {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    public var isNull: Bool { self == .null }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(nilLiteral: ()) { self = .null }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

/// Why a JSON text is refused.
public enum JSONError: String, Error {
    case invalidUTF8
    case unexpected
    case tooDeep
    case trailing
    case wrongType
    /// A text with more combining marks in a row than any language uses.
    case tooManyMarks
    /// An object names a member twice, and readers differ in which one counts (RFC 8259 §4).
    case duplicateKey
}

/// One pass over JSON text (RFC 8259): strict in grammar, bounded in depth, and without numbers that exceed a double.
/// It locates values; `JSONValue` (a tree) and `JSONObject` (the members of one object, for typed payloads) decode
/// them.
///
/// Positions are always inside `text`; the scanner must not outlive it.
struct JSONScanner {
    enum Kind: UInt8 {
        case null, trueLiteral, falseLiteral, integer, fraction, string, escapedString, array, object
    }

    /// One value's place in the text. A string's place excludes its quotes.
    struct Value {
        let kind: Kind
        // Short, because every request that waits keeps the places of its payload's members.
        private let first: UInt32
        private let past: UInt32
        var start: Int { Int(first) }
        var end: Int { Int(past) }

        init(kind: Kind, start: Int, end: Int) {
            (self.kind, first, past) = (kind, UInt32(start), UInt32(end))
        }
    }

    /// Apple's payloads are four levels deep.
    static let depthLimit = 64

    /// A number with this many digits and no exponent fits a double.
    private static let finiteDigits = 308

    let text: UnsafeBufferPointer<UInt8>
    private(set) var position = 0
    /// The place of a mistake before `position`.
    var mistake: Int?
    /// The text as a bare pointer, for loops over its bytes: a debug build reads it much faster than a buffer. Only
    /// indices below `end` may be read.
    private let bytes: UnsafePointer<UInt8>
    private let end: Int

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
        bytes = text.baseAddress ?? StaticString("").utf8Start
        end = min(text.count, Int(UInt32.max))
    }

    /// Skips blanks; true if nothing follows them.
    mutating func isAtEnd() -> Bool {
        skipBlanks()
        return position == text.count
    }

    /// The first byte of the next value.
    mutating func peek() throws(JSONError) -> UInt8 {
        skipBlanks()
        guard position < end else { throw .unexpected }
        return bytes[position]
    }

    /// Skips one value and returns its place.
    mutating func value(depth: Int = 0) throws(JSONError) -> Value {
        switch try peek() {
        case UInt8(ascii: "\""): return try string()
        case UInt8(ascii: "{"):
            let start = position
            try object(depth: depth) { _, _ in }
            return Value(kind: .object, start: start, end: position)
        case UInt8(ascii: "["):
            let start = position
            try array(depth: depth) { _ in }
            return Value(kind: .array, start: start, end: position)
        case UInt8(ascii: "t"): return try literal("true", .trueLiteral)
        case UInt8(ascii: "f"): return try literal("false", .falseLiteral)
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    /// Skips an object and reports each member's key and value. An object that names a key twice is refused at every
    /// depth, including values that no payload reads.
    @inline(__always)
    mutating func object(depth: Int, each: (_ key: Value, _ value: Value) -> Void) throws(JSONError) {
        guard depth < Self.depthLimit else { throw .tooDeep }
        try take(UInt8(ascii: "{"))
        if try peek() == UInt8(ascii: "}") { return position += 1 }
        var keys: [Value] = []
        if depth == 0 { keys.reserveCapacity(32) }
        while true {
            guard try peek() == UInt8(ascii: "\"") else { throw .unexpected }
            let key = try string()
            keys.append(key)
            try take(UInt8(ascii: ":"))
            each(key, try value(depth: depth + 1))
            if try closes(UInt8(ascii: "}")) { break }
        }
        guard !JSONKeys.nameTwice(keys, in: text) else { throw .duplicateKey }
    }

    /// Skips an array and reports each element.
    @inline(__always)
    mutating func array(depth: Int, each: (_ element: Value) -> Void) throws(JSONError) {
        guard depth < Self.depthLimit else { throw .tooDeep }
        try take(UInt8(ascii: "["))
        if try peek() == UInt8(ascii: "]") { return position += 1 }
        while true {
            each(try value(depth: depth + 1))
            if try closes(UInt8(ascii: "]")) { return }
        }
    }

    mutating func take(_ unit: UInt8) throws(JSONError) {
        guard try peek() == unit else { throw .unexpected }
        position += 1
    }

    /// After a member or element: skips the closing bracket and returns true, or skips a comma and returns false.
    mutating func closes(_ bracket: UInt8) throws(JSONError) -> Bool {
        let unit = try peek()
        guard unit == bracket || unit == UInt8(ascii: ",") else { throw .unexpected }
        position += 1
        return unit == bracket
    }

    mutating func string() throws(JSONError) -> Value {
        let start = position + 1
        var cursor = start
        var kind = Kind.string
        var mayHaveMarks = false
        while true {
            cursor = JSONText.firstSpecial(bytes, from: cursor, to: end)
            guard cursor < end else { throw .unexpected }
            let unit = bytes[cursor]
            if unit == UInt8(ascii: "\"") {
                position = cursor + 1
                let value = Value(kind: kind, start: start, end: cursor)
                guard !mayHaveMarks || CombiningMarkCounter.isBounded(JSONText.string(value, in: text).unicodeScalars)
                else {
                    throw .tooManyMarks
                }
                return value
            }
            guard unit >= 0x20 else { throw .unexpected }
            cursor += 1
            if unit == UInt8(ascii: "\\") {
                kind = .escapedString
                // Marks may be written as `\uXXXX` too.
                if cursor < end, bytes[cursor] == UInt8(ascii: "u") { mayHaveMarks = true }
                cursor = try escapeEnd(cursor)
            } else if unit >= 0x80, CombiningMarkCounter.mayBegin(at: unit) {
                mayHaveMarks = true
            }
        }
    }

    private func escapeEnd(_ start: Int) throws(JSONError) -> Int {
        guard start < end else { throw .unexpected }
        switch text[start] {
        case UInt8(ascii: "u"):
            guard start + 4 < end else { throw .unexpected }
            for index in 1...4 where Self.nibble(text[start + index]) == nil { throw .unexpected }
            return start + 5
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 1
        default: throw .unexpected
        }
    }

    private mutating func number() throws(JSONError) -> Value {
        let start = position
        var kind = Kind.integer
        if text[position] == UInt8(ascii: "-") { position += 1 }
        let firstDigit = position
        let whole = digits()
        guard whole > 0, whole == 1 || text[firstDigit] != UInt8(ascii: "0") else { throw .unexpected }
        var mayBeEndless = whole > Self.finiteDigits
        if position < end, text[position] == UInt8(ascii: ".") {
            kind = .fraction
            position += 1
            guard digits() > 0 else { throw .unexpected }
        }
        if position < end, text[position] | 0x20 == UInt8(ascii: "e") {
            kind = .fraction
            mayBeEndless = true
            position += 1
            if position < end, text[position] == UInt8(ascii: "+") || text[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard digits() > 0 else { throw .unexpected }
        }
        let value = Value(kind: kind, start: start, end: position)
        guard !mayBeEndless || JSONText.double(value, in: text) != nil else { throw .unexpected }
        return value
    }

    private mutating func digits() -> Int {
        let start = position
        while position < end, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return position - start
    }

    private mutating func literal(_ literal: StaticString, _ kind: Kind) throws(JSONError) -> Value {
        let start = position
        let count = literal.utf8CodeUnitCount
        guard count <= end - start else { throw .unexpected }
        for index in 0..<count where text[start + index] != literal.utf8Start[index] { throw .unexpected }
        position += count
        return Value(kind: kind, start: start, end: position)
    }

    private mutating func skipBlanks() {
        while position < end {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    static func nibble(_ unit: UInt8) -> UInt32? {
        switch unit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(unit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(unit - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(unit - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}

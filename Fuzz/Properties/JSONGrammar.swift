@testable import TillAppStore
@testable import TillJSON

/// A second implementation of RFC 8259, as a pure recognizer without recursion: a state and a stack of brackets. It
/// shares no code with the scanner that it is compared with.
struct JSONGrammar {
    private enum Awaits { case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd, nothing }

    private let bytes: [UInt8]
    private var index = 0
    private var brackets: [UInt8] = []
    /// The maximum nesting of brackets.
    private(set) var depth = 0
    /// Whether a number is too large for a double; JSON allows it, Till does not.
    private(set) var hasEndlessNumber = false
    /// The longest run of combining marks in a string; more than thirty are refused.
    private(set) var longestRun = 0
    /// Whether an object names a key twice; JSON allows it, Till does not.
    private(set) var hasRepeatedKey = false
    /// The keys of each open object; empty for arrays.
    private var keys: [Set<String>] = []

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Nil if the bytes are not a JSON text in UTF-8.
    static func read(_ bytes: [UInt8]) -> JSONGrammar? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var grammar = JSONGrammar(bytes)
        return grammar.run() ? grammar : nil
    }

    private mutating func run() -> Bool {
        var awaited = Awaits.value
        while true {
            while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
            guard index < bytes.count else { return awaited == .nothing }
            let sign = Character(Unicode.Scalar(bytes[index]))
            switch (awaited, sign) {
            case (.valueOrEnd, "]"), (.keyOrEnd, "}"), (.commaOrEnd, "]"), (.commaOrEnd, "}"):
                guard brackets.popLast() == (sign == "]" ? UInt8(ascii: "[") : UInt8(ascii: "{")) else { return false }
                keys.removeLast()
                index += 1
                awaited = brackets.isEmpty ? .nothing : .commaOrEnd
            case (.commaOrEnd, ","):
                index += 1
                awaited = brackets.last == UInt8(ascii: "{") ? .key : .value
            case (.colon, ":"):
                index += 1
                awaited = .value
            case (.key, "\""), (.keyOrEnd, "\""):
                let start = index
                guard passesString() else { return false }
                if !keys[keys.count - 1].insert(Self.text(of: bytes[start..<index])).inserted { hasRepeatedKey = true }
                awaited = .colon
            case (.value, "["), (.value, "{"), (.valueOrEnd, "["), (.valueOrEnd, "{"):
                brackets.append(bytes[index])
                keys.append([])
                depth = max(depth, brackets.count)
                index += 1
                awaited = sign == "[" ? .valueOrEnd : .keyOrEnd
            case (.value, _), (.valueOrEnd, _):
                guard passesScalar(sign) else { return false }
                awaited = brackets.isEmpty ? .nothing : .commaOrEnd
            default: return false
            }
        }
    }

    private mutating func passesScalar(_ sign: Character) -> Bool {
        switch sign {
        case "\"": return passesString()
        case "t": return passes("true")
        case "f": return passes("false")
        case "n": return passes("null")
        default: return passesNumber()
        }
    }

    /// A key without its quotes. Escapes are decoded by the tested reader, because they are a table and not grammar.
    private static func text(of quoted: ArraySlice<UInt8>) -> String {
        let key = Array(quoted.dropFirst().dropLast())
        return key.withUnsafeBufferPointer {
            JSONText.string(JSONScanner.Value(kind: .escapedString, start: 0, end: key.count), in: $0)
        }
    }

    private mutating func passes(_ word: String) -> Bool {
        guard bytes[index...].starts(with: word.utf8) else { return false }
        index += word.utf8.count
        return true
    }

    private mutating func passesString() -> Bool {
        let start = index
        guard passesQuoted() else { return false }
        let scalars = Self.text(bytes[start..<index]).unicodeScalars
        for part in scalars.split(whereSeparator: { !Self.isMark($0) }) { longestRun = max(longestRun, part.count) }
        return true
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.canonicalCombiningClass != .notReordered || [0xF73, 0xF75, 0xF81].contains(scalar.value)
    }

    /// The combining marks of a quoted string: `\uXXXX` is a unit of UTF-16, other escapes count as one character.
    private static func text(_ quoted: ArraySlice<UInt8>) -> String {
        let written = Array(String(decoding: quoted, as: UTF8.self).utf16)
        var units: [UInt16] = []
        var place = 0
        while place < written.count {
            if written[place] != 0x5C {
                units.append(written[place])
                place += 1
            } else if written[place + 1] == 0x75 {
                let digits = String(decoding: written[(place + 2)..<(place + 6)], as: UTF16.self)
                units.append(UInt16(digits, radix: 16) ?? 0)
                place += 6
            } else {
                units.append(0x23)
                place += 2
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    private mutating func passesQuoted() -> Bool {
        index += 1
        while index < bytes.count {
            defer { index += 1 }
            switch bytes[index] {
            case UInt8(ascii: "\""): return true
            case 0..<0x20: return false
            case UInt8(ascii: "\\"):
                index += 1
                guard index < bytes.count else { return false }
                if bytes[index] == UInt8(ascii: "u") {
                    let digits = bytes[(index + 1)...].prefix(4)
                    guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
                        return false
                    }
                    index += 4
                } else if !"\"\\/bfnrt".utf8.contains(bytes[index]) {
                    return false
                }
            default: break
            }
        }
        return false
    }

    /// `-`? (`0` | [1-9][0-9]*) (`.` [0-9]+)? ([eE] [+-]? [0-9]+)?
    private mutating func passesNumber() -> Bool {
        let end = bytes[index...].firstIndex { !"+-.0123456789eE".utf8.contains($0) } ?? bytes.count
        var rest = bytes[index..<end]
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        func digits() -> Int {
            let count = rest.prefix { (0x30...0x39).contains($0) }.count
            rest = rest.dropFirst(count)
            return count
        }
        let hasLeadingZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0, whole == 1 || !hasLeadingZero else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard digits() > 0 else { return false }
        }
        if let exponent = rest.first, "eE".utf8.contains(exponent) {
            rest = rest.dropFirst()
            if let sign = rest.first, "+-".utf8.contains(sign) { rest = rest.dropFirst() }
            guard digits() > 0 else { return false }
        }
        guard rest.isEmpty else { return false }
        if Double(String(decoding: bytes[index..<end], as: UTF8.self))?.isFinite != true { hasEndlessNumber = true }
        index = end
        return true
    }
}

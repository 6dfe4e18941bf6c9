/// The members of one JSON object, located in one pass and decoded only when a payload reads them: the border between
/// Apple's text and our types. A wrong type throws; a missing member or `null` is nil.
package struct JSONObject: Sendable {
    private struct Member {
        let key: JSONScanner.Value
        let value: JSONScanner.Value
    }

    /// The object's text. Keys of its own level contain no escapes.
    package let bytes: [UInt8]
    private let members: [Member]

    /// - Parameter bytes: one JSON object in UTF-8.
    package init(_ bytes: [UInt8]) throws(JSONError) {
        var found: [Member] = []
        found.reserveCapacity(32)
        var hasEscapedKey = false
        try bytes.withUnsafeBufferPointer { text throws(JSONError) in
            guard JSONText.isUTF8(text) else { throw .invalidUTF8 }
            var scanner = JSONScanner(text)
            try scanner.object(depth: 0) { key, value in
                hasEscapedKey = hasEscapedKey || key.kind == .escapedString
                found.append(Member(key: key, value: value))
            }
            guard scanner.isAtEnd() else { throw .trailing }
        }
        if hasEscapedKey {
            // Keys are compared as bytes, so escaped keys are rewritten without escapes. Apple never escapes one.
            self = try JSONObject(plainly: found, of: bytes)
        } else {
            self.bytes = bytes
            members = found
        }
    }

    private init(plainly escaped: [Member], of bytes: [UInt8]) throws(JSONError) {
        let plain = bytes.withUnsafeBufferPointer { text in
            JSONObject.text(of: escaped.map { (JSONText.string($0.key, in: text), $0.value.whole(in: text)) })
        }
        var found: [Member] = []
        try plain.withUnsafeBufferPointer { text throws(JSONError) in
            var scanner = JSONScanner(text)
            try scanner.object(depth: 0) { key, value in found.append(Member(key: key, value: value)) }
        }
        self.bytes = plain
        members = found
    }

    /// The text of an object whose member values are already JSON texts.
    package static func text(of members: [(key: String, value: some Sequence<UInt8>)]) -> [UInt8] {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += JSONValue.string(member.key).encoded().utf8
            text.append(UInt8(ascii: ":"))
            text += member.value
        }
        text.append(UInt8(ascii: "}"))
        return text
    }

    /// Every member in the order of the text, with its value as written: numbers keep all their digits. A key that is
    /// written twice appears twice.
    package var writtenMembers: [(key: String, value: [UInt8])] {
        bytes.withUnsafeBufferPointer { text in
            members.map { (JSONText.string($0.key, in: text), Array($0.value.whole(in: text))) }
        }
    }

    package var isEmpty: Bool { members.isEmpty }

    package func has(_ key: StaticString) -> Bool { member(key) != nil }

    package func string(_ key: StaticString) throws(JSONError) -> String? {
        try read(key) { value, text throws(JSONError) in
            guard value.kind == .string || value.kind == .escapedString else { throw .wrongType }
            return JSONText.string(value, in: text)
        }
    }

    package func int64(_ key: StaticString) throws(JSONError) -> Int64? {
        try read(key) { value, text throws(JSONError) in
            guard value.kind == .integer, let number = JSONText.int64(value, in: text) else { throw .wrongType }
            return number
        }
    }

    package func int(_ key: StaticString) throws(JSONError) -> Int? { try int64(key).map { Int($0) } }

    package func bool(_ key: StaticString) throws(JSONError) -> Bool? {
        try read(key) { value, _ throws(JSONError) in
            guard value.kind == .trueLiteral || value.kind == .falseLiteral else { throw .wrongType }
            return value.kind == .trueLiteral
        }
    }

    /// A whole number; a fraction is rounded down.
    package func flooredInt64(_ key: StaticString) throws(JSONError) -> Int64? {
        try read(key) { value, text throws(JSONError) in
            switch value.kind {
            case .integer:
                guard let number = JSONText.int64(value, in: text) else { throw .wrongType }
                return number
            case .fraction:
                guard let number = JSONText.double(value, in: text), let whole = JSONText.floor(number) else {
                    throw .wrongType
                }
                return whole
            default: throw .wrongType
            }
        }
    }

    package func object(_ key: StaticString) throws(JSONError) -> JSONObject? {
        guard let value = member(key), value.kind != .null else { return nil }
        guard value.kind == .object else { throw .wrongType }
        return try JSONObject(Array(bytes[value.start..<value.end]))
    }

    package func objects(_ key: StaticString) throws(JSONError) -> [JSONObject]? {
        try elements(key)?.map { element throws(JSONError) in
            guard element.kind == .object else { throw .wrongType }
            return try JSONObject(Array(bytes[element.start..<element.end]))
        }
    }

    package func strings(_ key: StaticString) throws(JSONError) -> [String]? {
        try elements(key)?.map { element throws(JSONError) in
            guard element.kind == .string || element.kind == .escapedString else { throw .wrongType }
            return bytes.withUnsafeBufferPointer { JSONText.string(element, in: $0) }
        }
    }

    private func elements(_ key: StaticString) throws(JSONError) -> [JSONScanner.Value]? {
        guard let value = member(key), value.kind != .null else { return nil }
        guard value.kind == .array else { throw .wrongType }
        var found: [JSONScanner.Value] = []
        let start = value.start
        try bytes.withUnsafeBufferPointer { text throws(JSONError) in
            var scanner = JSONScanner(UnsafeBufferPointer(rebasing: text[start..<value.end]))
            try scanner.array(depth: 0) { element in
                found.append(
                    JSONScanner.Value(kind: element.kind, start: element.start + start, end: element.end + start))
            }
        }
        return found
    }

    private func read<Result>(
        _ key: StaticString,
        _ make: (JSONScanner.Value, UnsafeBufferPointer<UInt8>) throws(JSONError) -> Result
    ) throws(JSONError) -> Result? {
        guard let value = member(key), value.kind != .null else { return nil }
        return try bytes.withUnsafeBufferPointer { text throws(JSONError) in try make(value, text) }
    }

    private func member(_ key: StaticString) -> JSONScanner.Value? {
        let count = key.utf8CodeUnitCount
        let name = UnsafeBufferPointer(start: key.utf8Start, count: count)
        return bytes.withUnsafeBufferPointer { text in
            for member in members where member.key.end - member.key.start == count {
                if UnsafeBufferPointer(rebasing: text[member.key.start..<member.key.end]).elementsEqual(name) {
                    return member.value
                }
            }
            return nil
        }
    }
}

extension JSONScanner.Value {
    /// The value's text, including a string's quotes.
    fileprivate func whole(in text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        let isString = kind == .string || kind == .escapedString
        return UnsafeBufferPointer(rebasing: isString ? text[(start - 1)...end] : text[start..<end])
    }
}

extension JSONObject: Equatable {
    /// Compares JSON values: blanks and the order of members do not matter.
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.bytes == right.bytes || (try? JSONValue(decoding: left.bytes)) == (try? JSONValue(decoding: right.bytes))
    }
}

/// The keys of one object, compared with each other.
enum JSONKeys {
    /// Whether two keys are the same. Few keys are compared in pairs. Many keys, which Apple never sends, are sorted
    /// first, so that a hostile list costs n log n.
    static func nameTwice(_ keys: [JSONScanner.Value], in text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard keys.count > 1 else { return false }
        guard keys.allSatisfy({ isPlain($0, in: text) }) else {
            // Compared as strings, as `JSONValue` stores them: \u0064 is d, and an accented letter has two encodings.
            var seen: Set<String> = []
            return !keys.allSatisfy { seen.insert(JSONText.string($0, in: text)).inserted }
        }
        if keys.count <= 48 {
            for index in keys.indices.dropFirst() {
                for other in 0..<index where areSame(keys[index], keys[other], in: text) { return true }
            }
            return false
        }
        let sorted = keys.sorted { left, right in
            let longer = length(right) - length(left)
            return longer != 0 ? longer > 0 : octets(left, in: text).lexicographicallyPrecedes(octets(right, in: text))
        }
        return zip(sorted, sorted.dropFirst()).contains { areSame($0, $1, in: text) }
    }

    private static func isPlain(_ key: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        key.kind == .string && octets(key, in: text).allSatisfy { $0 < 0x80 }
    }

    private static func areSame(
        _ left: JSONScanner.Value, _ right: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        length(left) == length(right) && octets(left, in: text).elementsEqual(octets(right, in: text))
    }

    private static func length(_ key: JSONScanner.Value) -> Int { key.end - key.start }

    private static func octets(
        _ key: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>
    ) -> UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: text[key.start..<key.end]) }
}

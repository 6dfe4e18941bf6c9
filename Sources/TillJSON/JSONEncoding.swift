extension JSONValue {
    /// The JSON text. Members are sorted by key, so equal values have equal texts. The compact form has no blanks, the
    /// pretty form indents by two per level.
    ///
    /// A double that JSON cannot represent (infinite or not a number) is written as `null`.
    public func encoded(pretty: Bool = false) -> String {
        String(decoding: encodedBytes(pretty: pretty), as: UTF8.self)
    }

    /// The JSON text in UTF-8: bytes, because every append to a `String` checks it anew.
    public func encodedBytes(pretty: Bool = false) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(256)
        write(to: &output, level: pretty ? 0 : nil)
        return output
    }

    /// The compact text of an object with these members, whose keys must differ.
    public static func encodedBytes(of members: [(key: String, value: JSONValue)]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(1_024)
        write(members, to: &output, level: nil)
        return output
    }

    /// - Parameter level: the depth to indent by; nil for the compact form.
    fileprivate func write(to output: inout [UInt8], level: Int?) {
        switch self {
        case .null: output += "null".utf8
        case .bool(let truth): output += (truth ? "true" : "false").utf8
        case .int(let number): output += String(number).utf8
        case .double(let number): output += (number.isFinite ? number.description : "null").utf8
        case .string(let text): Self.write(text, to: &output)
        case .array(let elements):
            Self.write("[", elements, "]", to: &output, level: level) { element, output, inner in
                element.write(to: &output, level: inner)
            }
        case .object(let members):
            Self.write(Array(members), to: &output, level: level)
        }
    }

    private static func write(
        _ members: [(key: String, value: JSONValue)], to output: inout [UInt8], level: Int?
    ) {
        // Positions are sorted: to move a member would count its references.
        let order = members.indices.sorted { members[$0].key < members[$1].key }
        write("{", order, "}", to: &output, level: level) { position, output, inner in
            write(members[position].key, to: &output)
            output += (level == nil ? ":" : ": ").utf8
            members[position].value.write(to: &output, level: inner)
        }
    }

    private static func write<Item>(
        _ opening: String, _ items: [Item], _ closing: String, to output: inout [UInt8], level: Int?,
        each: (Item, inout [UInt8], Int?) -> Void
    ) {
        output += opening.utf8
        let inner = level.map { $0 + 1 }
        for (index, item) in items.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            if let inner { output += ("\n" + String(repeating: "  ", count: inner)).utf8 }
            each(item, &output, inner)
        }
        if let level, !items.isEmpty { output += ("\n" + String(repeating: "  ", count: level)).utf8 }
        output += closing.utf8
    }

    static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        defer { output.append(UInt8(ascii: "\"")) }
        var text = text
        // Almost every string needs no escapes and is appended whole: scalar by scalar costs several times as much.
        let isWritten = text.withUTF8 { units in
            guard isPlain(units) else { return false }
            output.append(contentsOf: units)
            return true
        }
        guard !isWritten else { return }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\"".utf8
            case "\\": output += "\\\\".utf8
            case "\n": output += "\\n".utf8
            case "\r": output += "\\r".utf8
            case "\t": output += "\\t".utf8
            case _ where scalar.value < 0x20:
                output += (scalar.value < 0x10 ? "\\u000" : "\\u00").utf8
                output += String(scalar.value, radix: 16).utf8
            default: output += UTF8.encode(scalar)!
            }
        }
    }

    private static func isPlain(_ units: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = units.baseAddress else { return true }
        var index = 0
        while true {
            index = JSONText.firstSpecial(start, from: index, to: units.count)
            if index == units.count { return true }
            guard start[index] >= 0x80 else { return false }
            repeat { index += 1 } while index < units.count && start[index] >= 0x80
        }
    }
}

/// Writes JSON text member by member, without a tree of values: for payloads, and for the few texts that a grant makes.
/// Everything else uses `JSONValue`.
///
/// A caller that names the members in the order of their keys writes the text of an equal `JSONValue`.
public struct JSONWriter {
    public private(set) var bytes: [UInt8] = []
    /// Whether a comma comes before the next member or element.
    private var isFollowing = false

    /// Writes one object.
    public init(_ members: (inout JSONWriter) -> Void) {
        bytes.reserveCapacity(512)
        object(members)
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    public mutating func text(_ key: StaticString, _ value: String) {
        begin(key)
        JSONValue.write(value, to: &bytes)
    }

    public mutating func integer(_ key: StaticString, _ value: Int64) {
        begin(key)
        write(value)
    }

    private mutating func write(_ number: Int64) {
        var value = number
        if value < 0 {
            // The least number has no positive counterpart.
            guard value != .min else { return bytes += String(value).utf8 }
            bytes.append(UInt8(ascii: "-"))
            value = -value
        }
        let first = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
            value /= 10
        } while value > 0
        bytes[first...].reverse()
    }

    public mutating func bool(_ key: StaticString, _ value: Bool) {
        begin(key)
        bytes += (value ? "true" : "false").utf8
    }

    public mutating func null(_ key: StaticString) {
        begin(key)
        bytes += "null".utf8
    }

    public mutating func value(_ key: StaticString, _ value: JSONValue) {
        begin(key)
        if case .int(let number) = value { write(number) } else { value.write(to: &bytes, level: nil) }
    }

    /// A value that is JSON text already.
    public mutating func json(_ key: StaticString, _ text: [UInt8]) {
        begin(key)
        bytes += text
    }

    public mutating func object(_ key: StaticString, _ members: (inout JSONWriter) -> Void) {
        begin(key)
        object(members)
    }

    /// An object of numbers whose keys are not constants; sorted by key.
    public mutating func integers(_ key: StaticString, _ values: [String: Int64]) {
        begin(key)
        bytes.append(UInt8(ascii: "{"))
        isFollowing = false
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if isFollowing { bytes.append(UInt8(ascii: ",")) }
            isFollowing = true
            JSONValue.write(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            write(value)
        }
        bytes.append(UInt8(ascii: "}"))
        isFollowing = true
    }

    /// An object of texts whose keys are not constants; sorted by key.
    public mutating func texts(_ key: StaticString, _ values: [String: String]) {
        begin(key)
        bytes.append(UInt8(ascii: "{"))
        for (index, (name, value)) in values.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONValue.write(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            JSONValue.write(value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// A list of texts.
    public mutating func texts(_ key: StaticString, _ values: [String]) {
        begin(key)
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONValue.write(value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// A list of objects. Inlinable, so that it is compiled for the elements of each caller.
    @inlinable
    public mutating func objects<Element>(
        _ key: StaticString, _ elements: [Element], _ members: (Element, inout JSONWriter) -> Void
    ) {
        beginList(key)
        for index in elements.indices {
            beginObject(isFirst: index == elements.startIndex)
            members(elements[index], &self)
            endObject()
        }
        endList()
    }

    private mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject(isFirst: true)
        members(&self)
        endObject()
    }

    @usableFromInline
    mutating func beginList(_ key: StaticString) {
        begin(key)
        bytes.append(UInt8(ascii: "["))
    }

    @usableFromInline
    mutating func endList() { bytes.append(UInt8(ascii: "]")) }

    @usableFromInline
    mutating func beginObject(isFirst: Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "{"))
        isFollowing = false
    }

    @usableFromInline
    mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        isFollowing = true
    }

    /// Keys are constants of the program without characters that need an escape.
    private mutating func begin(_ key: StaticString) {
        if isFollowing { bytes.append(UInt8(ascii: ",")) }
        isFollowing = true
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }
}

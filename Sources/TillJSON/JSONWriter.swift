/// Writes JSON text member by member, without a tree of values: for the few texts that a grant makes. Everything else
/// uses `JSONValue`.
///
/// The caller names the members in the order of their keys, so the text is that of an equal `JSONValue`.
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
        var value = value
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

    public mutating func object(_ key: StaticString, _ members: (inout JSONWriter) -> Void) {
        begin(key)
        object(members)
    }

    /// A list of objects.
    public mutating func objects<Element>(
        _ key: StaticString, _ elements: [Element], _ members: (Element, inout JSONWriter) -> Void
    ) {
        begin(key)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            object { members(element, &$0) }
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func object(_ members: (inout JSONWriter) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        isFollowing = false
        members(&self)
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

/// Where a JSON text is wrong, for the person who wrote it. Finding the place reads the text again, so it is done only
/// after the text was refused.
public struct JSONMistake: Hashable, Sendable {
    public let error: JSONError
    /// Starts at 1, as editors count.
    public let line: Int
    /// In Unicode scalars, starts at 1.
    public let column: Int

    /// Nil if the text is one JSON value.
    public init?(in bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        let found = bytes.withUnsafeBufferPointer { text -> (JSONError, Int)? in
            guard JSONText.isUTF8(text) else { return (.invalidUTF8, Self.wellFormedLength(text)) }
            return JSONValue.mistake(in: text)
        }
        guard let (error, place) = found else { return nil }
        let before = bytes.prefix(place)
        self.error = error
        line = 1 + before.count { $0 == 0x0A }
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        // A scalar begins at every byte that does not continue one.
        column = 1 + before[lineStart...].count { $0 & 0xC0 != 0x80 }
    }

    /// The bytes before the first one that is not UTF-8.
    private static func wellFormedLength(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        var parser = Unicode.UTF8.ForwardParser()
        var rest = text.makeIterator()
        var length = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) { length += scalar.count }
        return length
    }
}

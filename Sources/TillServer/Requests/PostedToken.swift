import TillHTTP
import TillJSON

/// Finds the member `token` in the body that released apps post, in one pass over the bytes. The rest of the body is
/// parsed only after the token is verified, because it may be eight megabytes from an unauthenticated client.
enum PostedToken {
    /// The token, or nil if there is none: the first item of that name in a form, the first member in JSON.
    static func find(in body: [UInt8]) -> String? {
        guard let first = body.first(where: { $0 > 0x20 }) else { return nil }
        if first == UInt8(ascii: "{") {
            guard let raw = rawMember(in: body), raw.count <= 6 * Authentication.maximumLength else { return nil }
            let quote = [UInt8(ascii: "\"")]
            return (try? JSONValue(decoding: quote + raw + quote))?.string
        }
        guard let raw = PercentEncoding.rawValue(of: "token", in: body), raw.count <= 3 * Authentication.maximumLength
        else { return nil }
        return try? PercentEncoding.decode(raw, plusIsSpace: true)
    }

    /// The bytes between the quotes of the outermost object's `token`, escapes included.
    private static func rawMember(in body: [UInt8]) -> ArraySlice<UInt8>? {
        let found: Range<Int>? = body.withUnsafeBufferPointer { bytes in
            var scanner = Scanner(bytes: bytes)
            return scanner.value()
        }
        return found.map { body[$0] }
    }

    /// Skips through JSON by its quotes and brackets. The JSON reader checks the rest of the syntax later.
    private struct Scanner {
        let bytes: UnsafeBufferPointer<UInt8>
        var place = 0
        private var depth = 0
        /// Whether the next string of the outermost object is a key.
        private var isKeyNext = false

        init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

        mutating func value() -> Range<Int>? {
            while place < bytes.count {
                let byte = bytes[place]
                place += 1
                switch byte {
                case UInt8(ascii: "\""):
                    guard let text = string() else { return nil }
                    if depth == 1, isKeyNext {
                        isKeyNext = false
                        if bytes[text].elementsEqual("token".utf8) { return stringAfterColon() }
                    }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    isKeyNext = depth == 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ","): isKeyNext = depth == 1
                default: break
                }
            }
            return nil
        }

        /// The string whose opening quote was just passed; nil if it has no end.
        private mutating func string() -> Range<Int>? {
            let start = place
            while place < bytes.count {
                let byte = bytes[place]
                place += byte == UInt8(ascii: "\\") ? 2 : 1
                if byte == UInt8(ascii: "\"") { return start..<(place - 1) }
            }
            return nil
        }

        private mutating func stringAfterColon() -> Range<Int>? {
            guard next() == UInt8(ascii: ":"), next() == UInt8(ascii: "\"") else { return nil }
            return string()
        }

        /// The next byte that is not whitespace.
        private mutating func next() -> UInt8? {
            while place < bytes.count {
                let byte = bytes[place]
                place += 1
                if byte > 0x20 { return byte }
            }
            return nil
        }
    }
}

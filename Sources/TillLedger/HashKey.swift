import TillCrypto

/// A secret text from the configuration under which values are hashed.
struct HashKey: Sendable, Hashable {
    /// Bytes that a key has at least.
    static let minimumLength = 32

    private let bytes: [UInt8]

    /// Nil for a text that is too short.
    init?(_ text: String) {
        guard text.utf8.count >= Self.minimumLength else { return nil }
        bytes = Array(text.utf8)
    }

    /// HMAC-SHA-256 over the label, a zero byte, and each part after its length in two bytes.
    func code(_ label: String, _ parts: [[UInt8]]) -> [UInt8] {
        var message = Array(label.utf8)
        message.append(0)
        for part in parts {
            message.append(UInt8(truncatingIfNeeded: part.count >> 8))
            message.append(UInt8(truncatingIfNeeded: part.count))
            message += part
        }
        return HMACSHA256.code(for: message, key: bytes)
    }
}

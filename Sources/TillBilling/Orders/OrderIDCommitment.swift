/// An order id that commits to its user: another user cannot produce a nonce that leads to the same id.
///
/// The id is a UUID of version 8 from the first 16 bytes of SHA-256 over `"till order 1\0"`, the byte count of the user
/// id as a big-endian 16-bit number, the user id in UTF-8, and the nonce.
public struct OrderIDCommitment: Hashable, Sendable {
    public let user: UserID
    /// The id of the order, and the `appAccountToken` of its payment.
    public let id: OrderID

    public init(user: UserID, nonce: OrderIDNonce) {
        self.user = user
        id = Self.id(user, nonce.bytes)
    }

    /// Uses an app's own order number as the nonce: the same number of the same user is always the same order, and
    /// never another user's.
    public init(user: UserID, orderNumber text: String) {
        self.user = user
        id = Self.id(user, Array(text.utf8))
    }

    private static let prefix = Array("till order 1\0".utf8)

    private static func id(_ user: UserID, _ nonce: [UInt8]) -> OrderID {
        let name = Array(user.text.utf8)
        precondition(name.count <= Int(UInt16.max), "a user id is bounded before an order is opened for it")
        let length = UInt16(name.count)
        let message = prefix + [UInt8(length >> 8), UInt8(length & 0xFF)] + name + nonce
        return UniqueID(version8: Array(SHA256.digest(message).prefix(16)))
    }
}

/// The secret of an order id: 16 random bytes, sent as 32 hexadecimal digits. Only the device and the server know it;
/// Apple's signed transactions contain the id, never the nonce.
public struct OrderIDNonce: Hashable, Sendable {
    public static let count = 16

    package let bytes: [UInt8]

    /// Nil unless there are exactly 16 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        self.bytes = bytes
    }

    /// Parses 32 hexadecimal digits in either case; nil for any other text.
    public init?(_ text: String) {
        let units = Array(text.utf8)
        guard units.count == 2 * Self.count else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: units.count, by: 2) {
            guard let high = UniqueID.nibble(units[index]), let low = UniqueID.nibble(units[index + 1]) else {
                return nil
            }
            bytes.append(UInt8(high << 4 | low))
        }
        self.bytes = bytes
    }

    /// 32 lower-case hexadecimal digits.
    public var text: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }, as: UTF8.self)
    }
}

extension OrderIDNonce: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let nonce = OrderIDNonce(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 32 hexadecimal digits")
        }
        self = nonce
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A 128-bit identifier written as a UUID: `3f2c…-…`. Comparison ignores case, as for Apple's `appAccountToken`; the
/// text form is always lower case.
///
/// This module does not import Foundation, so this is not `Foundation.UUID`; client and server convert where they need
/// one.
public struct UniqueID: Hashable, Sendable {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// From 16 bytes, most significant first; nil for any other count.
    ///
    /// Takes an array, not any collection: modules that call it get no specialized copy of a generic loop.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for index in 0..<8 {
            high = high << 8 | UInt64(bytes[index])
            low = low << 8 | UInt64(bytes[index + 8])
        }
        self.init(high: high, low: low)
    }

    /// From 16 random bytes, marked as version 4 of RFC 9562.
    public init(random bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID is made of 16 random bytes")
        var marked = bytes
        marked[6] = marked[6] & 0x0F | 0x40
        marked[8] = marked[8] & 0x3F | 0x80
        self = UniqueID(bytes: marked)!
    }

    /// From 16 bytes of a digest, marked as version 8 of RFC 9562.
    public init(version8 bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID is made of 16 bytes")
        var marked = bytes
        marked[6] = marked[6] & 0x0F | 0x80
        marked[8] = marked[8] & 0x3F | 0x80
        self = UniqueID(bytes: marked)!
    }

    /// Whether it is the nil or the max UUID of RFC 9562, which SDKs send for a missing value.
    public var isAbsent: Bool { (high == 0 && low == 0) || (high == .max && low == .max) }

    /// Parses the text form, 8-4-4-4-12 hexadecimal digits in either case; nil for any other text.
    public init?(_ text: some StringProtocol) { self.init(text.utf8) }

    /// The same without a generic loop, of which modules that call it get no specialized copy.
    public init?(_ text: String) { self.init(text.utf8) }

    @inline(__always)
    private init?(_ text: some Sequence<UInt8>) {
        var digits = 0
        var high: UInt64 = 0
        var low: UInt64 = 0
        var position = 0
        for unit in text {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard unit == UInt8(ascii: "-") else { return nil }
            } else {
                guard let nibble = Self.nibble(unit) else { return nil }
                if digits < 16 { high = high << 4 | nibble } else { low = low << 4 | nibble }
                digits += 1
            }
            position += 1
            if position > 36 { return nil }
        }
        guard position == 36 else { return nil }
        self.init(high: high, low: low)
    }

    /// 16 bytes, most significant first.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
    }

    static func nibble(_ unit: UInt8) -> UInt64? {
        switch unit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(unit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(unit - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(unit - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}

extension UniqueID: CustomStringConvertible {
    public var description: String {
        let digits: StaticString = "0123456789abcdef"
        return String(unsafeUninitializedCapacity: 36) { buffer in
            var position = 0
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    buffer[position] = UInt8(ascii: "-")
                    position += 1
                }
                let half = index < 8 ? high >> (56 - 8 * index) : low >> (120 - 8 * index)
                buffer[position] = digits.utf8Start[Int(half >> 4 & 0xF)]
                buffer[position + 1] = digits.utf8Start[Int(half & 0xF)]
                position += 2
            }
            return 36
        }
    }
}

extension UniqueID: Comparable {
    public static func < (left: UniqueID, right: UniqueID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension UniqueID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = UniqueID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

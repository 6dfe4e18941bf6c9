/// The one identity of a purchase: the key in the device's journal, the server's order id, and the `appAccountToken` in
/// the transaction that Apple signs.
public typealias OrderID = UniqueID

/// A text that identifies one thing of one kind. Two identifiers are equal if their UTF-8 bytes are, as in the
/// database: a text that only looks the same, or is canonically equivalent in Unicode, is another identifier.
///
/// The kind distinguishes the identifiers of different things and takes no space.
@frozen public struct Identifier<Kind>: Sendable {
    public let text: String

    @inlinable public init(_ text: String) { self.text = text }
}

extension Identifier: Hashable {
    @inlinable public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }

    @inlinable public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // UTF-8 never contains this byte, so it separates two consecutive texts in a hash.
        hasher.combine(0xFF as UInt8)
    }
}

extension Identifier: Comparable {
    @inlinable public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

extension Identifier: CustomStringConvertible {
    public var description: String { text }
}

extension Identifier: Codable {
    public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension String {
    /// Whether the UTF-8 bytes are the same. `==` also treats canonically equivalent texts as equal.
    @inlinable package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

/// The kinds of things that have identifiers.
public enum IdentifierKind {
    public enum Transaction {}
    public enum Product {}
    public enum Plan {}
    public enum User {}
    public enum Device {}
    public enum Currency {}
    /// The caller, as named in evidence.
    public enum Caller {}
    /// A method and a path of the API.
    public enum Route {}
    public enum IdempotencyKey {}
}

/// Apple's id of one transaction: decimal digits, always handled as text (facts/limits §1).
public typealias TransactionID = Identifier<IdentifierKind.Transaction>

/// A product id of App Store Connect: letters, digits, `-` `.` `_`, at most 100, case-sensitive.
public typealias ProductID = Identifier<IdentifierKind.Product>

extension ProductID {
    /// Whether Apple would accept this text as a product id (App Store Connect help, "In-App Purchase information").
    public var isWellFormed: Bool {
        let units = text.utf8
        guard (1...100).contains(units.count) else { return false }
        return units.allSatisfy { unit in
            switch unit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

/// A customer of the app, named by the app's own backend. Till does not interpret it.
public typealias UserID = Identifier<IdentifierKind.User>

extension UserID {
    /// The longest user id that is stored, in UTF-8 bytes.
    public static var maximumLength: Int { 128 }

    /// The form of the id that stands for an erased customer: this prefix, and lowercase hexadecimal digits.
    package static var pseudonymPrefix: String { "erased:" }
    package static var pseudonymDigits: Int { 32 }

    /// Whether the id stands for an erased customer. No token and no new request may name one.
    package var isPseudonym: Bool {
        let digits = text.utf8.dropFirst(Self.pseudonymPrefix.utf8.count)
        return text.utf8.starts(with: Self.pseudonymPrefix.utf8) && digits.count == Self.pseudonymDigits
            && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// A customer's device, named by the app. Till does not interpret it.
public typealias DeviceID = Identifier<IdentifierKind.Device>

/// The environment of a purchase, from Apple's signature. Never taken from a client.
public enum StoreEnvironment: String, Hashable, Sendable, Codable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
    /// Xcode's local StoreKit testing: a developer's own certificate signs, and nothing is paid. A server that accepts
    /// it accepts nothing else.
    case xcode = "Xcode"
}

/// Rules for texts from outside that serve as names.
extension String {
    /// The first character that identifiers must not contain: control characters, which hide or break visible text,
    /// characters that change the direction of writing, line separators, and noncharacters.
    package var firstForbiddenScalar: Unicode.Scalar? {
        unicodeScalars.first { scalar in
            switch scalar.value {
            case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFDD0...0xFDEF:
                true
            default: scalar.value & 0xFFFE == 0xFFFE
            }
        }
    }

    /// Whether the text is in Unicode's normalization form C. A name in another form has a different text that looks
    /// the same.
    package var isNormalized: Bool {
        // Every Latin-1 text is normalized, and so are nearly all ids.
        unicodeScalars.allSatisfy { $0.value < 0x0300 } || Normalization.standard.isNormalized(self)
    }
}

extension Unicode.Scalar {
    /// `U+202E`.
    package var codePoint: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
    }
}

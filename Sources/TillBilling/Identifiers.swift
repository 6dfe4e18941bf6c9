/// The one identity of a purchase: the device journal's key, the server's order id, and the `appAccountToken`
/// inside what Apple signs (DESIGN §1).
public typealias OrderID = UniqueID

/// A text identifier that can't be mistaken for another kind of text.
public protocol TextIdentifier: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    var text: String { get }
    init(_ text: String)
}

extension TextIdentifier {
    public var description: String { text }
    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
    public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// Apple's id of one transaction: decimal digits, always text, never a number (facts/limits §1).
public struct TransactionID: TextIdentifier {
    public let text: String
    public init(_ text: String) { self.text = text }
}

/// A product id as App Store Connect knows it: letters, digits, `-` `.` `_`, at most 100, case-sensitive.
public struct ProductID: TextIdentifier {
    public let text: String
    public init(_ text: String) { self.text = text }

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

/// A customer of the app, named by the app's own backend. Opaque to us.
public struct UserID: TextIdentifier {
    public let text: String
    public init(_ text: String) { self.text = text }

    /// Longest user id we store, in UTF-8 bytes.
    public static let maximumLength = 128
}

/// Where a purchase was made, as Apple's signature says it. Never taken from a client (DESIGN §4, invariant 7).
public enum Environment: String, Hashable, Sendable, Codable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
}

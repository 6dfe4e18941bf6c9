import TillBilling

/// Builds paths and queries out of what came from outside: it can fill its place in a URL and never change another
/// (RFC 3986 §2.3: everything but unreserved characters is escaped).
struct CallTarget {
    private(set) var text: String
    private var hasQuery = false

    /// Longest text that is put into a URL, in bytes. Apple's ids have 16 digits; product ids up to 100 characters;
    /// revisions and tokens of pages are opaque.
    static let idLimit = 128
    static let tokenLimit = 4_096
    /// Longest path with its query, in bytes.
    static let targetLimit = 8_192

    init(_ path: String) { text = path }

    /// Adds `/` and one segment.
    /// - Parameter field: what Apple calls it.
    func segment(_ value: String, _ field: String, limit: Int = idLimit) throws(InvalidRequest) -> CallTarget {
        // `.` and `..` need no escape, and whoever resolves the URL would take them for steps.
        guard value != ".", value != ".." else { throw InvalidRequest(field, .badText) }
        var longer = self
        longer.text += "/" + (try Self.escaped(value, field, limit: limit))
        return longer
    }

    /// Adds a literal part of the path.
    func literal(_ path: String) -> CallTarget {
        var longer = self
        longer.text += path
        return longer
    }

    mutating func query(_ name: String, _ value: String?, limit: Int = idLimit) throws(InvalidRequest) {
        guard let value else { return }
        text += hasQuery ? "&" : "?"
        text += name + "=" + (try Self.escaped(value, name, limit: limit))
        hasQuery = true
        guard text.utf8.count <= Self.targetLimit else { throw InvalidRequest(name, .tooLong) }
    }

    /// A parameter that may be there several times.
    mutating func query(_ name: String, each values: [String]) throws(InvalidRequest) {
        for value in values { try query(name, value) }
    }

    private static func escaped(_ value: String, _ field: String, limit: Int) throws(InvalidRequest) -> String {
        let units = value.utf8
        guard !units.isEmpty else { throw InvalidRequest(field, .missing) }
        guard units.count <= limit else { throw InvalidRequest(field, .tooLong) }
        let digits = Array("0123456789ABCDEF".utf8)
        var escaped: [UInt8] = []
        escaped.reserveCapacity(units.count)
        for unit in units {
            guard unit >= 0x20, unit != 0x7F else { throw InvalidRequest(field, .badText) }
            if isUnreserved(unit) {
                escaped.append(unit)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(unit >> 4)], digits[Int(unit & 15)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func isUnreserved(_ unit: UInt8) -> Bool {
        switch unit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// A request that Apple would refuse, or that would ask something else than it says. It is not sent.
public struct InvalidRequest: Error, Sendable, Hashable {
    public enum Rule: String, Sendable {
        case missing
        case tooLong
        /// Control characters, or a step like `..`.
        case badText
        case outOfRange
        /// It contradicts another field.
        case contradiction
        /// Without the customer's consent nothing is told about them (facts/server-api §5).
        case noConsent
        /// An environment that this client may not ask, or that does not have the endpoint.
        case environmentNotAsked
    }

    /// As Apple names it.
    public let field: String
    public let rule: Rule

    init(_ field: String, _ rule: Rule) {
        self.field = field
        self.rule = rule
    }
}

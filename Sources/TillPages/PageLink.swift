import TillBilling

/// An address on the server that shows the page. The type cannot express an address on another server.
public struct PageLink: Sendable, Hashable {
    public let text: String

    public init(_ path: StaticString, _ query: [(name: StaticString, value: String)] = []) {
        let items = query.map { "\($0.name)=\(Self.escaped($0.value))" }
        text = "\(path)" + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// An address whose last segment is outside text.
    public init(_ path: StaticString, last segment: String) { text = "\(path)/\(Self.escaped(segment))" }

    /// The requested page in another language; nil leaves the language unspecified.
    public init(path: String, query: [(name: String, value: String)], in language: Language? = nil) {
        let path = path.split(separator: "/").map { "/" + Self.escaped(String($0)) }.joined()
        var items = query.filter { $0.name != "lang" }.map { item in
            "\(Self.escaped(item.name))=\(Self.escaped(item.value))"
        }
        if let language { items.append("lang=\(language.rawValue)") }
        text = path + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// The page that a form asks to continue to; nil unless it is plainly a page under `root`.
    public init?(wanted text: String, under root: StaticString) {
        let root = "\(root)"
        guard text.hasPrefix(root), text.utf8.count <= 1_000, !text.contains("//"), !text.contains("..") else {
            return nil
        }
        let rest = text.utf8.dropFirst(root.utf8.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") || rest.first == UInt8(ascii: "?") else { return nil }
        guard rest.allSatisfy({ Self.isUnreserved($0) || Self.isDelimiter($0) }) else { return nil }
        self.text = text
    }

    /// The delimiters of the parts of a path and a query.
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "="), UInt8(ascii: "&"), UInt8(ascii: "%"): true
        default: false
        }
    }

    /// RFC 3986 §2.3.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

import TillBilling

/// An address on the very server that shows the page. There is no way to make one that leads elsewhere.
public struct PageLink: Sendable, Hashable {
    public let text: String

    public init(_ path: StaticString, _ query: [(name: StaticString, value: String)] = []) {
        let items = query.map { "\($0.name)=\(Self.escaped($0.value))" }
        text = "\(path)" + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// An address with somebody's name for something at its end.
    public init(_ path: StaticString, last segment: String) { text = "\(path)/\(Self.escaped(segment))" }

    /// The page that was asked for, in another language or, with nil, without saying which.
    public init(path: String, query: [(name: String, value: String)], in language: Language? = nil) {
        let path = path.split(separator: "/").map { "/" + Self.escaped(String($0)) }.joined()
        var items = query.filter { $0.name != "lang" }.map { item in
            "\(Self.escaped(item.name))=\(Self.escaped(item.value))"
        }
        if let language { items.append("lang=\(language.rawValue)") }
        text = path + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// Where a form says it wants to go on to; nil for anything that isn't plainly a page under `root`.
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

    /// What stands between the parts of a path and a query.
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

/// The text armour of RFC 7468 around DER.
public enum PEM {
    /// The bytes of the first block with this label; nil if there is none or its base64 is bad.
    public static func decode(_ text: some StringProtocol, label: String) -> [UInt8]? {
        var body: [UInt8]?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            if line.hasPrefix("-----BEGIN \(label)-----") {
                body = []
            } else if line.hasPrefix("-----END \(label)-----") {
                return body.flatMap { Base64.decode($0) }
            } else if body != nil {
                body?.append(contentsOf: words)
            }
        }
        return nil
    }

    public static func encode(_ bytes: [UInt8], label: String) -> String {
        let text = Array(Base64.encode(bytes).utf8)
        var lines = ["-----BEGIN \(label)-----"]
        for start in stride(from: 0, to: text.count, by: 64) {
            lines.append(String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self))
        }
        lines.append("-----END \(label)-----\n")
        return lines.joined(separator: "\n")
    }
}

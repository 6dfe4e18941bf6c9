/// The address of the purchase server, as an app states it. Proofs and user tokens go there, so it is `https://`.
/// `http://` goes to this machine only (127.0.0.0/8, ::1, localhost), where a developer's server runs.
struct ServerAddress {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether nobody on the network between can read or change what is sent there.
    var isSecure: Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let rest = text[text.index(after: colon)...]
        guard rest.hasPrefix("//") else { return false }
        let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        // A name before "@" is not the host, and parsers differ about a backslash: neither belongs here.
        guard !authority.isEmpty, authority.utf8.allSatisfy(Self.isOfHostOrPort) else { return false }
        switch text[..<colon].lowercased() {
        case "https": return true
        case "http": return Self.isThisMachine(Self.host(of: authority))
        default: return false
        }
    }

    private static func isOfHostOrPort(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "@") && byte != UInt8(ascii: "\\")
            && byte != UInt8(ascii: "%")
    }

    /// Without the port.
    private static func host(of authority: Substring) -> String {
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return "" }
            let rest = authority[authority.index(after: end)...]
            return rest.isEmpty || rest.hasPrefix(":") ? String(authority[...end]).lowercased() : ""
        }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return parts[0].lowercased()
    }

    private static func isThisMachine(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "127" else { return false }
        return parts.allSatisfy { part in
            guard let number = UInt8(part) else { return false }
            return String(number) == part
        }
    }
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A block of IP addresses: one address, or a network in CIDR form (`10.0.0.0/8`, `fd00::/8`).
public struct AddressBlock: Sendable, Hashable {
    private let prefix: [UInt8]
    private let length: Int

    /// Nil unless the text is an address, or an address, a slash and a length.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = NetworkAddress(text: first) else { return nil }
        let bits = address.bytes.count * 8
        var length = bits
        if parts.count == 2 {
            // A mapped IPv4 network is accepted in IPv4 form only.
            guard !(bits == 32 && first.contains(":")), let written = Int(parts[1]), parts[1].allSatisfy(\.isNumber),
                (0...bits).contains(written)
            else { return nil }
            length = written
        }
        prefix = address.bytes
        self.length = length
    }

    public func contains(_ address: NetworkAddress) -> Bool {
        guard address.bytes.count == prefix.count else { return false }
        let whole = length / 8
        guard address.bytes.prefix(whole).elementsEqual(prefix.prefix(whole)) else { return false }
        guard length % 8 > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (length % 8))
        return address.bytes[whole] & mask == prefix[whole] & mask
    }
}

/// The proxies that may name the client they forward for. Without proxies, the other end of the connection is the
/// client.
///
/// Only `X-Forwarded-For` is read. A proxy that writes one of several headers passes the others through as its client
/// sent them, so reading a second header would let the client choose the address.
public struct TrustedProxies: Sendable, Hashable {
    public let blocks: [AddressBlock]
    /// The maximum number of hops that are followed.
    static let hopLimit = 16

    public init(_ blocks: [AddressBlock] = []) { self.blocks = blocks }

    private func trusts(_ address: NetworkAddress) -> Bool { blocks.contains { $0.contains(address) } }

    /// The client's address: the last entry of `X-Forwarded-For` that a trusted proxy wrote and that is not itself a
    /// trusted proxy. An entry that is not an address ends the search at the proxy that wrote it.
    ///
    /// - Parameter peer: the other end of the connection, as in ``HTTPRequest/peer``.
    public func client(of peer: String, headers: HTTPHeaders) -> String {
        guard !blocks.isEmpty, let first = NetworkAddress(text: peer), trusts(first) else { return peer }
        var client = first
        var hops = 0
        search: for field in headers.fields.reversed() where field.name.lowercased() == "x-forwarded-for" {
            for entry in field.value.split(separator: ",", omittingEmptySubsequences: false).reversed() {
                hops += 1
                guard hops <= Self.hopLimit, trusts(client), let next = Self.address(of: entry) else { break search }
                client = next
            }
        }
        return client.text
    }

    /// An entry may contain a port: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    private static func address(of entry: Substring) -> NetworkAddress? {
        var trimmed = entry.drop { $0 == " " || $0 == "\t" }
        while trimmed.last == " " || trimmed.last == "\t" { trimmed.removeLast() }
        if trimmed.first == "[" { return NetworkAddress(text: trimmed.dropFirst().prefix { $0 != "]" }) }
        if trimmed.filter({ $0 == ":" }).count == 1 { return NetworkAddress(text: trimmed.prefix { $0 != ":" }) }
        return NetworkAddress(text: trimmed)
    }
}

extension NetworkAddress {
    /// Parses an IPv4 or IPv6 address. An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) becomes the IPv4 address.
    public init?(text: some StringProtocol) {
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
        let written = String(text)
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, written, &bytes) == 1 {
            self.init(bytes: Array(bytes.prefix(4)))
        } else if inet_pton(AF_INET6, written, &bytes) == 1 {
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            self.init(bytes: isMapped ? Array(bytes.suffix(4)) : bytes)
        } else {
            return nil
        }
    }

    /// The usual short form, as in ``HTTPRequest/peer``.
    var text: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let start = buffer.baseAddress,
                inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, start, socklen_t(buffer.count)) != nil
            else { return "" }
            return String(cString: start)
        }
    }
}

extension HTTPRequest {
    /// The key by which one client's requests are counted: its address, or the first 64 bits of an IPv6 address,
    /// because a client with one address of a /64 controls all of it.
    public var clientNetwork: String { Self.network(ofClient: client) }

    /// The key for an address that is known before there is a request.
    public static func network(ofClient client: String) -> String {
        guard client.utf8.contains(UInt8(ascii: ":")), let address = NetworkAddress(text: client),
            address.bytes.count == 16
        else { return client }
        return NetworkAddress(bytes: address.bytes.prefix(8) + [UInt8](repeating: 0, count: 8))?.text ?? client
    }

    /// The client's network for a log, which must not contain a person's address: `203.0.113.0/24`, or
    /// `2001:db8:7::/48`. Empty without a socket.
    public var clientNetworkForLogs: String {
        guard let address = NetworkAddress(text: client) else { return "" }
        let kept = address.bytes.count == 4 ? 3 : 6
        let rest = [UInt8](repeating: 0, count: address.bytes.count - kept)
        guard let network = NetworkAddress(bytes: address.bytes.prefix(kept) + rest) else { return "" }
        return "\(network.text)/\(kept * 8)"
    }
}

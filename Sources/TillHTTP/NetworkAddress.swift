/// An IP address and its kind. It decides where the server may connect to when an outsider chose the name (server-side
/// request forgery): the owner of a name controls what it resolves to, so the rule applies to the address of the actual
/// connection.
public struct NetworkAddress: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// A public address on the internet.
        case global
        /// This machine.
        case loopback
        /// A private network: RFC 1918, or IPv6's unique local addresses.
        case privateNetwork
        /// Everything else: this network, link-local (where cloud providers serve credentials), carrier NAT, multicast,
        /// documentation, benchmarks, tunnels and unassigned addresses.
        case special
    }

    /// Four or sixteen bytes, in network order.
    public let bytes: [UInt8]

    /// Nil for any other number of bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    public var kind: Kind {
        if let carried { return Self.kind(of: carried, among: Self.fourByteBlocks) ?? .global }
        return Self.kind(of: bytes, among: Self.sixteenByteBlocks) ?? .special
    }

    /// The IPv4 address itself, or the IPv4 address inside a mapped (`::ffff:0:0/96`), NAT64 (`64:ff9b::/96`, RFC 6052)
    /// or 6to4 (`2002::/16`) address.
    private var carried: [UInt8]? {
        if bytes.count == 4 { return bytes }
        if bytes.starts(with: Self.mapped) || bytes.starts(with: Self.translated) { return Array(bytes[12...]) }
        if bytes.starts(with: [0x20, 0x02]) { return Array(bytes[2..<6]) }
        return nil
    }

    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
    private static let translated: [UInt8] = [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]

    private struct Block: Sendable {
        let prefix: [UInt8]
        let length: Int
        let kind: Kind

        init(_ prefix: [UInt8], _ length: Int, _ kind: Kind) {
            self.prefix = prefix
            self.length = length
            self.kind = kind
        }

        func contains(_ address: [UInt8]) -> Bool {
            let whole = length / 8
            guard address.prefix(whole).elementsEqual(prefix.prefix(whole)) else { return false }
            guard length % 8 > 0 else { return true }
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (length % 8))
            return address[whole] & mask == prefix[whole] & mask
        }
    }

    /// IANA's registry of special-purpose IPv4 addresses; all others are global.
    private static let fourByteBlocks: [Block] = [
        Block([127], 8, .loopback), Block([10], 8, .privateNetwork), Block([172, 16], 12, .privateNetwork),
        Block([192, 168], 16, .privateNetwork), Block([0], 8, .special), Block([100, 64], 10, .special),
        Block([169, 254], 16, .special), Block([192, 0, 0], 24, .special), Block([192, 0, 2], 24, .special),
        Block([192, 88, 99], 24, .special), Block([198, 18], 15, .special), Block([198, 51, 100], 24, .special),
        Block([203, 0, 113], 24, .special), Block([224], 4, .special), Block([240], 4, .special),
    ]

    /// The special-purpose blocks of IPv6. Only `2000::/3` is assigned; an address in no block is special. The first
    /// matching block counts.
    private static let sixteenByteBlocks: [Block] = [
        Block([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128, .loopback), Block([0xFC], 7, .privateNetwork),
        Block([0x20, 0x01, 0x00], 23, .special), Block([0x20, 0x01, 0x0D, 0xB8], 32, .special),
        Block([0x3F, 0xFF, 0x00], 20, .special), Block([0x20], 3, .global),
    ]

    private static func kind(of address: [UInt8], among blocks: [Block]) -> Kind? {
        blocks.first { $0.contains(address) }?.kind
    }

    public var description: String {
        if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2)
            .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }.joined(separator: ":")
    }
}

/// Where a ``Fetch`` may connect to.
public enum AddressRule: Sendable, Hashable {
    case everywhere
    /// Only the internet, and only over TLS.
    case internet
    /// The internet over TLS; this machine and private networks also over plain http.
    case internetAndOwnNetworks

    public func admits(_ address: NetworkAddress, isEncrypted: Bool) -> Bool {
        switch (self, address.kind) {
        case (.everywhere, _): true
        case (.internet, .global), (.internetAndOwnNetworks, .global): isEncrypted
        case (.internetAndOwnNetworks, .loopback), (.internetAndOwnNetworks, .privateNetwork): true
        case (.internet, _), (.internetAndOwnNetworks, .special): false
        }
    }
}

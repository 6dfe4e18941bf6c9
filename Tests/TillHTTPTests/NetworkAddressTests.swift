import Foundation
import Glibc
import Testing

@testable import TillHTTP

@Suite("The addresses that the server may connect to") struct NetworkAddressTests {
    /// Parses an address as the system does, with all its unusual notations of IPv4.
    private func address(_ text: String) throws -> NetworkAddress {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        try #require(getaddrinfo(text, nil, &hints, &found) == 0, "\(text) is no address")
        defer { freeaddrinfo(found) }
        let first = try #require(found?.pointee)
        let raw = UnsafeRawPointer(try #require(first.ai_addr))
        let bytes =
            first.ai_family == AF_INET
            ? withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
            : withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
        return try #require(NetworkAddress(bytes: bytes))
    }

    private static let table = """
        global          8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
        global          169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255
        global          198.20.0.0 223.255.255.255 134744072 0x08080808 010.8.8.8
        global          2606:4700::1111 2001:4860:4860::8888 2a00::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
        loopback        127.0.0.1 127.255.255.255 127.1 2130706433 0x7f000001 017700000001 0x7f.0.0.1 ::1
        loopback        ::ffff:127.0.0.1 ::ffff:7f00:1 64:ff9b::127.0.0.1 2002:7f00:1::
        privateNetwork  10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 3232235521 ::ffff:10.0.0.1
        privateNetwork  fc00::1 fd12:3456:789a::1 64:ff9b::192.168.1.1 2002:a00:1::
        special         0.0.0.0 0 100.64.0.1 100.127.255.255 169.254.169.254 2852039166 192.0.0.1 192.0.2.1 192.88.99.1
        special         198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
        special         255.255.255.255 :: ::8.8.8.8 fe80::1 febf::1 fec0::1 ff02::1 2001::1 2001:20::1 2001:1ff::1
        special         2001:db8::1 3fff::1 64:ff9b:1::8.8.8.8 100::1 4000::1 5f00::1 ::ffff:169.254.169.254
        special         ::ffff:0:127.0.0.1 2002:a9fe:a9fe::
        """

    @Test("The kind of an address is the same in every notation (SSRF)")
    func kinds() throws {
        var count = 0
        for line in Self.table.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            for text in words.dropFirst() {
                let address = try address(text)
                #expect("\(address.kind)" == words[0], "\(text), which is \(address)")
                count += 1
            }
        }
        #expect(count > 80)
    }

    @Test("Each rule admits its addresses, encrypted and not")
    func rules() throws {
        let samples = [
            "8.8.8.8", "127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00::1", "::1", "fe80::1",
        ]
        func admitted(_ rule: AddressRule, _ isEncrypted: Bool) throws -> [String] {
            try samples.filter { rule.admits(try address($0), isEncrypted: isEncrypted) }
        }
        #expect(try admitted(.everywhere, false) == samples)
        #expect(try admitted(.internet, true) == ["8.8.8.8"])
        #expect(try admitted(.internet, false) == [])
        #expect(try admitted(.internetAndOwnNetworks, true) == ["8.8.8.8", "127.0.0.1", "10.0.0.1", "fd00::1", "::1"])
        #expect(try admitted(.internetAndOwnNetworks, false) == ["127.0.0.1", "10.0.0.1", "fd00::1", "::1"])
    }

    @Test(
        "The connected address decides: no spelling of a host reaches a listener on this machine (SSRF)",
        arguments: [
            "127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::ffff:127.0.0.1]",
        ])
    func nothingConnects(_ host: String) async throws {
        try await withListener { listener in
            var settings = FetchConfiguration()
            settings.addresses = .internet
            let fetch = try Fetch(configuration: settings)
            defer { fetch.stop() }
            for scheme in ["http", "https"] {
                await expectFault(.addressRefused) {
                    try await fetch.send(
                        "\(scheme)://\(host):\(listener.port)/", HTTPRequest(method: .get, path: "/"))
                }
            }
            #expect(listener.connections == 0)
        }
    }

    @Test("Private networks are reached where they are allowed, and link-local addresses are not")
    func ownNetworks() async throws {
        try await withListener { listener in
            var settings = FetchConfiguration()
            settings.addresses = .internetAndOwnNetworks
            settings.connectTimeout = 2_000
            let fetch = try Fetch(configuration: settings)
            defer { fetch.stop() }
            let reply = try await fetch.send(
                "http://127.0.0.1:\(listener.port)/", HTTPRequest(method: .get, path: "/"))
            #expect(reply.status == 200)
            // A cloud's metadata address, and a public address without encryption.
            for url in ["http://169.254.169.254/latest/meta-data", "http://8.8.8.8/"] {
                await expectFault(.addressRefused) {
                    try await fetch.send(url, HTTPRequest(method: .get, path: "/"))
                }
            }
        }
    }
}

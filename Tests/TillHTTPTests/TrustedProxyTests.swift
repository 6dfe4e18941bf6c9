import Testing

@testable import TillHTTP

@Suite("The client behind a trusted proxy") struct TrustedProxyTests {
    private func proxies(_ blocks: String...) throws -> TrustedProxies {
        TrustedProxies(try blocks.map { try #require(AddressBlock($0), "\($0)") })
    }

    private func headers(_ values: String...) -> HTTPHeaders {
        HTTPHeaders(values.map { ("X-Forwarded-For", $0) })
    }

    @Test("Without a trusted proxy the connection's other end is the client, whatever a header says")
    func untrusted() throws {
        #expect(TrustedProxies().client(of: "192.0.2.9", headers: headers("8.8.8.8")) == "192.0.2.9")
        let other = try proxies("10.0.0.0/8")
        #expect(other.client(of: "192.0.2.9", headers: headers("8.8.8.8")) == "192.0.2.9")
        #expect(other.client(of: "", headers: headers("8.8.8.8")).isEmpty)
    }

    @Test("Hops are read from the right, only while each is trusted, so a visitor can't forge another address")
    func fromTheRight() throws {
        let own = try proxies("127.0.0.1", "10.0.0.0/8")
        #expect(own.client(of: "127.0.0.1", headers: headers("1.1.1.1, 8.8.8.8")) == "8.8.8.8")
        #expect(own.client(of: "127.0.0.1", headers: headers("1.1.1.1, 8.8.8.8, 10.1.2.3")) == "8.8.8.8")
        #expect(own.client(of: "127.0.0.1", headers: headers("1.1.1.1", "8.8.8.8,10.1.2.3")) == "8.8.8.8")
        #expect(own.client(of: "127.0.0.1", headers: headers("10.9.9.9, 10.1.2.3")) == "10.9.9.9")
        #expect(own.client(of: "127.0.0.1", headers: HTTPHeaders()) == "127.0.0.1")
        #expect(own.client(of: "127.0.0.1", headers: HTTPHeaders([("Forwarded", "for=8.8.8.8")])) == "127.0.0.1")
    }

    @Test(
        "An entry that is no address ends the search at the proxy that wrote it",
        arguments: [
            "unknown", "", " ", "1.1.1.1 8.8.8.8.8", "_hidden", "999.1.1.1", "1.1.1.1:2:3", "[::1x",
        ])
    func unreadable(entry: String) throws {
        let own = try proxies("127.0.0.1", "10.0.0.0/8")
        let client = own.client(of: "127.0.0.1", headers: headers("8.8.8.8, \(entry), 10.1.2.3"))
        #expect(client == "10.1.2.3")
    }

    @Test("Ports, brackets and IPv4 in IPv6 form are read; more hops than the limit are not")
    func forms() throws {
        let own = try proxies("127.0.0.1", "fd00::/8")
        #expect(own.client(of: "127.0.0.1", headers: headers("8.8.8.8:4711")) == "8.8.8.8")
        #expect(own.client(of: "127.0.0.1", headers: headers("[2001:db8::5]:443")) == "2001:db8::5")
        #expect(own.client(of: "::ffff:127.0.0.1", headers: headers("2001:DB8::5, fd12::1")) == "2001:db8::5")
        #expect(own.client(of: "fd00::7", headers: headers("::ffff:8.8.8.8")) == "8.8.8.8")
        let long = headers(([String](repeating: "fd00::1", count: 40) + ["127.0.0.1"]).joined(separator: ","))
        #expect(own.client(of: "127.0.0.1", headers: long) == "fd00::1")
    }

    @Test("Networks are read in CIDR form, and no other text is accepted")
    func blocks() throws {
        let network = try #require(AddressBlock("192.168.4.0/22"))
        #expect(network.contains(try #require(NetworkAddress(text: "192.168.7.255"))))
        #expect(!network.contains(try #require(NetworkAddress(text: "192.168.8.0"))))
        #expect(!network.contains(try #require(NetworkAddress(text: "fd00::1"))))
        #expect(try #require(AddressBlock("::/0")).contains(try #require(NetworkAddress(text: "2001:db8::1"))))
        for text in [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10", "a",
            "fd00::/129", "::ffff:10.0.0.0/104", "10.0.0.0 /8",
        ] {
            #expect(AddressBlock(text) == nil, "\(text)")
        }
    }

    @Test("Requests are counted by address, or in IPv6 by the subscriber's network")
    func networks() {
        #expect(HTTPRequest.network(ofClient: "192.0.2.1") == "192.0.2.1")
        #expect(HTTPRequest.network(ofClient: "2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::")
        #expect(HTTPRequest(method: .get, path: "/", peer: "2001:db8:1:2::9").clientNetwork == "2001:db8:1:2::")
        #expect(HTTPRequest.network(ofClient: "").isEmpty)
    }

    @Test("A listener names the client that its trusted proxy states, over a socket")
    func listener() async throws {
        var configuration = ListenerConfiguration()
        configuration.trustedProxies = try proxies("127.0.0.0/8")
        try await withListener(configuration) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 1.1.1.1, 8.8.8.8\r\n\r\n")
            let reply = try #require(connection.receive())
            #expect(reply.header("X-Peer") == "127.0.0.1")
            #expect(reply.header("X-Client") == "8.8.8.8")
        }
        try await withListener { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 8.8.8.8\r\n\r\n")
            #expect(try #require(connection.receive()).header("X-Client") == "127.0.0.1")
        }
    }
}

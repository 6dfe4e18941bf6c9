import Testing

@testable import till

@Suite("The configuration of trusted proxies")
struct TrustedProxySettingsTests {
    private func load(_ members: String, environment: [String: String] = [:]) throws -> Configuration {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog),
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}\(members)}
            """)
        return try Configuration.load(file: file, environment: environment)
    }

    @Test("no proxy is trusted unless the file or the environment names it")
    func said() throws {
        func clients(_ configuration: Configuration) -> [String] {
            ["127.0.0.1", "10.9.9.9", "192.0.2.7"].map {
                configuration.trustedProxies.client(of: $0, headers: .init([("X-Forwarded-For", "8.8.8.8")]))
            }
        }
        #expect(clients(try load("")) == ["127.0.0.1", "10.9.9.9", "192.0.2.7"])
        let named = ["8.8.8.8", "8.8.8.8", "192.0.2.7"]
        #expect(clients(try load(", \"trustedProxies\": [\"127.0.0.1\", \"10.0.0.0/8\"]")) == named)
        #expect(clients(try load("", environment: ["TILL_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8"])) == named)
    }

    @Test("a text that is no address and no network is refused with its place")
    func refused() throws {
        for text in ["proxy.example.com", "10.0.0.0/40"] {
            do {
                _ = try load(", \"trustedProxies\": [\"\(text)\"]")
                Issue.record("\(text) is taken")
            } catch let refusal as ConfigurationError {
                #expect(refusal.problems.map(\.place.path) == ["trustedProxies[0]"])
            }
        }
    }
}

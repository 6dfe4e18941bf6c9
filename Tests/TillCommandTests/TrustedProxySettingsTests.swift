import Testing
import TillHTTP

@testable import till

@Suite("The proxies that may name a client, by configuration")
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

    @Test("none is trusted unless the file or the environment names it")
    func said() throws {
        let blocks = try ["127.0.0.1", "10.0.0.0/8"].map { try #require(AddressBlock($0)) }
        #expect(try load("").trustedProxies == TrustedProxies())
        #expect(
            try load(", \"trustedProxies\": [\"127.0.0.1\", \"10.0.0.0/8\"]").trustedProxies == TrustedProxies(blocks))
        #expect(
            try load("", environment: ["TILL_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8"]).trustedProxies
                == TrustedProxies(blocks))
    }

    @Test("what is no address and no network is refused with its place")
    func refused() throws {
        for text in ["proxy.example.com", "10.0.0.0/40"] {
            do {
                _ = try load(", \"trustedProxies\": [\"\(text)\"]")
                Issue.record("\(text) is taken")
            } catch let refusal as ConfigurationRefusal {
                #expect(refusal.problems.map(\.place.path) == ["trustedProxies[0]"])
            }
        }
    }
}

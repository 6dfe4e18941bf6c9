import Testing
import TillBilling
import TillServer

@testable import till

@Suite("Settings of webhooks")
struct WebhookSettingsTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func load(_ webhooks: String, files: [String: String] = [:]) throws -> (WebhookSettings?, [String]) {
        let directory = try TemporaryDirectory()
        for (name, text) in files { _ = try directory.write(name, text) }
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog), "webhooks": \(webhooks),
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        do throws(ConfigurationError) {
            return (try Configuration.load(file: file).server.webhooks, [])
        } catch {
            return (nil, error.failure.reasons.map { $0(.english) })
        }
    }

    @Test("endpoints are read with secrets in place and in files, older ones, types, a start and a switch")
    func read() throws {
        let (settings, problems) = try load(
            """
            {"allowPrivate": true, "endpoints": [
              {"id": "a", "url": "https://a.example/hook", "secretFile": "new.secret",
               "previousSecrets": ["\(Self.secret)"], "previousSecretFiles": ["old.secret"],
               "types": ["grant.created", "grant.revoked"], "from": "2026-01-16T00:00:00Z", "disabled": true},
              {"id": "b", "url": "http://10.0.0.7:8080/hook", "secret": "\(Self.secret)"}]}
            """,
            files: ["new.secret": Self.secret + "\n", "old.secret": Self.secret])
        let endpoints = try #require(settings?.endpoints, "\(problems)")
        #expect(settings?.allowsPrivate == true && endpoints.map(\.id) == ["a", "b"])
        #expect(endpoints[0].secrets.count == 3 && endpoints[1].secrets.count == 1)
        #expect(endpoints[0].types == ["grant.created", "grant.revoked"] && endpoints[1].types == nil)
        #expect(endpoints[0].isDisabled && !endpoints[1].isDisabled)
        #expect(endpoints[0].start == Instant(rfc3339: "2026-01-16T00:00:00Z"))
        #expect(try load("{}").0?.endpoints.isEmpty == true)
    }

    @Test(
        "an invalid value is reported with its place, and no secret is repeated",
        arguments: [
            (#""url": "http://a.example", "secret": "S""#, "endpoints[0].url: must begin with https://"),
            (#""url": "https://u:p@a.example", "secret": "S""#, "must not contain a user name or password"),
            (#""url": "https://a.example""#, "endpoints[0]: needs secret or secretFile"),
            (#""url": "https://a.example", "secret": "whsec_c2hvcnQ=""#, "endpoints[0].secret: must be whsec_"),
            (
                #""url": "https://a.example", "secret": "S", "previousSecrets": ["hunter2"]"#,
                "previousSecrets[0]: must be whsec_"
            ),
            (
                #""url": "https://a.example", "secret": "S", "types": ["grant.creatd"]"#,
                "types[0]: must be one of"
            ),
            (#""url": "https://a.example", "secret": "S", "types": []"#, "types: is empty"),
            (#""url": "https://a.example", "secret": "S", "from": "now""#, "from: must be a time"),
            (#""url": "https://a.example", "secret": "S", "secrets": []"#, "Did you mean secret"),
        ])
    func refused(_ members: String, _ sentence: String) throws {
        let text = members.replacing("\"S\"", with: "\"\(Self.secret)\"")
        let (settings, problems) = try load(#"{"endpoints": [{"id": "a", \#(text)}]}"#)
        #expect(settings == nil && problems.count == 1 && problems[0].contains(sentence), "\(problems)")
        #expect(!problems.joined().contains("hunter2") && !problems.joined().contains("c2hvcnQ"))
    }

    @Test("two endpoints with the same id are refused")
    func twins() throws {
        let one = #"{"id": "a", "url": "https://a.example", "secret": "\#(Self.secret)"}"#
        #expect(
            try load(#"{"endpoints": [\#(one), \#(one)]}"#).1.first?.contains("is the id of an earlier entry") == true)
    }
}

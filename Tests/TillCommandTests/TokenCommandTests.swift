import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import till

@Suite("till token")
struct TokenCommandTests {
    private static let secret = "0123456789abcdefghijklmnopqrstuv"
    private static let now: Int64 = 1_790_000_000

    private func run(
        _ arguments: [String], keys: String, environment: String = "Sandbox"
    ) async throws -> (code: ExitCode, out: String, error: String) {
        let directory = try TemporaryDirectory()
        try directory.write("key.pem", PEM.encode(generatorPublicKey(), label: "PUBLIC KEY"))
        let path = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog), "userTokens": [\(keys)],
             "apple": {"bundleId": "com.example", "appAppleId": 1, "environments": ["\(environment)"]}}
            """)
        let recorder = Recorder()
        let code = await Program(commands: Command.all, process: recorder.process())
            .run(["token"] + arguments + ["--config", path])
        return (code, recorder.out, recorder.error)
    }

    private static let app =
        #"{"id": "app", "algorithm": "HS256", "secret": "\#(secret)", "issuer": "me", "#
        + #""audience": "till", "maximumLifetime": 7200}"#

    @Test("Its token carries what the key demands, and the key verifies it")
    func token() async throws {
        let ran = try await run(["user-1", "--guest"], keys: Self.app)
        #expect(ran.code == .done, "\(ran.error)")
        let token = try #require(CompactToken(String(ran.out.dropLast())))
        #expect(token.isAuthenticated(by: Array(Self.secret.utf8)))
        #expect(try JSONValue(decoding: token.header ?? []) == ["alg": "HS256", "kid": "app", "typ": "JWT"])
        #expect(
            try JSONValue(decoding: token.payload) == [
                "sub": "user-1", "iat": .int(Self.now), "exp": .int(Self.now + 3_600), "iss": "me", "aud": "till",
                "guest": true,
            ])
        let json = try JSONValue(decoding: try await run(["u", "--expires", "30m", "--json"], keys: Self.app).out)
        #expect(json["key"] == "app")
        #expect(json["expires"]?.string == Instant(seconds: Self.now + 1_800).rfc3339)
    }

    private static let refusals:
        [(arguments: [String], keys: String, environment: String, code: ExitCode, phrase: String)] =
            [
                (["u"], app, "Production", .refused, "accepts production"),
                (["u", "--expires", "3h"], app, "Sandbox", .refused, "at most 7200 seconds"),
                (
                    ["u"], #"{"id": "phone", "algorithm": "ES256", "publicKeyFile": "key.pem"}"#, "Sandbox", .refused,
                    "ES256 keys are configured without their private half"
                ),
                (["u"], "", "Sandbox", .refused, "no HS256 key"),
                (
                    ["u"], app.replacing("7200", with: #"7200, "expires": "2026-01-01T00:00:00Z""#), "Sandbox",
                    .refused,
                    "no HS256 key of userTokens is valid now"
                ),
                (["u", "--key", "ap"], app, "Sandbox", .wrongUsage, "Did you mean app?"),
                (["u\u{202E}x"], app, "Sandbox", .wrongUsage, "without control characters"),
            ]

    @Test(
        "A token that would not be accepted, or is not for development, is refused with the reason", arguments: refusals
    )
    func refused(
        _ refusal: (arguments: [String], keys: String, environment: String, code: ExitCode, phrase: String)
    ) async throws {
        let ran = try await run(refusal.arguments, keys: refusal.keys, environment: refusal.environment)
        #expect(ran.code == refusal.code)
        #expect(ran.out.isEmpty)
        #expect(ran.error.contains(refusal.phrase), "\(ran.error)")
    }

    @Test("With --production it signs for a production configuration too")
    func production() async throws {
        let ran = try await run(["u", "--production"], keys: Self.app, environment: "Production")
        #expect(ran.code == .done, "\(ran.error)")
    }
}

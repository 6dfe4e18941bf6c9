import Testing
import TillBilling
import TillServer

@testable import till

@Suite("Settings of guests and of the lifetime of user tokens")
struct GuestSettingsTests {
    private func load(
        _ members: String, _ environment: [String: String] = [:]
    ) throws -> (ServerConfiguration?, [String]) {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog), \(members)
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        do throws(ConfigurationError) {
            return (try Configuration.load(file: file, environment: environment).server, [])
        } catch {
            return (nil, error.failure.reasons.map { $0(.english) })
        }
    }

    private func key(_ lifetime: String) -> String {
        #""userTokens": [{"id": "app", "algorithm": "HS256", "secret": "0123456789abcdef0123456789abcdef""#
            + lifetime + "}],"
    }

    @Test("By default no id has the form of a guest's, and a merge can be undone for 30 days")
    func read() throws {
        #expect(try load("").0?.guests == GuestTerms(prefix: nil, undoDays: 30))
        let file = #""guests": {"prefix": "guest-", "undoDays": 7},"#
        #expect(try load(file).0?.guests == GuestTerms(prefix: "guest-", undoDays: 7))
        #expect(try load(file, ["TILL_GUESTS_UNDO_DAYS": "9"]).0?.guests.undoDays == 9)
        #expect(try load("", ["TILL_GUESTS_PREFIX": "anon-"]).0?.guests.prefix == "anon-")
    }

    @Test("A token's longest lifetime is as configured, or by default as the token states")
    func lifetime() throws {
        #expect(try load(key("")).0?.userTokens.first?.maximumLifetime == nil)
        #expect(try load(key(#", "maximumLifetime": 86400"#)).0?.userTokens.first?.maximumLifetime == 86_400)
    }

    @Test("Invalid settings are reported")
    func refused() throws {
        let wrong = [
            #""guests": {"prefix": "gue"},"#, #""guests": {"prefix": "guest\u202e"},"#,
            #""guests": {"undoDays": 0},"#, #""guests": {"undoDays": 4000},"#, #""reviewUsers": ["a\u200f"],"#,
            key(#", "maximumLifetime": 59"#), key(#", "maximumLifetime": 31536001"#),
        ]
        for members in wrong {
            let (configuration, reasons) = try load(members)
            #expect(configuration == nil && reasons.count == 1, "\(members): \(reasons)")
        }
    }
}

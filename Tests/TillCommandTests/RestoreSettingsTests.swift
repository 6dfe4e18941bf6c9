import Testing
import TillBilling

@testable import till

@Suite("Settings of restoring")
struct RestoreSettingsTests {
    private func load(_ restore: String, _ environment: [String: String] = [:]) throws -> (RestoreTerms?, [String]) {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog), \(restore)
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        do throws(ConfigurationError) {
            let configuration = try Configuration.load(file: file, environment: environment)
            return (configuration.server.restore, [])
        } catch {
            return (nil, error.failure.reasons.map { $0(.english) })
        }
    }

    @Test("by default purchases stay with their owner; the file changes that, and the environment overrides it (P10)")
    func read() throws {
        #expect(try load("").0 == RestoreTerms(policy: .keep, movesPerYear: 3))
        #expect(try load(#""restore": {"policy": "ask"},"#).0 == RestoreTerms(policy: .ask))
        let file = #""restore": {"policy": "keep", "movesPerYear": 7},"#
        #expect(
            try load(file, ["TILL_RESTORE_POLICY": "move"]).0 == RestoreTerms(policy: .move, movesPerYear: 7))
        #expect(try load("", ["TILL_RESTORE_MOVES_PER_YEAR": "12"]).0?.movesPerYear == 12)
    }

    @Test(
        "an invalid value is reported with its place and the nearest word",
        arguments: [
            (
                #"{"policy": "moves"}"#,
                "restore.policy: must be one of keep, move, ask, found \"moves\". Did you mean move"
            ),
            (#"{"policy": 1}"#, "restore.policy: must be text"),
            (#"{"movesPerYear": 0}"#, "restore.movesPerYear: must be above zero"),
            (#"{"movesPerYear": 1001}"#, "restore.movesPerYear: must be at most 1000, is 1001"),
            (#"{"polcy": "move"}"#, "restore.polcy: there is no such key. Did you mean policy"),
        ])
    func refused(_ restore: String, _ sentence: String) throws {
        let (terms, problems) = try load("\"restore\": \(restore),")
        #expect(terms == nil && problems.count == 1 && problems[0].contains(sentence), "\(problems)")
    }
}

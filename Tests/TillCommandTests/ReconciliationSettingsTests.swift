import Testing
import TillBilling
import TillLedger
import TillServer

@testable import till

@Suite("Settings of reconciliation")
struct ReconciliationSettingsTests {
    private func load(_ member: String, _ environment: [String: String] = [:]) throws
        -> (ReconciliationSettings?, [String])
    {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog), \(member)
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        do throws(ConfigurationError) {
            let configuration = try Configuration.load(file: file, environment: environment)
            return (configuration.server.reconciliation, [])
        } catch {
            return (nil, error.failure.reasons.map { $0(.english) })
        }
    }

    @Test("the interval is daily by default, or hours, days or off; the environment overrides the file (U3)")
    func read() throws {
        #expect(try load("").0 == ReconciliationSettings())
        #expect(try load("").0?.interval == 86_400_000)
        #expect(try load(#""reconciliation": {"interval": "PT6H"},"#).0?.interval == 6 * 3_600_000)
        #expect(
            try load(
                #""reconciliation": {"interval": "P7D"},"#, ["TILL_RECONCILIATION_INTERVAL": "P2D"]
            ).0?.interval == 2 * 86_400_000)
        // This configuration has no key for calls to Apple.
        let off = try load(#""reconciliation": {"interval": "off", "customersPerRun": 10},"#).0
        #expect(off?.interval == nil && off?.customersPerRun == 10 && off?.refundsPerRun == 4)
    }

    @Test(
        "an invalid value is reported with its place",
        arguments: [
            (#"{"interval": "P31D"}"#, "reconciliation.interval: must be PT1H to PT24H"),
            (#"{"interval": "P1M"}"#, "reconciliation.interval: must be PT1H to PT24H"),
            (#"{"interval": 1}"#, "reconciliation.interval: must be text"),
            (#"{"customersPerRun": 0}"#, "reconciliation.customersPerRun: must be above zero"),
            (#"{"intervall": "P1D"}"#, "reconciliation.intervall: there is no such key. Did you mean interval"),
        ])
    func refused(_ member: String, _ sentence: String) throws {
        let (settings, problems) = try load("\"reconciliation\": \(member),")
        #expect(settings == nil && problems.count == 1 && problems[0].contains(sentence), "\(problems)")
    }
}

import Testing
import TillBilling

@testable import till

@Suite("The configuration of the drain")
struct DrainSettingsTests {
    private func load(
        _ members: String, environment: [String: String] = [:]
    ) throws -> Result<Configuration, ConfigurationError> {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog),
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}\(members)}
            """)
        do throws(ConfigurationError) {
            return .success(try Configuration.load(file: file, environment: environment))
        } catch {
            return .failure(error)
        }
    }

    @Test("By default requests get thirty seconds and balancers one; the file and variables change both")
    func said() throws {
        #expect(try load("").get().drain == DrainSettings(seconds: 30, lameDuckMilliseconds: 1_000))
        let file = try load(", \"drain\": {\"seconds\": 5, \"lameDuckMilliseconds\": 20}").get().drain
        #expect(file == DrainSettings(seconds: 5, lameDuckMilliseconds: 20))
        let variables = ["TILL_DRAIN_SECONDS": "7", "TILL_DRAIN_LAME_DUCK_MILLISECONDS": "30"]
        #expect(
            try load("", environment: variables).get().drain == DrainSettings(seconds: 7, lameDuckMilliseconds: 30))
        for members in ["\"seconds\": 0", "\"seconds\": 601", "\"lameDuckMilliseconds\": 60001", "\"second\": 1"] {
            guard case .failure = try load(", \"drain\": {\(members)}") else {
                Issue.record("\(members) was taken")
                continue
            }
        }
    }
}

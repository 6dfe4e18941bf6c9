import Testing
import TillAppStore
import TillBilling

@testable import till

@Suite("The configuration of the wallet's rules")
struct WalletSettingsTests {
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

    private func problems(_ members: String, environment: [String: String] = [:]) throws -> [String] {
        guard case .failure(let refusal) = try load(members, environment: environment) else { return [] }
        return refusal.failure.reasons.map { String($0.en.drop { $0 != ":" }.dropFirst(2)) }
    }

    @Test("by default debts are owed, no sample content is declared, and Apple gets no preference (U5)")
    func silence() throws {
        let configuration = try load("").get()
        #expect(configuration.debt == .owe && configuration.server.debt == .owe)
        #expect(configuration.server.forgivenPerYear == 1)
        #expect(!configuration.consumption.hadSample && configuration.server.consumption.preference == nil)
    }

    @Test("settings of the file or the environment reach the server")
    func said() throws {
        let file = try load(
            """
            , "wallet": {"debt": "forgive", "forgivenPerYear": 3},
            "consumption": {"sampleContentProvided": true, "refundPreference": "grant_prorated"}
            """
        ).get().server
        #expect(file.debt == .forgive && file.forgivenPerYear == 3)
        #expect(file.consumption.hadSample && file.consumption.preference == .grantProrated)
        let environment = try load(
            ", \"wallet\": {}",
            environment: [
                "TILL_WALLET_DEBT": "freeze", "TILL_CONSUMPTION_SAMPLE_CONTENT_PROVIDED": "true",
                "TILL_CONSUMPTION_REFUND_PREFERENCE": "decline",
            ]
        ).get().server
        #expect(environment.debt == .freeze)
        #expect(environment.consumption.hadSample && environment.consumption.preference == .decline)
        #expect(
            try load(", \"consumption\": {\"refundPreference\": \"none\"}").get().server.consumption.preference == nil)
    }

    @Test("an invalid value is reported, with the name that was probably meant")
    func wrong() throws {
        #expect(
            try problems(", \"wallet\": {\"debt\": \"forgve\"}") == [
                "wallet.debt: must be one of owe, freeze, forgive, found \"forgve\". Did you mean forgive?"
            ])
        #expect(
            try problems(", \"wallet\": {\"forgivenPerYear\": 1001}") == [
                "wallet.forgivenPerYear: must be at most 1000, is 1001"
            ])
        #expect(
            try problems(", \"wallet\": {\"dept\": \"owe\"}") == [
                "wallet.dept: there is no such key. Did you mean debt?"
            ])
        #expect(
            try problems(", \"consumption\": {\"sampleContentProvided\": \"yes\", \"refundPreference\": 7}") == [
                "consumption.sampleContentProvided: must be true or false, found text",
                "consumption.refundPreference: must be text, found a number",
            ])
        #expect(
            try problems("", environment: ["TILL_CONSUMPTION_SAMPLE_CONTENT_PROVIDED": "yes"]) == [
                "must be true or false, found \"yes\""
            ])
        #expect(try problems(", \"walet\": {}") == ["walet: there is no such key. Did you mean wallet?"])
    }
}

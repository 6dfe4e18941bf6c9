import Testing
import TillBilling

@testable import till

@Suite("The configuration of the delivery order")
struct DeliverySettingsTests {
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

    @Test(
        "By default the server grants first, and a phone has ten minutes to finish; settings reach the server (G4, U2)")
    func said() throws {
        let silent = try load("").get().server.delivery
        #expect(silent.order == .grantThenFinish && silent.finishAfter == 600 && silent.lateAfterDays == 30)
        let file = try load(", \"delivery\": {\"order\": \"save-then-finish\", \"finishAfterMinutes\": 60}").get()
        #expect(file.server.delivery.order == .saveThenFinish && file.server.delivery.finishAfter == 3_600)
        #expect(try load(", \"delivery\": {\"lateAfterDays\": 7}").get().server.delivery.lateAfterDays == 7)
        let variables = ["TILL_DELIVERY_ORDER": "save-then-finish", "TILL_DELIVERY_FINISH_AFTER_MINUTES": "1"]
        let environment = try load("", environment: variables).get().server.delivery
        #expect(environment.order == .saveThenFinish && environment.finishAfter == 60)
    }

    @Test("An invalid value is reported in both languages, with what was probably meant")
    func problems() throws {
        for (members, english, chinese) in [
            ("\"order\": \"save-then-finsh\"", "Did you mean save-then-finish?", "是否想写 save-then-finish？"),
            ("\"finishAfterMinutes\": 0", "must be above zero", "应大于零"),
            ("\"finishAfterMinutes\": 43201", "must be at most 43200", "最多 43200"),
            ("\"lateAfterDays\": 3651", "must be at most 3650", "最多 3650"),
            ("\"ordr\": 1", "Did you mean order?", "是否想写 order？"),
        ] {
            guard case .failure(let refusal) = try load(", \"delivery\": {\(members)}") else {
                Issue.record("\(members) was taken")
                continue
            }
            let reasons = refusal.failure.reasons
            #expect(reasons.contains { $0.en.contains(english) && $0.zh.contains(chinese) }, "\(reasons)")
        }
    }
}

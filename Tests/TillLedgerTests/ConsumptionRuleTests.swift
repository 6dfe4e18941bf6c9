import Testing
import TillAppStore
import TillBilling

@testable import TillLedger

@Suite("What Apple's rules allow in an answer before a refund") struct ConsumptionRuleTests {
    /// granted | share used | type | the developer's preference | delivery, percentage, preference
    static let table = """
        yes | 16666  | Consumable                  | none            | DELIVERED 16666 none
        yes | 16666  | Consumable                  | DECLINE         | DELIVERED 16666 DECLINE
        yes | 16666  | Consumable                  | GRANT_FULL      | DELIVERED 16666 GRANT_FULL
        yes | 16666  | Consumable                  | GRANT_PRORATED  | DELIVERED 16666 GRANT_PRORATED
        yes | 0      | Consumable                  | GRANT_PRORATED  | DELIVERED 0 GRANT_FULL
        yes | 100000 | Consumable                  | GRANT_PRORATED  | DELIVERED 100000 GRANT_PRORATED
        yes | none   | Non-Consumable              | GRANT_PRORATED  | DELIVERED none none
        yes | none   | Non-Consumable              | DECLINE         | DELIVERED none DECLINE
        yes | 50000  | Non-Renewing Subscription   | GRANT_PRORATED  | DELIVERED 50000 GRANT_PRORATED
        yes | none   | Auto-Renewable Subscription | GRANT_PRORATED  | DELIVERED none GRANT_PRORATED
        yes | 50000  | Auto-Renewable Subscription | GRANT_PRORATED  | DELIVERED none GRANT_PRORATED
        yes | 50000  | Auto-Renewable Subscription | DECLINE         | DELIVERED none DECLINE
        yes | 50000  | none                        | GRANT_PRORATED  | DELIVERED 50000 GRANT_PRORATED
        yes | none   | none                        | GRANT_PRORATED  | DELIVERED none none
        no  | none   | Consumable                  | none            | UNDELIVERED_OTHER 0 none
        no  | none   | Consumable                  | DECLINE         | UNDELIVERED_OTHER 0 none
        no  | none   | Consumable                  | GRANT_PRORATED  | UNDELIVERED_OTHER 0 GRANT_FULL
        no  | none   | Auto-Renewable Subscription | GRANT_PRORATED  | UNDELIVERED_OTHER 0 GRANT_FULL
        """

    @Test(
        "Each row of the table holds, and Apple's own rules accept each answer (U5)",
        arguments: table.split(separator: "\n").map(String.init))
    func row(_ row: String) throws {
        let cells = row.split(separator: "|").map { cell in
            cell.split(separator: " ").joined(separator: " ")
        }
        try #require(cells.count == 5)
        var settings = ConsumptionSettings()
        settings.preference = ConsumptionInformation.RefundPreference(rawValue: cells[3])
        settings.hadSample = true
        let information = ConsumptionInformation(
            wasGranted: cells[0] == "yes", used: Int64(cells[1]).map { UsedShare(used: $0, of: 100_000) },
            type: TillBilling.ProductType(rawValue: cells[2]), settings: settings)
        let body = try information.body()
        let reported = [
            body["deliveryStatus"]?.string ?? "none",
            body["consumptionPercentage"]?.int.map { "\($0)" } ?? "none", body["refundPreference"]?.string ?? "none",
        ]
        #expect(reported.joined(separator: " ") == cells[4])
        #expect(body["customerConsented"] == true && body["sampleContentProvided"] == true)
    }
}

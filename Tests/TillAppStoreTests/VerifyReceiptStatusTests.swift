import Testing
import TillAppStore
import TillBilling

@Suite("The statuses of verifyReceipt, and their treatment (P2)")
struct VerifyReceiptStatusTests {
    @Test(
        "Every published status has its name and its treatment (P2)",
        arguments: [
            (0, "genuine", VerifyReceiptStatus.Treatment.genuine),
            (21000, "not_post", .configuration),
            (21001, "malformed_json", .retryThenRefreshReceipt),
            (21002, "malformed", .retryThenRefreshReceipt),
            (21003, "not_authentic", .forged),
            (21004, "wrong_secret", .configuration),
            (21005, "unavailable", .retry),
            (21006, "expired", .expired),
            (21007, "sandbox_receipt", .otherEnvironment(.sandbox)),
            (21008, "production_receipt", .otherEnvironment(.production)),
            (21009, "data_access", .retry),
            (21010, "account_not_found", .final),
            (21100, "internal_data_access", .byFlag),
            (21150, "internal_data_access", .byFlag),
            (21199, "internal_data_access", .byFlag),
            (21099, "unknown_21099", .retry),
            (21200, "unknown_21200", .retry),
            (21011, "unknown_21011", .retry),
            (2, "unknown_2", .retry),
            (-1, "unknown_-1", .retry),
            (Int64.max, "unknown_9223372036854775807", .retry),
        ])
    func treatments(_ code: Int64, _ name: String, _ treatment: VerifyReceiptStatus.Treatment) {
        let status = VerifyReceiptStatus(rawValue: code)
        #expect(status.name == name)
        #expect(status.treatment == treatment)
    }

    @Test("The list has exactly the published statuses, each with a name of its own")
    func published() {
        let all = VerifyReceiptStatus.published
        #expect(all.map(\.rawValue) == [0] + Array(21000...21010))
        #expect(Set(all.map(\.name)).count == all.count)
    }
}

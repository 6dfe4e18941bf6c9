import Testing
import TillAppStore
import TillBilling

@Suite("The statuses of verifyReceipt, and when to retry (P2)")
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

    @Test("Retries follow after 5 s, doubling to an hour, hourly for a day, then daily up to 30 days")
    func schedule() throws {
        let second: Int64 = 1_000
        let delays = (1...).lazy.map { VerifyReceiptRetrySchedule.delay(afterAttempt: $0) }.prefix { $0 != nil }
            .compactMap { $0 }
        let all = Array(delays)
        #expect(
            all.prefix(12)
                == [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600].map { $0 * second }[...])
        #expect(all == all.sorted())
        let day = 86_400 * second
        let hourly = all.prefix { $0 < day }.reduce(0, +)
        #expect((day..<day + 3_600 * second).contains(hourly))
        #expect(all.drop { $0 < day }.allSatisfy { $0 == day })
        let total = all.reduce(0, +)
        #expect(total <= 30 * day && total > 29 * day)
        for odd in [0, -1, Int.min] { #expect(VerifyReceiptRetrySchedule.delay(afterAttempt: odd) == 5 * second) }
        #expect(VerifyReceiptRetrySchedule.delay(afterAttempt: .max) == nil)
    }

    @Test("A receipt that Apple calls malformed for over a day counts as malformed: an evening of 21002 does not (P2)")
    func malformed() throws {
        let malformed = VerifyReceiptRetryReason.status(.malformed)
        var attempt = 1
        var waited: Int64 = 0
        while let delay = VerifyReceiptRetrySchedule.delay(afterAttempt: attempt, malformed) {
            waited += delay
            attempt += 1
        }
        #expect((86_400_000..<90_000_000).contains(waited))
        #expect(VerifyReceiptRetrySchedule.delay(afterAttempt: attempt, .status(.unavailable)) == 86_400_000)
        #expect(VerifyReceiptRetrySchedule.delay(afterAttempt: attempt, .page) == 86_400_000)
    }
}

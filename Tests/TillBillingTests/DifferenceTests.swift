import Testing
import TillBilling

@Suite("The differences that a reconciliation finds") struct DifferenceTests {
    private func standing(revokedAt milliseconds: Int64) -> TransactionSnapshot {
        TransactionSnapshot(
            state: .revoked, quarantine: nil, revokedAt: Instant(milliseconds: milliseconds),
            terms: TransactionTerms(), orderID: nil)
    }

    @Test("A receipt states a refund in whole seconds: that is no difference, another time is one (U3, regression)")
    func receiptsTellSeconds() {
        let known = standing(revokedAt: 1_767_728_733_000)
        func difference(_ milliseconds: Int64) -> Difference? {
            Difference(
                of: TransactionID("1"), in: .production, from: known, to: standing(revokedAt: milliseconds))
        }
        #expect(difference(1_767_728_733_110) == nil)
        #expect(difference(1_767_728_734_000)?.kind == .refundDiffers)
    }
}

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

    @Test("A dry run foresees what would happen, and claims nothing that did not", arguments: Difference.Kind.allCases)
    func foresees(_ kind: Difference.Kind) {
        let (done, foreseen) = (kind.sentence(isDryRun: false), kind.sentence(isDryRun: true))
        let claims = [" granted", "is corrected", "is stored", "is kept", "taken back", "is changed"]
        for claim in claims where done.en.contains(claim) {
            #expect(foreseen.en.contains("would be") && foreseen.en != done.en && foreseen.zh != done.zh)
            #expect(!foreseen.en.contains("It is granted") && !foreseen.zh.contains("现已发放"))
        }
    }
}

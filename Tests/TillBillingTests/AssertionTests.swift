import Testing

@testable import TillBilling

/// The conditions in docs/invariants.md that stop the program.
@Suite("Rules of money that stop the program") struct AssertionTests {
    @Test("A refund of more than was granted stops the program (invariant 4)")
    func refundOfTooMuch() async {
        let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RevokedShare(thousandths: 100_001)
        }
        let stated = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
        #expect(stated.contains("at most what was given"))
        await #expect(processExitsWith: .success) { _ = RevokedShare(thousandths: 100_000) }
    }
}

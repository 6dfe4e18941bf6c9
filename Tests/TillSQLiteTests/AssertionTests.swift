import Testing
import TillSQL

@testable import TillSQLite

/// The conditions in docs/invariants.md that stop the program.
@Suite("Rules of a commit that stop the program") struct AssertionTests {
    @Test("A body that is given two outcomes stops the program (invariant 2)")
    func answeredTwice() async {
        let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let body = Body({ _ in 1 }) { _ in }
            body.answer(DatabaseError(.full, "no room"))
            body.answer(nil)
        }
        let stated = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
        #expect(stated.contains("one outcome, once"))
    }
}

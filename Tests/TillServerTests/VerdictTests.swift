import Testing
import TillAppStore
import TillBilling

@Suite("Verdicts and refusals") struct VerdictTests {
    @Test("Every verdict of the verifier is a refusal of the server with the same code (CONTRACT §1)")
    func sameCodes() {
        for verdict in Verdict.allCases where verdict != .ok {
            #expect(Refusal(rawValue: verdict.rawValue) != nil, "\(verdict.rawValue)")
        }
    }
}

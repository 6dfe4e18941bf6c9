import Testing
import TillBilling
import TillLedger

@testable import TillServer

@Suite("A flood of equal log lines (issue 20)") struct LineSamplerTests {
    private let start = Instant(seconds: 1_000)

    private func refusal(_ code: String, caller: String = "anonymous", status: Int = 422) -> Log.Line {
        Log.Line(
            event: .request,
            fields: [
                "method": "POST", "route": "/v1/transactions", "status": .integer(status), "ms": 3,
                "caller": .text(caller), "code": .text(code),
            ])
    }

    @Test("The first lines of a flood are written, the others are counted and reported once in its window")
    func counted() {
        var sampler = LineSampler()
        var reports: [Log.Line] = []
        let admitted = (0..<1_000).filter { number in
            sampler.admits(refusal("bad_signature"), at: start.adding(milliseconds: Int64(number))) {
                reports.append($0)
            }
        }
        #expect(admitted == Array(0..<LineSampler.burst) && reports.isEmpty && sampler.hasSuppressed)
        sampler.reportIfDue(at: start.adding(milliseconds: LineSampler.window)) { reports.append($0) }
        #expect(reports.count == 1 && reports[0].event == .linesSuppressed && !sampler.hasSuppressed)
        #expect(reports[0]["suppressed"] == .integer(1_000 - Int64(LineSampler.burst)))
        #expect(reports[0]["of"] == .text("request") && reports[0]["code"] == .text("bad_signature"))
        #expect(reports[0]["route"] == .text("/v1/transactions") && reports[0]["ms"] == nil)
        // A new window begins, and nothing is reported twice.
        let later = start.adding(milliseconds: LineSampler.window + 1)
        #expect(sampler.admits(refusal("bad_signature"), at: later) { reports.append($0) })
        sampler.reportEnded(at: later, isLast: true) { reports.append($0) }
        #expect(reports.count == 1 && sampler.count == 0)
    }

    @Test("Lines with another code, status or caller, and errors with another cause, are not suppressed")
    func kinds() {
        var sampler = LineSampler()
        for _ in 0..<100 { _ = sampler.admits(refusal("bad_signature"), at: start) { _ in } }
        #expect(!sampler.admits(refusal("bad_signature"), at: start) { _ in })
        #expect(sampler.admits(refusal("chain_untrusted"), at: start) { _ in })
        #expect(sampler.admits(refusal("bad_signature", status: 503), at: start) { _ in })
        #expect(sampler.admits(refusal("bad_signature", caller: "user:ann"), at: start) { _ in })
        func failure(_ cause: String) -> Log.Line {
            Log.Line(event: .jobFailed, fields: ["job": "webhooks", "cause": .text(cause)])
        }
        for _ in 0..<100 { _ = sampler.admits(failure("full"), at: start) { _ in } }
        #expect(!sampler.admits(failure("full"), at: start) { _ in })
        #expect(sampler.admits(failure("readOnly"), at: start) { _ in })
    }

    @Test("What was granted or refunded, and what a known caller was answered, is always written")
    func records() {
        var sampler = LineSampler()
        for number in 0..<1_000 {
            let granted = Log.Line(event: .purchaseGranted, fields: ["user": "ann"])
            let request = refusal("", caller: "user:ann", status: 200)
            #expect(sampler.admits(granted, at: start) { _ in }, "\(number)")
            #expect(sampler.admits(request, at: start) { _ in }, "\(number)")
        }
        #expect(sampler.count == 0)
        // Strangers can ask for the health a million times.
        let strangers = (0..<100).filter { _ in
            sampler.admits(refusal("", caller: "anonymous", status: 200), at: start) { _ in }
        }
        #expect(strangers.count == LineSampler.burst)
    }

    @Test("Callers and causes without end fill a bounded table, and other errors are still written")
    func bounded() {
        var sampler = LineSampler()
        var admitted = 0
        for number in 0..<50_000 {
            let line = refusal("bad_signature", caller: "user:\(number)")
            if sampler.admits(line, at: start, report: { _ in }) { admitted += 1 }
        }
        #expect(sampler.count <= LineSampler.capacity + 10)
        #expect(admitted <= LineSampler.capacity + LineSampler.burst)
        let full = Log.Line(event: .serverError, fields: ["code": "internal_error", "cause": "new"])
        #expect(sampler.admits(full, at: start) { _ in })
        // The table empties when the windows have ended.
        var reported: Int64 = 0
        sampler.reportIfDue(at: start.adding(milliseconds: LineSampler.window)) { line in
            if case .integer(let count)? = line["suppressed"] { reported += count }
        }
        #expect(sampler.count == 0)
        #expect(Int64(admitted) + reported == 50_000)
    }

    @Test("A clock that is set back does not silence the log")
    func clockSetBack() {
        var sampler = LineSampler()
        for _ in 0..<100 { _ = sampler.admits(refusal("bad_signature"), at: start) { _ in } }
        let earlier = start.adding(seconds: -86_400)
        #expect(sampler.admits(refusal("bad_signature"), at: earlier) { _ in })
    }
}

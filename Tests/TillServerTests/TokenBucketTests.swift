import Testing
import TillBilling
import TillLedger
import TillThreads

@testable import TillServer

@Suite("Token buckets") struct TokenBucketTests {
    /// Microseconds for a token: ten a second.
    private static let rate = TokenBuckets.Rate(interval: 100_000, burst: 5)

    private let time = StandingClock()

    private func buckets(_ rate: TokenBuckets.Rate = rate, capacity: Int = 100) -> TokenBuckets {
        let time = time
        return TokenBuckets(rate, capacity: capacity, clock: { time.now })
    }

    private func taken(_ count: Int, _ name: String, of buckets: TokenBuckets) -> Int {
        (0..<count).filter { _ in buckets.take(name) == nil }.count
    }

    @Test("A caller has the burst at once and then the rate, and another caller has a bucket of its own (R8)")
    func rate() {
        let buckets = buckets()
        #expect(taken(20, "ann", of: buckets) == 5)
        #expect(taken(20, "bob", of: buckets) == 5)
        time.advance(seconds: 1)
        #expect(taken(20, "ann", of: buckets) == 5, "it never contains more than the burst")
    }

    @Test("The seconds that a refusal states are enough, and one second less is not", arguments: [1, 3, 60])
    func wait(seconds: Int64) {
        let buckets = buckets(TokenBuckets.Rate(interval: seconds * 1_000_000, burst: 1))
        #expect(buckets.take("ann") == nil)
        #expect(buckets.take("ann") == seconds && buckets.wait(of: "ann") == seconds)
        time.advance(seconds: seconds - 1)
        #expect(buckets.take("ann") == 1)
        time.advance(seconds: 1)
        #expect(buckets.wait(of: "ann") == nil && buckets.take("ann") == nil)
    }

    @Test("Looking takes nothing, and a token that is given back can be taken again")
    func givenBack() {
        let buckets = buckets()
        for _ in 0..<20 { #expect(buckets.wait(of: "ann") == nil) }
        #expect(buckets.count == 0)
        #expect(taken(20, "ann", of: buckets) == 5)
        buckets.giveBack("ann")
        #expect(taken(20, "ann", of: buckets) == 1)
        buckets.giveBack("unknown")
    }

    @Test("A clock that is set back delays a caller by no more than an empty bucket does")
    func clockSetBack() {
        let buckets = buckets()
        #expect(taken(3, "ann", of: buckets) == 3)
        time.advance(seconds: -86_400)
        #expect(buckets.take("ann") == 1)
        time.advance(seconds: 1)
        #expect(taken(20, "ann", of: buckets) == 5)
    }

    @Test("At capacity a newcomer replaces the fullest bucket and gets its tokens, so an attacker gains nothing (V7)")
    func capacity() {
        let replaced = Locked(0)
        let time = time
        let buckets = TokenBuckets(Self.rate, capacity: 4, clock: { time.now }) { replaced.withLock { $0 += 1 } }
        #expect(taken(9, "attacker", of: buckets) == 5)
        for name in ["a", "b", "c"] { #expect(taken(1, name, of: buckets) == 1) }
        // Newcomers share three buckets with four tokens each.
        let others = (0..<1_000).reduce(0) { $0 + taken(1, "address \($1)", of: buckets) }
        #expect(others == 12)
        #expect(taken(9, "attacker", of: buckets) == 0, "the emptied bucket was never replaced")
        #expect(buckets.count == 4 && replaced.withLock { $0 } > 0)
        time.advance(seconds: 60)
        let before = replaced.withLock { $0 }
        #expect(taken(9, "late", of: buckets) == 5)
        #expect(replaced.withLock { $0 } == before, "a full bucket is forgotten without loss")
    }

    @Test("However many callers come and go, no caller gets more than its rate", arguments: [1, 2, 3] as [UInt64])
    func churn(seed: UInt64) {
        let buckets = buckets(capacity: 8)
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var got: [String: Int] = [:]
        for _ in 0..<5_000 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            let name = "caller \(state % 40)"
            if buckets.take(name) == nil { got[name, default: 0] += 1 }
        }
        #expect(got.values.allSatisfy { $0 <= 5 })
        #expect(got.values.reduce(0, +) <= 8 * 5, "and all of them no more than the buckets contain")
    }
}

@Suite("The limiter of requests") struct RequestLimiterTests {
    @Test("A refusal is a line that names the limit and no address, and a figure (R1)")
    func seen() throws {
        let time = StandingClock()
        let lines = Locked<[Log.Line]>([])
        let log = Log(isWritten: { _ in true }, sink: { line in lines.withLock { $0.append(line) } })
        var limits = RequestLimits()
        limits.user = RequestLimits.Rate(perSecond: 1, burst: 2)
        let limiter = RequestLimiter(limits, clock: { time.now }, log: log)
        for _ in 0..<2 { try limiter.take(.user(UserID("eve"))) }
        #expect(throws: RefusalError.self) { try limiter.take(.user(UserID("eve"))) }
        try limiter.take(.backend(keyID: "shop"))
        try limiter.take(.anonymous)
        let written = lines.withLock { $0 }
        #expect(written.map(\.event) == [.limitReached])
        #expect(written.first?["limit"] == .text("user") && written.first?["retryAfter"] == .integer(1))
        let text = limiter.metrics.map(\.text).joined()
        #expect(text.contains("till_requests_limited_total{limit=\"user\"} 1\n"))
        #expect(text.contains("till_requests_limited_total{limit=\"address\"} 0\n"))
        #expect(text.contains("till_limit_buckets{limit=\"key\"} 1\n"))
    }
}

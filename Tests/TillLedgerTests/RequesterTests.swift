import Testing
import TillBilling

@testable import TillLedger

@Suite("The caller name under which a receipt takes turns at Apple")
struct AskerTests {
    private func origin(_ caller: Caller, claimant: UserID? = nil) -> PurchaseOrigin {
        PurchaseOrigin(source: .app, caller: caller, claimant: claimant)
    }

    @Test("Each user has a name, including users named by a backend; a backend that names no user has no limit")
    func names() {
        #expect(origin(.user(UserID("ann"))).requester.name == "user:ann")
        #expect(origin(.backend(keyID: "shop", naming: UserID("ann"))).requester.name == "key:shop user:ann")
        #expect(
            origin(.backend(keyID: "shop", naming: nil), claimant: UserID("ben")).requester.name == "key:shop user:ben")
        #expect(origin(.backend(keyID: "shop", naming: nil)).requester.name == "key:shop")
        #expect(origin(.backend(keyID: "shop", naming: nil)).isTrustedWithNumber)
        #expect(!origin(.backend(keyID: "shop", naming: UserID("ann"))).isTrustedWithNumber)
        #expect(!origin(.user(UserID("ann"))).isTrustedWithNumber)
    }

    @Test("Each source has its own rate, and the number of remembered sources is bounded")
    func rateLimit() {
        let now = Instant(seconds: 1_790_000_000)
        let rateLimit = SourceRateLimit(RateLimit(burst: 2, interval: 1_000))
        #expect([0, 1, 2].map { _ in rateLimit.take("eve", now: now) } == [true, true, false])
        #expect(rateLimit.take("ann", now: now))
        #expect(rateLimit.take("eve", now: now.adding(seconds: 1)))
        for number in 0..<SourceRateLimit.capacity { _ = rateLimit.take("\(number)", now: now) }
        #expect(!rateLimit.take("one too many", now: now))
        #expect(rateLimit.take("one too many", now: now.adding(seconds: 10)))
    }
}

import Testing
import TillBilling

@testable import TillLedger

@Suite("Under which name a receipt has its turns at Apple")
struct AskerTests {
    private func origin(_ caller: Caller, claimant: UserID? = nil) -> PurchaseOrigin {
        PurchaseOrigin(source: .app, caller: caller, claimant: claimant)
    }

    @Test("each user has one, also of those whom a backend names; a backend that names nobody is trusted")
    func names() {
        #expect(origin(.user(UserID("ann"))).asker.name == "user:ann")
        #expect(origin(.backend(keyID: "shop", naming: UserID("ann"))).asker.name == "key:shop user:ann")
        #expect(origin(.backend(keyID: "shop", naming: nil), claimant: UserID("ben")).asker.name == "key:shop user:ben")
        #expect(origin(.backend(keyID: "shop", naming: nil)).asker.name == "key:shop")
        #expect(origin(.backend(keyID: "shop", naming: nil)).isTrustedWithNumber)
        #expect(!origin(.backend(keyID: "shop", naming: UserID("ann"))).isTrustedWithNumber)
        #expect(!origin(.user(UserID("ann"))).isTrustedWithNumber)
    }

    @Test("a source has its own pace, and no more sources are remembered than there is room for")
    func pace() {
        let now = Instant(seconds: 1_790_000_000)
        let pace = SourcePace(Pace(burst: 2, interval: 1_000))
        #expect([0, 1, 2].map { _ in pace.take("eve", now: now) } == [true, true, false])
        #expect(pace.take("ann", now: now))
        #expect(pace.take("eve", now: now.adding(seconds: 1)))
        for number in 0..<SourcePace.capacity { _ = pace.take("\(number)", now: now) }
        #expect(!pace.take("one too many", now: now))
        #expect(pace.take("one too many", now: now.adding(seconds: 10)))
    }
}

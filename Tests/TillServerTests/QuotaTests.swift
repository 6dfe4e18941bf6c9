import Testing

@testable import TillServer

@Suite("Quotas of operations in progress")
struct QuotaTests {
    private let quota = Quota(
        Quota.Limits(count: 4, weight: 100, countPerSource: 2, weightPerSource: 60))

    @Test("A source has its share and no more, and gets it back when its work ends")
    func perSource() throws {
        var shares = [quota.take(weight: 10, from: "a"), quota.take(weight: 10, from: "a")]
        #expect(shares.allSatisfy { $0 != nil } && quota.take(weight: 10, from: "a") == nil)
        #expect(quota.take(weight: 10, from: "b") != nil, "another source has its own share")
        shares.removeLast()
        #expect(quota.take(weight: 51, from: "a") == nil)
        #expect(quota.take(weight: 50, from: "a") != nil)
        shares = []
        #expect(quota.count == 0)
    }

    @Test("All sources together have a limit, by number and by weight")
    func inAll() throws {
        let byNumber = (0..<4).map { quota.take(from: "\($0)") }
        #expect(byNumber.allSatisfy { $0 != nil } && quota.take(from: "e") == nil)
        withExtendedLifetime(byNumber) {}
        let others = Quota(Quota.Limits(count: 4, weight: 100, countPerSource: 2, weightPerSource: 60))
        let byWeight = [others.take(weight: 60, from: "a"), others.take(weight: 40, from: "b")]
        #expect(byWeight.allSatisfy { $0 != nil } && others.take(weight: 1, from: "c") == nil)
        withExtendedLifetime(byWeight) {}
    }

    @Test("The longest body that a route accepts fits when it is alone")
    func longest() {
        #expect(Server.receiptBodyLimit <= Server.anonymousBodyLimits.weightPerSource)
    }
}

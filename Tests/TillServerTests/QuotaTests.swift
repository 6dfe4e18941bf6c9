import Testing
import TillHTTP
import TillThreads

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

@Suite("Places for purchases", .timeLimit(.minutes(1)))
struct TaskLimitTests {
    @Test("No more tasks are inside than there are places, and the others enter in the order of their arrival")
    func order() async {
        for places in [1, 3] {
            let limit = TaskLimit(places)
            let (inside, most, entered) = (Locked(0), Locked(0), Locked<[Int]>([]))
            var first: [TaskLimit.Place] = []
            for _ in 0..<places { first.append(await limit.enter()) }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let place = await limit.enter()
                        entered.withLock { $0.append(number) }
                        let count = inside.withLock { inside in
                            inside += 1
                            return inside
                        }
                        most.withLock { $0 = max($0, count) }
                        await Task.yield()
                        inside.withLock { $0 -= 1 }
                        place.leave()
                    }
                    while limit.waiting <= number { await Task.yield() }
                }
                for place in first { place.leave() }
            }
            // With several places, a task may be slow between its entry and its line in the list.
            let order = entered.withLock { places == 1 ? $0 : $0.sorted() }
            #expect(order == Array(0..<40) && limit.waiting == 0 && limit.inside == 0)
            #expect(most.withLock { $0 } <= places)
        }
    }

    @Test("A place is given back once: when its task leaves, or when the task lets go of it")
    func once() async {
        let limit = TaskLimit(1)
        let early = await limit.enter()
        early.leave()
        early.leave()
        var second: TaskLimit.Place? = await limit.enter()
        let third = Task { await limit.enter() }
        while limit.waiting < 1 { await Task.yield() }
        withExtendedLifetime(early) {}
        #expect(limit.waiting == 1, "the second call of leave gave no second place")
        withExtendedLifetime(second) {}
        second = nil
        await third.value.leave()
        #expect(limit.waiting == 0)
    }

    @Test("Refused purchases give their places back, and so does heavy work")
    func refusals() async throws {
        try await DashboardServer.open { world in
            var held: [TaskLimit.Place] = []
            for _ in 1..<Server.purchasesAtOnce { held.append(await world.server.purchases.enter()) }
            for body in ["", "{}", #"{"signedTransaction":"a.b.c"}"#, #"{"receipt":"AAAA","transactionId":"1"}"#] {
                var request = HTTPRequest(method: .post, path: "/v1/transactions", body: Array(body.utf8))
                request.headers.add("Authorization", "Bearer \(DashboardServer.secretKey)")
                for _ in 0..<3 { #expect(await world.server.respond(to: request).status >= 400) }
            }
            held.append(await world.server.purchases.enter())
            #expect(held.count == Server.purchasesAtOnce && world.server.purchases.waiting == 0)
        }
    }
}

import Testing
import TillBilling
import TillThreads

@testable import TillAppStore

@Suite("App Store Server API: one request budget for all callers")
struct ServerAPIBudgetTests {
    /// The result of one request for a turn.
    private struct Attempt: Sendable {
        let caller: RequestCaller
        /// The request's number among this caller's requests, in order of arrival.
        let number: Int
        let asked: Instant
        let ended: Instant
        let fault: ServerAPIError?
    }

    private final class Record: Sendable {
        private let stored = Locked<[Attempt]>([])
        private let counts = Locked<[String: Int]>([:])
        var turns: [Attempt] { stored.withLock { $0 } }
        var granted: [Attempt] { turns.filter { $0.fault == nil } }

        func next(_ name: String) -> Int {
            counts.withLock { counts in
                counts[name, default: 0] += 1
                return counts[name, default: 0]
            }
        }

        func add(_ attempt: Attempt) { stored.withLock { $0.append(attempt) } }
    }

    private static func ask(
        _ budget: RequestBudget, _ caller: RequestCaller, _ time: PretendTime, _ record: Record
    ) async {
        let number = record.next(caller.name)
        let asked = time.now
        let found = await thrownError { () throws(ServerAPIError) in
            try await budget.acquire(.history, in: .production, for: caller)
        }
        record.add(Attempt(caller: caller, number: number, asked: asked, ended: time.now, fault: found))
    }

    /// The largest number within any window of that length, which begins with one of them and excludes its end.
    private static func most(_ instants: [Instant], in window: Int64) -> Int {
        let sorted = instants.sorted()
        var first = 0
        var most = 0
        for (index, instant) in sorted.enumerated() {
            while sorted[first].adding(milliseconds: window) <= instant { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }

    private static func quotas(_ quota: RequestQuota) -> RequestQuotas {
        var quotas = RequestQuotas()
        quotas[.history, .production] = quota
        return quotas
    }

    @Test("For any arrivals: never above the quota, first come first served, and no caller starves")
    func properties() {
        var total = 0
        for seed in 0..<300 as Range<UInt64> {
            let time = PretendTime(seed: seed)
            let window = Int64(time.random(1...20) * 50)
            let hourly = seed % 3 == 0 ? time.random(20...60) : nil
            let quota = RequestQuota(time.random(1...6), per: window, hourly: hourly)
            let budget = RequestBudget(effects: time.effects, quotas: Self.quotas(quota))
            let record = Record()
            let callers = (0..<time.random(1...5)).map { index in
                RequestCaller(
                    "caller \(index)", priority: time.random(0...1) == 0 ? .urgent : .bulk, weight: time.random(1...3),
                    timeout: .max / 4)
            }
            let requests = callers.flatMap { caller in
                (0..<time.random(1...25)).map { _ in (caller, Int64(time.random(0...3) * time.random(0...400))) }
            }
            let isOver = time.run {
                await withTaskGroup(of: Void.self) { group in
                    for (caller, delay) in requests {
                        group.addTask {
                            if delay > 0 { await time.pause(delay) }
                            await Self.ask(budget, caller, time, record)
                        }
                    }
                }
            }
            total += requests.count
            #expect(isOver, "seed \(seed): somebody waits for ever")
            Self.check(record, quota, requests.count, seed: seed)
            #expect(budget.waiting(for: .history, in: .production) == 0)
        }
        #expect(total > 5_000)
    }

    private static func check(_ record: Record, _ quota: RequestQuota, _ count: Int, seed: UInt64) {
        let granted = record.granted
        #expect(granted.count == count, "seed \(seed)")
        let instants = granted.map(\.ended)
        #expect(most(instants, in: quota.window) <= quota.count, "seed \(seed)")
        if let hourly = quota.hourly { #expect(most(instants, in: 3_600_000) <= hourly, "seed \(seed)") }
        for (_, turns) in Dictionary(grouping: granted, by: \.caller.name) {
            // Turns with the same time are granted in an order that the seed decides.
            let inOrder = turns.sorted { $0.number < $1.number }.map(\.ended)
            #expect(inOrder == inOrder.sorted(), "seed \(seed)")
        }
        // While one request waits, no other caller gets more than its share before it.
        for attempt in granted where attempt.asked < attempt.ended {
            let meanwhile = granted.filter { attempt.asked < $0.ended && $0.ended < attempt.ended }
            let ahead = granted.filter { $0.caller == attempt.caller && $0.number < attempt.number }.count + 1
            let rivals = Set(granted.map(\.caller)).filter {
                $0.priority == attempt.caller.priority && $0 != attempt.caller
            }
            let ofLane = rivals.reduce(ahead) { $0 + $1.weight * (ahead + 1) }
            let bound = attempt.caller.priority == .urgent ? ofLane + ofLane / 4 + 1 : ofLane * 5 + 5
            #expect(meanwhile.count <= bound, "seed \(seed): \(meanwhile.count) before one of \(attempt.caller.name)")
        }
        guard quota.hourly == nil, let first = granted.map(\.asked).min(), let last = instants.max() else { return }
        // No capacity is wasted either: all requests fit into this time.
        let latest = granted.map(\.asked).max() ?? first
        let needed = Int64((count + quota.count - 1) / quota.count) * quota.window
        #expect(last <= latest.adding(milliseconds: needed), "seed \(seed)")
    }

    @Test("The same seed gives the same turns")
    func determinism() {
        func trace(_ seed: UInt64) -> [String] {
            let time = PretendTime(seed: seed)
            let budget = RequestBudget(effects: time.effects, quotas: Self.quotas(RequestQuota(2)))
            let record = Record()
            _ = time.run {
                await withTaskGroup(of: Void.self) { group in
                    for index in 0..<40 {
                        let caller = RequestCaller("c\(index % 5)", priority: index % 2 == 0 ? .urgent : .bulk)
                        group.addTask { await Self.ask(budget, caller, time, record) }
                    }
                }
            }
            return record.turns.map {
                "\($0.caller.name) \($0.number) \($0.ended.milliseconds) \($0.fault == nil)"
            }
        }
        #expect(trace(7) == trace(7))
        #expect(trace(7) != trace(8))
    }

    @Test("A buyer who arrives behind hundreds of bulk requests is served at the next turn, and the bulk continues")
    func urgentLane() {
        let time = PretendTime(seed: 1)
        let quotas = Self.quotas(RequestQuota(1, per: 100))
        let budget = RequestBudget(effects: time.effects, quotas: quotas)
        let record = Record()
        let isOver = time.run {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<400 {
                    group.addTask { await Self.ask(budget, .bulk("reconciliation"), time, record) }
                }
                for index in 0..<40 {
                    group.addTask {
                        await time.pause(1_050)
                        await Self.ask(budget, RequestCaller("buyer \(index)"), time, record)
                    }
                }
            }
        }
        #expect(isOver)
        let buyers = record.granted.filter { $0.caller.priority == .urgent }
        #expect(buyers.count == 40)
        #expect(buyers.first.map { $0.ended.milliseconds - $0.asked.milliseconds } ?? 0 <= 200)
        // Forty urgent turns with ten of the bulk between them.
        #expect(buyers.last.map { $0.ended.milliseconds - $0.asked.milliseconds } ?? 0 <= 5_100)
        #expect(record.granted.count { $0.caller.priority == .bulk } == 400)
        let rush = buyers.map(\.asked).max() ?? time.now
        let meanwhile = record.granted.filter { $0.caller.priority == .bulk && $0.ended > rush }
        #expect(meanwhile.prefix(9).allSatisfy { $0.ended <= rush.adding(milliseconds: 5_000) })
    }

    @Test("On real threads every caller is served, and time passes as the quota requires")
    func realThreads() async {
        let now = Locked(TestAuthority.today)
        let effects = AppleEffects(
            exchange: { _ async throws(AppleConnectionError) in throw AppleConnectionError(.unreachable) },
            clock: { now.withLock { $0 } }, entropy: { [UInt8](repeating: 0, count: $0) },
            pause: { milliseconds in now.withLock { $0 = $0.adding(milliseconds: milliseconds) } })
        let budget = RequestBudget(effects: effects, quotas: Self.quotas(RequestQuota(10, per: 100)))
        let served = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<600 {
                let caller = RequestCaller(
                    "\(index % 7)", priority: index % 3 == 0 ? .bulk : .urgent, timeout: 1_000_000)
                group.addTask {
                    await thrownError { () throws(ServerAPIError) in
                        try await budget.acquire(.history, in: .production, for: caller)
                    } == nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(served == 600)
        #expect(now.withLock { $0 } >= TestAuthority.today.adding(milliseconds: 59 * 100))
        #expect(budget.waiting(for: .history, in: .production) == 0)
    }

    @Test("Callers of one queue take turns, by their weight")
    func rounds() {
        let time = PretendTime(seed: 1)
        let budget = RequestBudget(effects: time.effects, quotas: Self.quotas(RequestQuota(1, per: 10)))
        let record = Record()
        _ = time.run {
            await budget.takeAll(of: 1)
            await withTaskGroup(of: Void.self) { group in
                for (name, weight, count) in [("a", 1, 20), ("b", 3, 20), ("c", 1, 2)] {
                    for _ in 0..<count {
                        group.addTask {
                            await Self.ask(budget, RequestCaller(name, weight: weight), time, record)
                        }
                    }
                }
            }
        }
        let names = record.granted.map(\.caller.name)
        #expect(names.count == 42)
        // Whichever begins: in any ten turns of the first twenty, b has three for one of a's, and c both of its own.
        let early = names.dropFirst().prefix(20)
        #expect((10...14).contains(early.count { $0 == "b" }), "\(names)")
        #expect((3...6).contains(early.count { $0 == "a" }), "\(names)")
        #expect(names.prefix(14).count { $0 == "c" } == 2, "\(names)")
    }

    @Test("A caller that can't be served in time is refused at once with a time to return; others wait until certain")
    func timeout() {
        let time = PretendTime(seed: 1)
        let budget = RequestBudget(effects: time.effects, quotas: Self.quotas(RequestQuota(2, per: 1_000)))
        let record = Record()
        let start = time.now
        let isOver = time.run {
            await budget.takeAll(of: 2)
            await Self.ask(budget, RequestCaller("hasty", timeout: 999), time, record)
            await withTaskGroup(of: Void.self) { group in
                for name in ["a", "b", "c"] {
                    group.addTask { await Self.ask(budget, RequestCaller(name, timeout: 1_500), time, record) }
                }
            }
        }
        #expect(isOver)
        let hasty = record.turns.first
        #expect(hasty?.fault == .overBudget(until: start.adding(milliseconds: 1_000)))
        #expect(hasty?.ended == start)
        #expect(hasty?.fault?.isRetryable == true)
        let others = record.turns.dropFirst()
        #expect(
            others.filter { $0.fault == nil }.map(\.ended) == [start, start].map { $0.adding(milliseconds: 1_000) })
        let late = others.filter { $0.fault != nil }
        #expect(late.map(\.fault) == [.overBudget(until: start.adding(milliseconds: 2_000))])
        #expect(late.allSatisfy { $0.ended <= start.adding(milliseconds: 1_501) })
    }

    @Test("The number of waiting requests is limited")
    func waitingLimit() {
        let time = PretendTime(seed: 1)
        let budget = RequestBudget(
            effects: time.effects, quotas: Self.quotas(RequestQuota(1, per: 1_000)), waitingLimit: 10)
        let record = Record()
        let isOver = time.run {
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<100 {
                    group.addTask {
                        await Self.ask(budget, RequestCaller("\(index)", timeout: 1_000_000), time, record)
                    }
                }
            }
        }
        #expect(isOver)
        #expect(record.granted.count == 11)
        #expect(record.turns.count { $0.fault?.isRetryable == true } == 89)
    }

    @Test("If the last request of the fullest queue is the leader, the one before it makes room")
    func leaderIsLast() {
        let time = PretendTime(seed: 1)
        let budget = RequestBudget(
            effects: time.effects, quotas: Self.quotas(RequestQuota(1, per: 1_000)), waitingLimit: 3)
        let record = Record()
        let isOver = time.run {
            await budget.takeAll(of: 1)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        await Self.ask(budget, RequestCaller("thief", timeout: 1_000_000), time, record)
                    }
                }
                // The first was served, and the last one leads from now on.
                await time.pause(1_500)
                for name in ["ben", "ann"] {
                    group.addTask { await Self.ask(budget, RequestCaller(name, timeout: 1_000_000), time, record) }
                }
            }
        }
        #expect(isOver)
        #expect(record.granted.map(\.caller.name).sorted() == ["ann", "ben", "thief", "thief"])
    }

    @Test("A wait can be cancelled, the leader's too, and the remaining callers are still served")
    func cancellation() {
        for seed in 0..<50 as Range<UInt64> {
            let time = PretendTime(seed: seed)
            let budget = RequestBudget(effects: time.effects, quotas: Self.quotas(RequestQuota(1, per: 1_000)))
            let record = Record()
            let isOver = time.run {
                await withTaskGroup(of: Void.self) { group in
                    for index in 0..<6 {
                        group.addTask {
                            let caller = RequestCaller(index < 3 ? "stays" : "leaves", timeout: 100_000)
                            guard index >= 3 else { return await Self.ask(budget, caller, time, record) }
                            await withTaskGroup(of: Void.self) { inner in
                                inner.addTask { await Self.ask(budget, caller, time, record) }
                                await time.pause(Int64(time.random(1...2_500)))
                                inner.cancelAll()
                            }
                        }
                    }
                }
            }
            #expect(isOver, "seed \(seed)")
            #expect(record.turns.count == 6)
            #expect(record.granted.count { $0.caller.name == "stays" } == 3, "seed \(seed)")
            for attempt in record.turns where attempt.fault != nil {
                guard case .outage(let outage) = attempt.fault else {
                    Issue.record("\(String(describing: attempt.fault))")
                    continue
                }
                #expect(outage.reason == .stopped)
            }
            #expect(budget.waiting(for: .history, in: .production) == 0)
        }
    }

    @Test("A clock set back or ahead neither stops the turns nor exceeds the quota for long")
    func clockChanges() {
        for jump in [-86_400_000, -500, 500, 86_400_000] as [Int64] {
            let time = PretendTime(seed: 1)
            let budget = RequestBudget(effects: time.effects, quotas: Self.quotas(RequestQuota(2, per: 1_000)))
            let record = Record()
            let isOver = time.run {
                for index in 0..<12 {
                    if index == 5 { time.jump(milliseconds: jump) }
                    await Self.ask(budget, RequestCaller("a"), time, record)
                }
            }
            #expect(isOver)
            #expect(record.granted.count == 12, "\(jump)")
            #expect(Self.most(record.granted.dropFirst(5).map(\.ended), in: 1_000) <= 3, "\(jump)")
        }
    }

    @Test("On a stopped clock a caller is refused in the end, and does not wait for ever")
    func standingClock() async {
        var effects = PretendTime(seed: 1).effects
        effects.clock = { TestAuthority.today }
        effects.pause = { _ in }
        let budget = RequestBudget(effects: effects, quotas: Self.quotas(RequestQuota(1)))
        await budget.takeAll(of: 1)
        let found = await thrownError { () throws(ServerAPIError) in
            try await budget.acquire(.history, in: .production, for: .buyer)
        }
        #expect(found == .overBudget(until: TestAuthority.today.adding(milliseconds: 1_000)))
    }
}

extension RequestBudget {
    /// Uses up that many turns of the history endpoint.
    fileprivate func takeAll(of count: Int) async {
        for _ in 0..<count { try? await acquire(.history, in: .production, for: .buyer) }
    }
}

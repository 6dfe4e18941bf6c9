import Testing
import TillBilling
import TillThreads

@testable import TillAppStore

@Suite("App Store Server API: retries")
struct ServerAPIRetryTests {
    private static let id = TransactionID("2000000900000001")
    private static let found = AppleResponse.json(["signedTransactionInfo": "a.b.c"])

    @Test("Transient faults are retried, each after a longer pause")
    func backOff() async throws {
        let apple = CannedApple(
            .error(5_000_001), .text("<html>", status: 503), .error(4_040_002), .error(4_040_006), Self.found)
        let answered = try await apple.api().retrying(.persistent) { (api) throws(ServerAPIError) in
            try await api.transactionInfo(Self.id)
        }
        #expect(answered.value.jws == "a.b.c")
        #expect(apple.asked.count == 5)
        #expect(apple.pauses == [500, 1_000, 2_000, 4_000])
    }

    @Test("A final fault is returned at once")
    func final() async throws {
        for answer in [AppleResponse.error(4_000_006), .error(4_040_001), AppleResponse(status: 401)] {
            let apple = CannedApple(answer, Self.found)
            let api = try apple.api(environments: [.production])
            let found = await thrownError { () throws(ServerAPIError) in
                try await api.retrying(.persistent) { (api) throws(ServerAPIError) in
                    try await api.transactionInfo(Self.id)
                }
            }
            #expect(found?.isRetryable == false)
            #expect(apple.asked.count == 1 && apple.pauses.isEmpty)
        }
    }

    @Test("After a 429 the next request leaves at Apple's stated time, not before")
    func rateLimit() async throws {
        let until = TestAuthority.today.adding(milliseconds: 1_200_000)
        let times = Locked<[Instant]>([])
        let limited = AppleResponse(status: 429, headers: [.init("Retry-After", String(until.milliseconds))])
        let apple = CannedApple(limited, Self.found)
        var effects = apple.effects
        let exchange = effects.exchange
        effects.exchange = { request async throws(AppleConnectionError) in
            times.withLock { $0.append(apple.now) }
            return try await exchange(request)
        }
        let api = ServerAPI(
            key: try #require(CannedApple.key), bundleID: "com.example.learn", effects: effects,
            budget: RequestBudget(effects: effects))
        _ = try await api.retrying(.persistent) { (api) throws(ServerAPIError) in try await api.transactionInfo(Self.id)
        }
        #expect(times.withLock { $0 } == [TestAuthority.today, until])
    }

    @Test("A caller without patience gets the time to return instead of a long wait")
    func brief() async throws {
        let until = TestAuthority.today.adding(milliseconds: 1_200_000)
        let apple = CannedApple(
            AppleResponse(status: 429, headers: [.init("Retry-After", String(until.milliseconds))]), Self.found)
        let api = try apple.api()
        let found = await thrownError { () throws(ServerAPIError) in
            try await api.retrying(.brief) { (api) throws(ServerAPIError) in try await api.transactionInfo(Self.id) }
        }
        #expect(found == .rateLimited(until: until))
        #expect(apple.pauses.isEmpty)
    }

    @Test("Attempts are limited, and lasting faults of Apple's server are retried after long pauses")
    func bounds() async throws {
        let apple = CannedApple(.error(5_000_000))
        let api = try apple.api()
        func ask(_ policy: RetryPolicy) async -> ServerAPIError? {
            await thrownError { () throws(ServerAPIError) in
                try await api.retrying(policy) { (api) throws(ServerAPIError) in
                    try await api.transactionInfo(Self.id)
                }
            }
        }
        #expect(await ask(.brief)?.code == .generalInternal)
        #expect(apple.asked.count == 1, "Five minutes are more than the ten seconds of patience")
        #expect(await ask(RetryPolicy(attempts: 3, timeLimit: 4_000_000))?.code == .generalInternal)
        #expect(apple.pauses == [150_000, 150_000])
        #expect(await ask(.none)?.code == .generalInternal)
        #expect(apple.asked.count == 5)
    }

    @Test("Cancelled during a pause, the client sends nothing more")
    func cancelled() {
        let time = PretendTime(seed: 3)
        let sent = Locked(0)
        var effects = time.effects
        effects.exchange = { _ async throws(AppleConnectionError) in
            sent.withLock { $0 += 1 }
            throw AppleConnectionError(.timedOut)
        }
        let asked = effects
        let outcome = Locked<ServerAPIError?>(nil)
        let isOver = time.run {
            guard let key = CannedApple.key else { return }
            let api = ServerAPI(
                key: key, bundleID: "com.example.learn", effects: asked, budget: RequestBudget(effects: asked))
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    let found = await thrownError { () throws(ServerAPIError) in
                        try await api.retrying(.persistent) { (api) throws(ServerAPIError) in
                            try await api.transactionInfo(Self.id)
                        }
                    }
                    outcome.withLock { $0 = found }
                }
                await time.pause(1_700)
                group.cancelAll()
            }
        }
        #expect(isOver)
        #expect(sent.withLock { $0 } == 3)
        guard case .outage(let outage) = outcome.withLock({ $0 }) else {
            Issue.record("not cancelled")
            return
        }
        #expect(outage.reason == .stopped)
    }
}

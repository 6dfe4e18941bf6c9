import Testing
import TillBilling
import TillThreads

@testable import TillAppStore

@Suite("App Store Server API: sources share one budget")
struct ServerAPISourceTests {
    private static func quotas() -> RequestQuotas {
        var quotas = RequestQuotas()
        quotas[.transactionInfo, .production] = RequestQuota(1, per: 100)
        return quotas
    }

    /// Uses up the free turns, lets all callers wait, and returns the served and the refused ones, in order.
    private static func serve(
        _ callers: [RequestCaller], waitingLimit: Int = 1_000
    ) -> (served: [String], refused: [String]) {
        let time = PretendTime(seed: 1)
        let budget = RequestBudget(effects: time.effects, quotas: quotas(), waitingLimit: waitingLimit)
        let record = Locked<(served: [String], refused: [String])>(([], []))
        let isOver = time.run {
            try? await budget.acquire(.transactionInfo, in: .production, for: .buyer)
            await withTaskGroup(of: Void.self) { group in
                for (index, caller) in callers.enumerated() {
                    group.addTask {
                        // The seed reorders callers with equal times; a millisecond apart they arrive as listed.
                        if index >= callers.count - 1 { await time.pause(1) }
                        let refused = await thrownError { () throws(ServerAPIError) in
                            try await budget.acquire(.transactionInfo, in: .production, for: caller)
                        }
                        record.withLock { record in
                            if refused == nil {
                                record.served.append(caller.name)
                            } else {
                                record.refused.append(caller.name)
                            }
                        }
                    }
                }
            }
        }
        #expect(isOver)
        return record.withLock { $0 }
    }

    private static func crowd(_ count: Int) -> [RequestCaller] {
        (0..<count).map { RequestCaller("eve \($0)", source: "network 203.0.113.7", timeout: 1_000_000) }
    }

    @Test("Four hundred accounts at one address have one turn in each round: the last caller to come is served second")
    func sources() {
        let ann = RequestCaller("ann", source: "network 198.51.100.1", timeout: 1_000_000)
        let (served, refused) = Self.serve(Self.crowd(400) + [ann])
        #expect(refused.isEmpty && served.count == 401)
        #expect(served.prefix(2).contains("ann"))
    }

    @Test("At one address callers still take turns: one with hundreds waiting delays no other")
    func callersOfOneSource() {
        let eve = RequestCaller("eve", source: "network 203.0.113.7", timeout: 1_000_000)
        let ann = RequestCaller("ann", source: "network 203.0.113.7", timeout: 1_000_000)
        #expect(Self.serve(Array(repeating: eve, count: 400) + [ann]).served.prefix(2).contains("ann"))
    }

    @Test("When there is no more room the fullest source makes some, and never for itself")
    func crowded() {
        let ann = RequestCaller("ann", timeout: 1_000_000)
        let (served, refused) = Self.serve(Self.crowd(50) + [ann], waitingLimit: 50)
        #expect(served.count == 50 && served.prefix(2).contains("ann"))
        #expect(refused.count == 1 && refused.allSatisfy { $0.hasPrefix("eve") })
        let more = Self.serve(Self.crowd(60), waitingLimit: 50)
        #expect(more.served.count == 50 && more.refused.count == 10)
    }
}

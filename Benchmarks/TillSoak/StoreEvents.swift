import TillAppStore

/// Events at the store besides purchases: parents decide, customers get refunds, refunds are reversed, subscriptions
/// are cancelled.
struct StoreEvents: Sendable {
    let control: StoreControl
    let tally: Tally
    let seed: UInt64

    func run(until deadline: ContinuousClock.Instant) async {
        var random = SeededRandom(seed: seed, player: "world")
        var bought: [String: [String]] = [:]
        var refunded: [String] = []
        while ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: random.duration(0.5...2))
            guard let account = random.pick(Phone.accounts) else { continue }
            if random.occurs(0.6) { try? await decide(of: account, &random) }
            await readOn(account, &bought)
            let all = bought.values.flatMap { $0 }
            if random.occurs(0.25), let id = random.pick(all), await act("refund", on: id) { refunded.append(id) }
            if random.occurs(0.1), let id = random.pick(refunded) { _ = await act("refundReversal", on: id) }
            if random.occurs(0.02) { try? await cancel(of: account) }
        }
    }

    /// Decides all pending approvals and ends all renewals.
    func complete(_ random: inout SeededRandom) async throws {
        for account in Phone.accounts {
            try await decide(of: account, &random)
            try await cancel(of: account)
        }
    }

    /// Decides pending purchases: two of three are approved.
    private func decide(of account: String, _ random: inout SeededRandom) async throws {
        for state in ["deferred", "interrupted"] {
            for waiting in try await control.list("/emulator/transactions?account=\(account)&state=\(state)") {
                guard let id = waiting["transactionId"]?.string else { continue }
                _ = await act(random.occurs(0.67) ? "approve" : "decline", on: id)
            }
        }
    }

    private func cancel(of account: String) async throws {
        for subscription in try await control.list("/emulator/subscriptions?account=\(account)") {
            guard let id = subscription["originalTransactionId"]?.string else { continue }
            if (try? await control.post("/emulator/subscriptions/\(id)/cancel")) != nil {
                tally.add(.deeds, "subscription cancelled")
            }
        }
    }

    private func readOn(_ account: String, _ bought: inout [String: [String]]) async {
        let after = bought[account]?.last.map { "&cursor=\($0)" } ?? ""
        let path = "/emulator/transactions?account=\(account)&state=purchased&limit=100"
        guard let page = try? await control.get(path + after) else { return }
        bought[account, default: []] += (page["data"]?.array ?? []).compactMap { $0["transactionId"]?.string }
    }

    private func act(_ verb: String, on id: String) async -> Bool {
        guard (try? await control.post("/emulator/transactions/\(id)/\(verb)")) != nil else { return false }
        tally.add(.deeds, verb)
        return true
    }
}

import TillBilling

/// Marks the customers to read first: subscriptions whose next period is unknown, purchases without an owner, customers
/// with orders that stay open, and customers who requested a refund. It makes no requests to Apple, so after a crash it
/// starts again.
extension ReconciliationRunner {
    private static let batch = 200
    private static let range: Int64 = 2_000
    /// Milliseconds after its end for which a subscription may still recover: Apple retries for sixty days
    /// (facts/limits §4).
    private static let lapse: Int64 = 61 * 86_400_000
    /// Milliseconds for which a customer who requested a refund is read early.
    private static let refundWatch: Int64 = 90 * 86_400_000
    /// The maximum number of chains read for one customer.
    static let chainLimit = 100

    mutating func markCandidates() async throws {
        let now = ledger.clock()
        var position: Int64?
        repeat {
            let last = position
            position = try await ledger.database.write(locking: [.ledger("apple chains")]) {
                try AppleChainTable($0).discover(after: last, limit: 2_000, at: now)
            }
        } while position != nil
        try await markLapsed(at: now)
        try await markQuarantined()
        for status: OrderStatus in [.ongoing, .deferred, .prepared, .failed, .cancelled] {
            try await markBuyers(with: status, at: now)
        }
        try await markRefundAskers(at: now)
    }

    private func mark(
        _ chains: [TransactionID], _ query: AppleChainTable.Query = .history
    ) async throws {
        guard !chains.isEmpty else { return }
        let environment = environment
        try await ledger.database.write(locking: [.ledger("apple chains")]) { connection in
            for chain in chains { try AppleChainTable(connection).askSoon(chain, query, in: environment) }
        }
    }

    private func markLapsed(at now: Instant) async throws {
        let environment = environment
        let newest = try await ledger.database.read { try CandidateList($0).newestSubscription() }
        var first: Int64 = 1
        while first <= newest {
            let rowIDs = first...(first + Self.range - 1)
            let found = try await ledger.database.read { connection in
                try CandidateList(connection).lapsedSubscriptions(
                    in: environment, rowIDs: rowIDs, endedFrom: now.adding(milliseconds: -Self.lapse), to: now)
            }
            try await mark(found.map(\.originalID))
            first += Self.range
        }
    }

    private func markQuarantined() async throws {
        let environment = environment
        var (before, count) = (Int64.max, Int64(0))
        while count < settings.quarantinedPerRun {
            let position = before
            let found = try await ledger.database.read { connection in
                try CandidateList(connection).quarantined(in: environment, before: position, limit: Self.batch)
            }
            guard let last = found.last else { return }
            try await mark(found.map(\.originalID))
            before = last.rowID
            count += Int64(found.count)
        }
    }

    /// Apple has no request for an order id, but any transaction of the buyer leads to all of the buyer's purchases.
    private func markBuyers(with status: OrderStatus, at now: Instant) async throws {
        let environment = environment
        let (newest, oldest) = (
            now.adding(milliseconds: -settings.orderQuiet), now.adding(milliseconds: -settings.orderTimeout)
        )
        var seen: Set<UserID> = []
        var before = Int64.max
        while true {
            let (position, known) = (before, seen)
            let found = try await ledger.database.read { connection in
                let list = CandidateList(connection)
                let rowIDs = try list.orders(status, before: position, limit: Self.batch)
                let orders = try rowIDs.compactMap { try OrderTable(connection).find(rowID: $0)?.order }
                let users = Set(orders.filter { $0.createdAt <= newest }.map(\.userID)).subtracting(known)
                let chains = try users.flatMap {
                    try list.chains(of: $0, in: environment, limit: Self.chainLimit)
                }
                let isOver = orders.contains { $0.createdAt < oldest }
                return (last: rowIDs.last, users: users, chains: chains, isOver: isOver)
            }
            try await mark(found.chains)
            guard let last = found.last, !found.isOver else { return }
            seen.formUnion(found.users)
            before = last
        }
    }

    private func markRefundAskers(at now: Instant) async throws {
        let environment = environment
        let oldest = now.adding(milliseconds: -Self.refundWatch)
        var before = Int64.max
        while true {
            let position = before
            let found = try await ledger.database.read { connection in
                let page = try ConsumptionTable(connection).list(before: position, limit: Self.batch)
                let chains = try page.filter { $0.request.environment == environment }.compactMap { stored in
                    try TransactionTable(connection).find(stored.request.transactionID, in: environment)?.originalID
                }
                return (
                    last: page.last?.rowID, chains: chains,
                    isOver: page.contains { $0.request.requestedAt < oldest }
                )
            }
            try await mark(found.chains, .refunds)
            guard let last = found.last, !found.isOver else { return }
            before = last
        }
    }
}

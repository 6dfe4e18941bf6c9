import TillBilling
import TillSQL

extension Store {
    public func purchase(_ request: PurchaseRequest) async throws -> Result<PurchaseResult, StoreRefusal> {
        let request = chaos.arrived(request)
        return try await change { try PaymentSheet.pay(request, $0) }
    }

    /// Approves or declines what waits for a parent, or lets an interrupted purchase go through.
    public func settle(_ number: Int64, approved: Bool) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try ApprovalDesk.settle(number, approved: approved, $0) }
    }

    /// Takes a transaction out of its account's queue. Finishing twice changes nothing.
    public func finish(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { turn in
            guard var transaction = try TransactionTable.find(number, turn.session) else {
                return .failure(.unknownTransaction(String(number)))
            }
            guard transaction.state == .purchased else { return .failure(.notPurchased(String(number))) }
            if !transaction.isFinished { try TransactionTable.setFinished(number, true, turn.session) }
            transaction.isFinished = true
            return .success(transaction)
        }
    }

    public func transaction(_ number: Int64) async throws -> StoreTransaction? {
        try await ask { session in try TransactionTable.find(number, session) }
    }

    /// The account's transactions in one app, or in all, oldest first, beginning after number `after`.
    public func transactions(
        account: String, bundleID: String? = nil, unfinishedOnly: Bool, after: Int64 = 0, limit: Int
    ) async throws -> [StoreTransaction] {
        try await ask { session in
            unfinishedOnly
                ? try TransactionTable.unfinished(
                    account: account, bundleID: bundleID, after: after, limit: limit, session)
                : try TransactionTable.ofAccount(
                    account, bundleID: bundleID, after: after, limit: limit, session)
        }
    }

    /// The account's transactions whose payment has come this far, in one app or in all, oldest first, beginning after
    /// number `after`.
    public func transactions(
        in state: StoreTransaction.State, account: String, bundleID: String? = nil, after: Int64 = 0, limit: Int
    ) async throws -> [StoreTransaction] {
        try await ask { session in
            state == .purchased
                ? try WaitingTable.paid(account: account, bundleID: bundleID, after: after, limit: limit, session)
                : try WaitingTable.all(state, account: account, bundleID: bundleID, after: after, limit: limit, session)
        }
    }

    /// More purchases than this don't go into one receipt: 20,000 are about 8 MiB (facts/limits §3).
    static let receiptLimit = 20_000
}

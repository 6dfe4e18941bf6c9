/// Points that go along with a transfer, of one kind and environment.
public struct MovedPoints: Hashable, Sendable {
    public let environment: Environment
    public let currency: String
    /// What the giver loses and the taker gets; below zero it is a debt that moves. Never zero.
    public let amount: Int64
    /// The grant they came with; nil for what is moved of a wallet as a whole.
    public let grant: Int64?

    public init(environment: Environment, currency: String, amount: Int64, grant: Int64? = nil) {
        self.environment = environment
        self.currency = currency
        self.amount = amount
        self.grant = grant
    }

    /// Out of one wallet and into the other, by way of one account of ours, which is even again after it.
    public func postings(_ transfer: Transfer) -> [Posting] {
        [(transfer.from, -amount), (transfer.to, amount)].map { user, amount in
            Posting(
                environment: environment, userID: user, contra: .moved, currency: currency, amount: amount,
                kind: .moved, reference: transfer.id.description, at: transfer.at)
        }
    }

    /// What is left of the points that came with purchases: no more than the wallet holds. What was spent stays spent.
    ///
    /// - Parameter points: what these purchases put into the giver's wallet, less what was taken back.
    public static func left(of points: [MovedPoints], in wallet: Wallet) -> [MovedPoints] {
        var balances = wallet.balances
        return points.compactMap { points in
            let amount = back(points.amount, of: balances[points.currency, default: 0])
            guard amount != 0 else { return nil }
            balances[points.currency, default: 0] -= amount
            return MovedPoints(
                environment: points.environment, currency: points.currency, amount: amount, grant: points.grant)
        }
    }

    /// How much of what was moved goes back: what is still there. A debt goes back whole, it was the giver's.
    private static func back(_ moved: Int64, of balance: Int64) -> Int64 {
        moved < 0 ? moved : max(0, min(moved, balance))
    }
}

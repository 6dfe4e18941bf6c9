/// What becomes of a customer whose points were spent before Apple took the purchase back (U5). Under every policy the
/// refund is posted in full; nobody gets points for nothing unless the policy says so.
public enum DebtPolicy: String, Hashable, Sendable, CaseIterable {
    /// The balance goes below zero, and the next points of that kind pay for it. Other kinds stay usable.
    case owe
    /// The same, but while any balance is below zero nothing can be spent, of no kind.
    case freeze
    /// What the wallet can't cover is written off in the same commit, and the balance ends at zero.
    case forgive

    /// Why so much can't be spent; nil if it can.
    public func refusal(ofSpending amount: Int64, of currency: String, from wallet: Wallet) -> Refusal? {
        if self == .freeze, wallet.isInDebt { return .inDebt }
        return wallet.covers(amount, of: currency) ? nil : .insufficientFunds
    }
}

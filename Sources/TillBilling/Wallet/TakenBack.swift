/// What of one grant's points is taken back at present, and what of that was forgiven, as the grant's postings say.
/// A refund, a larger or smaller one that comes later, and its reversal are all settled to the difference from here,
/// so that it does not matter how many copies of them came before (U4, U5).
public struct TakenBack: Hashable, Sendable {
    /// By kind of points.
    private var taken: [String: Int64] = [:]
    private var forgiven: [String: Int64] = [:]

    /// - Parameter postings: those of the grant; what is no refund and no write-off does not count.
    public init(_ postings: [Posting]) {
        for posting in postings {
            switch posting.kind {
            case .refund, .refundReversal: taken[posting.currency, default: 0] -= posting.amount
            case .writeOff, .writeOffReversal: forgiven[posting.currency, default: 0] += posting.amount
            case .purchase, .bonus, .correction, .debit, .moved: break
            }
        }
    }

    /// The postings after which `share` of the grant is taken back; none if it is already. What gives points back takes
    /// what was forgiven first, whatever the policy is now, so that a balance never gains by a refund that was undone.
    ///
    /// - Parameter wallet: as it is before them.
    public func postings(
        bringing grant: Grant, to share: RevokedShare, in wallet: Wallet, under policy: DebtPolicy, at: Instant
    ) -> [Posting] {
        grant.points.flatMap { points -> [Posting] in
            func posting(_ kind: PostingKind, _ contra: ContraAccount, _ amount: Int64) -> Posting? {
                guard amount != 0 else { return nil }
                return Posting(
                    environment: grant.environment, userID: grant.userID, contra: contra, currency: points.currency,
                    amount: amount, kind: kind, reference: grant.id.description, at: at)
            }
            let change = share.part(of: points.amount) - taken[points.currency, default: 0]
            guard change > 0 else {
                let undone = min(forgiven[points.currency, default: 0], -change)
                return [
                    posting(.refundReversal, .sold, -change), posting(.writeOffReversal, .writtenOff, -undone),
                ].compactMap { $0 }
            }
            // A debt from before is not this refund's.
            let uncovered = min(change, max(0, change - wallet.balances[points.currency, default: 0]))
            return [
                posting(.refund, .sold, -change),
                posting(.writeOff, .writtenOff, policy == .forgive ? uncovered : 0),
            ].compactMap { $0 }
        }
    }
}

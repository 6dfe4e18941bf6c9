/// The part of a purchase that Apple has revoked, in thousandths of a percent: 100 % is 100000.
public struct RevokedShare: Hashable, Sendable {
    public let thousandths: Int

    /// Nothing is revoked.
    public static let none = RevokedShare(thousandths: 0)
    public static let all = RevokedShare(thousandths: 100_000)

    init(thousandths: Int) {
        precondition(
            (0...100_000).contains(thousandths), "a refund takes back at most what was given (invariant 4)")
        self.thousandths = thousandths
    }

    /// The part that Apple signed. A full refund and the end of Family Sharing revoke everything, and so does a
    /// revocation without a percentage: before API 1.19, Apple stated none (facts/jws §4).
    public init(_ transaction: PaidTransaction) {
        if transaction.revokedAt == nil {
            self = .none
        } else if ["REFUND_FULL", "FAMILY_REVOKE"].contains(transaction.terms.revocationType) {
            self = .all
        } else {
            self.init(thousandths: min(100_000, max(0, transaction.terms.revocationPercentage ?? 100_000)))
        }
    }

    /// The revoked part of one period: by a refund, or by a later purchase in its chain that replaced the remaining
    /// time. Apple refunds that time without a signed percentage, so it is computed from the dates.
    public init(_ transaction: PaidTransaction, in chain: SubscriptionChain) {
        let refunded = RevokedShare(transaction)
        guard let replaced = chain.replacement(of: transaction.id) else {
            self = refunded
            return
        }
        let unused = RevokedShare(thousandths: replaced.unused)
        // A receipt shows an upgrade and a full refund in the same way, as a date.
        let isUpgradeAlone = transaction.terms.revocationType == nil && replaced.endsPeriodItself
        self = isUpgradeAlone || unused.thousandths > refunded.thousandths ? unused : refunded
    }

    /// This part of an amount of points, rounded down: the customer keeps the fraction of a point.
    public func part(of points: Int64) -> Int64 {
        let product = max(0, points).multipliedFullWidth(by: Int64(thousandths))
        return Int64(100_000).dividingFullWidth(product).quotient
    }
}

/// The points of one grant that are currently reversed, and the part that was written off, derived from the grant's
/// postings. Refunds, larger or smaller later ones, and their reversals are all posted as a difference from this state,
/// so the number of copies that arrived before does not matter.
public struct ReclaimedPoints: Hashable, Sendable {
    /// The revoked amount by kind of points.
    private var reclaimed: [String: Int64] = [:]
    private var forgiven: [String: Int64] = [:]

    /// - Parameter postings: those of the grant; only refunds and write-offs count.
    public init(_ postings: [Posting]) {
        for posting in postings {
            switch posting.kind {
            case .refund, .refundReversal: reclaimed[posting.currency, default: 0] -= posting.amount
            case .writeOff, .writeOffReversal: forgiven[posting.currency, default: 0] += posting.amount
            case .purchase, .bonus, .correction, .debit, .moved: break
            }
        }
    }

    /// The postings after which `share` of the grant is reversed; none if it already is. Postings that return points
    /// first reverse the write-off, whatever the policy is now, so that a reversed refund never increases a balance.
    ///
    /// - Parameter wallet: the wallet before these postings.
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
            let wanted = share.part(of: points.amount)
            precondition(
                (0...max(0, points.amount)).contains(wanted),
                "a refund takes back at most what was given (invariant 4)")
            let change = wanted - reclaimed[points.currency, default: 0]
            guard change > 0 else {
                let undone = min(forgiven[points.currency, default: 0], -change)
                return [
                    posting(.refundReversal, .sold, -change), posting(.writeOffReversal, .writtenOff, -undone),
                ].compactMap { $0 }
            }
            // An earlier debt does not belong to this refund.
            let uncovered = min(change, max(0, change - wallet.balances[points.currency, default: 0]))
            return [
                posting(.refund, .sold, -change),
                posting(.writeOff, .writtenOff, policy == .forgive ? uncovered : 0),
            ].compactMap { $0 }
        }
    }
}

/// The used part of a purchase, in thousandths of a percent, rounded down: part of the consumption information for
/// Apple's decision about a refund (facts/server-api §5).
public struct UsedShare: Hashable, Sendable {
    /// 0 to 100000.
    public let thousandths: Int

    public static let none = UsedShare(used: 0, of: 1)

    public init(used: Int64, of amount: Int64) {
        guard amount > 0, used < amount else {
            thousandths = amount > 0 || used > 0 ? 100_000 : 0
            return
        }
        thousandths = Int(amount.dividingFullWidth(max(0, used).multipliedFullWidth(by: 100_000)).quotient)
    }

    /// The mean over several kinds of points. All kinds count the same, because no price relates one kind to another.
    /// Nil if there is none.
    public init?(mean shares: [UsedShare]) {
        guard !shares.isEmpty else { return nil }
        thousandths = shares.map(\.thousandths).reduce(0, +) / shares.count
    }

    /// The elapsed part of a time.
    public init(from start: Instant, milliseconds bought: Int64, at now: Instant) {
        let (elapsed, overflow) = now.milliseconds.subtractingReportingOverflow(start.milliseconds)
        self.init(used: overflow ? bought : max(0, elapsed), of: bought)
    }
}

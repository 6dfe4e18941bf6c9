/// How much of a purchase Apple has taken back, in thousandths of a percent: 100 % is 100000.
public struct RevokedShare: Hashable, Sendable {
    public let thousandths: Int

    /// The purchase stands.
    public static let none = RevokedShare(thousandths: 0)
    public static let all = RevokedShare(thousandths: 100_000)

    init(thousandths: Int) {
        precondition(
            (0...100_000).contains(thousandths), "a refund takes back at most what was given (invariant 4)")
        self.thousandths = thousandths
    }

    /// What Apple signed about it. A full refund and the end of family sharing take all, and so does a revocation that
    /// states no percentage: before API 1.19 Apple stated none (facts/jws §4).
    public init(_ transaction: PaidTransaction) {
        if transaction.revokedAt == nil {
            self = .none
        } else if ["REFUND_FULL", "FAMILY_REVOKE"].contains(transaction.terms.revocationType) {
            self = .all
        } else {
            self.init(thousandths: min(100_000, max(0, transaction.terms.revocationPercentage ?? 100_000)))
        }
    }

    /// What of one period was taken back: by a refund, or by a later purchase in its chain that replaced the rest of
    /// it. Apple gives the money of that rest back and signs no share, so the time says how much it is.
    public init(_ transaction: PaidTransaction, in chain: SubscriptionChain) {
        let refunded = RevokedShare(transaction)
        guard let replaced = chain.replacement(of: transaction.id) else {
            self = refunded
            return
        }
        let unused = RevokedShare(thousandths: replaced.unused)
        // A receipt shows an upgrade and a full refund alike, as a date.
        let isUpgradeAlone = transaction.terms.revocationType == nil && replaced.endsPeriodItself
        self = isUpgradeAlone || unused.thousandths > refunded.thousandths ? unused : refunded
    }

    /// That share of so many points, rounded down: the customer keeps the fraction of a point.
    public func part(of points: Int64) -> Int64 {
        let product = max(0, points).multipliedFullWidth(by: Int64(thousandths))
        return Int64(100_000).dividingFullWidth(product).quotient
    }
}

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
            let wanted = share.part(of: points.amount)
            precondition(
                (0...max(0, points.amount)).contains(wanted),
                "a refund takes back at most what was given (invariant 4)")
            let change = wanted - taken[points.currency, default: 0]
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

/// How much of a purchase its customer has used, in thousandths of a percent, rounded down: what Apple is told before
/// it decides about a refund (facts/server-api §5).
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

    /// Of several kinds of points each counts the same, because no price says what one is worth in another. Nil if
    /// there is none.
    public init?(mean shares: [UsedShare]) {
        guard !shares.isEmpty else { return nil }
        thousandths = shares.map(\.thousandths).reduce(0, +) / shares.count
    }

    /// Of time: how much of it is over.
    public init(from start: Instant, milliseconds bought: Int64, at now: Instant) {
        let (elapsed, overflow) = now.milliseconds.subtractingReportingOverflow(start.milliseconds)
        self.init(used: overflow ? bought : max(0, elapsed), of: bought)
    }
}

/// All periods of one subscription at Apple, whoever has each: those of one original transaction, in the order of
/// Apple's dates. Which of them are purchases and which renew them follows from the periods alone, never from their
/// arrival.
public struct SubscriptionChain: Hashable, Sendable {
    /// The oldest first. `isRenewal` is decided, also where Apple gave no reason.
    public let periods: [PaidPeriod]

    /// - Parameter periods: in any order.
    public init(_ periods: [PaidPeriod]) {
        let sorted = periods.sorted(by: PaidPeriod.isEarlier)
        self.periods = sorted.indices.map { index in
            var period = sorted[index]
            period.isRenewal = Self.isRenewal(period, after: index > 0 ? sorted[index - 1] : nil)
            return period
        }
    }

    // MARK: Purchases

    /// The purchase that a renewal renews: the newest one before it.
    ///
    /// - Returns: nil for a purchase, and where the purchase is not among the periods.
    public func purchase(renewedBy id: TransactionID) -> PaidPeriod? {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }), periods[index].isRenewal else {
            return nil
        }
        return periods[..<index].last { !$0.isRenewal }
    }

    /// The periods that one purchase pays for: itself and its renewals. Where the purchase of a renewal is not known,
    /// all renewals before the next purchase.
    public func periods(ofPurchaseWith id: TransactionID) -> ArraySlice<PaidPeriod> {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }) else { return [] }
        let first = periods[...index].lastIndex { !$0.isRenewal } ?? periods.startIndex
        let end = periods[(index + 1)...].firstIndex { !$0.isRenewal } ?? periods.endIndex
        return periods[first..<end]
    }

    /// What a purchase ends, if service still ran when it was made.
    public func replaced(by id: TransactionID) -> PaidPeriod? {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }), index > 0,
            !periods[index].isRenewal
        else { return nil }
        let before = periods[index - 1]
        // The old period may be marked as taken back by the upgrade itself.
        let until = before.terms.isUpgraded ? before.expiresAt : before.servedUntil
        return periods[index].purchasedAt <= until && periods[index].purchasedAt < before.expiresAt ? before : nil
    }

    /// What a later purchase took of a period.
    struct Replacement: Hashable, Sendable {
        /// Of its paid time, in thousandths of a percent, rounded down.
        let unused: Int
        /// Apple took the period back at the moment of that purchase.
        let endsPeriodItself: Bool
    }

    /// A receipt's dates have whole seconds, and Apple ends the old period in the course of the purchase.
    private static let sameMoment: Int64 = 60_000

    /// The periods of which a later purchase took paid time.
    public var replaced: Set<TransactionID> {
        var found: Set<TransactionID> = []
        var next: PaidPeriod?
        for index in periods.indices.reversed() {
            if let next, replacement(of: index, by: next) != nil { found.insert(periods[index].transactionID) }
            if !periods[index].isRenewal { next = periods[index] }
        }
        return found
    }

    /// - Returns: nil for a period that ran to its end, was refunded before the next purchase, or was free.
    func replacement(of id: TransactionID) -> Replacement? {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }),
            let next = periods[(index + 1)...].first(where: { !$0.isRenewal })
        else { return nil }
        return replacement(of: index, by: next)
    }

    private func replacement(of index: Int, by next: PaidPeriod) -> Replacement? {
        let period = periods[index]
        guard period.price?.amount != 0, period.terms.offer?.isTrial != true else { return nil }
        let (bought, end) = (Self.moment(next.purchasedAt), Self.moment(period.expiresAt))
        let revoked = period.revokedAt.map(Self.moment)
        if let revoked, revoked + Self.sameMoment < bought { return nil }
        var start = Self.moment(period.purchasedAt)
        // What was charged early begins when the period before it ends.
        if period.isRenewal, index > 0 { start = max(start, Self.moment(periods[index - 1].servedUntil)) }
        let (length, left) = (end - start, end - bought)
        guard length > 0, left > 0 else { return nil }
        let unused = min(left, length).multipliedFullWidth(by: 100_000)
        return Replacement(
            unused: Int(length.dividingFullWidth(unused).quotient),
            endsPeriodItself: revoked.map { abs($0 - bought) <= Self.sameMoment } ?? false)
    }

    /// In milliseconds, within bounds that no sum of two leaves.
    private static func moment(_ instant: Instant) -> Int64 { max(-(1 << 60), min(1 << 60, instant.milliseconds)) }

    // MARK: Renewals of which Apple did not say that they are

    /// Apple charges a renewal from a day before the end on, and tries for sixty days after it (facts/business-rules
    /// §8.3).
    private static let earliest: Int64 = 86_400_000
    private static let latest: Int64 = 60 * 86_400_000

    /// A receipt gives no reason for a later period. It is a purchase if it came while the one before it had more time
    /// to run, after Apple had ended that one, or when Apple had given up charging.
    private static func isRenewal(_ period: PaidPeriod, after before: PaidPeriod?) -> Bool {
        guard period.isRenewal, !period.statesReason, let before else { return period.isRenewal }
        if before.terms.isUpgraded { return false }
        if let revoked = before.revokedAt, revoked.seconds <= period.purchasedAt.seconds { return false }
        let (start, end) = (before.purchasedAt.milliseconds, before.expiresAt.milliseconds)
        // Test environments have periods of minutes.
        let early = min(earliest, max(0, end - start) / 4)
        return (end - early...end + latest).contains(period.purchasedAt.milliseconds)
    }
}

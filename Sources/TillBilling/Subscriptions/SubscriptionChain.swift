/// All periods of one subscription, whatever their owners: those of one original transaction, in the order of Apple's
/// dates. The periods alone determine which of them are purchases and which renew those, independent of the order of
/// arrival.
public struct SubscriptionChain: Hashable, Sendable {
    /// Oldest first. `isRenewal` is decided, even if Apple signed no reason.
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
    /// - Returns: nil for a purchase, and if the purchase is not among the periods.
    public func purchase(renewedBy id: TransactionID) -> PaidPeriod? {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }), periods[index].isRenewal else {
            return nil
        }
        return periods[..<index].last { !$0.isRenewal }
    }

    /// The periods of one purchase: itself and its renewals. If the purchase of a renewal is unknown, all renewals
    /// before the next purchase.
    public func periods(ofPurchaseWith id: TransactionID) -> ArraySlice<PaidPeriod> {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }) else { return [] }
        let first = periods[...index].lastIndex { !$0.isRenewal } ?? periods.startIndex
        let end = periods[(index + 1)...].firstIndex { !$0.isRenewal } ?? periods.endIndex
        return periods[first..<end]
    }

    /// The period that a purchase replaced, if service was still running.
    public func replaced(by id: TransactionID) -> PaidPeriod? {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }), index > 0,
            !periods[index].isRenewal
        else { return nil }
        let before = periods[index - 1]
        // The upgrade itself may have marked the old period as revoked.
        let until = before.terms.isUpgraded ? before.expiresAt : before.servedUntil
        return periods[index].purchasedAt <= until && periods[index].purchasedAt < before.expiresAt ? before : nil
    }

    /// The part of a period that a later purchase replaced.
    struct Replacement: Hashable, Sendable {
        /// The unused part of the paid time, in thousandths of a percent, rounded down.
        let unused: Int
        /// Whether Apple revoked the period at the moment of that purchase.
        let endsPeriodItself: Bool
    }

    /// In milliseconds. A receipt's dates have whole seconds, and Apple ends the old period in the course of the
    /// purchase.
    private static let sameMoment: Int64 = 60_000

    /// The periods that a later purchase shortened.
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
        // A renewal charged early begins when the previous period ends.
        if period.isRenewal, index > 0 { start = max(start, Self.moment(periods[index - 1].servedUntil)) }
        let (length, left) = (end - start, end - bought)
        guard length > 0, left > 0 else { return nil }
        let unused = min(left, length).multipliedFullWidth(by: 100_000)
        return Replacement(
            unused: Int(length.dividingFullWidth(unused).quotient),
            endsPeriodItself: revoked.map { abs($0 - bought) <= Self.sameMoment } ?? false)
    }

    /// In milliseconds, limited so that no sum of two overflows.
    private static func moment(_ instant: Instant) -> Int64 { max(-(1 << 60), min(1 << 60, instant.milliseconds)) }

    // MARK: Renewals without a signed reason

    /// In milliseconds. Apple charges a renewal from a day before the end, and retries for sixty days after it
    /// (facts/business-rules §8.3).
    private static let earliest: Int64 = 86_400_000
    private static let latest: Int64 = 60 * 86_400_000

    /// Receipts state no reason for a later period. It is a purchase if it was charged while the previous period had
    /// more time to run, after Apple had ended that period, or after Apple had stopped retrying.
    private static func isRenewal(_ period: PaidPeriod, after before: PaidPeriod?) -> Bool {
        guard period.isRenewal, !period.statesReason, let before else { return period.isRenewal }
        if before.terms.isUpgraded { return false }
        if let revoked = before.revokedAt, revoked.seconds <= period.purchasedAt.seconds { return false }
        let (start, end) = (before.purchasedAt.milliseconds, before.expiresAt.milliseconds)
        // Periods in test environments last minutes.
        let early = min(earliest, max(0, end - start) / 4)
        return (end - early...end + latest).contains(period.purchasedAt.milliseconds)
    }
}

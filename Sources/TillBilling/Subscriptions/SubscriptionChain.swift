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

    /// Whether a later purchase took paid time of a period.
    public func isReplaced(_ id: TransactionID) -> Bool { replacement(of: id) != nil }

    /// - Returns: nil for a period that ran to its end, was refunded before the next purchase, or was free.
    func replacement(of id: TransactionID) -> Replacement? {
        guard let index = periods.firstIndex(where: { $0.transactionID == id }),
            let next = periods[(index + 1)...].first(where: { !$0.isRenewal })?.purchasedAt.milliseconds,
            case let period = periods[index], period.price?.amount != 0, period.terms.offer?.isTrial != true
        else { return nil }
        if let revoked = period.revokedAt, revoked.milliseconds + Self.sameMoment < next { return nil }
        var start = period.purchasedAt.milliseconds
        // What was charged early begins when the period before it ends.
        if period.isRenewal, index > 0 { start = max(start, periods[index - 1].servedUntil.milliseconds) }
        let (length, left) = (period.expiresAt.milliseconds - start, period.expiresAt.milliseconds - next)
        guard length > 0, left > 0 else { return nil }
        let unused = min(left, length).multipliedFullWidth(by: 100_000)
        let moment = period.revokedAt.map { abs($0.milliseconds - next) <= Self.sameMoment } ?? false
        return Replacement(unused: Int(length.dividingFullWidth(unused).quotient), endsPeriodItself: moment)
    }

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

import TillAppStore
import TillBilling

/// A year that is paid by the month: the customer commits to twelve payments (API 1.21, facts/jws §4, §5). Apple's
/// published pages name its members and no rules; those here are ours:
///
/// - Whatever the customer wants takes effect when the twelve months are over: cancelling, a lower plan, another way to
///   pay, a higher price. An upgrade takes effect at once, as any does, and takes the rest of the commitment with it.
/// - The months that are owed renew all the same, also when the product was taken off sale meanwhile. One that can't be
///   charged is tried again like any renewal; if that ends without payment, the subscription and the commitment end.
/// - A refund of the current month ends the subscription, as any refund of a current period does.
/// - There are no offers by the month.
enum Commitment {
    static let periods: Int64 = 12
    static let period = OfferPeriod(1, .month)

    /// Of a commitment that begins at `start`: its first month.
    static func begin(
        monthly price: Money, at start: Instant, billingDay: Int64, _ pace: RenewalPace
    ) -> StoreTransaction.Commitment {
        StoreTransaction.Commitment(
            billingPeriod: 1, billingPeriods: periods,
            expires: end(ofMonths: periods, from: start, billingDay: billingDay, pace),
            price: Money(amount: price.amount * periods, currency: price.currency))
    }

    /// The month after this one. It ends as much later as a month was paid late.
    static func next(
        after month: StoreTransaction.Commitment, at start: Instant, billingDay: Int64, _ pace: RenewalPace
    ) -> StoreTransaction.Commitment {
        var next = month
        next.billingPeriod += 1
        next.expires = end(
            ofMonths: month.billingPeriods - month.billingPeriod, from: start, billingDay: billingDay, pace)
        return next
    }

    /// Month by month, because a faster pace may have one length for all periods.
    private static func end(
        ofMonths count: Int64, from start: Instant, billingDay: Int64, _ pace: RenewalPace
    ) -> Instant {
        (0..<max(0, count)).reduce(start) { date, _ in pace.end(of: period, from: date, billingDay: billingDay) }
    }
}

extension StoreTransaction.Commitment {
    /// What each of its months costs.
    var monthlyPrice: Money { Money(amount: price.amount / max(1, billingPeriods), currency: price.currency) }

    /// Milliseconds: a month became longer, and with it the whole.
    mutating func move(by more: Int64) { expires = expires.adding(milliseconds: more) }
}

extension StoreSubscription {
    /// What the next month of the commitment costs, which follows whatever the customer wants; nil: none does.
    var owedMonth: Money? {
        guard isGoingOn, let commitment, commitment.billingPeriod < commitment.billingPeriods else { return nil }
        return commitment.monthlyPrice
    }

    /// Whether another period follows the newest: by the customer's will, or because it is owed.
    var renewsNext: Bool { renews || owedMonth != nil }

    /// What the next period is of.
    var nextProductID: ProductID { owedMonth == nil ? renewalProductID : productID }
}

extension StoreTransaction {
    /// The column of the billing plan: what Apple calls a year that is paid at once, or the document of a commitment.
    func billingPlan() throws -> String? {
        if let commitment { return try StoredDocument.text(commitment) }
        return isBilledUpFront ? BillingPlanType.billedUpFront.rawValue : nil
    }

    mutating func setBillingPlan(_ text: String?) throws {
        isBilledUpFront = text == BillingPlanType.billedUpFront.rawValue
        guard let text, !isBilledUpFront else { return }
        commitment = try StoredDocument.read(Commitment.self, from: text)
    }
}

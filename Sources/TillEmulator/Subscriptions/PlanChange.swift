/// What it means to subscribe to one product of a group while another one runs (facts/business-rules §8.2).
///
/// Of what is left of the old period Apple gives a part of the price back, which no API shows: the old transaction gets
/// `isUpgraded` (receipts: a cancellation date), and there is neither a REFUND notification nor a `revocationDate`.
enum PlanChange: Sendable, Hashable {
    /// A higher level of service, or the same level at the same length: at once, with a period that starts now.
    case now
    /// A lower level, or the same level at another length: when the period that runs has ended.
    case atRenewal

    init(from old: SubscriptionTerms, to new: SubscriptionTerms) {
        if new.level < old.level {
            self = .now
        } else if new.level == old.level {
            self = new.period == old.period ? .now : .atRenewal
        } else {
            self = .atRenewal
        }
    }
}

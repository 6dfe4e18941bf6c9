/// What Apple signed last about a subscription's next renewal (facts/jws §5). Nil where Apple said nothing.
public struct RenewalTerms: Hashable, Sendable {
    public var signedAt: Instant
    /// What renews next.
    public var productID: ProductID?
    public var autoRenews: Bool?
    /// Apple tries to charge, in grace too.
    public var isInBillingRetry: Bool?
    public var graceUntil: Instant?
    /// 1 to 5, or what Apple adds.
    public var expirationIntent: Int?
    /// 0 asked and not answered, 1 consented or told.
    public var priceIncrease: Int?
    /// With the offer.
    public var price: Money?
    /// The end of the newest period that was paid when this was signed.
    public var renewsAt: Instant?
    /// Of the next period.
    public var offer: TransactionTerms.Offer?

    public init(signedAt: Instant) { self.signedAt = signedAt }
}

extension RenewalTerms {
    /// Whether this was said after `other`. Apple may sign two in one moment, of two things that follow on each other:
    /// the one of the later period is the later one, then the one that says that it is over, then that renewal is off.
    /// What is equal in all of that is told apart by the rest, so that no order of arrival decides.
    public func isNewer(than other: RenewalTerms) -> Bool { other.order.lexicographicallyPrecedes(order) }

    private var order: [Int64] {
        let isOver = expirationIntent != nil && isInBillingRetry != true
        let numbers: [Int64] = [
            signedAt.milliseconds, renewsAt?.milliseconds ?? .min, isOver ? 1 : 0, autoRenews == false ? 1 : 0,
            isInBillingRetry == true ? 1 : 0, graceUntil?.milliseconds ?? .min, Int64(expirationIntent ?? -1),
            Int64(priceIncrease ?? -1), price?.amount ?? .min, Int64(offer?.type ?? -1),
        ]
        let texts = [productID?.text, price?.currency.text, offer?.id, offer?.discount]
        return numbers + texts.flatMap { text in (text ?? "").utf8.map { Int64($0) } + [-1] }
    }
}

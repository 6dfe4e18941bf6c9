import TillBilling
import TillStorage

/// Checks what a customer brings to get a lower price (facts/business-rules §9). Who is eligible for what kind of offer
/// is the subscription's business; here it is only whether the paper is genuine.
enum OfferDesk {
    /// The developer's signature over a promotional offer: genuine, for this purchase, not 24 hours old, not used
    /// before. Uses it up, whatever becomes of the purchase.
    /// - Returns: why not; nil if it is good.
    static func check(
        _ signature: OfferSignature, offer identifier: String, of request: PurchaseRequest, _ turn: Turn
    ) throws -> StoreRefusal? { nil }

    /// The offer behind a code, which is used up by it.
    static func redeem(_ code: String, _ product: StoreProduct, _ turn: Turn) throws -> Result<
        ProductOffer, StoreRefusal
    > {
        .failure(StoreRefusal("unknown_code", status: 404, "There is no offer code \(code) here.", "这里没有优惠代码 \(code)。"))
    }

    /// What the developer's signed word says about the introductory offer: true or false; a refusal if it is not
    /// genuine.
    static func introductoryEligibility(
        _ token: String, of request: PurchaseRequest, _ turn: Turn
    ) throws -> Result<Bool, StoreRefusal> { .success(true) }
}

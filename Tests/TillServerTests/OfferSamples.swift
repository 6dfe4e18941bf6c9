import TillAPI
import TillAppStore
import TillBilling
import TillJSON

extension OpenAPITests {
    /// The bodies of offers, each once with every member and once with the required members only.
    static var offerSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let id = UniqueID(high: 1, low: 2)
            let offer = PromotionalOfferBody(
                productId: "p", offerId: "o", form: .classic, orderId: id, userId: "u", appAccountToken: id,
                applicationUsername: "u", transactionId: "1")
            var reply = PromotionalOfferReply(form: .jws, productId: "p", offerId: "o")
            let least = reply
            reply.compactJWS = "a"
            reply.keyId = "k"
            reply.nonce = id
            reply.timestamp = 1_790_000_000_000
            reply.signature = "s"
            reply.account = ""
            reply.expiresAt = Instant(seconds: 1_790_086_400)
            return [
                "PromotionalOffer": try both(offer, PromotionalOfferBody(productId: "p", offerId: "o")),
                "PromotionalOfferReply": try both(reply, least),
                "IntroductoryOffer": try same(IntroductoryOfferBody(productId: "p", allowed: true, transactionId: "1")),
                "IntroductoryOfferReply": try same(
                    IntroductoryOfferReply(productId: "p", allowed: true, transactionId: "1", compactJWS: "a")),
            ]
        }
    }
}

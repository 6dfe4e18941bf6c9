import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillEmulator

extension SubscribedWorld {
    /// A promotional offer with the developer's genuine signature over it, good for one attempt.
    func signedOffer(_ identifier: String, of product: String) async throws -> PurchaseRequest.Offer {
        let answer = await emulator.respond(to: HTTPRequest(method: .get, path: "/emulator/api-key"))
        let json = try JSONValue(decoding: answer.body)
        let key = try InAppPurchaseKey(
            issuerID: try #require(json["issuerId"]?.string), keyID: try #require(json["keyId"]?.string),
            privateKey: try PrivateKey(pem: try #require(json["privateKey"]?.string)))
        let now = store.now
        let signer = OfferSigner(
            key: key, bundleID: Self.bundleID, clock: { now }, entropy: { RandomBytes.make($0) })
        let offer = try PromotionalOffer(productID: ProductID(product), offerID: identifier)
        return .promotional(identifier: identifier, signature: .jws(try signer.token(for: offer)))
    }
}

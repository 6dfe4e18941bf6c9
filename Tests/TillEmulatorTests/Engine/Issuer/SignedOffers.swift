import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

/// The developer's signatures, with the store's own key from `GET /emulator/api-key`.
extension SubscribedWorld {
    func signer() async throws -> OfferSigner {
        let answer = await emulator.respond(
            to: HTTPRequest(method: .get, path: "/emulator/api-key", query: [], headers: HTTPHeaders([]), body: []))
        let json = try JSONValue(decoding: answer.body)
        let key = try InAppPurchaseKey(
            issuerID: try #require(json["issuerId"]?.string), keyID: try #require(json["keyId"]?.string),
            privateKey: try PrivateKey(pem: try #require(json["privateKey"]?.string)))
        return OfferSigner(
            key: key, bundleID: Self.bundleID, clock: { [self] in now }, entropy: { RandomBytes.make($0) })
    }

    /// A new signature in the classic form, for a purchase with this token.
    func promotional(
        _ identifier: String, of product: String = "basic.monthly", token: UniqueID? = nil
    ) async throws -> PurchaseRequest.Offer {
        let signed = try await signer().signature(
            for: try PromotionalOffer(
                productID: ProductID(product), offerID: identifier, account: token?.description ?? ""))
        return .promotional(
            identifier: identifier,
            signature: .classic(
                keyIdentifier: signed.keyID, nonce: signed.nonce, timestamp: signed.timestamp.milliseconds,
                signature: signed.signature))
    }

    /// The same as a JWS.
    func promotionalToken(
        _ identifier: String, of product: String = "basic.monthly", transaction: Int64? = nil
    ) async throws -> PurchaseRequest.Offer {
        let token = try await signer().token(
            for: try PromotionalOffer(
                productID: ProductID(product), offerID: identifier,
                transactionID: transaction.map { TransactionID(String($0)) }))
        return .promotional(identifier: identifier, signature: .jws(token))
    }

    /// The developer's token about the introductory offer.
    func eligibility(_ isAllowed: Bool, of product: String, transaction: Int64) async throws -> String {
        try await signer().token(
            for: try IntroductoryEligibility(
                productID: ProductID(product), isAllowed: isAllowed,
                transactionID: TransactionID(String(transaction))))
    }
}

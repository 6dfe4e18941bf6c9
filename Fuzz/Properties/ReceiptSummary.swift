import TillBilling

@testable import TillAppStore

extension ReceiptProperties {
    /// The values of a payload for a comparison byte by byte: documented and undocumented fields, and those of each
    /// purchase in order.
    static func summary(of payload: ReceiptPayload) -> [[UInt8]] {
        let own: [String?] = [
            payload.receiptType, number(payload.appAppleID), payload.bundleID, payload.applicationVersion,
            payload.opaqueValue.map { "\($0)" }, payload.deviceHash.map { "\($0)" }, date(payload.downloadDate),
            payload.ageRating, number(payload.developerID), date(payload.creationDate), number(payload.downloadID),
            number(payload.versionExternalIdentifier), date(payload.originalPurchaseDate),
            payload.originalApplicationVersion, date(payload.expirationDate),
            payload.octets(ofType: 2).map { "\($0)" },
        ]
        return (own + payload.purchases.flatMap(summary(of:))).map { Array(($0 ?? "none").utf8) }
    }

    private static func summary(of purchase: ReceiptPurchase) -> [String?] {
        [
            number(purchase.quantity), purchase.productID, purchase.transactionID, date(purchase.purchaseDate),
            purchase.originalTransactionID, date(purchase.originalPurchaseDate), number(purchase.productType),
            date(purchase.expiresDate), number(purchase.webOrderLineItemID), date(purchase.cancellationDate),
            number(purchase.isTrialPeriod), number(purchase.isInIntroductoryOfferPeriod), purchase.promotionalOfferID,
        ]
    }

    static func dates(of payload: ReceiptPayload) -> [Instant] {
        let own = [payload.downloadDate, payload.creationDate, payload.originalPurchaseDate, payload.expirationDate]
        let theirs = payload.purchases.flatMap {
            [$0.purchaseDate, $0.originalPurchaseDate, $0.expiresDate, $0.cancellationDate]
        }
        return (own + theirs).compactMap { $0 }
    }

    private static func number(_ number: Int64?) -> String? { number.map(String.init) }
    private static func date(_ instant: Instant?) -> String? { instant.map { String($0.milliseconds) } }
}

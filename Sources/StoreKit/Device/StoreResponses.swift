import Foundation
import TillBilling

// The bodies of the store's control API for devices (docs/emulator.md).

struct StoreMoney: Codable, Sendable, Hashable {
    /// In minor units.
    let amount: Int64
    let currency: String

    /// In units of the currency.
    var decimal: Decimal {
        let digits = Currency(currency).minorDigits
        return Decimal(sign: .plus, exponent: -digits, significand: Decimal(amount))
    }
}

struct StorefrontResponse: Codable, Sendable, Hashable {
    /// ISO 3166-1 alpha-3.
    let countryCode: String
    let id: String
    let currency: String?
}

struct TransactionResponse: Codable, Sendable, Hashable {
    enum State: String, Codable, Sendable { case purchased, deferred, interrupted, declined }

    let transactionId: String
    let originalTransactionId: String
    let account: String
    let bundleId: String
    let productId: String
    /// Apple's name: `Consumable` and so on.
    let type: String
    let quantity: Int
    let price: StoreMoney
    let state: State
    let finished: Bool
    /// RFC 3339.
    let purchaseDate: String
    let appAccountToken: UUID?
    let expiresDate: String?
    let revocationDate: String?
    let sharedFrom: String?
    /// `PURCHASE` or `RENEWAL`.
    let reason: String?
    /// The position of its last change among the changes.
    let position: Int64?
    /// Nil until it is paid.
    let signedTransaction: String?

    var purchased: Date { Date(rfc3339: purchaseDate) ?? Date(timeIntervalSince1970: 0) }
    var revoked: Date? { revocationDate.flatMap { Date(rfc3339: $0) } }
}

struct OfferResponse: Codable, Sendable, Hashable {
    let id: String?
    let kind: String
    let discount: String
    let price: StoreMoney?
    /// ISO 8601.
    let period: String?
    let periods: Int?
}

struct SubscriptionResponse: Codable, Sendable, Hashable {
    let groupId: String
    let groupName: String?
    let level: Int
    /// ISO 8601.
    let period: String
    let introductoryOffer: OfferResponse?
    let promotionalOffers: [OfferResponse]?
    let winBackOffers: [OfferResponse]?
    /// The price of a month of a year that is paid monthly; nil: it can't be paid monthly.
    let monthlyPrice: StoreMoney?
}

struct ProductResponse: Codable, Sendable, Hashable {
    let id: String
    let type: String
    let displayName: String
    let description: String
    /// `zh-Hans`, `en-US`.
    let locale: String?
    let price: StoreMoney
    let familyShareable: Bool
    let subscription: SubscriptionResponse?
}

struct ProductsResponse: Codable, Sendable {
    let storefront: StorefrontResponse
    let data: [ProductResponse]
    let invalid: [String]
}

struct PurchaseResponse: Codable, Sendable {
    /// `purchased`, `cancelled`, `failed`, `scheduled`, `deferred`, `interrupted`.
    let outcome: String
    /// Set for a subscription whose plan will change.
    let originalTransactionId: String?
}

struct RestoredPurchaseResponse: Codable, Sendable {
    /// The id of this restore, a new one each time.
    let transactionId: String
    let original: TransactionResponse
}

struct StatusResponse: Codable, Sendable, Hashable {
    /// 1 to 5, as in the App Store Server API.
    let status: Int
    let originalTransactionId: String
    let signedTransaction: String
    let signedRenewalInfo: String
}

struct SubscriptionGroupResponse: Codable, Sendable, Hashable {
    let groupId: String
    let groupName: String?
    let introductoryEligible: Bool
    let statuses: [StatusResponse]
}

struct PurchaseIntentResponse: Codable, Sendable, Hashable {
    let id: String
    let productId: String
    let offerId: String?
}

struct MessageResponse: Codable, Sendable, Hashable {
    let id: String
    let reason: String
    let originalTransactionId: String?
}

struct DeviceUpdateResponse: Codable, Sendable {
    let account: String
    let storefront: StorefrontResponse
    let mayPay: Bool
    let deviceVerificationId: UUID
    let position: Int64
    let changed: [TransactionResponse]
    let hasMore: Bool
    let intents: [PurchaseIntentResponse]
    let messages: [MessageResponse]
    let subscriptionVersion: String
}

struct PageResponse<Element: Codable & Sendable>: Codable, Sendable {
    let data: [Element]
    let nextCursor: String?
}

extension Date {
    init?(rfc3339 text: String) {
        guard let instant = Instant(rfc3339: text) else { return nil }
        self.init(timeIntervalSince1970: Double(instant.milliseconds) / 1_000)
    }
}

extension Locale {
    /// The locale of prices in a storefront: `zh-Hans_CN@currency=CNY`.
    ///
    /// - Parameters:
    ///   - storefront: ISO 3166-1 alpha-3, as the App Store names its storefronts.
    ///   - language: the BCP 47 language of the storefront's texts; English if there is none.
    ///   - currency: ISO 4217.
    static func storefront(_ storefront: String, language: String?, currency: String) -> Locale {
        // The region in the language tag is not the storefront's.
        let parts = (language ?? "en").split { $0 == "-" || $0 == "_" }
        let spoken = parts.enumerated().filter { $0.offset == 0 || $0.element.count == 4 }.map { String($0.element) }
        // Foundation parses a three-letter country code and returns the two-letter one.
        let region = Locale(identifier: "und_\(storefront)").region?.identifier ?? storefront
        return Locale(identifier: "\(spoken.joined(separator: "-"))_\(region)@currency=\(currency)")
    }
}

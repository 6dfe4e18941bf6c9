import TillBilling

/// A purchase whose Apple signature was verified. Only a `SignedDataVerifier` creates one, so the type system ensures
/// that unverified purchases cannot be granted.
public struct VerifiedTransaction: Sendable {
    public enum Source: String, Sendable {
        case signedTransaction
        /// A record of an app receipt: no account token, no price, and the receipt's date as the signing date.
        case receipt
    }

    public let id: TransactionID
    /// Equals `id` for a first purchase; the chain's id for renewals.
    public let originalID: TransactionID
    public let productID: ProductID
    public let bundleID: String
    /// At least 1.
    public let quantity: Int
    public let purchaseDate: Instant
    /// When Apple signed this copy; a later copy of the same transaction has a later date.
    public let signedDate: Instant
    public let environment: StoreEnvironment
    public let source: Source
    private let signed: SignedFields<TransactionPayload>

    /// All signed fields, as written.
    public var payload: TransactionPayload { signed.fields }

    /// The longest Apple id that is accepted, in bytes. Known ones have 16 digits (facts/limits §1).
    static let idLimit = 128
    /// The longest product or bundle id that is accepted, in bytes.
    static let nameLimit = 255

    /// The fields that processing a purchase requires, checked for presence and bounds.
    struct RequiredFields {
        let id: TransactionID
        let originalID: TransactionID
        let productID: ProductID
        let bundleID: String
        let quantity: Int
        let purchaseDate: Instant
        let signedDate: Instant

        /// - Throws: `malformed`, naming the field.
        init(_ signed: SignedFields<TransactionPayload>) throws(VerificationError) {
            func text(_ text: String?, _ name: String, limit: Int) throws(VerificationError) -> String {
                guard let text, (1...limit).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
                else { throw VerificationError(.malformed, name) }
                return text
            }
            let id = try text(signed.fields.transactionID, "transactionId", limit: idLimit)
            self.id = TransactionID(id)
            originalID = TransactionID(
                try text(signed.fields.originalTransactionID ?? id, "originalTransactionId", limit: idLimit))
            productID = ProductID(try text(signed.fields.productID, "productId", limit: nameLimit))
            bundleID = try text(signed.fields.bundleID, "bundleId", limit: nameLimit)
            guard let purchaseDate = signed.fields.purchaseDate else {
                throw VerificationError(.malformed, "purchaseDate")
            }
            guard let signedDate = signed.fields.signedDate else { throw VerificationError(.malformed, "signedDate") }
            let quantity = signed.fields.quantity ?? 1
            guard (1...Int(Int32.max)).contains(quantity) else { throw VerificationError(.malformed, "quantity") }
            self.purchaseDate = purchaseDate
            self.signedDate = signedDate
            self.quantity = quantity
        }
    }

    init(
        _ essentials: RequiredFields, _ signed: SignedFields<TransactionPayload>, environment: StoreEnvironment,
        source: Source
    ) {
        id = essentials.id
        originalID = essentials.originalID
        productID = essentials.productID
        bundleID = essentials.bundleID
        quantity = essentials.quantity
        purchaseDate = essentials.purchaseDate
        signedDate = essentials.signedDate
        self.environment = environment
        self.source = source
        self.signed = signed
    }
}

extension VerifiedTransaction {
    /// Nil for a type that Apple has added since; `payload.typeText` has its name.
    public var type: ProductType? { signed.fields.type }
    public var originalPurchaseDate: Instant? { signed.fields.originalPurchaseDate }
    /// Subscriptions only. Use this value; never compute it from the purchase date.
    public var expiresDate: Instant? { signed.fields.expiresDate }

    /// The order's id, if the token is a UUID. For a token of another form this is nil, and `appAccountTokenText` is
    /// set.
    public var appAccountToken: UniqueID? { signed.fields.appAccountToken.flatMap { UniqueID($0) } }
    /// The token as written; nil if the app set none.
    public var appAccountTokenText: String? { signed.fields.appAccountToken }

    /// When Apple refunded or revoked the purchase; nil while it is valid.
    public var revocationDate: Instant? { signed.fields.revocationDate }
    public var revocationReason: RevocationReason? { signed.fields.revocationReason }
    public var revocationType: RevocationType? { signed.fields.revocationType }
    /// In thousandths of a percent.
    public var revocationPercentage: Int? { signed.fields.revocationPercentage }
    public var isRevoked: Bool { signed.fields.revocationDate != nil }

    /// The price paid for the whole quantity; nil unless Apple states both amount and currency.
    public var price: Money? { signedPrice?.money }

    /// The price as signed.
    public var signedPrice: SignedPrice? {
        guard let milliunits = signed.fields.priceMilliunits, let text = signed.fields.currency else { return nil }
        let currency = Currency(text)
        return currency.isWellFormed ? SignedPrice(milliunits: milliunits, currency: currency) : nil
    }

    public var storefront: String? { signed.fields.storefront }
    public var ownership: Ownership? { signed.fields.ownership }
    public var isUpgraded: Bool { signed.fields.isUpgraded ?? false }
    public var transactionReason: TransactionReason? { signed.fields.transactionReason }
    public var offer: TransactionPayload.Offer? { signed.fields.offer }
    public var appTransactionID: String? { signed.fields.appTransactionID }
    public var webOrderLineItemID: String? { signed.fields.webOrderLineItemID }
    public var subscriptionGroupID: String? { signed.fields.subscriptionGroupID }
}

/// A subscription's renewal info whose Apple signature was verified.
public struct VerifiedRenewalInfo: Sendable {
    private let signed: SignedFields<RenewalInfoPayload>
    public let environment: StoreEnvironment

    public var payload: RenewalInfoPayload { signed.fields }

    init(_ signed: SignedFields<RenewalInfoPayload>, environment: StoreEnvironment) {
        self.signed = signed
        self.environment = environment
    }

    public var originalTransactionID: TransactionID? { signed.fields.originalTransactionID.map(TransactionID.init) }
    public var signedDate: Instant? { signed.fields.signedDate }
}

/// A customer's download of the app, whose Apple signature was verified.
public struct VerifiedAppTransaction: Sendable {
    private let signed: SignedFields<AppTransactionPayload>
    public let environment: StoreEnvironment

    public var payload: AppTransactionPayload { signed.fields }

    init(_ signed: SignedFields<AppTransactionPayload>, environment: StoreEnvironment) {
        self.signed = signed
        self.environment = environment
    }
}

/// A notification whose Apple signature was verified, including everything nested in it.
public struct VerifiedNotification: Sendable {
    /// Apple's `notificationUUID`: the same for every delivery of one notification.
    public let id: String
    private let signed: SignedFields<NotificationPayload>
    public let environment: StoreEnvironment
    public let bundleID: String?
    public let transaction: VerifiedTransaction?
    public let renewalInfo: VerifiedRenewalInfo?
    public let appTransaction: VerifiedAppTransaction?

    init(
        _ signed: SignedFields<NotificationPayload>, environment: StoreEnvironment, bundleID: String?,
        transaction: VerifiedTransaction?, renewalInfo: VerifiedRenewalInfo?, appTransaction: VerifiedAppTransaction?
    ) {
        id = signed.fields.notificationUUID ?? ""
        self.signed = signed
        self.environment = environment
        self.bundleID = bundleID
        self.transaction = transaction
        self.renewalInfo = renewalInfo
        self.appTransaction = appTransaction
    }

    public var payload: NotificationPayload { signed.fields }
    public var type: NotificationType? { signed.fields.notificationType }
    public var subtype: NotificationSubtype? { signed.fields.subtype }
    /// Nil in some notifications that Apple has sent.
    public var signedDate: Instant? { signed.fields.signedDate }
    public var status: SubscriptionStatus? { signed.fields.data?.status }
    /// The token of `transaction`, as Apple signed it.
    public var signedTransaction: String? { signed.fields.data?.signedTransactionInfo }
    /// The token of `renewalInfo`, as Apple signed it.
    public var signedRenewal: String? { signed.fields.data?.signedRenewalInfo }
}

/// The fields of a verified payload. They are up to a thousand bytes of optional texts, and a verified value is passed
/// through many functions: its copies share them.
final class SignedFields<Fields: Sendable>: Sendable {
    let fields: Fields
    init(_ fields: Fields) { self.fields = fields }
}

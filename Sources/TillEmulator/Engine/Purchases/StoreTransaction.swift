import TillBilling

/// One transaction as the store records it. Its proofs are signed anew for each request.
public struct StoreTransaction: Sendable, Hashable {
    /// The payment state. Only a purchased transaction is ever signed.
    public enum State: String, Sendable, Hashable, CaseIterable {
        case purchased
        /// Ask to Buy: waits up to 24 hours for `approve` or `decline` (facts/limits §4).
        case deferred
        /// The payment failed because the customer has to do something first; `approve` completes it.
        case interrupted
        case declined
    }

    public struct Revocation: Sendable, Hashable {
        public var date: Instant
        /// 1: an issue with the app; 0: another reason.
        public var reason: Int64
        /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
        public var type: String
        /// Thousandths of a percent: 100000 is the full price. Nil if no money was refunded, as at the end of Family
        /// Sharing.
        public var percentage: Int64?
    }

    public struct Subscription: Sendable, Hashable {
        public var groupID: String
        public var expires: Instant
        public var lineItem: Int64
    }

    /// The offer that determined the price (facts/jws §4, `offerType` and the three members with it).
    public struct Offer: Sendable, Hashable, Codable {
        public var kind: ProductOffer.Kind
        public var identifier: String?
        public var discount: ProductOffer.Discount
        /// ISO 8601, the total length; nil for one-time purchases.
        public var period: String?
    }

    /// A year paid monthly (facts/jws §4, `billingPlanType`, `commitmentInfo`).
    public struct Commitment: Sendable, Hashable, Codable {
        /// Counts from 1.
        public var billingPeriod: Int64
        public var billingPeriods: Int64
        public var expires: Instant
        /// The price of the whole commitment.
        public var price: Money
    }

    /// The price of the whole purchase: unit price times quantity, after an offer's discount.
    public var price: Money
    public var number: Int64
    public var original: Int64
    public var state: State
    public var isFinished: Bool
    public var environment: StoreEnvironment
    public var account: String
    public var bundleID: String
    public var productID: ProductID
    public var kind: ProductType
    public var quantity: Int64
    public var storefront: String
    public var appAccountToken: UniqueID?
    public var appTransaction: Int64
    /// `PURCHASE` or `RENEWAL`.
    public var reason: String
    public var purchased: Instant
    public var firstPurchased: Instant
    public var subscription: Subscription?
    public var revocation: Revocation?
    public var offer: Offer?
    /// The customer upgraded before this period ended.
    public var isUpgraded = false
    public var commitment: Commitment?
    /// For a product with a monthly plan: whether this purchase was billed up front.
    public var isBilledUpFront = false
    /// The purchaser's transaction, if a family shares it; nil for a paid purchase.
    public var sharedFrom: Int64?
    /// The position in the order of changes, assigned by the table (facts/server-api §4.1).
    public var modification: Int64 = 0

    public var id: TransactionID { TransactionID(String(number)) }
    public var originalID: TransactionID { TransactionID(String(original)) }
    public var ownership: String { sharedFrom == nil ? "PURCHASED" : "FAMILY_SHARED" }
}

extension Money {
    /// Apple's thousandths of the currency unit (facts/jws §1).
    var milliunits: Int64 {
        let factor: Int64 = currency.minorDigits == 0 ? 1_000 : currency.minorDigits == 2 ? 10 : 1
        return amount * factor
    }
}

/// The order id in Apple's mail, by which a customer names a purchase to the developer's support (facts/server-api §3,
/// note on 4). Apple does not document its form. Ours is the letter M, the transaction's number in an alphabet without
/// similar letters, and a check letter against typing errors.
public struct OrderNumber: Sendable, Hashable, CustomStringConvertible {
    /// The transaction that the order paid for.
    public let transaction: Int64

    /// - Parameter transaction: not negative.
    public init(transaction: Int64) { self.transaction = transaction }

    /// Nil for an invalid order id: other letters or a wrong check letter. Lower case is accepted.
    public init?(_ text: some StringProtocol) {
        let letters = Array(text.uppercased().utf8)
        guard letters.first == UInt8(ascii: "M"), (Self.shortest + 2...16).contains(letters.count) else { return nil }
        var values: [Int] = []
        for letter in letters.dropFirst() {
            guard let value = Self.alphabet.firstIndex(of: letter) else { return nil }
            values.append(value)
        }
        guard let check = values.popLast(), check == Self.check(values) else { return nil }
        var number: Int64 = 0
        for value in values {
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: Self.base)
            let (sum, isLarger) = product.addingReportingOverflow(Int64(value))
            guard !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        transaction = number
        // Each number has one text: leading zeros are refused.
        guard description == String(decoding: letters, as: UTF8.self) else { return nil }
    }

    /// `MAAKX7…`: twelve characters or more.
    public var description: String {
        var values: [Int] = []
        var rest = transaction
        while rest > 0 || values.count < Self.shortest {
            values.append(Int(rest % Self.base))
            rest /= Self.base
        }
        values.reverse()
        values.append(Self.check(values))
        return "M" + String(decoding: values.map { Self.alphabet[$0] }, as: UTF8.self)
    }

    /// Without I, O, 0, 1 and 9: 31 characters, a prime number, so that the check letter detects every wrong letter and
    /// every swap.
    private static let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ2345678".utf8)
    private static let base: Int64 = 31
    private static let shortest = 10

    private static func check(_ values: [Int]) -> Int {
        values.enumerated().reduce(7) { $0 + ($1.offset + 1) * $1.element } % Int(base)
    }
}

extension StoreTransaction {
    /// Nil for a transaction that was not paid, or not by this account.
    public var orderNumber: OrderNumber? {
        state == .purchased && sharedFrom == nil && number >= 0 ? OrderNumber(transaction: number) : nil
    }
}

import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The result that buying a plan would have, with the calculation. If a purchase has it in its
/// `PurchaseOptions`, it has exactly this result, if the buyer completes it within 24 hours.
public struct PlanPreview: Hashable, Sendable {
    /// The relation of a purchase to the current service. A value from a later server keeps its name.
    public struct Change: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no current service that the purchase changes.
        public static let start = Change(rawValue: "start")
        /// The same plan again.
        public static let extend = Change(rawValue: "extend")
        /// Another service, with a higher price per day.
        public static let upgrade = Change(rawValue: "upgrade")
        /// Another service, with a lower price per day.
        public static let downgrade = Change(rawValue: "downgrade")
        /// The same service, with another plan.
        public static let change = Change(rawValue: "change")
    }

    /// The moment of the calculation.
    public let date: Date
    /// The plan.
    public let plan: String
    /// The product that sells the plan.
    public let productID: String
    /// The quantity.
    public let quantity: Int
    /// The relation to the current service.
    public let change: Change
    /// The server's list price for the whole quantity. Apple's price is in `StoreProduct`.
    public let price: Decimal
    /// The value of the kept and the converted service, rounded to the minor unit; the exact value is in the
    /// explanation.
    public let balance: Decimal
    /// The ISO 4217 code of `price` and `balance`.
    public let currency: String
    /// The kept and converted time in seconds, rounded up.
    public let carriedSeconds: Int64
    /// The time in seconds that the purchase adds.
    public let boughtSeconds: Int64
    /// When the service would end.
    public let expires: Date
    /// The devices that the service would cover; nil for the whole account.
    public let deviceIDs: [String]?

    private let lines: PlanPreviewReply.Explanation
    /// The values for the order.
    let body: OpenOrderBody.Preview

    init(_ reply: PlanPreviewReply, quantity: Int) {
        self.quantity = quantity
        body = OpenOrderBody.Preview(at: reply.at, expiresAt: reply.expiresAt, price: reply.price)
        deviceIDs = reply.deviceIds
        date = Date(reply.at)
        plan = reply.plan
        productID = reply.productId
        change = Change(rawValue: reply.change)
        price = Decimal(minorUnitsOf: reply.price)
        balance = Decimal(
            minorUnitsOf: Money(amount: reply.balance.amount, currency: Currency(reply.balance.currency)))
        currency = reply.price.currency.text
        carriedSeconds = reply.seconds
        boughtSeconds = reply.boughtSeconds
        expires = Date(reply.expiresAt)
        lines = reply.explanation
    }

    /// The kept and converted time in whole days, rounded down.
    public var carriedDays: Int64 { carriedSeconds / 86_400 }

    /// The calculation, line by line.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; nil for the device's language.
    public func explanation(in language: String? = nil) -> [String] {
        switch language.map(Language.init(preference:)) ?? .ofDevice {
        case .english: lines.en
        case .chinese: lines.zh
        }
    }
}

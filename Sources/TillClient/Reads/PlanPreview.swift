import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What buying a plan would come to, with the arithmetic spelled out (C6). Handed to `Store.purchase`, it is what the
/// purchase does, to the second, if the buyer is done within 24 hours.
public struct PlanPreview: Hashable, Sendable {
    /// What the purchase is to what is there. One that only a later server knows keeps its name.
    public struct Change: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is nothing yet.
        public static let start = Change(rawValue: "start")
        /// The same plan again.
        public static let extend = Change(rawValue: "extend")
        /// To a dearer plan by the day.
        public static let upgrade = Change(rawValue: "upgrade")
        /// To a cheaper plan by the day.
        public static let downgrade = Change(rawValue: "downgrade")
        /// The same service, by another plan.
        public static let change = Change(rawValue: "change")
    }

    /// The moment it was computed for.
    public let date: Date
    /// The plan that would be bought.
    public let plan: String
    /// The product that sells it.
    public let productID: String
    /// How many of it.
    public let quantity: Int
    /// What the purchase would do.
    public let change: Change
    /// To pay for all of the quantity, by the server's list; what Apple charges is on the shelf.
    public let price: Decimal
    /// What the kept and the converted service is worth, to the minor unit; exactly it is in the explanation.
    public let balance: Decimal
    /// Of both; ISO 4217.
    public let currency: String
    /// Time that is kept and converted, rounded up.
    public let carriedSeconds: Int64
    /// Of the purchase itself.
    public let boughtSeconds: Int64
    /// When the service would end.
    public let expires: Date
    /// The devices it would be for; nil for all of the account.
    public let deviceIDs: [String]?

    private let lines: PlanPreviewReply.Explanation
    /// For the order.
    let told: OpenOrderBody.Preview

    init(_ reply: PlanPreviewReply, quantity: Int) {
        self.quantity = quantity
        told = OpenOrderBody.Preview(at: reply.at, expiresAt: reply.expiresAt, price: reply.price)
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

    /// Whole days that are kept and converted, rounded down.
    public var carriedDays: Int64 { carriedSeconds / 86_400 }

    /// The arithmetic, line by line.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; the device's if nil.
    public func explanation(in language: String? = nil) -> [String] {
        switch language.map(Language.init(preference:)) ?? .ofDevice {
        case .english: lines.en
        case .chinese: lines.zh
        }
    }
}

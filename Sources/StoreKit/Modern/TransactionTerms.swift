import Foundation
import TillAppStore

// Values of a transaction that Apple may add to: the raw ones survive (facts/jws §4).
extension Transaction {
    /// How the customer came by it.
    public struct OwnershipType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchased = OwnershipType(rawValue: "PURCHASED")
        public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
    }

    /// Who started it: the customer, or the App Store's clock.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchase = Reason(rawValue: "PURCHASE")
        public static let renewal = Reason(rawValue: "RENEWAL")
    }

    public struct RevocationReason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Something was wrong with the app.
        public static let developerIssue = RevocationReason(rawValue: 1)
        public static let other = RevocationReason(rawValue: 0)
    }

    public struct RevocationType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let fullRefund = RevocationType(rawValue: "REFUND_FULL")
        public static let proratedRefund = RevocationType(rawValue: "REFUND_PRORATED")
        public static let familyRevocation = RevocationType(rawValue: "FAMILY_REVOKE")
    }

    public struct OfferType: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let introductory = OfferType(rawValue: 1)
        public static let promotional = OfferType(rawValue: 2)
        public static let code = OfferType(rawValue: 3)
        public static let winBack = OfferType(rawValue: 4)
    }

    /// What made it cheaper.
    public struct Offer: Hashable, Sendable {
        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let freeTrial = PaymentMode(rawValue: "FREE_TRIAL")
            public static let payAsYouGo = PaymentMode(rawValue: "PAY_AS_YOU_GO")
            public static let payUpFront = PaymentMode(rawValue: "PAY_UP_FRONT")
            public static let oneTime = PaymentMode(rawValue: "ONE_TIME")
        }

        /// Of all but introductory ones.
        public let id: String?
        public let type: OfferType
        public let paymentMode: PaymentMode?
        /// How long it lasts in all.
        public let period: Product.SubscriptionPeriod?
        /// ISO 8601.
        let periodText: String?

        /// Nil for one without a type. A renewal's are the same.
        init?(_ offer: TransactionPayload.Offer) {
            guard let type = offer.type else { return nil }
            self.type = OfferType(rawValue: type.rawValue)
            id = offer.identifier
            paymentMode = offer.discountType.map { PaymentMode(rawValue: $0.rawValue) }
            periodText = offer.period
            period = periodText.flatMap { Product.SubscriptionPeriod(iso8601: $0) }
        }
    }
}

extension Transaction.OfferType {
    public var localizedDescription: String {
        switch self {
        case .introductory: "Introductory"
        case .promotional: "Promotional"
        case .code: "Offer Code"
        case .winBack: "Win-Back"
        default: "Unknown"
        }
    }
}

extension Transaction.RevocationReason {
    public var localizedDescription: String {
        switch self {
        case .developerIssue: "Developer Issue"
        case .other: "Other"
        default: "Unknown"
        }
    }
}
